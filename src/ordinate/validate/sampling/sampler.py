"""The way from a request to a sample."""

from collections.abc import Callable, Mapping
from functools import cached_property, partial

from ordinate.errors import InputError
from ordinate.validate.backends import Backend
from ordinate.validate.cells import Measure, Request, Sample
from ordinate.validate.sampling.answers import answer, margin
from ordinate.validate.sampling.base import Ask, Kitchen, failed
from ordinate.validate.sampling.losses import copy, language
from ordinate.validate.sampling.material import Material

MEASURES: Mapping[Measure, Callable[[Kitchen, Sample], Ask]] = {
    "answer": answer,
    "margin": margin,
    "copy": copy,
    "language": language,
}


class Sampler:
    """Makes prompts here and now, and asks for their samples later, perhaps in another thread.

    Args:
        backend: what answers
        material: what prompts are made of, for the backend's tokenizer; made where not given
        added: how many more prompt tokens the engine counts in a chat mode than the prompt has: what a template of
            its own adds, the same for every prompt
    """

    def __init__(self, backend: Backend, material: Material | None = None, *, added: int = 0) -> None:
        self.material = Material(backend.tokenizer) if material is None else material
        self.kitchen = Kitchen(backend, self.material, added)

    @cached_property
    def subject(self) -> Mapping[str, str]:
        """What answers, and how its prompts are made: part of every sample's key."""
        own = {**self.kitchen.backend.identity, **self.material.identity}
        return {**own, "added": str(self.kitchen.added)} if self.kitchen.added else own

    def prepare(self, request: Request) -> Ask:
        """Build what is to be sent; call this from one thread alone.

        A prompt that cannot be built, or a refusal, is a sample of the outcome "error" or "refused".

        Returns:
            A function that asks the backend and judges what it says; it raises `Unavailable` where there is no usable
            reply, and may be called from any thread.
        """
        try:
            return self.build(request)
        except InputError as error:
            return partial(failed, self._empty(request), str(error))

    def build(self, request: Request) -> Ask:
        """As `prepare`, but a prompt that cannot be built is an error.

        Raises:
            InputError: it cannot be built
        """
        return MEASURES[request.cell.measure](self.kitchen, self._empty(request))

    def sample(self, request: Request) -> Sample:
        """Prepare and ask."""
        return self.prepare(request)()

    def failed(self, request: Request, why: str) -> Sample:
        """The sample of a request that never got a usable reply."""
        return failed(self._empty(request), why)

    def _empty(self, request: Request) -> Sample:
        return Sample(request.key(self.subject), request.cell, request.seed, request.index)
