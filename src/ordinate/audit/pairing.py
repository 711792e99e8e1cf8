"""Which pair layout a model's weights are in: both are tried, and the likelihood of a text tells."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch

from ordinate import texts
from ordinate.audit.loading import load_plain
from ordinate.audit.passages import NEAR, cut, losses
from ordinate.dialects import read
from ordinate.errors import positive_integer
from ordinate.files.json import read_json
from ordinate.prove.result import Estimate
from ordinate.prove.statistics import compared
from ordinate.spec import Spec
from ordinate.transformers.convert import converted
from ordinate.transformers.prefill import Report
from ordinate.weights.cuts import PairLayout
from ordinate.weights.plan import plan
from ordinate.weights.record import stored_layout, turned_layout

# Tokens in a block of the standard error; what makes one word hard reaches less far.
_BLOCK = 32
# How many standard errors apart the layouts must be. By chance alone that happens once in two million.
_CERTAIN = 5.0
# A model must beat the text's token frequencies by this much, [nat/token]: an untrained one does not.
_LEARNT = 0.25
_LENGTH = 384
_PASSAGES = 4


@dataclass(frozen=True)
class Detection:
    """Which layout the weights are in, and the evidence.

    Args:
        source: what was asked about
        model_type: its architecture
        said: the layout that its files say or take for granted
        turned: the layout that transformers turns for it
        found: the layout under which the text is likelier, or "undecidable"
        why: in one sentence
        agrees: whether `found` is `said`; None where undecidable
        half, interleaved: the mean loss if the weights are in this layout, [nat/token]
        difference: of the losses token by token, interleaved - half, [nat/token]
        standard_errors: how many of its standard errors the difference is from 0; None where the losses are equal
        frequencies: the loss when each token is predicted by its frequency in the text alone, [nat/token]
        text: what was read
        positions: the first and last position scored, [token]
    """

    source: str
    model_type: str
    said: PairLayout
    turned: PairLayout
    found: Literal["half", "interleaved", "undecidable"]
    why: str
    agrees: bool | None
    half: Estimate
    interleaved: Estimate
    difference: Estimate
    standard_errors: float | None
    frequencies: float
    text: str
    positions: tuple[int, int]


def detect(
    source: str | Path,
    *,
    text: str = "emma",
    passages: int = _PASSAGES,
    length: int = _LENGTH,
    progress: Report | None = None,
    cache: Path | None = None,
) -> Detection:
    """Run a model with its q and k as they are, and reordered from the other layout, and compare likelihoods.

    difference[t] = loss of token t if the weights are interleaved - its loss if they are half

    Positions up to 64 are left out, because there the two layouts turn nearly alike. The difference is paired token
    by token; its standard error is that of blocks of 32 neighbours.

    Args:
        source: a Hugging Face directory with a tokenizer, a GGUF file, or a model's name
        text: the name of a shipped text, or a UTF-8 file
        passages: how many passages are read
        length: of each, at most the model's window, [token]
        progress: told how many passages are read
        cache: where GGUF files are converted to; the platform's cache directory where not given

    Returns:
        the layout, or "undecidable" where the layouts are less than 5 standard errors apart or the model does not
        know the language better than the frequencies of its tokens do

    Raises:
        InputError: a model that cannot be loaded or whose layout is not known, a window or text that is too short
        Unavailable: it does not fit into memory
    """
    positive_integer("passages", passages)
    spec = read(source)
    said = stored_layout(spec)
    directory = converted(source, progress=progress, cache=cache)
    config = read_json(directory / "config.json", name=str(directory / "config.json"))
    own = read(directory)
    turned = turned_layout(config, str(directory))
    words = texts.read(text) if text in texts.names() else texts.read_file(text)
    model, tokenizer = load_plain(directory)
    window = own.window.declared
    material = cut(words.body, tokenizer, passages, length if window is None else min(length, window))
    as_it_is = losses(model, material)
    if progress:
        progress("reading", 1, 2)
    reorder(model, own, config, turned)
    reordered = losses(model, material)
    if progress:
        progress("reading", 2, 2)
    # A GGUF file was brought to what transformers turns on the supposition that it is what it says.
    if said != turned and spec.container == "huggingface":
        said_losses, other_losses = reordered, as_it_is
    else:
        said_losses, other_losses = as_it_is, reordered
    half, interleaved = (said_losses, other_losses) if said == "half" else (other_losses, said_losses)
    return _judged(str(source), spec, said, turned, half, interleaved, material.common, words.name)


def reorder(model: Any, spec: Spec, config: dict[str, Any], to: PairLayout) -> None:
    """Reorder a loaded model's q and k from the other layout, in place.

    Args:
        model: of transformers
        spec: what its configuration says
        config: the configuration
        to: the layout wanted

    Raises:
        InputError: q and k are kept in a way that is not known
    """
    state = model.state_dict()
    planned = plan(spec, config, {name: _Loaded(_dtype(tensor), tuple(tensor.shape)) for name, tensor in state.items()})
    with torch.no_grad():
        for name, turning in planned.moves.items():
            rows = state[name].reshape(turning.rows, -1)
            state[name].copy_(rows[torch.from_numpy(turning.order(to))].reshape(state[name].shape))


@dataclass(frozen=True)
class _Loaded:
    dtype: str
    shape: tuple[int, ...]


def _dtype(tensor: torch.Tensor) -> str:
    names = {torch.float32: "F32", torch.float16: "F16", torch.bfloat16: "BF16", torch.float64: "F64"}
    return names.get(tensor.dtype, str(tensor.dtype))


def _judged(
    source: str,
    spec: Spec,
    said: PairLayout,
    turned: PairLayout,
    half: np.ndarray,
    interleaved: np.ndarray,
    common: float,
    text: str,
) -> Detection:
    passages, tokens = half.shape
    # Blocks do not reach from one passage into the next.
    places = np.arange(passages)[:, None] * _BLOCK * tokens + np.arange(tokens)
    result = compared(half.reshape(-1), interleaved.reshape(-1), places.reshape(-1), _BLOCK)
    difference, error = result.difference.mean, result.difference.standard_error
    apart = difference / error if error else None
    better = min(result.original.mean, result.extended.mean)
    found: Literal["half", "interleaved", "undecidable"] = "undecidable"
    if apart is None or abs(apart) < _CERTAIN:
        why = "the text is as likely under one layout as under the other"
    elif better > common - _LEARNT:
        why = "under neither layout does the model know the text better than the frequencies of its tokens do"
    else:
        found = "half" if difference > 0 else "interleaved"
        other = "interleaved" if found == "half" else "half"
        why = f"taken for {other}, the weights give the text {abs(difference):.3g} nat/token more loss"
    return Detection(
        source=source,
        model_type=spec.architecture,
        said=said,
        turned=turned,
        found=found,
        why=why,
        agrees=None if found == "undecidable" else found == said,
        half=result.original,
        interleaved=result.extended,
        difference=result.difference,
        standard_errors=apart,
        frequencies=common,
        text=text,
        positions=(NEAR + 1, NEAR + tokens),
    )
