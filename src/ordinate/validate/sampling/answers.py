"""Responses that are scored, and the log-probabilities of two answers behind swapped evidence."""

from dataclasses import replace

from ordinate.errors import InputError
from ordinate.validate.backends import Refusal
from ordinate.validate.builder import PLACES, Prompt
from ordinate.validate.builder.placing import Places
from ordinate.validate.cells import Cell, Sample
from ordinate.validate.instances import Instance
from ordinate.validate.sampling.base import Ask, Kitchen, failed, fingerprint, refused
from ordinate.validate.tokenizers import continuation

STOP = ("\n",)
"""Ends a response in the mode "base": its first line is the answer."""

THOUGHT = "</think>"

LONGEST, TOKEN = 4096, 64
"""Characters of a response: so many, and so many for each token of its reserve, are kept. No tokens say more."""

FINISH = 100
"""Of the word for why it ended."""


def answer(kitchen: Kitchen, sample: Sample) -> Ask:
    """The response to one prompt, judged."""
    instance, prompt = _built(kitchen, sample, sample.cell.control)
    task = kitchen.material.task(sample.cell.task)
    mode, length = sample.cell.mode, sample.cell.length
    begun = _begun(sample, instance, prompt)
    most = LONGEST + TOKEN * sample.cell.reserve

    def ask() -> Sample:
        try:
            reply = kitchen.backend.answer(prompt, sample.cell.reserve, stop=STOP if mode == "base" else ())
        except Refusal as refusal:
            return refused(begun, refusal)
        said = replace(
            begun,
            response=reply.text[:most],
            counted=reply.prompt_tokens,
            facts={**begun.facts, "finish": reply.finish[:FINISH]},
        )
        wanted = length + (0 if mode == "base" else kitchen.added)
        if reply.prompt_tokens is not None and reply.prompt_tokens != wanted:
            return failed(said, f"the engine counted {reply.prompt_tokens} prompt tokens, not {wanted}")
        if len(reply.text) > most:
            return failed(said, f"{len(reply.text)} characters are no answer of {sample.cell.reserve} tokens")
        text = spoken(reply.text) if mode == "reasoning" else reply.text
        if text is None:
            return replace(said, outcome="unparsed", why="the thinking did not end")
        scored = task.score(text, instance, continues=mode == "base")
        outcome = "right" if scored.right else "unparsed" if scored.parsed is None else "wrong"
        return replace(said, outcome=outcome, parsed=scored.parsed, why=scored.why)

    return ask


def margin(kitchen: Kitchen, sample: Sample) -> Ask:
    """How far the evidence moves the log-probabilities of its answer a and of the swapped evidence's answer b, [nat].

    margin = (log p(a | evidence) - log p(b | evidence)) - (log p(a | swapped) - log p(b | swapped))

    What a model expects of the two answers without evidence cancels.
    """
    instance, prompt = _built(kitchen, sample, "")
    other, swapped = _built(kitchen, sample, "evidence_swapped")
    options = _options(kitchen, instance, other, sample.cell)
    begun = _begun(sample, instance, prompt)

    def ask() -> Sample:
        try:
            evidence, against = (kitchen.backend.choices(one, options) for one in (prompt, swapped))
        except Refusal as refusal:
            return refused(begun, refusal)
        first, second = evidence[0] - evidence[1], against[0] - against[1]
        return replace(begun, numbers={"margin": first - second, "evidence": first, "swapped": second})

    return ask


def rows_of(kitchen: Kitchen, cell: Cell, seed: int, index: int) -> tuple[tuple[int, ...], ...]:
    """The ids of the two answers whose log-probabilities make a margin; no prompt is built.

    Raises:
        InputError: there is no such instance
    """
    instance, other = (
        kitchen.material.instance(cell.task, seed, index, dict(cell.difficulty), control)
        for control in ("", "evidence_swapped")
    )
    options = _options(kitchen, instance, other, cell)
    return tuple(continuation(kitchen.material.tokenizer, option) for option in options)


def _options(kitchen: Kitchen, instance: Instance, other: Instance, cell: Cell) -> list[str]:
    """The answers of an instance and of its swapped evidence, as they follow the prompt."""
    task = kitchen.material.task(cell.task)
    lead = "" if cell.mode == "base" else instance.lead
    return [f"{lead} {task.write(one.answer)}" for one in (instance, other)]


def spoken(text: str) -> str | None:
    """What a response says after its thinking; None where the thinking does not end."""
    before, end, after = text.rpartition(THOUGHT)
    if end:
        return after
    return None if before or "<think>" in after else after


def placed(places: str) -> Places:
    """A cell's places as the builder takes them: a name, or shares of the context separated by commas.

    Raises:
        InputError: neither
    """
    try:
        return places if places in PLACES else tuple(float(share) for share in places.split(","))
    except ValueError as error:
        raise InputError(f"places must be one of {', '.join(PLACES)}, or shares, got {places!r}") from error


def _built(kitchen: Kitchen, sample: Sample, control: str) -> tuple[Instance, Prompt]:
    cell = sample.cell
    instance = kitchen.material.instance(cell.task, sample.seed, sample.index, dict(cell.difficulty), control)
    builder = kitchen.material.builder(cell.filler, cell.mode)
    limit = kitchen.backend.limit
    where = placed(cell.places)
    return instance, builder.build(instance, cell.length, places=where, reserve=cell.reserve, limit=limit)


def _begun(sample: Sample, instance: Instance, prompt: Prompt) -> Sample:
    """The sample with what is known before anything is asked."""
    evidence = [one for one in prompt.placed.values() if one.role == "evidence"]
    facts = {
        **instance.facts,
        "evidence": [[one.start, one.stop] for one in evidence],
        "distance": [one.distance for one in evidence],
    }
    return replace(sample, prompt=fingerprint(prompt.ids), answer=instance.answer, facts=facts)
