"""Write a model in an engine's words, read them back with its semantics, and compare with the model."""

from dataclasses import dataclass

from ordinate.dialects.base import Loss, Written
from ordinate.spec import Spec
from ordinate.translate.engines import engine
from ordinate.translate.proof import GroupProof, prove


@dataclass(frozen=True)
class Translation:
    """A model in an engine's words.

    Args:
        model: the model
        engine: the engine's name
        title: what people call it
        version: of which this is true
        written: the words, what they lose, and what else is to be done
        runs: the model as the engine runs it, rebuilt from the words
        proof: how far that is from the model
    """

    model: Spec
    engine: str
    title: str
    version: str
    written: Written
    runs: Spec
    proof: tuple[GroupProof, ...]

    @property
    def losses(self) -> tuple[Loss, ...]:
        """What is lost; each of them changes the model."""
        return self.written.losses

    @property
    def faithful(self) -> bool:
        """Whether nothing is lost and every table is the model's."""
        return not self.losses and all(proof.exact for proof in self.proof)


def translate(model: Spec, to: str) -> Translation:
    """Say a model in another engine's words, and prove it.

    Args:
        model: as `ordinate.read` gives it
        to: an engine of `ordinate.translate.engines()`

    Returns:
        words, losses and proof; whether to use words that lose something is the caller's choice

    Raises:
        InputError: an unknown engine, or one that has no words at all for this scheme

    >>> from ordinate.dialects import read
    >>> model = read({"model_type": "llama", "num_hidden_layers": 2, "num_attention_heads": 2, "head_dim": 8,
    ...               "max_position_embeddings": 64, "rope_parameters": {"rope_type": "default", "rope_theta": 1e4}})
    >>> translate(model, "vllm").faithful
    True
    """
    dialect = engine(to)
    written = dialect.write(model)
    found = dialect.read(written.settings, model) if written.settings else model
    runs = dialect.interpret(found, dialect.capacity(written.settings)).spec
    return Translation(model, to, dialect.title, dialect.version, written, runs, prove(model, runs))
