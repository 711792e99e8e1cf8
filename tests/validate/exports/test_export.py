"""What an export holds is what the builder builds and a run asks."""

import json

import pytest
from validate_exports import TASKS, UNITS, cells, lines, material

from ordinate.errors import InputError
from ordinate.validate.backends.simulated import Simulated
from ordinate.validate.cells import Cell, Request
from ordinate.validate.exports import Part, export, find, names, parts
from ordinate.validate.readers import Oracle
from ordinate.validate.sampling import Material, Sampler
from ordinate.validate.sampling.base import fingerprint
from ordinate.validate.tokenizers import ByteTokenizer
from ordinate.validate.trials import Trial

TEMPLATE = "<user>{{ messages[0].content }}</user><model>"


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """A folder of the harness, and what was exported."""
    folder = tmp_path_factory.mktemp("exports") / "out"
    return folder, export("lm_eval", folder, cells(), material("bytes"))


def test_every_document_is_the_sample_that_a_run_takes(written):
    folder, whole = written
    sampler = Sampler(Simulated(Oracle(), material("bytes").tokenizer), material("bytes"))
    for entry in whole.entries:
        for document in lines(folder / entry.file):
            sample = sampler.sample(Request(entry.part.cell, document["seed"], document["index"]))
            assert document["ids_sha256"] == sample.prompt
            assert document["answer"] == list(sample.answer)
            assert [[one["start"], one["stop"]] for one in document["evidence"]] == sample.facts["evidence"]


@pytest.mark.parametrize("tokenizer", ["bytes", "smollm2", "bert"])
def test_the_text_encodes_to_the_ids_that_were_built(tokenizer, tmp_path):
    used = material(tokenizer)
    whole = export("lm_eval", tmp_path / "out", cells(tasks=("passkey",)), used)
    assert whole.starts == bool(used.tokenizer.bos)
    for document in lines(tmp_path / "out" / whole.entries[0].file):
        ids = [*used.tokenizer.bos, *used.tokenizer.encode(document["prompt"])]
        assert len(ids) == document["tokens"] == 2048
        assert fingerprint(ids) == document["ids_sha256"]
        assert (document["head"], document["tail"]) == (len(used.tokenizer.bos), 0)


def test_a_message_in_its_template_encodes_to_the_ids_that_were_built(tmp_path):
    tokenizer = ByteTokenizer(chat_template=TEMPLATE)
    whole = export("inspect_ai", tmp_path / "out", cells("chat", ("passkey",)), Material(tokenizer))
    for document in lines(tmp_path / "out" / whole.entries[0].file):
        text = TEMPLATE.replace("{{ messages[0].content }}", document["prompt"])
        assert fingerprint(tokenizer.encode(text)) == document["ids_sha256"]
        assert (document["continues"], document["thinks"]) == (False, False)


def test_members_of_a_pair_stand_together(written):
    folder, whole = written
    for entry in whole.entries:
        documents = lines(folder / entry.file)
        assert [document["unit"] for document in documents] == [
            unit for unit in range(UNITS) for _ in range(entry.members)
        ]
        assert len({document["id"] for document in documents}) == len(documents)


def test_the_record_holds_every_cell_in_full(written):
    folder, whole = written
    record = json.loads((folder / "export.json").read_text(encoding="utf-8"))
    assert [entry["part"]["cell"]["task"] for entry in record["entries"]] == list(TASKS)
    assert record["tokenizer"] == material("bytes").tokenizer.sha256
    assert record["window"] == whole.window == 2048 + 32
    for entry in record["entries"]:
        assert (folder / entry["file"]).is_file()


def test_two_exports_of_the_same_cells_are_the_same_files(written, tmp_path):
    folder, _ = written
    export("lm_eval", tmp_path / "out", cells(), material("bytes"))
    for file in folder.iterdir():
        assert (tmp_path / "out" / file.name).read_bytes() == file.read_bytes()


def test_what_does_not_fit_ends_the_export_and_leaves_nothing(tmp_path):
    with pytest.raises(InputError, match=r"does not fit 300: \d+ tokens missing"):
        export("lm_eval", tmp_path / "out", cells(length=300), material("bytes"))
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_exists_is_left_alone(tmp_path):
    with pytest.raises(InputError, match="exists already"):
        export("lm_eval", tmp_path, cells(), material("bytes"))


def test_inspect_ai_takes_no_base_mode(tmp_path):
    with pytest.raises(InputError, match="sends messages"):
        export("inspect_ai", tmp_path / "out", cells("base"), material("bytes"))


def test_modes_are_exported_apart(tmp_path):
    with pytest.raises(InputError, match="one mode, got base, chat"):
        export("lm_eval", tmp_path / "out", [*cells("base"), *cells("chat")], material("bytes"))


def test_nothing_is_no_export(tmp_path):
    with pytest.raises(InputError, match="at least one cell"):
        export("lm_eval", tmp_path / "out", [], material("bytes"))


def test_a_group_is_named_by_an_identifier(tmp_path):
    with pytest.raises(InputError, match="identifier"):
        export("lm_eval", tmp_path / "out", cells(), material("bytes"), group="a/b")


def test_a_measure_without_answers_is_no_part():
    with pytest.raises(InputError, match="answers alone"):
        Part(Cell("margin", "near_key", 512), 0, 1)


def test_a_place_that_is_none_is_no_part():
    with pytest.raises(InputError, match="places must be"):
        Part(Cell("answer", "near_key", 512, "above", reserve=9), 0, 1)


def test_the_cells_of_a_plan_are_those_that_are_answered_in_words():
    answered = Trial("near_key", 512, (1024,), ("start", "end"), controls=("no_context",), units=50, reserve=9)
    others = Trial("associative_copy", 512, (1024,), ("start",), "copy")
    found = parts([answered, others])
    assert [(part.cell.length, part.cell.places, part.cell.control, part.units) for part in found] == [
        (512, "start", "", 50),
        (512, "end", "", 50),
        (1024, "start", "", 50),
        (1024, "end", "", 50),
        (512, "start", "no_context", 12),
    ]
    fewer = parts([answered], units=7, places=["middle"], controls=False)
    assert [(part.cell.length, part.cell.places, part.units) for part in fewer] == [
        (512, "middle", 7),
        (1024, "middle", 7),
    ]


def test_every_format_carries_its_files_name():
    assert [find(name).name for name in names()] == names() == ["inspect_ai", "lm_eval"]
