"""Rows of the subject together: of other lengths, padded, or packed one after another."""

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from ordinate.audit.passes import Passes
from ordinate.audit.runs import Run, held_layers
from ordinate.audit.sizes import batch_of

ROWS = 2
"""Of a subject's own ids: other tokens in each, so that what concerns later rows alone is seen."""


class Batches(Passes):
    """The batches that a `Subject` makes of its rows."""

    def batch(self, tokens: int | None = None) -> tuple[int, ...]:
        """The rows of a wide batch of so many tokens each, as many as memory allows, by their numbers, in turn."""
        return batch_of(self.model, ROWS, self.ids.shape[1] if tokens is None else tokens)

    def rows(self, of: Sequence[int], tokens: int | None = None) -> Tensor:
        """Rows of the ids by their numbers, cut to so many tokens."""
        return self.ids[list(of), :tokens]

    @property
    def takes_positions(self) -> bool:
        return self.call.takes_positions

    def padded(
        self,
        lengths: Sequence[int],
        side: str,
        *,
        decode: int = 0,
        given: bool = True,
        filling: int | None = None,
        further: int = 0,
    ) -> Run:
        """Rows of different lengths in one batch, each the beginning of one of the subject's two rows, in turn.

        Args:
            lengths: tokens of each row, at most `length`
            side: where padding stands, "left" or "right"
            decode: the last tokens of each row that are computed one by one on the cache, on the left side alone
            given: whether positions are counted from the mask and given, as `generate` does; the model's own where
                False, or where it takes none
            filling: the id that stands in padding; the model's own where not given
            further: places of padding that the longest row has, [token]

        Returns:
            each row without its padding
        """
        width = max(lengths) + further
        mask = torch.zeros(len(lengths), width, dtype=torch.int64)
        ids = torch.full((len(lengths), width), self.padding_id if filling is None else filling)
        places = torch.full((len(lengths), width), -1)
        for row, tokens in enumerate(lengths):
            start = width - tokens if side == "left" else 0
            mask[row, start : start + tokens] = 1
            ids[row, start : start + tokens] = self.ids[row % ROWS, :tokens]
            places[row, :tokens] = torch.arange(start, start + tokens)
        positions = (mask.cumsum(-1) - 1).clamp(min=0) if given and self.takes_positions else None
        first = width - decode
        if decode or self.call.decodes:
            run = self.chunked([first, *[1] * decode], ids=ids, positions=positions, mask=mask)
        else:
            run = self.whole(ids, positions=positions, mask=mask)
        return _without_padding(run, places, lengths, f"{side} padding")

    def packed(
        self, lengths: Sequence[int], *, masked: bool = False, others: Mapping[int, Tensor] | None = None
    ) -> Run:
        """Documents one after another in a row, positions from 0 in each: the beginnings of the subject's own rows.

        Args:
            lengths: tokens of each document
            masked: whether a mask of blocks is given beside the positions
            others: [rows, tokens] each, other ids for documents, by their numbers

        Returns:
            a row for each document of each row
        """
        from ordinate.positions import from_lengths

        documents = [self.ids[:, :tokens] for tokens in lengths]
        for number, ids in (others or {}).items():
            documents[number] = ids
        positions = torch.from_numpy(from_lengths(list(lengths))).expand(ROWS, -1)
        mask = self._blocks(lengths) if masked else None
        logits, _ = self.call(torch.cat(documents, 1), positions=positions, mask=mask)
        begins = [sum(lengths[:number]) for number in range(len(lengths))]
        places = torch.full((len(lengths), max(lengths)), -1)
        for number, (begin, tokens) in enumerate(zip(begins, lengths, strict=True)):
            places[number, :tokens] = torch.arange(begin, begin + tokens)
        there = (places >= 0).repeat(ROWS, 1)
        split = torch.cat([one[places.clamp(min=0).to(logits.device)] for one in logits])
        of = tuple(row for row in range(ROWS) for _ in lengths)
        starts = torch.zeros(there.shape, dtype=torch.int64)
        return Run("packed documents", split, there, starts, before=tuple(begins) * ROWS, of=of, batch=ROWS)

    def _blocks(self, lengths: Sequence[int]) -> Tensor:
        """A causal mask within each document, added to attention logits: [rows, 1, tokens, tokens]."""
        document = torch.repeat_interleave(torch.arange(len(lengths)), torch.tensor(list(lengths)))
        place = torch.arange(len(document))
        seen = (document[:, None] == document) & (place[:, None] >= place)
        hidden = torch.zeros(seen.shape, dtype=self.dtype).masked_fill(~seen, torch.finfo(self.dtype).min)
        return hidden.expand(ROWS, 1, -1, -1)

    @property
    def padding_id(self) -> int:
        """What stands in padded places: the model's own padding id, or 0."""
        found = getattr(self.model.config, "pad_token_id", None)
        return found if isinstance(found, int) and found >= 0 else 0


def _without_padding(run: Run, places: Tensor, lengths: Sequence[int], name: str) -> Run:
    there = places >= 0
    index = places.clamp(min=0)
    logits = run.logits.gather(1, index[:, :, None].expand(-1, -1, run.logits.shape[-1]).to(run.logits.device))
    before = tuple(int(place) for place in places[:, 0])
    starts = (run.starts.gather(1, index) - torch.tensor(before)[:, None]).clamp(min=0)
    layers = () if run.cache is None else held_layers(run.cache, run.tokens, places)
    whose = tuple(row % ROWS for row in range(len(lengths)))
    return Run(name, logits, there, starts, layers, before, (), whose, len(lengths), run.cache)
