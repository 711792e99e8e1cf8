"""Every storage inside the cache, dense, paged and as a ring: operations stay within the stated bounds."""

from dataclasses import replace

import pytest
import torch

from ordinate.caches import Cache, Dense, Paged, Ring
from ordinate.caches.bounds import bound_of_move
from ordinate.caches.storage import Storage, storage, storages
from ordinate.caches.turning import Turned, rotate_keys
from ordinate.errors import InputError
from ordinate.ops import attend
from ordinate.scaling.yarn import Yarn
from ordinate.schemes.alibi import Alibi
from ordinate.schemes.rope import Rope
from ordinate.spec import LayerGroup

DIM, HEADS, TOKENS, STAY, DROP, SINKS = 32, 2, 26, 24, 5, 2
GROUP = LayerGroup("full_attention", Rope(head_dim=DIM, rotary_dim=24), pairing="interleaved")
OTHER = replace(GROUP, encoding=Rope(head_dim=DIM, rotary_dim=24, base=5e5), stretch=Yarn(4.0, 16))
LAYOUTS = {
    "dense": Dense(capacity=4),
    "paged": Paged(pages=24, page_size=4),
    "ring": Ring(window=16, keep_first=SINKS),
}


def numbers(seed: int = 0, tokens: int = TOKENS) -> tuple[torch.Tensor, torch.Tensor]:
    """k and v of two rows, [2, tokens, heads, DIM]; one channel of the keys is large."""
    made = torch.Generator().manual_seed(seed)
    k, v = (torch.randn(2, tokens, HEADS, DIM, generator=made) for _ in range(2))
    k[..., 5] *= 10
    return k, v


def filled(name: str, layout: str, keys: str) -> Cache:
    """A cache of all tokens, of which a ring holds the first and the last."""
    cache, (k, v) = Cache(GROUP, 2, keys=keys, layout=LAYOUTS[layout], storage=name), numbers()
    for more in zip(*(x.split(1 if layout == "ring" else 13, 1) for x in (k, v)), strict=True):
        cache.append(*more)
    return cache


