"""Blocks of random tokens that come again: what follows a key, at an exact distance, for any model and tokenizer."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from ordinate.errors import InputError, got, non_negative_integer, one_of, positive_integer
from ordinate.validate.instances import CONTROLS
from ordinate.validate.parsing import Scored
from ordinate.validate.streams import stream

Control = Literal["", "no_context", "evidence_removed", "evidence_swapped", "evidence_only", "altered_answers"]


@dataclass(frozen=True)
class Copy:
    """A prompt of token ids that ends with a key whose value stands earlier in it.

    Args:
        ids: the prompt, which ends with the key
        answer: the value's ids, which are to follow
        first: [start, stop) of the value in `ids`; None in a control without it
        blocks: where each key begins, in told order
        distance: from the value's first token to where it is to come again, [token]
        control: which control this is; empty for the instance itself
    """

    ids: tuple[int, ...]
    answer: tuple[int, ...]
    first: tuple[int, int] | None
    blocks: tuple[int, ...]
    distance: int
    control: str = ""

    @property
    def scored(self) -> tuple[int, ...]:
        """Prompt and answer, for a model that gives losses."""
        return self.ids + self.answer

    def gain(self, losses: Sequence[float] | np.ndarray) -> float:
        """How much less the second copy costs than the first.

        gain = mean(losses of the first copy) - mean(losses of the second)

        Args:
            losses: [tokens of `scored`], each token's loss given those before it, [nat]; the first is not used

        Returns:
            [nat/token]; near 0 where nothing is copied

        Raises:
            InputError: another number of losses, or a control without a first copy
        """
        if len(losses) != len(self.scored):
            raise InputError(f"losses must be of all {len(self.scored)} tokens, got {len(losses)}")
        if self.first is None:
            raise InputError(f"the control {self.control!r} has no first copy")
        values = np.asarray(losses, dtype=np.float64)
        return float(values[slice(*self.first)].mean() - values[len(self.ids) :].mean())


class AssociativeCopy:
    """What followed a key of tokens that is given again.

    Several blocks of key and value stand in noise. All keys end with the same token, so that the last token alone leads
    to any of them; the asked one has no rank of its own among them, whatever the distance. No token of a block stands
    anywhere else. A model needs no instructions for it, and its loss shows what a short answer hides.

    Source: Elhage et al. 2021 and Olsson et al. 2022, arXiv 2209.11895 (copying of random sequences).
    Differs from the papers: the distance is exact, and there are decoys.
    """

    name = "associative_copy"
    title = "Copying of random blocks at a distance"
    abilities = ("retrieve",)
    defaults: ClassVar[dict[str, int]] = {"pairs": 4, "key": 2, "value": 8}

    def chance(self, **difficulty: int) -> float:
        """One of the values, named blindly."""
        return 1 / self._difficulty(difficulty)["pairs"]

    def instance(
        self,
        seed: int,
        index: int,
        *,
        length: int,
        distance: int,
        vocabulary: Sequence[int],
        bos: Sequence[int] = (),
        control: Control = "",
        **difficulty: int,
    ) -> Copy:
        """A prompt of exactly `length` tokens.

        The blocks of an instance are the same at every length and distance.

        Args:
            seed, index: of the instance
            length: of the prompt, `bos` included, [token]
            distance: from the value's first token to where it is to come again, [token]
            vocabulary: ids that may stand in it: no special ones
            bos: what the model's texts begin with
            control: one of `CONTROLS`, or empty
            difficulty: pairs, key and value: how many blocks, and the tokens of their keys and values

        Raises:
            InputError: a distance that leaves no room for all decoys on either side, or too small a vocabulary
        """
        level = self._difficulty(difficulty)
        length, distance = positive_integer("length", length), positive_integer("distance", distance)
        index = non_negative_integer("index", index)
        if control:
            one_of("control", control, CONTROLS)
        pairs, key, value = level["pairs"], level["key"], level["value"]
        block = key + value
        allowed = np.unique(np.asarray(vocabulary, dtype=np.int64))
        tokens = pairs * (key - 1) + 1 + (pairs + 1) * value
        if len(allowed) < 2 * tokens:
            raise InputError(f"vocabulary must hold at least {2 * tokens} ids, got {len(allowed)}")
        start = length - distance - key  # where the asked key begins first
        least, most = len(bos) + (pairs - 1) * block, length - key - pairs * block
        if not least <= start <= most:
            raise InputError(
                f"distance must be between {length - key - most} and {length - key - least} at length {length}, so "
                f"that all decoys have room on either side, got {distance}"
            )
        generator = stream(seed, self.name, index)
        order = generator.permutation(len(allowed))[:tokens]
        own, rank = allowed[order], int(generator.integers(pairs))
        heads = [list(own[i * (key - 1) : (i + 1) * (key - 1)]) for i in range(pairs)]
        shared = [own[pairs * (key - 1)]]
        rest = own[pairs * (key - 1) + 1 :].reshape(pairs + 1, value)
        keys, values = [head + shared for head in heads], [list(row) for row in rest[:pairs]]
        if control == "evidence_swapped":
            values[0], values[1] = values[1], values[0]
        if control == "altered_answers":
            values[0] = list(rest[pairs])
        noise = np.setdiff1d(allowed, own)
        layout = stream(seed, self.name, index, "layout")
        ids = noise[layout.integers(0, len(noise), length)]
        starts = _places(layout, len(bos), start, rank, block)
        starts += _places(layout, start + block, length - key, pairs - 1 - rank, block)
        blocks = [start, *starts]
        shown = {"no_context": [], "evidence_removed": range(1, pairs), "evidence_only": [0]}.get(control, range(pairs))
        for i in shown:
            ids[blocks[i] : blocks[i] + block] = keys[i] + values[i]
        ids[: len(bos)] = bos
        ids[length - key :] = keys[0]
        return Copy(
            ids=tuple(ids.tolist()),
            answer=tuple(int(token) for token in values[0]),
            first=(start + key, start + block) if 0 in shown else None,
            blocks=tuple(sorted(blocks[i] for i in shown)),
            distance=distance,
            control=control,
        )

    def score(self, ids: Sequence[int], copy: Copy) -> Scored:
        """Judge what followed the prompt: its first tokens must be the value's, each of them.

        Args:
            ids: generated tokens, at least as many as the answer's
            copy: what was asked
        """
        given = tuple(int(token) for token in ids[: len(copy.answer)])
        parsed = tuple(map(str, given))
        if given == copy.answer:
            return Scored(True, parsed)
        return Scored(False, parsed, "too few tokens" if len(given) < len(copy.answer) else "other tokens")

    def _difficulty(self, given: dict[str, Any]) -> dict[str, int]:
        unknown = sorted(set(given) - set(self.defaults))
        if unknown:
            raise InputError(f"associative_copy has no difficulty {unknown[0]!r} (choices: {', '.join(self.defaults)})")
        level = {name: positive_integer(name, value) for name, value in {**self.defaults, **given}.items()}
        for name, value in level.items():
            if name != "value" and value < 2:
                raise InputError(f"associative_copy's {name} must be >= 2, got {got(value)}")
        return level


def _places(generator: np.random.Generator, low: int, high: int, count: int, block: int) -> list[int]:
    """Where so many blocks begin between two places, none touching another, at random."""
    room = high - low - count * block
    cuts = np.sort(generator.integers(0, room + 1, count))
    return [low + int(cut) + i * block for i, cut in enumerate(cuts)]
