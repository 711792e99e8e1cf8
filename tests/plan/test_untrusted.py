"""Configurations from anywhere are planned or refused in one line, never anything else."""

import json
import random
from pathlib import Path

import pytest

from ordinate import models
from ordinate.errors import InputError
from ordinate.plan import Request, plan, to_text

GOLDEN = Path(__file__).parents[1] / "golden" / "huggingface_architectures.json"
CONFIGS = {case["model"]: case["config"] for case in json.loads(GOLDEN.read_text(encoding="utf-8"))["cases"]}
WRONG = (None, 0, -1, 2**70, 1.5, float("nan"), "", "x", [], [1, 2], {}, {"a": 1}, True)


def planned(config, request):
    """The text of a plan, or None where it is refused in one line."""
    try:
        return to_text(plan(config, request), sources=True)
    except InputError as error:
        said = str(error)
    assert "\n" not in said
    return None


@pytest.mark.parametrize("name", CONFIGS)
def test_every_architecture_is_planned_or_refused(name):
    planned(CONFIGS[name], Request(contexts=(4096,), batches=(2,), weights=10**9, memory=10**11, target=8192))
    planned(CONFIGS[name], Request(contexts=(4096,), page_size=16, shared_prefix=100))


@pytest.mark.parametrize("name", models.published_names())
def test_a_wrong_value_anywhere_is_refused_or_planned(name):
    chosen = random.Random(name)  # noqa: S311 - draws of a test
    config = models.published(name).config
    for _ in range(6):
        changed = json.loads(json.dumps(config))
        part = changed.get("text_config", changed)
        for key in chosen.sample(sorted(part), 2):
            part[key] = chosen.choice(WRONG)
        planned(changed, Request(contexts=(4096,), weights=None))


def test_what_is_planned_of_the_golden_architectures_is_most_of_the_decoders():
    found = [name for name, config in CONFIGS.items() if planned(config, Request(contexts=(4096,))) is not None]
    assert len(found) >= 60