def held(cache: Cache, row: int, read: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The positions of a row, in order, and what was read of them."""
    places = (cache.positions[row] >= 0).nonzero()[:, 0]
    places = places[cache.positions[row, places].argsort()]
    return cache.positions[row, places], read[row, places]


def pairs(error: torch.Tensor) -> torch.Tensor:
    """The length of the error of the pair that a channel is in, as GROUP pairs them."""
    turning, rest = error[..., :24], error[..., 24:]
    both = (turning[..., 0::2] ** 2 + turning[..., 1::2] ** 2).sqrt()
    return torch.cat([both.repeat_interleave(2, -1), rest], -1)


def bound_unrotated(kept: Storage, raw: torch.Tensor, exact: torch.Tensor) -> torch.Tensor:
    """Of keys that were rounded once, and then turned by OTHER in float32."""
    bound, float32 = kept.bound(raw), 2.0**-21 * (exact.abs() + pairs(exact.abs()))
    return bound.maximum(OTHER.attention_factor() * pairs(bound)) + float32


def bound_rotated(kept: Storage, raw: torch.Tensor, came: torch.Tensor, at: torch.Tensor) -> torch.Tensor:
    """Of keys that were turned by GROUP and rounded, shifted from `came` to `at`, and turned by OTHER.

    In a shift either those behind the sinks move, or they stay as they are turned and the sinks move the other way:
    whichever a cache prefers.
    """
    before, after = Turned(GROUP, came[None]), Turned(OTHER, at[None])
    start = rotate_keys(raw, before)
    once = kept.bound(start) + 2.0**-21 * (start.abs() + pairs(start.abs()))
    bounds = []
    for frame in (0, DROP):
        between = Turned(GROUP, at[None] + frame)
        moved = bound_of_move(kept, start, before, between, once)
        error = torch.where((at + frame == came)[None, :, None, None], once, moved)
        bounds.append(bound_of_move(kept, rotate_keys(raw, between), between, after, error))
    return bounds[0].maximum(bounds[1])


@pytest.mark.parametrize("keys", ["unrotated", "rotated"])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", storages())
def test_crop_shift_and_rebase_stay_within_the_bound(name, layout, keys):
    cache, kept, (k, v) = filled(name, layout, keys), storage(name), numbers()
    cache.crop([STAY, TOKENS])
    cache.shift(DROP, keep_first=SINKS)
    cache.rebase(OTHER)
    for row, end in enumerate((STAY, TOKENS)):
        at, found = held(cache, row, cache.keys("rotated"))
        # Where each entry came from: a ring has let what no query saw go before.
        came = torch.where(at < SINKS, at, at + DROP)
        first = TOKENS - 16 if layout == "ring" else SINKS + DROP
        assert came.tolist() == [0, 1, *range(first, end)]
        raw = k[row, came].double()[None]
        exact = rotate_keys(raw, Turned(OTHER, at[None]))
        bound = bound_unrotated(kept, raw, exact) if keys == "unrotated" else bound_rotated(kept, raw, came, at)
        assert ((found.double() - exact[0]).abs() <= bound[0]).all()
        # Values do not turn: they are what was stored, to the bit.
        assert torch.equal(held(cache, row, cache.values())[1], kept.decode(kept.encode(v[row, came])))


@pytest.mark.parametrize("keys", ["unrotated", "rotated"])
@pytest.mark.parametrize("name", storages())
def test_shifts_without_sinks_leave_the_error_of_one_rounding(name, keys):
    """What is stored keeps its bits: positions move, and with rotated keys the place from which they are counted."""
    kept, raw = storage(name), numbers()[0]
    cache = Cache(GROUP, 2, keys=keys, storage=name)
    at = torch.arange(1500, 1500 + TOKENS).expand(2, TOKENS)
    cache.append(raw, raw, at, gap=True)
    stored = cache.keys(keys)[:, :TOKENS]
    for _ in range(steps := 1000 if name == "int8" else 100):
        cache.shift(1000 // steps)
    assert torch.equal(cache.positions[:, :TOKENS], at - 1000)
    exact = rotate_keys(raw.double(), Turned(GROUP, at - 1000))
    start = raw.double() if keys == "unrotated" else rotate_keys(raw.double(), Turned(GROUP, at))
    bound = kept.bound(start)
    bound = bound.maximum(pairs(bound)) + 2.0**-20 * (exact.abs() + pairs(exact.abs()))
    assert ((cache.keys("rotated")[:, :TOKENS].double() - exact).abs() <= bound).all()
    if keys == "unrotated":
        assert torch.equal(cache.keys("unrotated")[:, :TOKENS], stored)


@pytest.mark.parametrize("name", storages())
def test_sinks_that_stay_through_many_shifts_err_as_after_one_move(name):
    kept, shifts = storage(name), 200
    k, v = numbers(tokens=shifts + 8)
    cache = Cache(GROUP, 2, keys="rotated", storage=name)
    cache.append(k, v)
    for _ in range(shifts):
        cache.shift(1, keep_first=SINKS)
    found = held(cache, 1, cache.keys("rotated"))[1][:SINKS]
    at = torch.arange(SINKS)[None]
    before, exact = Turned(GROUP, at), rotate_keys(k[1:, :SINKS].double(), Turned(GROUP, at))
    once = kept.bound(exact) + 2.0**-21 * (exact.abs() + pairs(exact.abs()))
    # They lie as if they stood further on, by as much as the rest was shifted.
    lying = Turned(GROUP, at + shifts)
    moved = bound_of_move(kept, exact, before, lying, once)
    bound = pairs(moved) + 2.0**-20 * (exact.abs() + pairs(exact.abs()))
    assert ((found.double() - exact[0]).abs() <= bound[0]).all()


@pytest.mark.parametrize("keys", ["unrotated", "rotated"])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", storages())
def test_attention_reads_what_is_stored(name, layout, keys):
    cache, kept, (k, v) = filled(name, layout, keys), storage(name), numbers()
    q = torch.randn(2, 1, 4, DIM, generator=torch.Generator().manual_seed(9))
    last = torch.full((2, 1), TOKENS - 1)
    made = cache.attend(q, last)
    at = torch.arange(TOKENS).expand(2, TOKENS)
    if keys == "rotated":
        turned = kept.decode(kept.encode(rotate_keys(k, Turned(GROUP, at))))
    else:
        turned = rotate_keys(kept.decode(kept.encode(k)), Turned(GROUP, at))
    ring = layout == "ring"
    expected = attend(
        rotate_keys(q, Turned(GROUP, last), "query").double(),
        turned.double(),
        kept.decode(kept.encode(v)).double(),
        causal=True,
        window=(15, None) if ring else None,
        keep_first=SINKS if ring else 0,
    )
    # Keys that float32 rounds otherwise before they are stored may be stored as the next code, here and there.
    assert (made - expected).abs().max() < (2e-5 if kept.worst < 1e-3 or keys == "unrotated" else 5e-3)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_int4_takes_an_eighth_of_float32(layout):
    full, small = (filled(name, layout, "unrotated").bytes for name in ("float32", "int4"))
    per_head = storage("int4").bytes_per_head(DIM)
    assert small * DIM * 4 == full * per_head
    assert full / small == pytest.approx(128 / 20)


@pytest.mark.parametrize("name", storages())
@pytest.mark.parametrize("layout", LAYOUTS)
def test_keys_that_are_not_finite_are_refused_and_the_cache_goes_on(name, layout):
    cache, (k, v) = filled(name, layout, "unrotated"), numbers(5, 1)
    q = torch.randn(2, 1, 4, DIM)
    before = cache.attend(q, torch.full((2, 1), TOKENS - 1))
    for which, bad in (("k", torch.inf), ("v", torch.nan)):
        given = {"k": k.clone(), "v": v.clone()}
        given[which][1, 0, 0, 3] = bad
        with pytest.raises(InputError, match=f"{which} must be finite where tokens are"):
            cache.append(**given)
    assert cache.lengths.tolist() == [TOKENS, TOKENS]
    torch.testing.assert_close(cache.attend(q, torch.full((2, 1), TOKENS - 1)), before, rtol=0, atol=1e-6)
    cache.append(k, v)
    assert cache.lengths.tolist() == [TOKENS + 1, TOKENS + 1]


@pytest.mark.parametrize("name", storages())
def test_fork_reorder_and_splice_copy_codes_or_round_them_to_themselves(name):
    cache, kept, (k, _) = filled(name, "paged", "unrotated"), storage(name), numbers()
    other = cache.fork()
    other.reorder([1, 1])
    stored = kept.decode(kept.encode(k))
    for row in range(2):
        assert torch.equal(held(other, row, other.keys("unrotated"))[1], stored[1])
        assert torch.equal(held(cache, row, cache.keys("unrotated"))[1], stored[row])
    fresh = Cache(GROUP, 2, storage=name)
    fresh.splice(cache.entries(stop=TOKENS))
    found = held(fresh, 0, fresh.keys("unrotated"))[1]
    torch.testing.assert_close(found, stored[0], rtol=1e-6, atol=0)


@pytest.mark.parametrize("name", storages())
def test_biases_store_keys_as_they_come(name):
    k, v = numbers()
    cache, kept = Cache(Alibi(heads=HEADS), 2, storage=name), storage(name)
    cache.append(k, v)
    cache.shift(3)
    assert torch.equal(held(cache, 0, cache.keys())[1], kept.decode(kept.encode(k[0, 3:])))
