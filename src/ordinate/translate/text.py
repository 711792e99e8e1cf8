"""Translations and comparisons as text for a terminal."""

import dataclasses
import textwrap
from collections.abc import Iterator, Sequence

from ordinate.describe.words import number, printable
from ordinate.dialects._tables import TOLERANCE
from ordinate.dialects.base import Loss
from ordinate.spec import Spec
from ordinate.translate.comparison import Row
from ordinate.translate.proof import GroupProof
from ordinate.translate.translation import Translation

WIDTH = 96
TOKENS = (
    "tokens: for how many the engine is taken to be started: by --capacity, else by itself; the flags of translate ask "
    "for the declared window"
)


def translation_to_text(translation: Translation, *, words: bool = True) -> str:
    """The words to paste first, then what is lost, what else is to be done, and the proof."""
    lines = [translation.written.text, ""] if words and translation.written.text else []
    lines += [f"# {printable(translation.model.name)} for {translation.title} {translation.version}"]
    if translation.losses:
        lines += ["losses"]
        lines += loss_lines(translation.losses)
    else:
        lines += ["nothing is lost"]
    if translation.written.steps:
        lines += ["steps"]
        lines += [line for step in translation.written.steps for line in bullet(step)]
    lines += ["proof: rebuilt from the words as this engine reads them, against the model"]
    lines += [f"  {line}" for line in proof_lines(translation.proof)]
    return "\n".join(lines)


def comparison_to_text(model: Spec, rows: Sequence[Row]) -> str:
    """A table, a row an engine and layer group, then each loss with its source."""
    at = next((proof.at for row in rows for proof in row.proof if proof.at is not None), None)
    angle = "angle" if at is None else f"angle at {at:,}"
    table = [("engine", "tokens", "layers", "frequency", "pair", "magnitude", angle)]
    for row in rows:
        if row.refusal is not None:
            table.append((row.engine, "", "", "does not run it", "", "", ""))
        tokens = "" if row.tokens is None else f"{row.tokens:,}"
        table += [(row.engine, tokens, group, *_cells(proof)) for group, proof in _together(row.proof)]
    widths = [max(len(cells[i]) for cells in table) for i in range(len(table[0]))]
    lines = [f"{printable(model.name)}: how far each engine is from what the files say", ""]
    lines += [
        "  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)).rstrip() for cells in table
    ]
    lines += ["", *textwrap.wrap(TOKENS, WIDTH)]
    alone = [row.engine for row in rows if row.files_alone and row.refusal is None]
    if alone:
        note = (
            "what the engine computes from the model's own file, without flags; translate says the model by its flags"
        )
        lines += textwrap.wrap(f"{', '.join(alone)}: {note}", WIDTH)
    elsewhere = [row.engine for row in rows if row.elsewhere]
    if elsewhere:
        lines += textwrap.wrap(f"the same at this length and not at others: {', '.join(elsewhere)}", WIDTH)
    for row in rows:
        if row.losses or row.refusal is not None:
            lines += ["", f"{row.engine} ({row.title} {row.version})"]
            lines += bullet(row.refusal) if row.refusal is not None else []
            lines += loss_lines(row.losses)
    return "\n".join(lines)


def proof_lines(proofs: Sequence[GroupProof]) -> list[str]:
    """How far two models are apart in what they compute, a line for layers of which the same is proven."""
    return [f"{group}: {_proof(proof)}" for group, proof in _together(proofs)]


def loss_lines(losses: Sequence[Loss]) -> list[str]:
    """Losses with their sources."""
    return [line for loss, groups in _shared(losses) for line in _loss(loss, groups)]


def _cells(proof: GroupProof) -> tuple[str, str, str, str]:
    if proof.scheme is not None:
        return f"{proof.scheme[0]} -> {proof.scheme[1]}", "", "", ""
    if proof.frequency_error is None:
        return "differs in which pairs turn", str(proof.pair), "", ""
    if proof.exact:
        return "same", "", "same", "same"
    magnitude = "same"
    if proof.magnitude_error > TOLERANCE:
        magnitude = f"{proof.magnitudes[0]:.4f} -> {proof.magnitudes[1]:.4f}"
    if proof.frequency_error <= TOLERANCE:
        return "same", "", magnitude, "same"
    angle = "" if proof.at is None else f"{number(proof.angle_error)} rad"
    return percent(proof.frequency_error), str(proof.pair), magnitude, angle


def _together(proofs: Sequence[GroupProof]) -> list[tuple[str, GroupProof]]:
    """Groups of layers of which the same is proven, in one line."""
    found: dict[GroupProof, list[str]] = {}
    for proof in proofs:
        found.setdefault(dataclasses.replace(proof, group=""), []).append(printable(proof.group))
    return [("all" if len(proofs) > 1 and len(found) == 1 else ", ".join(names), p) for p, names in found.items()]


def _shared(losses: Sequence[Loss]) -> list[tuple[Loss, list[str]]]:
    """Losses with the groups of layers that they concern."""
    found: dict[Loss, list[str]] = {}
    for loss in losses:
        names = found.setdefault(dataclasses.replace(loss, group=None), [])
        names += [printable(loss.group)] if loss.group else []
    return list(found.items())


def _proof(proof: GroupProof) -> str:
    if proof.scheme is not None:
        return f"{proof.scheme[0]} becomes {proof.scheme[1]}"
    if proof.pairs == 0:
        return "does not rotate, and stays as it is"
    if proof.frequency_error is None:
        return f"pair {proof.pair} turns on one side only"
    text = f"frequencies within {percent(proof.frequency_error)}"
    if proof.frequency_error:
        text += f" (pair {proof.pair}: {proof.frequencies[0]:.6g} -> {proof.frequencies[1]:.6g} rad/token)"
    text += f", magnitude within {percent(proof.magnitude_error)}"
    if proof.magnitude_error:
        text += f" ({proof.magnitudes[0]:.6g} -> {proof.magnitudes[1]:.6g})"
    if proof.at is not None:
        text += f", angles within {number(proof.angle_error)} rad at {proof.at} tokens"
    return text


def _loss(loss: Loss, groups: Sequence[str]) -> Iterator[str]:
    group = f" [{', '.join(groups)}]" if groups else ""
    yield from bullet(f"{loss.setting}{group}: {printable(loss.what)}")
    yield f"    source: {loss.source}"


def bullet(text: str) -> list[str]:
    """A point of a list, in lines that fit."""
    return textwrap.wrap(printable(text), WIDTH, initial_indent="  - ", subsequent_indent="    ")


def percent(share: float) -> str:
    """A share as a percentage, or by its power of ten where it is tiny."""
    return "0" if share == 0 else f"{share:.1%}" if share >= 1e-3 else f"{share:.1e}"
