"""Exports in the tools they are made for: readers score there what they score here.

They need lm-evaluation-harness and inspect_ai, which are no dependencies of the project: docs/exporting.md says how
they are run.
"""

import json
import os
import subprocess
import sys
from collections import defaultdict
from importlib.util import find_spec
from pathlib import Path

import pytest
from export_readers import named
from validate_exports import lines

from ordinate.prove.statistics import wilson
from ordinate.validate.cells import Cell
from ordinate.validate.exports import Part, export
from ordinate.validate.parsing import judge
from ordinate.validate.sampling import Material
from ordinate.validate.sampling.base import fingerprint
from ordinate.validate.tokenizers import ByteTokenizer

TEMPLATE = "<user>{{ messages[0].content }}</user><model>"
TASKS = ("passkey", "near_key", "contradiction", "citation", "event_order", "aggregation")
READERS = ("oracle", "slips", "always", "first")
UNITS = 12
LENGTH, RESERVE = 3072, 48


def written(format, mode, folder):
    """An export of several tasks for the byte tokenizer."""
    cells = [Cell("answer", task, LENGTH, "start", filler="generated", mode=mode, reserve=RESERVE) for task in TASKS]
    material = Material(ByteTokenizer(chat_template=TEMPLATE))
    return export(format, folder, [Part(cell, 9, UNITS) for cell in cells], material)


def expected(folder, entry, reader):
    """What a reader scores by the project's own parser, without the export's scorer."""
    units, unread = defaultdict(list), 0
    for document in lines(folder / entry.file):
        response = named(reader).respond(document["prompt"])
        answer, form = tuple(document["answer"]), document["form"]
        scored = judge(response, answer, form, continues=True)
        units[document["unit"]].append(scored.right)
        unread += scored.parsed is None
    right = sum(map(all, units.values()))
    assert len(units) == UNITS
    low, high = wilson(right, UNITS)
    return {"correct": right / UNITS, "lower": low, "upper": high, "unread": unread / (UNITS * entry.members)}


def run(program, *arguments, folder):
    """A program beside this file, without a network."""
    offline = {"HF_DATASETS_OFFLINE": "1", "HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1"}
    here = Path(__file__).parent
    source = here.parent.parent / "src"
    path = os.pathsep.join([str(source), str(here.parent)])
    done = subprocess.run(
        [sys.executable, str(here / program), *map(str, arguments)],
        env={**os.environ, **offline, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"},
        cwd=folder,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(Path(arguments[-1]).read_text(encoding="utf-8"))


@pytest.mark.slow
@pytest.mark.skipif(find_spec("lm_eval") is None, reason="lm-evaluation-harness is not installed")
@pytest.mark.parametrize("reader", READERS)
def test_the_harness_scores_a_reader_as_the_project_does(reader, tmp_path):
    folder = tmp_path / "out"
    whole = written("lm_eval", "base", folder)
    found = run("lm_eval_reader.py", folder, reader, whole.window, tmp_path / "found.json", folder=folder)
    assert set(found["scores"]) == {entry.name for entry in whole.entries}
    for entry in whole.entries:
        assert found["scores"][entry.name] == pytest.approx(expected(folder, entry, reader)), entry.name
    if reader == "oracle":
        assert {scores["correct"] for scores in found["scores"].values()} == {1.0}
    for sent, text, asked in found["sent"]:
        assert fingerprint(ByteTokenizer().encode(text)) == sent
        assert (asked["max_gen_toks"], asked["until"], asked["do_sample"]) == (RESERVE, ["\n"], False)


@pytest.mark.slow
@pytest.mark.skipif(find_spec("inspect_ai") is None, reason="inspect_ai is not installed")
@pytest.mark.parametrize("reader", READERS)
def test_inspect_scores_a_reader_as_the_project_does(reader, tmp_path):
    folder = tmp_path / "out"
    whole = written("inspect_ai", "chat", folder)
    found = run("inspect_reader.py", "ordinate_tasks.py", reader, tmp_path / "found.json", folder=folder)
    assert set(found["scores"]) == {entry.name for entry in whole.entries}
    for entry in whole.entries:
        assert found["scores"][entry.name] == pytest.approx(expected(folder, entry, reader)), entry.name
    if reader == "oracle":
        assert {scores["correct"] for scores in found["scores"].values()} == {1.0}
    prompts = sorted(document["prompt"] for entry in whole.entries for document in lines(folder / entry.file))
    assert sorted(text for _, text, _, _ in found["sent"]) == prompts
    assert {(messages, tokens, heat) for messages, _, tokens, heat in found["sent"]} == {(1, RESERVE, 0.0)}
