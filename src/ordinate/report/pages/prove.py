"""The page of a proof: verdict, measurements, what was run, and what it does not show."""

from collections.abc import Mapping
from typing import Any

import msgspec

from ordinate.prove.result import ModelFacts, Proof
from ordinate.report.markup import Markup, element, table
from ordinate.report.measurements import growing_context, loss_by_position, passkeys, position_gap
from ordinate.report.numbers import count
from ordinate.report.page import Page, Section


def page(result: Mapping[str, Any]) -> Page:
    """What goes on the page of a proof.

    Args:
        result: as `ordinate.results.read` gives it
    """
    proof = msgspec.convert(result, Proof)
    return Page(
        title=f"{proof.extended.name} against {proof.original.name}",
        lead=[
            f"The original, with a window of {count(proof.original.window)} tokens, and the model extended to "
            f"{count(proof.extended.window)}, side by side on the same tokens of {_text(proof)}.",
        ],
        sections=[
            verdict(proof),
            loss_by_position(proof),
            passkeys(proof),
            growing_context(proof),
            position_gap(proof),
            models(proof),
            run(proof),
            method(proof),
        ],
        summary=proof.verdict.headline,
    )


def _text(proof: Proof) -> str:
    author = "" if proof.text.author is None else f" by {proof.text.author}"
    return f"{proof.text.title}{author}"


def verdict(proof: Proof) -> Section:
    """What the numbers say."""
    found = proof.verdict
    body = [
        element("p", found.headline, class_="headline"),
        element("ul", *[element("li", finding) for finding in found.findings]),
    ]
    look = f"verdict {found.outcome}" if found.outcome in ("better", "worse") else "verdict"
    return Section("verdict", f"Verdict: {found.outcome}", body, look)


def models(proof: Proof) -> Section:
    """The two models' positional facts."""

    def by_layer(values: Mapping[str, str | None]) -> str:
        if len(values) == 1:
            return next(iter(values.values())) or "none"
        return ", ".join(f"{name}: {value or 'none'}" for name, value in values.items())

    def column(facts: ModelFacts) -> list[str]:
        trained = "not stated" if facts.trained is None else f"{count(facts.trained)} tokens"
        return [
            facts.name,
            facts.architecture,
            by_layer(facts.scheme),
            by_layer(facts.scaling),
            f"{count(facts.window)} tokens",
            trained,
            count(facts.parameters),
            facts.fingerprint[:16],
        ]

    words = [
        "Name",
        "Architecture",
        "Scheme",
        "Scaling",
        "Window",
        "Trained at",
        "Parameters",
        "Fingerprint of the spec",
    ]
    rows = zip(words, column(proof.original), column(proof.extended), strict=True)
    return Section(
        "models",
        "The two models",
        [table("What each model does with position", ["Fact", "Original", "Extended"], rows)],
    )


def run(proof: Proof) -> Section:
    """How to do it again, and what it took."""
    text = proof.text
    sentence = [
        f"Started {proof.started} with {proof.threads} threads, in {proof.dtype}, angles in "
        f"{'float32' if proof.float32_angles else 'float64'}. "
        + ", ".join(f"{name} {version}" for name, version in proof.versions.items())
        + ".",
        f"Text: {_text(proof)}" + (f" ({text.year})" if text.year is not None else "") + f", from {text.source}; "
        f"{text.licence}; sha256 {text.sha256}. Tokens {_span(text.long_text)} are the long text, "
        f"{_span(text.growing_context)} the growing context, and {', '.join(map(_span, text.passages))} the passages.",
    ]
    rows = [
        [
            cost.model,
            cost.part,
            f"{cost.cpu_seconds:.1f}",
            f"{cost.seconds:.1f}",
            "not known" if cost.peak_memory is None else f"{cost.peak_memory / 2**30:.2f}",
        ]
        for cost in proof.costs
    ]
    rows.append(
        [
            "both",
            "all",
            f"{sum(cost.cpu_seconds for cost in proof.costs):.1f}",
            f"{sum(cost.seconds for cost in proof.costs):.1f}",
            rows[-1][-1] if rows else "not known",
        ]
    )
    header = ["Model", "Part", "CPU seconds", "Seconds", "Highest memory so far, GiB"]
    return Section(
        "run",
        "What was run",
        [
            element("pre", element("code", proof.command)),
            *[element("p", line) for line in sentence],
            table("What each part took", header, rows, heads=2),
        ],
    )


def _span(tokens: tuple[int, int]) -> str:
    return f"{count(tokens[0])} to {count(tokens[1])}"


def method(proof: Proof) -> Section:
    """How the numbers came about, and what they do not show."""
    notes = [
        "Loss is −ln of the probability that a model gives to the next token, in nats a token; lower is better. The "
        "sentences with passkeys, and the first token after each, are not counted.",
        f"± is one standard error, over blocks of {proof.loss_by_position.block} neighbouring tokens "
        f"({proof.growing_context.block} in the growing "
        "context), since neighbours are not independent; bands and bars are two. Differences are taken token by token, "
        "both models on the same tokens, so that the difficulty of a passage cancels. “Clear” means more than two "
        "standard errors.",
        "Passages differ in difficulty: at one place compare the two models, not one model at two places.",
        "The long text is read once, in chunks. For a question after fewer tokens, the keys and values of later tokens "
        "are forgotten first; the answer is the one that a shorter text would get. A key counts as read when greedy "
        "decoding writes it exactly. All keys are in one text: Wilson’s intervals, at 95 %, take them for independent.",
        "The position-gap probe puts distance between two halves of a short text by position ids alone. It is quick, "
        "but no text lies in between: it shows what distance does, not what a long text does.",
        "This is one text and one kind of retrieval. Novels in the public domain are likely to be in the training data "
        "of both models alike, which does not favour either here; it says nothing about summarising, reasoning or "
        "other languages at these lengths.",
    ]
    scalings = {*proof.original.scaling.values(), *proof.extended.scaling.values()}
    if scalings & {"dynamic_ntk", "longrope"}:
        notes.append(
            "Frequencies here depend on the length. Each text was read with those of its own full length from its "
            "first token on; a question takes those of the length at which it is asked, while the keys before it keep "
            "theirs."
        )
    items: list[Markup] = [element("li", note) for note in notes]
    return Section("method", "How it was measured, and what it does not show", [element("ul", *items)])
