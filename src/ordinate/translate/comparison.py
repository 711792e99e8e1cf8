"""How each engine would really run one model."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ordinate.dialects.base import Loss
from ordinate.errors import InputError
from ordinate.scaling.base import checked_length
from ordinate.spec import Spec
from ordinate.translate.engines import engine
from ordinate.translate.proof import GroupProof, prove


@dataclass(frozen=True)
class Row:
    """One engine.

    Args:
        engine: its name
        title: what people call it
        version: of which this is true
        proof: how far what it computes is from what the model's files say; empty where it cannot run the model
        losses: why
        refusal: why it cannot run the model, or None
        tokens: for how many the engine is taken to be started, [token]
        elsewhere: it is compared at one length, and differs at others
        files_alone: this is what it computes from the model's own file, without the flags that it is translated to
    """

    engine: str
    title: str
    version: str
    proof: tuple[GroupProof, ...]
    losses: tuple[Loss, ...]
    refusal: str | None = None
    tokens: int | None = None
    elsewhere: bool = False
    files_alone: bool = False

    @property
    def same(self) -> bool:
        """Whether the engine runs the model as its files say."""
        return self.refusal is None and not self.losses and all(proof.exact for proof in self.proof)


def compare(
    model: Spec,
    names: Sequence[str],
    length: int | None = None,
    capacity: int | None = None,
    config: Mapping[str, Any] | None = None,
) -> tuple[Row, ...]:
    """Interpret a model's files as each engine does.

    Args:
        model: what the files say
        names: engines
        length: compare at this length alone, and angles there; at all that matter where not given, [token]
        capacity: tokens that engines are started for; what each takes by itself where not given, [token]
        config: the model's own config.json, where it has one, of which some engines take what a spec does not keep

    Raises:
        InputError: an unknown engine, or a capacity that is no length
    """
    checked_length(capacity)
    rows = []
    for name in names:
        dialect = engine(name)
        try:
            read = model if config is None else dialect.read_configuration(config, model)
            found = dialect.interpret(read, capacity)
        except InputError as error:
            rows.append(Row(name, dialect.title, dialect.version, (), (), str(error)))
            continue
        proof = prove(model, found.spec, length)
        losses = found.losses
        if length is not None:
            losses = _here(losses, proof, prove(model, found.spec))
        rows.append(
            Row(
                name,
                dialect.title,
                dialect.version,
                proof,
                losses,
                tokens=dialect.started_for(model, capacity),
                elsewhere=len(losses) < len(found.losses),
                files_alone=dialect.files_alone,
            )
        )
    return tuple(rows)


def _here(losses: Sequence[Loss], here: Sequence[GroupProof], anywhere: Sequence[GroupProof]) -> tuple[Loss, ...]:
    """Losses but those of layers that are as the files say at the one length, and not at others."""
    same = {proof.group for proof, all_of in zip(here, anywhere, strict=True) if proof.exact and not all_of.exact}
    every = same == {proof.group for proof in here}
    return tuple(loss for loss in losses if not (every if loss.group is None else loss.group in same))
