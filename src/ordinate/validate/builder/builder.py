"""Instances laid out as prompts of exactly so many tokens."""

from collections.abc import Sequence
from itertools import accumulate, count, pairwise
from typing import Any

from ordinate.errors import InputError, non_negative_integer, positive_integer
from ordinate.validate.builder.filling import Filling
from ordinate.validate.builder.material import Material
from ordinate.validate.builder.modes import Frame, frame
from ordinate.validate.builder.pieces import Piece, Seams
from ordinate.validate.builder.placing import Places, checked, gaps, ordered
from ordinate.validate.builder.prompt import Placed, Prompt
from ordinate.validate.builder.templates import Template, read_template
from ordinate.validate.builder.verification import verify
from ordinate.validate.fillers import Filler, find
from ordinate.validate.instances import Instance, Record
from ordinate.validate.streams import digest, stream
from ordinate.validate.tokenizers import Tokenizer

LAYOUTS = 24  # tried, each without the gaps that could not be filled before


class Builder:
    """Builds prompts for one tokenizer, filler and mode, and keeps what it has encoded.

    Args:
        tokenizer: the model's own
        filler: one of `ordinate.validate.fillers.names()`, or a filler
        mode: "base", "chat" or "reasoning"
        template: for the chat modes: a `Template`, or Jinja text; where None, the tokenizer's own

    Raises:
        InputError: an unknown filler or mode, or a chat mode without a template
    """

    def __init__(
        self,
        tokenizer: Tokenizer,
        *,
        filler: str | Filler = "prose",
        mode: str = "base",
        template: Template | str | None = None,
    ) -> None:
        self.tokenizer = tokenizer
        self.filler = find(filler) if isinstance(filler, str) else filler
        self.mode = mode
        if template is None and mode != "base":
            template = tokenizer.chat_template
        self.template = read_template(template, tokenizer) if isinstance(template, str) else template
        self._seams = Seams(tokenizer)
        self._materials: dict[str, Material] = {}
        # numbers of as many digits may differ in tokens, which would lay out the members of a pair differently
        lengths = [len(tokenizer.encode(_digits(number**7))) for number in range(10, 42)]
        self._nonce_tokens = max(sorted(set(lengths)), key=lengths.count)

    def needed(self, instance: Instance, *, nonce: str | bool = True) -> int:
        """How many tokens an instance takes without any filler: nothing shorter can be built."""
        return self._frame(instance, nonce, "")[0].fixed + sum(
            piece.count for piece in self._records(instance.records, instance)
        )

    def build(
        self,
        instance: Instance,
        length: int,
        *,
        places: Places = "spread",
        reserve: int = 0,
        limit: int | None = None,
        nonce: str | bool = True,
        full: bool = False,
    ) -> Prompt:
        """Lay out an instance as a prompt of exactly `length` tokens.

        Every seam between two pieces is checked to keep their tokens; a filler sentence that does not is passed over,
        or another is drawn in its place.

        Args:
            instance: of a task
            length: of the prompt, everything included, [token]
            places: where the evidence stands: one of `PLACES`, or shares of the context
            reserve: room for the answer behind the prompt, [token]
            limit: what prompt and reserve may take together; None: not checked
            nonce: a first line of digits, drawn for this very prompt, so that no server has its beginning in a cache;
                a line of one's own; or False for none
            full: encode and decode the whole prompt once more, and compare (`verify`)

        Raises:
            InputError: `length` is too short (the message says by how many tokens), or with the reserve beyond the
                limit; the filler is too short, or no combination of its sentences makes the length
        """
        positive_integer("length", length)
        non_negative_integer("reserve", reserve)
        if limit is not None and length + reserve > limit:
            raise InputError(f"{length} tokens and {reserve} for the answer exceed the limit {limit}")
        places = checked(places, len(instance.evidence))
        records = ordered(instance, places)
        pieces = self._records(records, instance)
        around, line = self._frame(instance, nonce, f"{length} {places}")
        room = length - around.fixed - sum(piece.count for piece in pieces)
        if room < 0:
            raise InputError(
                f"instance {instance.index} of {instance.task!r} does not fit {length}: {-room} tokens missing"
            )
        material = self._material(instance)
        counts = [piece.count for piece in pieces]
        row = [around.start, *pieces, around.end]
        barred: set[int] = set()
        for _ in range(LAYOUTS):
            spaces, asked = gaps(
                counts,
                [record.role == "evidence" for record in records],
                places,
                instance.gap,
                room,
                lambda tokens: tokens not in barred and material.pool.makes(tokens),
                stream(instance.seed, instance.task, instance.unit, "layout"),
            )
            whole = self._filled(row, spaces, material, instance, barred)
            if whole is not None:
                break
        else:
            raise InputError(
                f"no sentences of the filler {material.filler.name!r} keep their tokens beside the records of "
                f"{instance.task!r}: gaps of {sorted(barred)} tokens were tried"
            )
        prompt = Prompt(
            **_laid_out(whole, pieces, records, asked, around),
            filler_tokens=room,
            mode=self.mode,
            nonce=line,
            filler=material.filler.name,
            places=places,
            length=length,
            reserve=reserve,
            task=instance.task,
            index=instance.index,
            seed=instance.seed,
            control=instance.control,
        )
        if full:
            verify(prompt, self.tokenizer, instance, self.template)
        return prompt

    def _filled(
        self, row: Sequence[Piece], spaces: Sequence[int], material: Material, instance: Instance, barred: set[int]
    ) -> list[Piece] | None:
        """The fixed pieces with filler between them; None where a gap cannot be filled, which then is barred."""
        filling = Filling(
            material,
            self._seams,
            material.filler.forbidden(instance),
            stream(instance.seed, instance.task, instance.unit, "filler"),
        )
        whole = [row[0]]
        for gap, (before, after) in zip(spaces, pairwise(row), strict=True):
            filler = filling.fill(before, gap, after)
            if filler is None:
                barred.add(gap)
                return None
            whole += [*filler, after]
        return whole

    def _frame(self, instance: Instance, nonce: str | bool, use: str) -> tuple[Frame, str | None]:
        line = nonce if isinstance(nonce, str) else None
        if nonce is True:
            line = self._nonce(instance, f"{self.filler.identity} {use}")
        return frame(instance, self.mode, line, self.template, self.tokenizer, self._seams), line

    def _nonce(self, instance: Instance, use: str) -> str:
        """A line of digits of the instance's own, of as many tokens as every other such line."""
        for number in count():
            drawn = digest(instance.seed, instance.task, instance.index, "nonce", use, *[f"{number}"] * (number > 0))
            line = _digits(int.from_bytes(drawn[:8], "little"))
            if len(self.tokenizer.encode(line)) == self._nonce_tokens:
                return line
        raise AssertionError  # `count` does not end

    def _records(self, records: Sequence[Record], instance: Instance) -> list[Piece]:
        found = []
        for record in records:
            piece = self._seams.piece(record.text)
            if piece is None:
                raise InputError(f"record {record.name!r} of {instance.task!r} holds a special token: {record.text!r}")
            found.append(piece)
        return found

    def _material(self, instance: Instance) -> Material:
        filler = self.filler.fitting(instance)
        found = self._materials.get(filler.identity)
        if found is None:
            found = self._materials[filler.identity] = Material(filler, self._seams)
        return found


