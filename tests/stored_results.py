"""Results as commands of each version of the schema wrote them, stored as they are."""

import json
from pathlib import Path

STORED = Path(__file__).parent / "golden" / "results"
NAMES = sorted(file.stem for file in (STORED / "version_1").glob("*.json"))


def stored(name, version=1):
    """One of them."""
    return json.loads((STORED / f"version_{version}" / f"{name}.json").read_text(encoding="utf-8"))


def many(count):
    """So many results of all kinds."""
    every = [stored(name) for name in NAMES]
    return [every[number % len(every)] for number in range(count)]
