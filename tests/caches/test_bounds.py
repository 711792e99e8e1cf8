"""Stored keys that move: one move within its bound, and what a thousand leave."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from ordinate.caches.bounds import bound_of_move
from ordinate.caches.storage import storage, storages
from ordinate.caches.turning import Turned, move_keys, rotate_keys
from ordinate.scaling.dynamic_ntk import DynamicNtk
from ordinate.scaling.yarn import Yarn
from ordinate.schemes.rope import Rope
from ordinate.schemes.xpos import Xpos
from ordinate.spec import LayerGroup

DIM = 32
ROPE = LayerGroup("full_attention", Rope(head_dim=DIM), pairing="half")
WIDER = LayerGroup("full_attention", Rope(head_dim=DIM, base=5e5), pairing="half")

# What keys are moved from and to, in one group or from one to another.
MOVES = {
    "half": (ROPE, ROPE),
    "interleaved": (replace(ROPE, pairing="interleaved"),) * 2,
    "interleaved-in-half-out": (replace(ROPE, pairing="interleaved-in-half-out"),) * 2,
    "part": (LayerGroup("full_attention", Rope(head_dim=DIM, rotary_dim=12), pairing="interleaved"),) * 2,
    "last": (LayerGroup("full_attention", Rope(head_dim=DIM, rotary_dim=12, part="last"), pairing="half"),) * 2,
    "base": (ROPE, WIDER),
    "magnitude": (ROPE, replace(ROPE, stretch=Yarn(8.0, 512))),
    "magnitude back": (replace(ROPE, stretch=Yarn(8.0, 512)), ROPE),
    "dynamic": (replace(ROPE, stretch=DynamicNtk(4.0, window=512)),) * 2,
    "xpos": (LayerGroup("full_attention", Xpos(head_dim=DIM), pairing="half"),) * 2,
}


def raw_keys(tokens: int = 48, batch: int = 2, heads: int = 2, dim: int = DIM) -> torch.Tensor:
    """Un-rotated keys with outlying channels, as models have them: [batch, tokens, heads, dim], float32."""
    made = torch.Generator().manual_seed(3)
    keys = torch.randn(batch, tokens, heads, dim, generator=made)
    keys[..., 3] *= 12
    keys[..., dim - 2] *= 5
    keys[:, 0] = 0
    keys[:, 1] *= 1e-30
    return keys


def turned(group: LayerGroup, shift: int, tokens: int = 48, batch: int = 2, length: int = 0) -> Turned:
    at = torch.arange(700, 700 + tokens).expand(batch, tokens) - shift
    return Turned(group, at, torch.full_like(at, length))


@pytest.mark.parametrize("name", storages())
@pytest.mark.parametrize("move", MOVES)
@pytest.mark.parametrize("shift", [0, 1, 333])
def test_one_move_errs_by_no_more_than_its_bound(move, name, shift):
    kept, raw = storage(name), raw_keys()
    before = turned(MOVES[move][0], 0, length=700 if move == "dynamic" else 0)
    after = turned(MOVES[move][1], shift, length=900 if move == "dynamic" else 0)
    start, exact = rotate_keys(raw.double(), before), rotate_keys(raw.double(), after)
    stored = kept.decode(kept.encode(start))
    ended = kept.decode(kept.encode(move_keys(stored, before, after))).double()
    bound = bound_of_move(kept, start, before, after)
    assert ((ended - exact).abs() <= bound).all()
    # Rotation and magnitude are in it: that of one rounding alone is too little for coarse storage.
    if name in ("int8", "int4") and shift == 333 and move in ("half", "magnitude"):
        assert ((ended - exact).abs() > kept.bound(exact)).any()


@pytest.mark.parametrize("name", storages())
def test_the_bound_of_a_move_is_what_the_worst_error_says(name):
    # Next to the largest channel of a head; where blocks are shorter than heads the bound is smaller.
    kept, raw = storage(name), raw_keys()[:, 2:]
    before, after = turned(ROPE, 0, 46), turned(ROPE, 333, 46)
    start = rotate_keys(raw.double(), before)
    w = kept.worst
    largest = start.abs().amax(-1, keepdim=True)
    stated = 2 * 2**0.5 * w + 2 * w * w
    assert (bound_of_move(kept, start, before, after) <= (stated * (1 + 1e-3) + 2.0**-21) * largest).all()


@pytest.mark.parametrize("name", ["int8", "int4"])
def test_a_move_can_put_the_error_of_a_pair_on_one_channel(name):
    """A pair with both errors at the bound, turned by 45 degrees: the first term of the bound is reached."""
    kept = storage(name)
    group = LayerGroup("full_attention", Rope(head_dim=4), pairing="interleaved")
    half = 0.5 * 0.999 / kept.top
    start = torch.tensor([[[[half, half, 1.0, 0.0]]]], dtype=torch.float64)  # the first pair is rounded to 0, 0
    one = torch.ones(1, 1, dtype=torch.int64)
    # One position turns the first pair by 1 rad: by 45 degrees, sqrt(2) half steps would be on one channel.
    before, after = Turned(group, one), Turned(group, 2 * one)
    exact = move_keys(start, before, after)
    ended = kept.decode(kept.encode(move_keys(kept.decode(kept.encode(start)), before, after))).double()
    error = (ended - exact).abs()[..., :2].max()
    assert error > 1.2 * kept.bound(start)[..., 0].max()
    assert error <= bound_of_move(kept, start, before, after)[..., :2].max()


def drift(name: str, moves: tuple[int, ...]) -> list[float]:
    """How far stored keys are from exact ones after so many moves by one position: |keys - exact| / |exact|."""
    made = torch.Generator().manual_seed(0)
    raw = torch.randn(1, 8, 2, 64, generator=made)
    group = LayerGroup("full_attention", Rope(head_dim=64), pairing="half")
    at, kept = torch.arange(1500, 1508)[None], storage(name)
    parts = kept.encode(rotate_keys(raw.double(), Turned(group, at)))
    found = []
    for move in range(1, max(moves) + 1):
        parts = kept.encode(move_keys(kept.decode(parts), Turned(group, at), Turned(group, at - 1)))
        at = at - 1
        if move in moves:
            exact = rotate_keys(raw.double(), Turned(group, at))
            found.append(float((kept.decode(parts).double() - exact).norm() / exact.norm()))
    return found


def stated() -> dict[str, list[float]]:
    """What docs/cache_storage.md says of 1, 10, 100 and 1,000 moves."""
    lines = (Path(__file__).parents[2] / "docs" / "cache_storage.md").read_text(encoding="utf-8").splitlines()
    head = next(number for number, line in enumerate(lines) if line.startswith("| storage | 1 move"))
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in lines[head + 2 : head + 2 + len(storages())]
    ]
    return {row[0].strip("`"): [float(cell) for cell in row[1:]] for row in rows}


@pytest.mark.parametrize("name", storages())
def test_a_thousand_moves_in_a_row_leave_what_the_page_says(name):
    moves = (1, 10, 100, 1000) if name != "int4" else (1, 10, 100)
    measured, page = drift(name, moves), stated()[name]
    assert measured == pytest.approx(page[: len(moves)], rel=0.15)
    if name == "float32":
        assert measured[-1] < 1e-4


def test_slow_pairs_stand_still_where_a_move_is_less_than_half_a_step():
    """Why coarse storage drifts faster than by chance: a turn too small to reach the next code is lost."""
    kept, group = storage("bfloat16"), LayerGroup("full_attention", Rope(head_dim=64), pairing="half")
    at = torch.tensor([[2000]])
    keys = kept.encode(torch.ones(1, 1, 1, 64))
    first = keys
    for move in range(100):
        before, after = Turned(group, at - move), Turned(group, at - move - 1)
        keys = kept.encode(move_keys(kept.decode(keys), before, after))
    slowest = [31, 63]
    assert torch.equal(keys.values[..., slowest], first.values[..., slowest])
    exact = move_keys(torch.ones(1, 1, 1, 64, dtype=torch.float64), Turned(group, at), Turned(group, at - 100))
    assert (exact[..., slowest] - 1).abs().min() > 0.01
    # One move of a hundred positions reaches it.
    once = kept.decode(kept.encode(move_keys(kept.decode(first), Turned(group, at), Turned(group, at - 100))))
    assert ((once.double() - exact).abs() <= 2.0**-8).all()
