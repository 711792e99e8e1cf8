"""Folders that the tests of exports share, and how what lies in them is read."""

import importlib.util
import json
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from validate_samples import tokenizer

from ordinate.validate.cells import Cell
from ordinate.validate.exports import Part
from ordinate.validate.sampling import Material

TASKS = ("passkey", "contradiction", "citation")
UNITS = 3


@cache
def material(name: str) -> Material:
    """What prompts are made of, kept for all tests."""
    return Material(tokenizer(name))


def cells(mode: str = "base", tasks: tuple[str, ...] = TASKS, length: int = 2048, places: str = "spread") -> list[Part]:
    """A cell for each task; as short as the byte tokenizer's prompts can be."""
    return [
        Part(Cell("answer", task, length, places, filler="generated", mode=mode, reserve=32), seed=5, units=UNITS)
        for task in tasks
    ]


def module(file: Path) -> Any:
    """A Python file of an export."""
    spec = importlib.util.spec_from_file_location(f"{file.parent.name}_{file.stem}", file)
    assert spec is not None
    assert spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


def lines(file: Path) -> list[dict[str, Any]]:
    """The documents of a file."""
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


class Named(str):
    """What stands behind `!function`."""


class Loader(yaml.SafeLoader):
    """YAML with the one tag of the harness."""


Loader.add_constructor("!function", lambda loader, node: Named(loader.construct_scalar(node)))


def read_yaml(file: Path) -> dict[str, Any]:
    """A YAML file of the harness."""
    return yaml.load(file.read_text(encoding="utf-8"), Loader=Loader)  # noqa: S506 - a safe loader with one tag more
