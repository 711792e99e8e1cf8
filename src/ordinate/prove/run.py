"""A whole proof: two models, one after the other, on the same tokens."""

import gc
import platform
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import torch
import transformers

import ordinate
from ordinate import texts
from ordinate.errors import InputError, got, positive_integer
from ordinate.prove.candidate import Candidate, find
from ordinate.prove.costs import available_cores, measured
from ordinate.prove.growing_context import compare_contexts
from ordinate.prove.long_text import compare_answers, compare_losses
from ordinate.prove.material import Material, prepare
from ordinate.prove.plan import Plan, plan
from ordinate.prove.position_gap import compare_gaps
from ordinate.prove.reading import Reading, read_all
from ordinate.prove.result import SCHEMA_VERSION, Cost, ModelFacts, Proof, TextFacts
from ordinate.prove.verdict import verdict
from ordinate.texts import Text
from ordinate.transformers.attention import NAME as PAST_ATTENTION
from ordinate.transformers.convert import Report
from ordinate.transformers.loading import load


def prove(
    original: str | Path,
    extended: str | Path,
    *,
    length: int | None = None,
    full: bool = False,
    seed: int = 0,
    text: str | Path | Text = "emma",
    threads: int | None = None,
    float32_angles: bool = False,
    progress: Report | None = None,
) -> dict[str, Any]:
    """Measure an extended model against its original on real text, one model at a time, in float32.

    A long text gives the loss by position and the passkeys that are read from it; the same tokens are scored with
    growing context; short texts are taken apart by their position ids (`ordinate.prove.plan` says how long each is).

    Args:
        original: a Hugging Face directory, a GGUF file, or a name of `ordinate.models`
        extended: the same model with a longer window
        length: of the long text, [token]; 7/4 of the original's window or the extended one's, the lesser, by default
        full: go to the extended model's window in the long text and in the growing context
        seed: of the passkeys' digits
        text: a name of `ordinate.texts`, a path of a UTF-8 file, or a text
        threads: for PyTorch; the cores that this process may use by default
        float32_angles: compute angles in float32 as transformers does
        progress: told which part is under way and how far it is

    Returns:
        an `ordinate.prove.result.Proof` in plain dicts and lists, which JSON can hold

    Raises:
        InputError: a model without weights or window, two models that do not share a tokenizer, a text too short, a
            length outside the extended model's window, a sliding window, or losses that are not finite
        Unavailable: a named model's package is not installed
    """
    cores = available_cores()
    threads = cores if threads is None else positive_integer("threads", threads)
    if threads > cores:
        raise InputError(f"threads must be at most the {cores} cores at hand, got {threads}")
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        raise InputError(f"seed must be an integer >= 0, got {got(seed)}")
    read_from = _chosen_text(text)
    candidates = find("original", original, progress), find("extended", extended, progress)
    chosen = plan(candidates[0].window, candidates[1].window, length=length, full=full)
    for candidate in candidates:
        candidate.check(chosen)

    started = datetime.now(UTC).isoformat(timespec="seconds")
    costs: list[Cost] = []
    with _threads(threads):
        material, first, first_facts, _ = _measure(
            candidates[0], None, read_from, chosen, seed, float32_angles, costs, progress
        )
        _, second, second_facts, tokenizer = _measure(
            candidates[1], material, read_from, chosen, seed, float32_angles, costs, progress
        )

    losses = compare_losses(first.long, second.long, chosen)
    answers = compare_answers(first.long, second.long, material.long_text, material.keys, chosen, tokenizer)
    contexts = compare_contexts(first.contexts, second.contexts, chosen)
    gaps = compare_gaps(first.gaps, second.gaps, chosen)
    options = ["--seed", str(seed), "--text", text.name if isinstance(text, Text) else str(text)]
    options += ["--threads", str(threads)] + ([] if length is None else ["--length", str(length)])
    options += (["--full"] if full else []) + (["--float32-angles"] if float32_angles else [])
    proof = Proof(
        kind="prove",
        schema_version=SCHEMA_VERSION,
        command=shlex.join(["ordinate", "prove", str(original), str(extended), *options]),
        started=started,
        versions={
            "ordinate": ordinate.__version__,
            "torch": str(torch.__version__),
            "transformers": transformers.__version__,
            "python": platform.python_version(),
        },
        threads=threads,
        seed=seed,
        dtype="float32",
        float32_angles=float32_angles,
        original=first_facts,
        extended=second_facts,
        text=_text_facts(read_from, material),
        verdict=verdict(losses, answers, contexts, gaps, chosen.window, chosen.target),
        loss_by_position=losses,
        passkeys=answers,
        growing_context=contexts,
        position_gap=gaps,
        costs=costs,
    )
    return msgspec.to_builtins(proof)


def _measure(
    candidate: Candidate,
    expected: Material | None,
    text: Text,
    chosen: Plan,
    seed: int,
    float32_angles: bool,
    costs: list[Cost],
    progress: Report | None,
) -> tuple[Material, Reading, ModelFacts, Any]:
    """Load one model, read everything with it, and let it go; each prepares its own material, to compare."""
    with measured(costs, candidate.role, "loading"):
        model, tokenizer = load(
            candidate.directory, float32_angles=float32_angles, dtype=torch.float32, attention=PAST_ATTENTION
        )
    material = prepare(text.body, tokenizer, chosen, seed)
    if expected is not None and material != expected:
        raise InputError("the two models must share a tokenizer, but split the same text into other tokens")
    reading, facts = read_all(model, material, chosen, candidate.role, costs, progress), candidate.facts(model)
    del model
    gc.collect()  # so that two models never stand in memory beside each other
    return material, reading, facts, tokenizer


def _chosen_text(text: str | Path | Text) -> Text:
    if isinstance(text, Text):
        return text
    if isinstance(text, Path) or (text not in texts.names() and Path(text).exists()):
        return texts.read_file(text)
    return texts.read(text)


def _text_facts(text: Text, material: Material) -> TextFacts:
    long_text, growing, *passages = material.places
    return TextFacts(
        name=text.name,
        title=text.title,
        author=text.author,
        year=text.year,
        sha256=text.sha256,
        source=text.provenance.source,
        licence=text.provenance.licence,
        long_text=long_text,
        growing_context=growing,
        passages=list(passages),
    )


@contextmanager
def _threads(count: int) -> Iterator[None]:
    """Let PyTorch use this many threads, and as many as before afterwards."""
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)
