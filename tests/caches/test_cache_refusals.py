"""Whatever an operation refuses, it leaves the cache as it was."""

import numpy as np
import pytest
import torch
from reference_caches import close, group, rotated, tokens

from ordinate.caches import Cache, Dense, Frozen, Paged, PerRow, Ring
from ordinate.errors import InputError
from ordinate.scaling.dynamic_ntk import DynamicNtk
from ordinate.scaling.yarn import Yarn
from ordinate.schemes.rope import Rope
from ordinate.schemes.xpos import Xpos
from ordinate.spec import LayerGroup

ROPE = LayerGroup("full_attention", Rope(head_dim=16))
STRETCHED = LayerGroup("full_attention", Rope(head_dim=16), Yarn(1e6, original_max_position_embeddings=64))
DYNAMIC = LayerGroup("full_attention", Rope(head_dim=16), DynamicNtk(4.0, window=5))
LONG = group("rope", "longrope")
XPOS = LayerGroup("full_attention", Xpos(head_dim=16))
LAYOUTS = {"dense": Dense(capacity=2), "paged": Paged(pages=10, page_size=3), "ring": Ring(window=4, keep_first=1)}


def filled(layout="dense", kept="rotated", of=ROPE, storage="float16", size=1.0):
    """Two rows of six tokens, in two calls; the second row's last key is the largest."""
    cache = Cache(of, 2, keys=kept, layout=LAYOUTS[layout], storage=storage)
    random = np.random.default_rng(3)
    for count in (4, 2):
        k, v = tokens(random, (2, count), of)
        k[1, -1] *= size
        cache.append(k, v)
    return cache


def more(count=2, k_size=1.0, v_size=1.0):
    k, v = tokens(np.random.default_rng(5), (2, count), ROPE)
    k[1, -1], v[1, -1] = k_size, v_size
    return k, v


def appended(cache, *given, **options):
    cache.append(*more(**options), *given, gap=bool(given))


def spliced(cache, size):
    other = Cache(cache.stamp.group, 2, keys="unrotated", regime=cache.stamp.regime)
    other.append(*more(k_size=size))
    cache.splice(other.entries())


