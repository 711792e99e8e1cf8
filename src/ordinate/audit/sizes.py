"""How long a text an audit reads: bounded by the model's window, and by what its size costs."""

from typing import Any

from torch import nn

from ordinate.scaling.dynamic_ntk import DynamicNtk
from ordinate.scaling.longrope import LongRope
from ordinate.spec import Spec

# One more than the longest chunk, and a little: all chunk sizes are tried.
_MOST = 576
_LEAST = 96
# Multiplications and additions of one pass; an audit takes some thirty.
_OPERATIONS = 2e11
# Logits of one pass, which are kept as the reference.
_LOGITS = 2**25
# Rows of a batch: what is wrong from its fourth row on is seen with five. And the logits that it may have.
_BATCH, _FEWER = 5, 3
_BATCH_LOGITS = 2**28


def default_length(model: Any, window: int | None, border: int | None) -> int:
    """Tokens of the reference pass for a model of this size, [token].

    Args:
        model: of transformers
        window: how many tokens it takes, [token]
        border: past which its frequencies change, which is a matter for checks of their own, [token]
    """
    parameters = sum(parameter.numel() for parameter in model.parameters())
    vocabulary = int(getattr(model.config.get_text_config(), "vocab_size", None) or 1)
    by_cost = min(int(_OPERATIONS / (2 * max(parameters, 1))), _LOGITS // vocabulary)
    return min([max(_LEAST, min(_MOST, by_cost)), *(bound for bound in (window, border) if bound is not None)])


def batch_of(model: Any, rows: int, tokens: int) -> tuple[int, ...]:
    """Which of the subject's rows stand in a batch, in turn: five, or three where logits of five take too much.

    Args:
        model: of transformers
        rows: that there are to choose from
        tokens: of each row of the batch
    """
    vocabulary = int(getattr(model.config.get_text_config(), "vocab_size", None) or 1)
    several = _BATCH if _BATCH * tokens * vocabulary <= _BATCH_LOGITS else _FEWER
    return tuple(number % rows for number in range(several))


def longest(model: Any, spec: Spec | None) -> int | None:
    """How many tokens a model takes, or None where neither spec nor configuration says it, [token]."""
    if spec is not None and spec.window.declared is not None:
        return spec.window.declared
    found = getattr(model.config.get_text_config(), "max_position_embeddings", None)
    bounds = [found] if isinstance(found, int) and found > 0 else []
    return min([*bounds, *learned_positions(model)], default=None)


def learned_positions(model: Any) -> list[int]:
    """How many tokens each learned table of positions has rows for: those up to its padding row are no token's.

    ProphetNet's streams, which predict the tokens after the next, stand one row further on.
    """
    found, ahead = [], int(bool(getattr(model.config, "ngram", None)))
    for name, module in model.named_modules():
        last = name.rsplit(".", 1)[-1]
        if isinstance(module, nn.Embedding) and ("position" in last or last == "wpe"):
            before = 0 if module.padding_idx is None else module.padding_idx + 1
            found.append(module.num_embeddings - before - ahead)
    return [rows for rows in found if rows > 0]


def crossing(spec: Spec | None) -> int | None:
    """The shortest length past which a group's frequencies depend on the length, or None, [token]."""
    borders = []
    for group in () if spec is None else spec.groups.values():
        if isinstance(group.stretch, DynamicNtk):
            borders.append(group.stretch.window)
        elif isinstance(group.stretch, LongRope):
            borders.append(group.stretch.original_max_position_embeddings)
    return min(borders, default=None)