def _digits(number: int) -> str:
    return f"Document {number % 10**8:08d}."


def _laid_out(
    whole: Sequence[Piece],
    pieces: Sequence[Piece],
    records: Sequence[Record],
    asked: Sequence[int],
    around: Frame,
) -> dict[str, Any]:
    """What the pieces in a row say of the prompt; `pieces` are the records' among them."""
    ids = [number for piece in whole for number in piece.ids]
    starts = dict(zip(whole, accumulate((piece.count for piece in whole), initial=0), strict=False))
    first, question = around.start.count, len(ids) - around.end.count
    placed = {}
    for piece, record, wanted in zip(pieces, records, asked, strict=True):
        start, stop = starts[piece], starts[piece] + piece.count
        placed[record.name] = Placed(record.role, start, stop, first + wanted, question - stop)
    return {
        "ids": tuple(ids),
        "text": "".join(piece.text for piece in whole),
        "head": around.head,
        "tail": around.tail,
        "placed": placed,
        "context": (first, question),
        "question": (question, len(ids) - around.tail),
    }


def build(
    instance: Instance,
    length: int,
    tokenizer: Tokenizer,
    *,
    filler: str | Filler = "prose",
    places: Places = "spread",
    mode: str = "base",
    reserve: int = 0,
    limit: int | None = None,
    nonce: str | bool = True,
    template: Template | str | None = None,
) -> Prompt:
    """One prompt of exactly `length` tokens, verified in full; for many, keep a `Builder`.

    Args:
        instance, length, places, reserve, limit, nonce: as in `Builder.build`
        tokenizer, filler, mode, template: as in `Builder`

    Raises:
        InputError: what was given cannot be used, or does not fit
    """
    builder = Builder(tokenizer, filler=filler, mode=mode, template=template)
    return builder.build(instance, length, places=places, reserve=reserve, limit=limit, nonce=nonce, full=True)
