"""What docs/cache_storage.md says is what the code does."""

import contextlib
import io
import re
from fractions import Fraction
from pathlib import Path

import pytest
import torch

from ordinate.caches.bounds import bound_of_move
from ordinate.caches.latent import Expansion
from ordinate.caches.latent_cache import LatentCache
from ordinate.caches.storage import storage, storages
from ordinate.caches.turning import Turned
from ordinate.schemes.rope import Rope
from ordinate.spec import LayerGroup

PAGE = (Path(__file__).parents[2] / "docs" / "cache_storage.md").read_text(encoding="utf-8")


def table(head: str) -> dict[str, list[str]]:
    """The rows of a table whose first line begins so: cells by the name of a storage."""
    rows = PAGE[PAGE.index(head) :].split("\n\n")[0].splitlines()[2:]
    cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]
    assert [row[0].strip("`") for row in cells] == storages()
    return {row[0].strip("`"): row[1:] for row in cells}


@pytest.mark.parametrize("name", storages())
def test_bytes_and_errors(name):
    _, full, small, worst = table("| storage | what is kept")[name]
    assert int(full) == storage(name).bytes_per_head(128)
    if small:
        assert int(small) == storage(name, scales="bfloat16").bytes_per_head(128)
    numbers = [Fraction(found) for found in re.findall(r"1/\d+", worst)]
    assert storage(name).worst == pytest.approx(float(numbers[0]), rel=1e-12)
    if name == "fp8":
        # 1 and a number that is next to nothing: half of the smallest code.
        x = torch.tensor([[1.0, 1e-20]])
        assert storage("fp8").bound(x)[0, 1] == pytest.approx(float(numbers[1]), rel=1e-4)


@pytest.mark.parametrize("name", storages())
def test_one_move(name):
    said = float(table("| storage | one move")[name][0])
    w = storage(name).worst
    assert said == pytest.approx(2 * 2**0.5 * w + 2 * w * w, rel=0.05)
    # All channels of a head as large as the largest: nothing is larger than that.
    group, at = LayerGroup("full_attention", Rope(head_dim=32)), torch.tensor([[9]])
    ones = torch.ones(1, 1, 1, 32)
    worst = bound_of_move(storage(name), ones, Turned(group, at), Turned(group, at - 3)).max()
    assert worst <= (said * 1.05) + 2.0**-20


@pytest.mark.parametrize("name", storages())
def test_latents(name):
    latent, expanded, times = table("| storage | latent and k_pe")[name]
    group = LayerGroup("full_attention", Rope(head_dim=192, rotary_dim=64, part="last"))
    cache = LatentCache(group, Expansion.of(torch.zeros(128 * 256, 512), 128, 128), storage=name)
    assert int(latent) == cache.bytes_per_token()
    kept = storage(name)
    assert int(expanded) == 128 * (kept.bytes_per_head(192) + kept.bytes_per_head(128))
    assert int(times) == round(int(expanded) / int(latent))


def test_the_code_prints_what_it_says():
    blocks = re.findall(r"```python\n(.*?)```", PAGE, re.S)
    code = "".join(blocks)
    printed = io.StringIO()
    torch.manual_seed(0)
    with contextlib.redirect_stdout(printed):
        exec(compile(code, "docs/cache_storage.md", "exec"), {})  # noqa: S102
    expected = [line.rpartition("# ")[2].split(":")[0] for line in code.splitlines() if line.startswith("print(")]
    assert printed.getvalue().splitlines() == expected
