"""The page about `ordinate check` shows what is printed."""

import re
from pathlib import Path

import pytest

from ordinate.cli import run
from ordinate.rules import find_rule

PAGE = (Path(__file__).parents[2] / "docs" / "checking.md").read_text(encoding="utf-8")


def test_the_example_prints_what_the_page_says(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    config = re.search(r"```json\n(.*?)```", PAGE, re.DOTALL)
    example = re.search(r"```\n\$ ordinate check (.*?)\n(.*?)```", PAGE, re.DOTALL)
    assert config is not None
    assert example is not None
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "config.json").write_text(config[1])
    monkeypatch.chdir(tmp_path)
    assert run(["check", *example[1].split()]) == 1
    assert capsys.readouterr() == (example[2], "")


def test_the_commands_of_the_workflow_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "config.json").write_text('{"model_type": "llama"}')
    monkeypatch.chdir(tmp_path)
    commands = re.findall(r"run: ordinate check ([^>|\n]*)", PAGE)
    assert len(commands) == 2
    for arguments in commands:
        assert run(["check", *arguments.split()]) == 0
    assert capsys.readouterr().err == ""


def test_the_rules_that_the_page_names_exist() -> None:
    named = {*re.findall(r"--explain ([a-z0-9-]+)", PAGE), *re.search(r"--ignore ([a-z0-9,-]+)", PAGE)[1].split(",")}  # type: ignore[index]
    assert len(named) >= 3
    for name in named:
        assert find_rule(name).id == name
