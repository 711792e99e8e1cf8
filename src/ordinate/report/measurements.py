"""The four measurements of a proof, each as a section with its charts and tables."""

from collections.abc import Callable, Sequence

from ordinate.prove.result import Answer, Compared, Count, Estimate, Proof, Range
from ordinate.prove.verdict import farthest
from ordinate.report.chart import Chart, Line, Mark, Point
from ordinate.report.figure import figure
from ordinate.report.markup import Markup, element, table
from ordinate.report.numbers import change, count, loss, signed
from ordinate.report.page import Section

COLUMNS = ["Original", "Extended", "Extended less original"]
BARS = 2.0
"""Bands and bars reach this many standard errors to either side."""


def loss_by_position(proof: Proof) -> Section:
    """Loss along the long text: both models, and their difference."""
    found = proof.loss_by_position
    names = _names(proof)
    window = proof.original.window
    ticks = list(range(0, found.length + 1, max(1, window // 4, found.length // 40)))
    marks = [Mark(window, "original’s window")]

    def line(role: str, name: str, pick: Callable[[Compared], Estimate]) -> Line:
        return Line(role, name, _points(found.ranges, pick), _points(found.fine, pick))

    last = found.ranges[-1]
    curves = Chart(
        "loss",
        "Loss by position.",
        f"At positions {count(last.start)} to {count(last.stop)} the original’s loss is "
        f"{last.loss.original.mean:.2f} and the extended model’s {last.loss.extended.mean:.2f} nats a token.",
        "position, tokens",
        "loss, nats a token",
        [
            line("original", names["original"], lambda one: one.original),
            line("extended", names["extended"], lambda one: one.extended),
        ],
        ticks,
        marks,
    )
    widest = max(found.ranges, key=lambda one: abs(one.loss.difference.mean))
    difference = Chart(
        "difference",
        "Extended less original, on the same tokens.",
        f"It is farthest from zero at positions {count(widest.start)} to {count(widest.stop)}, "
        f"{signed(widest.loss.difference.mean, 2)} nats a token; below zero the extended model is better.",
        "position, tokens",
        "difference in loss, nats a token",
        [line("difference", "extended less original", lambda one: one.difference)],
        ticks,
        marks,
        zero=True,
    )
    rows = [
        [f"{count(one.start)} to {count(one.stop)}", count(one.loss.original.tokens), *_cells(one.loss)]
        for one in (*found.ranges, *[whole for whole in (found.inside, found.past) if whole])
    ]
    numbers = table("Loss by position, nats a token", ["Positions", "Tokens scored", *COLUMNS], rows)
    fine = [[f"{count(one.start)} to {count(one.stop)}", change(one.loss.difference)] for one in found.fine]
    explained = (
        f"One text of {count(found.length)} tokens, read once by each model. Thick lines are means over ranges of "
        f"positions with bands of two standard errors; thin lines are means over "
        f"{count(found.fine[0].stop - found.fine[0].start)} tokens."
    )
    finely = table("Extended less original, nats a token", ["Positions", "Difference"], fine)
    return Section(
        "loss-by-position",
        "Loss by position",
        [element("p", explained), figure(curves, numbers), figure(difference, finely)],
    )


def passkeys(proof: Proof) -> Section:
    """Which keys each model read, by place of asking."""
    found = proof.passkeys
    window = proof.original.window
    example = found.sentence.strip().replace("{name}", "NAME").replace("{key}", "123456")
    explained = [
        f"Sentences such as “{example}” stand between the paragraphs of the long text, each with its own name and six "
        "random digits. After more and more of the text each model is asked for every key that it has passed. Asked "
        "within the original’s window, the same question shows that a model can do the task at all.",
    ]
    if not found.counts:
        return Section("passkeys", "Passkeys", [element("p", "No key was asked for.")])

    def share(one: Count) -> str:
        return f"{one.exact} of {one.asked} ({100 * one.interval[0]:.0f} to {100 * one.interval[1]:.0f} %)"

    last = found.counts[-1]
    explained.append(
        f"After {count(last.asked_at)} tokens the original reads {last.original.exact} of {last.original.asked} and "
        f"the extended model {last.extended.exact} of {last.extended.asked}."
    )
    rows = [
        [
            f"{count(one.asked_at)} tokens" + ("" if one.asked_at <= window else ", past the window"),
            share(one.original),
            share(one.extended),
        ]
        for one in found.counts
    ]
    counts = table(
        "Keys read exactly (Wilson’s 95 % interval of the share)", ["Asked after", "Original", "Extended"], rows
    )

    def said(answer: Answer) -> Markup:
        word, look = ("read", "read") if answer.exact else ("missed", "missed")
        written = element("span", answer.said.strip() or "(blank)", class_="digits")
        return Markup.join_all(
            [element("span", word, class_=look), ": ", written, f" (loss {answer.loss:.2f})"],
        )

    answers = table(
        "Every question: what each model wrote, and its mean loss on the key’s tokens, in nats",
        ["Asked after", "Key", "Stands at", "Original", "Extended"],
        [
            [
                count(one.asked_at),
                f"{one.name}-{one.key}",
                f"{count(one.start)}",
                said(one.original),
                said(one.extended),
            ]
            for one in reversed(found.questions)
        ],
        heads=2,
    )
    whole = element("details", element("summary", "Every question and answer"), answers)
    return Section("passkeys", "Passkeys", [*[element("p", line) for line in explained], counts, whole])


def growing_context(proof: Proof) -> Section:
    """What more text before the same tokens gains."""
    found = proof.growing_context
    names = _names(proof)
    lengths = [row.length for row in found.rows]
    first, last = found.rows[0], found.rows[-1]
    chart = Chart(
        "context",
        "What more context gains.",
        f"From {count(first.length)} to {count(last.length)} tokens the loss of the same {found.scored} tokens changes "
        f"by {signed(found.changes[-1].original.mean, 2)} nats a token in the original and by "
        f"{signed(found.changes[-1].extended.mean, 2)} in the extended model.",
        "length of the prompt, tokens",
        "change in loss, nats a token",
        [
            Line("original", names["original"], _at(lengths, [one.original for one in found.changes])),
            Line("extended", names["extended"], _at(lengths, [one.extended for one in found.changes])),
        ],
        lengths,
        [Mark(proof.original.window, "original’s window")],
        logarithmic=True,
        zero=True,
    )
    rows = [
        [count(row.length), *_cells(row.loss), change(changed.original), change(changed.extended)]
        for row, changed in zip(found.rows, found.changes, strict=True)
    ]
    header = ["Tokens in the prompt", *COLUMNS, "Original’s change", "Extended’s change"]
    explained = (
        f"The same {found.scored} tokens, scored at the end of prompts that reach further and further back in the same "
        "text. Below zero, the model makes use of what was added; bars are two standard errors."
    )
    numbers = table("Loss of the same tokens, nats a token", header, rows)
    return Section("growing-context", "Growing context", [element("p", explained), figure(chart, numbers)])


def position_gap(proof: Proof) -> Section:
    """What distance alone does."""
    found = proof.position_gap
    names = _names(proof)
    distances = [row.distance for row in found.rows]
    # The verdict speaks of the same row.
    last, changed = farthest(found, proof.original.window, proof.extended.window) or (found.rows[-1], found.changes[-1])
    chart = Chart(
        "gap",
        "What distance costs.",
        f"Moving second halves to position {count(last.distance)} changes their loss by "
        f"{signed(changed.original.mean, 2)} nats a token in the original and by {signed(changed.extended.mean, 2)} in "
        "the extended model.",
        "position id at which the second half starts",
        "change in loss, nats a token",
        [
            Line("original", names["original"], _at(distances, [one.original for one in found.changes])),
            Line("extended", names["extended"], _at(distances, [one.extended for one in found.changes])),
        ],
        distances,
        [Mark(proof.original.window, "original’s window"), Mark(proof.extended.window, "extended model’s window")],
        zero=True,
    )
    rows = [
        [
            f"{count(row.distance)}" + (" (contiguous)" if row.contiguous else ""),
            *_cells(row.loss),
            change(changed.original),
            change(changed.extended),
        ]
        for row, changed in zip(found.rows, found.changes, strict=True)
    ]
    header = ["Second half starts at", *COLUMNS, "Original’s change", "Extended’s change"]
    numbers = table("Loss of the second halves, nats a token", header, rows)
    explained = (
        f"{found.passages} passages of {count(found.tokens)} tokens whose second half is moved away by its position "
        "ids alone, and scored. The change is against contiguous positions; bars are two standard errors."
    )
    return Section("position-gap", "Position gap", [element("p", explained), figure(chart, numbers, shown=True)])


def _names(proof: Proof) -> dict[str, str]:
    return {"original": f"original ({proof.original.name})", "extended": f"extended ({proof.extended.name})"}


def _cells(found: Compared) -> list[str]:
    return [loss(found.original), loss(found.extended), change(found.difference)]


def _points(ranges: Sequence[Range], pick: Callable[[Compared], Estimate]) -> list[Point]:
    return [_point(one.start, one.stop, pick(one.loss)) for one in ranges]


def _at(places: Sequence[int], found: Sequence[Estimate]) -> list[Point]:
    return [_point(place, place, one) for place, one in zip(places, found, strict=True)]


def _point(start: int, stop: int, found: Estimate) -> Point:
    return Point(start, stop, found.mean, BARS * (found.standard_error or 0.0))
