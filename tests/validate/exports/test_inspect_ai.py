"""The module for inspect_ai, as Inspect finds it; tests/live runs Inspect itself."""

import ast

import pytest
from validate_exports import UNITS, cells, lines

from ordinate.validate.exports import export
from ordinate.validate.sampling import Material
from ordinate.validate.tokenizers import ByteTokenizer

TEMPLATE = "<user>{{ messages[0].content }}</user><model>"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder of Inspect."""
    found = tmp_path_factory.mktemp("inspect") / "out"
    export("inspect_ai", found, cells("reasoning"), Material(ByteTokenizer(chat_template=TEMPLATE)), group="long")
    return found


def functions(folder, mark):
    """The functions of the module with a decorator, by name."""
    tree = ast.parse((folder / "long_tasks.py").read_text(encoding="utf-8"))
    return {
        node.name: node
        for node in tree.body
        if isinstance(node, ast.FunctionDef)
        and mark in [getattr(getattr(one, "func", one), "id", "") for one in node.decorator_list]
    }


def test_the_folder_has_a_task_for_each_file_of_documents(folder):
    files = sorted(file.stem for file in folder.glob("*.jsonl"))
    assert sorted(functions(folder, "task")) == files
    assert all(name.startswith("long_") for name in files)
    for name, node in functions(folder, "task").items():
        assert f"cell('{name}.jsonl', 32)" in ast.unparse(node)


def test_it_scores_pairs_as_pairs_with_one_scorer(folder):
    assert sorted(functions(folder, "metric")) == ["correct", "lower", "unread", "upper"]
    assert list(functions(folder, "scorer")) == ["slot"]


def test_every_sample_is_asked_once_and_greedily(folder):
    text = (folder / "long_tasks.py").read_text(encoding="utf-8")
    assert "epochs=1" in text
    assert "temperature=0.0" in text
    assert "fail_on_error=True" in text


def test_thinking_is_taken_off_in_the_mode_reasoning(folder):
    for file in folder.glob("*.jsonl"):
        documents = lines(file)
        assert len(documents) == UNITS * documents[0]["members"]
        assert all(document["thinks"] for document in documents)
