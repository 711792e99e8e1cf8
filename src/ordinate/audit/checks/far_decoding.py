"""Decoding at the end of the window, far past the text that other checks read."""

from collections.abc import Iterator
from dataclasses import replace
from typing import ClassVar

import torch
from torch import Tensor

from ordinate.audit.base import ORDINARY, Check, Outcome
from ordinate.audit.batches import ROWS
from ordinate.audit.moved import Misplaced, misplaced, read_at, why_not
from ordinate.audit.runs import stacked
from ordinate.audit.subject import Subject
from ordinate.describe.words import figures

_MOST, _DECODED = 64, 8
# Multiplications and additions of a pass over the whole window; scores of attention, or logits, in memory at once.
_AFFORDABLE = 1e12
_IN_MEMORY = 2**25
# Kinds that do not follow from how far a token stands from its place in the row.
_ANYWHERE = ("base", "bias_offset", "magnitude", "mask", "query_position", "rows", "state", "window")
_SPELLED = {"shift": "offset"}


class FarDecoding(Check):
    name = "far_decoding"
    title = "decoding at the end of the window"
    explanation = "Tokens that are decoded at the window's last positions have the logits that they have in one pass."
    remedy = "Turn q and k of a step by the same tables as those of one pass, up to the window's last position."
    kinds: ClassVar = (*ORDINARY, "positions_ignored")
    reports: ClassVar = ("microsoft/onnxruntime#28205", "Blaizzy/mlx-vlm#1983")
    cost = 3.0
    late = True

    def applies(self, subject: Subject) -> str | None:
        if not subject.call.keeps_cache:
            return "the model keeps no cache"
        end = _end(subject)
        if end is None:
            return "the model declares no window"
        if end <= subject.length:
            return f"other checks decode up to the last of {end} positions"
        return None if subject.takes_positions else _too_long(subject, end)

    def outcomes(self, subject: Subject) -> Iterator[Outcome]:
        end = _end(subject)
        assert end is not None  # noqa: S101 - `applies` has said so
        case, why = f"the last {_DECODED} of {end} tokens one by one", _too_long(subject, end)
        kind = None
        if why is None:
            # Another text than the subject's: its own reference, and the same noise.
            source = Subject(subject.model, subject.spec, length=end, name=subject.name)
            source.noise = subject.noise
            whole = self.compared(source, case, lambda: source.chunked([end - _DECODED, *[1] * _DECODED]))
            kind = whole.kind
            yield whole
        else:
            yield Outcome(self.name, case, "not applicable", evidence=why)
        if subject.takes_positions:
            yield self._given(subject, end, kind)

    def _given(self, subject: Subject, end: int, kind: str | None) -> Outcome:
        """A short text at positions that end with the window; `kind` is that of the text of the whole window."""
        tokens = min(_MOST, subject.length)
        start = end - tokens
        ids = subject.ids[:, :tokens]
        positions = (start + torch.arange(tokens)).expand(len(ids), -1)
        case = f"the last {_DECODED} of {tokens} tokens at position {start} one by one"
        # As the subject's own reference: without a cache, beside the keys of another pass.
        plain, keeping = (
            stacked([run(row[None], positions=positions[:1]) for row in ids], "one pass")
            for run in (subject.whole, subject.keeping)
        )
        sizes = [tokens - _DECODED, *[1] * _DECODED]
        outcome = self.compared(
            subject,
            case,
            lambda: subject.chunked(sizes, ids=ids, positions=positions),
            replace(plain, layers=keeping.layers),
        )
        if outcome.status != "failed":
            return outcome
        found = self._misplaced(subject, ids, start, sizes)
        if kind is None:
            kind = outcome.kind if outcome.kind in _ANYWHERE else "unexplained"
            kind = kind if found is None else _SPELLED.get(found.kind, found.kind)
        turned = outcome.where is not None and outcome.where.part in ("keys", "embedding")
        if kind == outcome.kind and (kind == "unexplained" or not turned):
            return outcome
        apart = 0.0 if outcome.comparison is None else outcome.comparison.max_difference
        evidence = f"{case}: logits differ by up to {figures(apart, 2)}{'' if found is None else '; ' + found.evidence}"
        return replace(outcome, kind=kind, evidence=evidence)

    def _misplaced(self, subject: Subject, ids: Tensor, start: int, sizes: list[int]) -> Misplaced | None:
        """Where keys of decoded tokens stand, where that can be told: `judge` takes their places from the row."""
        if why_not(subject) is not None or subject.carries_state:
            return None
        positions = (start + torch.arange(ids.shape[1])).expand(len(ids), -1)
        run = subject.chunked(sizes, ids=ids, positions=positions, cache=subject.full_cache())
        found = misplaced(subject, read_at(subject, 0, ids.shape[1]), run, start)
        return None if found is None or found.kind == "table_precision" else found


def _end(subject: Subject) -> int | None:
    """Where positions end: with the window, or before frequencies change, which is a matter of `crossing`."""
    if subject.window is None:
        return None
    return subject.window if subject.crossing is None else min(subject.window, subject.crossing)


def _too_long(subject: Subject, tokens: int) -> str | None:
    """Why a text of so many tokens is not read, or None."""
    config = subject.model.config.get_text_config()
    layers, width, heads, vocabulary = (
        int(getattr(config, name, None) or 1)
        for name in ("num_hidden_layers", "hidden_size", "num_attention_heads", "vocab_size")
    )
    size = sum(parameter.numel() for parameter in subject.model.parameters())
    operations = 2.0 * tokens * (size + 2.0 * layers * width * tokens)
    if operations > _AFFORDABLE:
        return f"a text of {tokens} tokens takes too long for a model of this size"
    if ROWS * tokens * max(heads * tokens, vocabulary) > _IN_MEMORY:
        return f"a text of {tokens} tokens takes too much memory"
    return None
