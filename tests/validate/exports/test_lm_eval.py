"""The folder for lm-evaluation-harness, read as the harness reads it; tests/live runs the harness itself."""

import sys
from types import ModuleType

import pytest
from validate_exports import UNITS, cells, lines, material, module, read_yaml

from ordinate.validate.exports import export
from ordinate.validate.readers import Oracle
from ordinate.validate.readers.shortcuts import Always


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder of the harness."""
    found = tmp_path_factory.mktemp("lm_eval") / "out"
    export("lm_eval", found, cells(), material("bytes"))
    return found


@pytest.fixture
def harness(folder, monkeypatch):
    """Its functions, with a stand-in for the package `datasets` that keeps the rows."""
    datasets = ModuleType("datasets")
    datasets.Dataset = type("Dataset", (), {"from_list": staticmethod(list)})  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "datasets", datasets)
    return module(folder / "harness.py")


def tasks(folder):
    """Every task of the group, as its YAML says it."""
    return [read_yaml(folder / f"{name}.yaml") for name in read_yaml(folder / "ordinate.yaml")["task"]]


def test_the_folder_has_a_task_for_each_cell_and_a_group_without_a_mean(folder):
    group = read_yaml(folder / "ordinate.yaml")
    assert "aggregate_metric_list" not in group
    assert len(group["task"]) == 3
    assert [task["task"] for task in tasks(folder)] == group["task"]
    assert {file.suffix for file in folder.iterdir()} == {".yaml", ".jsonl", ".json", ".py", ".md"}


def test_a_task_sends_the_prompt_as_it_is_and_decodes_greedily(folder):
    for task in tasks(folder):
        assert task["doc_to_text"] == "prompt"
        assert task["num_fewshot"] == 0
        assert "description" not in task
        assert task["generation_kwargs"] == {
            "until": ["\n"],
            "max_gen_toks": 32,
            "do_sample": False,
            "temperature": 0.0,
        }


def test_every_function_that_is_named_exists(folder, harness):
    for task in tasks(folder):
        named = [task["custom_dataset"], task["process_results"]]
        named += [metric["aggregation"] for metric in task["metric_list"][:3]]
        for name in named:
            file, function = name.split(".")
            assert file == "harness"
            assert callable(getattr(harness, function))


@pytest.mark.parametrize(("reader", "shares"), [(Oracle(), [1.0, 1.0, 1.0]), (Always("no"), [0.0, 0.0, 0.0])])
def test_a_reader_scores_what_it_does(folder, harness, reader, shares):
    found = []
    for task in tasks(folder):
        documents = harness.documents(**task["dataset_kwargs"], version=1, max_length=2080)["test"]
        results = [harness.process_results(one, [reader.respond(one["prompt"])]) for one in documents]
        assert len(documents) == UNITS * documents[0]["members"]
        found.append(harness.share([result["correct"] for result in results]))
        assert harness.lower([one["lower"] for one in results]) <= found[-1]
        assert harness.upper([one["upper"] for one in results]) >= found[-1]
    assert found == shares


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "give max_length=2080"),
        ({"max_length": 2079}, "give max_length=2080 .* got 2079"),
        ({"max_length": 2080, "base_url": "http://127.0.0.1"}, "give max_length=2081"),
        ({"max_length": 2080, "add_bos_token": True}, "add_bos_token=False"),
    ],
)
def test_the_documents_are_not_loaded_where_the_harness_would_change_a_prompt(folder, harness, given, message):
    task = tasks(folder)[0]
    with pytest.raises(ValueError, match=message):
        harness.documents(**task["dataset_kwargs"], **given)


@pytest.mark.parametrize(
    "given",
    [
        {"max_length": 2080},
        {"max_model_len": 4096, "pretrained": "x"},
        {"max_length": 2081, "base_url": "http://127.0.0.1", "add_bos_token": False},
    ],
)
def test_the_documents_are_loaded_where_nothing_is_cut(folder, harness, given):
    task = tasks(folder)[0]
    rows = harness.documents(**task["dataset_kwargs"], **given)["test"]
    assert rows == lines(folder / task["dataset_kwargs"]["ordinate_file"])


@pytest.mark.parametrize(
    ("given", "loads"),
    [
        ({}, True),
        ({"add_bos_token": True}, True),
        ({"add_bos_token": False}, False),
        ({"base_url": "http://127.0.0.1"}, False),
        ({"base_url": "http://127.0.0.1", "add_bos_token": True}, True),
    ],
)
def test_a_tokenizer_that_begins_texts_must_be_let_do_so(harness, given, loads, folder):
    asked = {**tasks(folder)[0]["dataset_kwargs"], "ordinate_bos": True, "ordinate_habit": True}
    if loads:
        assert harness.documents(**asked, max_length=9999, **given)["test"]
        return
    with pytest.raises(ValueError, match="add_bos_token=True"):
        harness.documents(**asked, max_length=9999, **given)


def test_the_page_says_the_length_that_is_needed(folder):
    page = (folder / "README.md").read_text(encoding="utf-8")
    assert "max_length=2080,add_bos_token=False" in page
    assert "--apply_chat_template" not in page