def full(cache):
    """A fork that shares all pages, and a third that holds what is free."""
    fork, other = cache.fork(), cache.fork()
    other.clear()
    free = cache._state.memory.free
    if free:
        other.append(*more(3 * (free // 2 or 1)))
    return fork, other


REFUSED = {
    "append, v too large": lambda c: appended(c, v_size=1e6),
    "append, k too large": lambda c: appended(c, k_size=1e6),
    "append, k infinite": lambda c: appended(c, k_size=float("inf")),
    "append, taken": lambda c: appended(c, torch.tensor([5, 6])),
    "append, a gap": lambda c: c.append(*more(), torch.tensor([8, 9])),
    "append, twice the same": lambda c: appended(c, torch.tensor([8, 8])),
    "append, other heads": lambda c: c.append(*(x[:, :, :1] for x in more())),
    "append, other rows": lambda c: c.append(*(x[:1] for x in more())),
    "append, a gradient": lambda c: c.append(more()[0].requires_grad_(), more()[1]),
    "splice, k too large": lambda c: spliced(c, 1e6),
    "splice, taken": lambda c: c.splice(c.entries(start=5), 4),
    "splice, another group": lambda c: c.splice(filled(of=STRETCHED).entries()),
    "crop, negative": lambda c: c.crop([3, -1]),
    "crop, too far": lambda c: c.crop([3, 7]),
    "rewind, too far": lambda c: c.rewind([2, 7]),
    "shift, too far": lambda c: c.shift([2, 7], 1),
    "evict, an unknown word": lambda c: c.evict(1, 2, "moved"),
    "rebase, frozen too short": lambda c: c.rebase(DYNAMIC, Frozen(5)),
    "rebase, another pairing": lambda c: c.rebase(LayerGroup("x", Rope(head_dim=16), pairing="interleaved")),
    "reorder, no such row": lambda c: c.reorder([0, 2]),
    "clear, no such row": lambda c: c.clear([1, 2]),
}


def picture(cache):
    state = cache._state
    return {
        "keys": cache.keys(),
        "values": cache.values(),
        "positions": cache.positions,
        "lengths": cache.lengths,
        "turned by": cache.turned_by,
        "frames": state.frames.clone(),
        "order": state.order.clone(),
        "lost": state.lost.clone(),
        "counts": cache.counts,
        "free": torch.tensor(getattr(state.memory, "free", 0)),
        "bytes": torch.tensor(cache.bytes),
        "query": cache.attend(torch.ones(2, 1, 2, 16)[:, :, :, : state.memory.keys.dim], torch.tensor([5])),
    }


def refused(cache, operation):
    before, stamp = picture(cache), cache.stamp
    with pytest.raises(InputError):
        operation(cache)
    after = picture(cache)
    assert cache.stamp == stamp
    assert [name for name in before if not torch.equal(before[name], after[name])] == []


@pytest.mark.parametrize("kept", ["rotated", "unrotated"])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_changes_nothing(name, layout, kept):
    cache = filled(layout, kept)
    refused(cache, REFUSED[name])
    cache.append(*more())
    assert cache.lengths.tolist() == [8, 8]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_turn_that_overflows_at_its_last_key_leaves_the_first_as_they_were(layout, monkeypatch):
    monkeypatch.setattr("ordinate.caches.state.AT_ONCE", 2)
    cache = filled(layout, size=20_000.0)
    refused(cache, lambda c: c.rebase(STRETCHED))
    filled(layout, size=2.0).rebase(STRETCHED)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_an_append_that_turns_what_is_there_and_is_refused_turns_nothing(layout):
    """Past 12 tokens LongRoPE turns all keys otherwise."""
    cache = filled(layout, of=LONG)
    refused(cache, lambda c: appended(c, count=7, v_size=1e6))
    appended(cache, count=7)
    assert cache.turned_by.tolist() == [13, 13]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_position_past_the_reach_of_xpos_lets_nothing_go(layout):
    cache = filled(layout, of=XPOS)
    refused(cache, lambda c: appended(c, torch.tensor([2**40, 2**40 + 1])))


OF_A_FULL_POOL = {
    "append": lambda c: appended(c, count=6),
    "splice": lambda c: c.splice(c.entries()),
    "shift": lambda c: c.shift(1, 1),
    "evict": lambda c: c.evict(1, 4, "renumbered"),
    "rebase": lambda c: c.rebase(STRETCHED),
}


@pytest.mark.parametrize("name", OF_A_FULL_POOL)
def test_a_pool_that_is_full_keeps_its_pages_and_its_keys(name):
    cache = filled("paged", storage="float32")
    others = full(cache)
    refused(cache, OF_A_FULL_POOL[name])
    del others
    OF_A_FULL_POOL[name](filled("paged", storage="float32"))


def test_a_page_that_was_taken_for_tokens_that_another_page_refuses_goes_back():
    cache = Cache(ROPE, layout=Paged(3, 4))
    cache.append(*(x[:1] for x in more(6)))
    fork = cache.fork()
    memory = fork._state.memory
    # Three tokens need a page, and another for the copy of the one that both hold.
    for _ in range(2):
        with pytest.raises(InputError, match="free"):
            fork.append(*(x[:1] for x in more(3)))
        assert memory.free == 1
    fork.append(*(x[:1] for x in more(2)))
    assert (memory.free, fork.lengths.tolist(), cache.lengths.tolist()) == (0, [8], [6])


def test_a_first_append_that_is_refused_leaves_the_cache_empty():
    cache = Cache(ROPE, 2, storage="float16", layout=Paged(2, 3))
    for k, v in (more(v_size=1e6), more(7)):
        with pytest.raises(InputError):
            cache.append(k, v)
        assert cache.bytes == 0
        assert cache.positions.shape == (2, 0)
    cache.append(*(x[:, :, :1] for x in more()))
    assert cache.counts.tolist() == [2, 2]


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32])
def test_a_rotated_key_past_float16_is_refused_however_it_is_written(dtype):
    cache = Cache(ROPE, keys="rotated", storage="float16")
    k = torch.full((1, 2, 1, 16), 60_000.0, dtype=dtype)
    with pytest.raises(InputError, match="65504"):
        cache.append(k, k)
    assert not cache.counts.any()


def test_a_key_that_is_large_and_fits_once_turned_is_kept():
    cache = Cache(ROPE, keys="rotated", storage="float16")
    k = torch.zeros(1, 3, 2, 16, dtype=torch.float16)
    k[..., 0] = 60_000.0
    cache.append(k, k)
    wanted = rotated(k[0].double().numpy(), LayerGroup("x", Rope(head_dim=16), pairing="half"), [0, 1, 2], None)
    close(cache.entries().keys[0].double().numpy(), wanted, 5e-4)


def test_what_memory_holds_where_no_token_is_changes_no_key():
    cache = Cache(ROPE, keys="rotated", storage="float16", regime=PerRow())
    k = torch.ones(1, 3, 1, 16, dtype=torch.float16)
    k[0, 0] = float("nan")
    cache.append(k, torch.ones_like(k), torch.tensor([[-1, 0, 1]]))
    assert cache.counts.tolist() == [2]
    assert torch.isfinite(cache.keys()).all()


def test_a_fork_of_an_empty_cache_shares_its_pool():
    cache = Cache(ROPE, 2, layout=Paged(6, 3), storage="float16")
    fork = cache.fork()
    with pytest.raises(InputError):
        fork.append(*more(v_size=1e6))
    cache.append(*more(6))
    with pytest.raises(InputError, match="4 more must be free, got 2"):
        fork.append(*more(6))
    fork.append(*more(3))
    assert (cache.counts.tolist(), fork.counts.tolist()) == ([6, 6], [3, 3])
    close(fork.entries().keys.numpy(), more(3)[0].numpy(), 5e-4)
    close(cache.entries().keys.numpy(), more(6)[0].numpy(), 5e-4)
