"""Each operation equals rotating the same un-rotated keys anew, for every scheme, scaling, pairing and layout."""

import numpy as np
import pytest
import torch
from reference_caches import LAYOUTS, SCHEMES, WINDOW, Model, axes, check, close, group, groups, tokens

from ordinate.caches import Cache, Dense, Frozen, Paged, PerRow, Recompute, Ring
from ordinate.errors import InputError
from ordinate.schemes.rope import Rope
from ordinate.spec import LayerGroup

GROUPS = groups()


def both(of, batch, kept, layout, regime=None):
    regime = regime or PerRow()
    return Cache(of, batch, keys=kept, layout=layout, regime=regime), Model(of, batch, regime, layout)


def append(cache, model, random, counts):
    """So many tokens to each row, padded on the left to the longest."""
    longest, of = max(counts), cache.stamp.group
    k, v = tokens(random, (cache.batch, longest), of)
    at = torch.full((axes(of), cache.batch, longest), -1)
    for row, count in enumerate(counts):
        own = torch.arange(model.ends[row], model.ends[row] + count)
        at[:, row, longest - count :] = own
        part = slice(longest - count, None)
        where = [(int(p),) * axes(of) for p in own]
        model.append(row, k[row, part].double().numpy(), v[row, part].double().numpy(), where)
    cache.append(k, v, at if axes(of) > 1 else at[0])
    return longest


def attended(cache, model, random, counts):
    """Queries of the tokens that were appended last, each against all keys turned anew by its own length."""
    longest, width = max(counts), cache.stamp.group.encoding.head_dim
    q = torch.from_numpy(random.standard_normal((cache.batch, longest, 2, width))).float()
    out = cache.attend(q).numpy()
    for row, count in enumerate(counts):
        where = range(model.ends[row] - count, model.ends[row])
        positions = [(p,) * axes(model.group) for p in where]
        wanted = model.attend(row, q[row, longest - count :].double().numpy(), positions, where)
        np.testing.assert_allclose(out[row, longest - count :], wanted, rtol=1e-4, atol=2e-5)
        assert not out[row, : longest - count].any()


@pytest.mark.parametrize("kept", ["rotated", "unrotated"])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("scheme", SCHEMES)
def test_every_operation_equals_rotating_the_same_keys_anew(scheme, layout, kept):
    """One pairing each, so that every one has every scaling kept both ways, in two of the layouts."""
    mine = [name for name in GROUPS if name.startswith(f"{scheme},")]
    third = list(LAYOUTS).index(layout) + (kept == "rotated")
    every_operation(mine[third % 3 :: 3], scheme, layout, kept)


@pytest.mark.slow
@pytest.mark.parametrize("kept", ["rotated", "unrotated"])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("scheme", SCHEMES)
def test_every_operation_equals_rotating_the_same_keys_anew_in_full(scheme, layout, kept):
    every_operation([name for name in GROUPS if name.startswith(f"{scheme},")], scheme, layout, kept)


def every_operation(names, scheme, layout, kept):
    for name in names:
        of = GROUPS[name]
        random = np.random.default_rng(7)
        cache, model = both(of, 2, kept, LAYOUTS[layout])
        append(cache, model, random, (WINDOW - 2, 4))
        check(cache, model)
        # One row crosses the border of length-dependent methods, the other does not.
        append(cache, model, random, (5, 3))
        check(cache, model)
        attended(cache, model, random, (5, 3))
        cache.shift([4, 1], 1)
        model.shift(0, 4, 1)
        model.shift(1, 1, 1)
        check(cache, model)
        chunk, other = both(of, 1, "rotated", Dense())
        append(chunk, other, random, (WINDOW + 4,))
        cache.splice(chunk.entries(start=WINDOW - 3, stop=WINDOW + 2))
        for row in range(2):
            entries = other.rows[0][WINDOW - 3 : WINDOW + 2]
            own = [(model.ends[row] + i,) * axes(of) for i in range(5)]
            model.append(row, [e.key for e in entries], [e.value for e in entries], own)
        check(cache, model)
        changed = group(scheme, "yarn" if ", none," in name else "none", of.pairing)
        for now, regime in ((changed, Frozen(64)), (of, PerRow())):
            cache.rebase(now, regime)
            model.group, model.regime = now, regime
            check(cache, model)
        cache.crop([WINDOW, WINDOW - 2])
        model.crop(0, WINDOW)
        model.crop(1, WINDOW - 2)
        check(cache, model)
        cache.reorder([1, 0, -1, 0])
        model.reorder([1, 0, -1, 0])
        check(cache, model)
        fork, forked = cache.fork(), model.fork()
        cache.evict(2, 4, "renumbered")
        for row in range(4):
            model.evict(row, 2, 4, True)
        append(cache, model, random, (2, 1, 3, 0))
        check(cache, model)
        fork.rewind([2, 1, 0, 3])
        for row, count in enumerate((2, 1, 0, 3)):
            forked.crop(row, forked.next_rank(row) - count)
        fork.evict(1, 3, "kept")
        for row in range(4):
            forked.evict(row, 1, 3, False)
        check(fork, forked)
        check(cache, model)


def shifted(of, storage, sinks=0, left=40, times=1000):
    """What is left after a thousand shifts by one, and how far each key is from its fresh one, as a share of it."""
    random = np.random.default_rng(3)
    cache = Cache(of, 1, keys="rotated", storage=storage)
    model = Model(of, 1, PerRow(), Dense())
    append(cache, model, random, (sinks + left + times,))
    for _ in range(times):
        cache.shift(1, sinks)
    model.shift(0, times, sinks)
    entries, wanted = cache.entries(), model.keys(0, int(cache.turned_by[0]) or None)
    assert entries.positions.view(axes(of), 1, -1)[0].tolist() == [list(range(sinks + left))]
    got = entries.keys[0].double().numpy()
    lengths = np.linalg.norm(got, axis=-1) / np.linalg.norm(wanted, axis=-1)
    return np.linalg.norm(got - wanted, axis=-1) / np.linalg.norm(wanted, axis=-1), lengths - 1


@pytest.mark.parametrize(
    "scheme, scaling",
    [("rope", "yarn"), pytest.param("axial", "none", marks=pytest.mark.slow), ("xpos", "longrope")],
)
def test_a_thousand_shifts_in_float32_stay_next_to_fresh_keys(scheme, scaling):
    # Sinks, and with xPos all keys, are turned a thousand times: what the roundings leave has no direction.
    error, lengths = shifted(group(scheme, scaling), "float32", sinks=4)
    assert error.max() < 1e-5
    assert abs(lengths).max() < 1e-5
    assert abs(lengths.mean()) < 1e-6


@pytest.mark.parametrize(
    "storage, bound",
    [
        pytest.param("float16", 5e-4, marks=pytest.mark.slow),
        ("bfloat16", 4e-3),
        ("int8", 0.02),
        pytest.param("fp8", 0.07, marks=pytest.mark.slow),
    ],
)
def test_a_thousand_shifts_in_any_storage_round_as_one_does(storage, bound):
    # A turn by less than a rounding is lost: a thousand of them, each rounded, would leave slow pairs where they were.
    error, _ = shifted(group("rope first", "yarn"), storage, sinks=4)
    assert bound / 10 < error[:4].max() < bound
    assert bound / 10 < error[4:].max() < bound


@pytest.mark.parametrize("layout", [Dense(), Paged(64, 4)])
@pytest.mark.parametrize("storage", ["float16", "bfloat16", "int8", "fp8", "int4"])
def test_what_is_kept_unrotated_is_rounded_once_whatever_happens(storage, layout):
    random = np.random.default_rng(3)
    of = group("rope", "dynamic_ntk")
    cache = Cache(of, 2, storage=storage, layout=layout)
    k, v = tokens(random, (2, 40), of)
    cache.append(k, v)
    before = cache.entries(start=10).keys
    for _ in range(10):
        cache.shift(1)
    cache.rebase(group("rope", "yarn"))
    cache.reorder([1, 0])
    after = cache.entries()
    assert torch.equal(after.keys, before[[1, 0]])
    assert after.positions.tolist() == [list(range(30))] * 2


def test_a_copy_of_a_page_is_made_only_when_it_is_written():
    random = np.random.default_rng(1)
    of = group("rope")
    cache, model = both(of, 1, "rotated", Paged(pages=8, page_size=4))
    append(cache, model, random, (10,))
    pool = cache._state.memory
    assert pool.free == 5
    fork, forked = cache.fork(), model.fork()
    assert pool.free == 5
    append(fork, forked, random, (1,))
    assert pool.free == 4  # the page that was half full
    append(cache, model, random, (2,))
    assert pool.free == 4
    fork.shift(1)
    forked.shift(0, 1, 0)
    assert pool.free == 4  # queries are turned further instead of keys
    forked.group = group("rope", "linear")
    fork.rebase(forked.group)
    assert pool.free == 2  # keys that are turned otherwise are written: the two pages that were still shared
    check(cache, model)
    check(fork, forked)
    fork.clear()
    assert pool.free == 5
    check(cache, model)
    cache.clear()
    assert pool.free == 8


def test_pages_of_rows_and_forks_that_are_gone_go_back():
    random = np.random.default_rng(1)
    cache, model = both(group("rope"), 2, "unrotated", Paged(pages=9, page_size=4))
    append(cache, model, random, (8, 4))
    forks = [cache.fork() for _ in range(3)]
    for fork in forks:
        fork.append(*tokens(random, (2, 1), group("rope")))
    assert cache._state.memory.free == 0
    forks.pop()
    del fork
    assert cache._state.memory.free == 2
    forks.clear()
    assert cache._state.memory.free == 6
    cache.reorder([0, 0, -1])
    assert cache._state.memory.free == 7
    model.reorder([0, 0, -1])
    check(cache, model)


def test_unrotated_pages_stay_shared_when_positions_move():
    random = np.random.default_rng(1)
    cache, model = both(group("rope"), 1, "unrotated", Paged(pages=8, page_size=4))
    append(cache, model, random, (12,))
    fork = cache.fork()
    fork.shift(4)
    assert cache._state.memory.free == 5
    check(cache, model)
    model.shift(0, 4, 0)
    check(fork, model)


@pytest.mark.parametrize("kept", ["rotated", "unrotated"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_keys_are_read_either_way_whatever_way_they_are_kept(layout, kept):
    random = np.random.default_rng(1)
    cache, model = both(group("rope last", "longrope"), 2, kept, LAYOUTS[layout])
    append(cache, model, random, (WINDOW + 2, 5))
    cache.shift(2, 1)
    for row in range(2):
        model.shift(row, 2, 1)
    append(cache, model, random, (1, 2))
    for way in ("rotated", "unrotated"):
        keys, values, positions = cache.keys(way).double().numpy(), cache.values(), cache.positions
        for row in range(2):
            order = positions[row].argsort()[-len(model.rows[row]) :].numpy()
            length = int(cache.turned_by[row]) or None if way == "rotated" else "unrotated"
            close(keys[row, order], model.keys(row, length), 1e-6)
            wanted = np.array([entry.value for entry in model.sorted(row)])
            np.testing.assert_array_equal(values[row, order].numpy(), wanted.astype(np.float32))
        assert not keys[positions.numpy() < 0].any()


def test_a_full_pool_refuses_and_changes_nothing():
    random = np.random.default_rng(1)
    of = group("rope")
    cache, model = both(of, 2, "unrotated", Paged(pages=4, page_size=4))
    append(cache, model, random, (8, 5))
    k, v = tokens(random, (2, 4), of)
    with pytest.raises(InputError, match="the pool has 4 pages of 4 tokens: 2 more must be free, got 0"):
        cache.append(k, v)
    check(cache, model)
    append(cache, model, random, (0, 3))
    check(cache, model)


def test_a_ring_holds_its_window_and_gives_back_what_a_long_prompt_took():
    random = np.random.default_rng(1)
    of = group("rope", sliding_window=6)
    cache, model = both(of, 2, "rotated", Ring(keep_first=1))
    assert cache.layout == Ring(6, 1)
    model.window = 6
    append(cache, model, random, (40, 3))
    attended(cache, model, random, (40, 3))
    for _ in range(15):
        append(cache, model, random, (1, 1))
        attended(cache, model, random, (1, 1))
        check(cache, model)
    assert cache.positions.shape[1] == 7


def test_rows_cross_a_border_by_themselves():
    random = np.random.default_rng(1)
    of = group("rope", "longrope")
    cache, model = both(of, 3, "rotated", Dense())
    append(cache, model, random, (WINDOW - 1, WINDOW + 5, 3))
    past = WINDOW + 1
    assert cache.turned_by.tolist() == [0, past, 0]
    append(cache, model, random, (1, 0, 0))
    assert cache.turned_by.tolist() == [0, past, 0]
    append(cache, model, random, (1, 0, 0))
    assert cache.turned_by.tolist() == [past, past, 0]
    check(cache, model)


@pytest.mark.parametrize("storage, rounding", [("float32", 2e-7), ("bfloat16", 2**-7), ("int8", 0.02)])
def test_rotated_keys_are_not_rounded_for_each_token_of_dynamic_ntk(storage, rounding):
    random = np.random.default_rng(1)
    of = group("rope", "dynamic_ntk")
    cache, model = Cache(of, 1, keys="rotated", storage=storage), Model(of, 1, PerRow())
    for _ in range(WINDOW + 100):
        append(cache, model, random, (1,))
    got, wanted = cache.entries(), model.keys(0, int(cache.turned_by[0]) or None)
    error = np.linalg.norm(got.keys[0].double().numpy() - wanted, axis=-1) / np.linalg.norm(wanted, axis=-1)
    assert error.max() < rounding


def test_recompute_refuses_to_grow_past_a_border_and_says_which_rows():
    random = np.random.default_rng(1)
    of = group("rope", "longrope")
    cache = Cache(of, 2, regime=Recompute())
    model = Model(of, 2, Recompute())
    append(cache, model, random, (WINDOW, 4))
    assert cache.recompute_due() == []
    assert cache.recompute_due(1) == [0]
    k, v = tokens(random, (2, 1), of)
    with pytest.raises(InputError, match=r"length 13: under regime 'recompute' rows \[0\] must be cleared"):
        cache.append(k, v)
    check(cache, model)
    cache.clear([0])
    model.crop(0, 0)
    append(cache, model, random, (WINDOW + 1, 1))
    attended(cache, model, random, (WINDOW + 1, 1))
    # Back below the border: what is held was computed past it.
    cache.rewind([2, 0])
    assert cache.recompute_due() == [0]
    with pytest.raises(InputError, match="must be cleared"):
        cache.attend(torch.zeros(2, 1, 2, 16), torch.tensor([[WINDOW - 2], [4]]))


def test_frozen_refuses_what_lies_past_its_length():
    random = np.random.default_rng(1)
    of = group("rope", "dynamic_ntk")
    cache, model = both(of, 1, "rotated", Dense(), Frozen(20))
    append(cache, model, random, (20,))
    attended(cache, model, random, (20,))
    k, v = tokens(random, (1, 1), of)
    with pytest.raises(InputError, match="frozen at length 20 must hold positions below it, got 20"):
        cache.append(k, v)
    check(cache, model)


def test_the_multimodal_positions_of_text_after_an_image_go_on_behind_its_longest_side():
    of = group("multimodal")
    cache = Cache(of)
    image = torch.tensor([[0, 0, 0, 0], [0, 0, 1, 1], [0, 1, 0, 1]])[:, None]
    random = np.random.default_rng(1)
    cache.append(*tokens(random, (1, 4), of), image)
    cache.append(*tokens(random, (1, 2), of))
    assert cache.positions[:, 0, 4:6].tolist() == [[2, 3]] * 3
    cache.shift(4)
    assert cache.positions[:, 0, 4:6].tolist() == [[0, 1]] * 3


@pytest.mark.parametrize(
    ("drop", "keep_first", "text"),
    [(1, 3, [[2, 3]] * 3), (2, 2, [[2, 3]] * 3), (3, 1, [[1, 2]] * 3), (4, 0, [[0, 1]] * 3)],
)
def test_text_behind_half_an_image_that_stays_moves_past_it_and_not_onto_it(drop, keep_first, text):
    of = group("multimodal")
    cache = Cache(of)
    image = torch.tensor([[0, 0, 0, 0], [0, 0, 1, 1], [0, 1, 0, 1]])[:, None]
    random = np.random.default_rng(1)
    cache.append(*tokens(random, (1, 4), of), image)
    cache.append(*tokens(random, (1, 2), of))
    cache.shift(drop, keep_first)
    assert cache.positions[:, 0, 4:6].tolist() == text
    assert cache.positions[:, 0, :keep_first].tolist() == image[:, 0, :keep_first].tolist()
    cache.shift(2, keep_first)
    cache.append(*tokens(random, (1, 1), of))  # it goes on behind what stays, which nothing lies on
    assert cache.lengths.tolist() == [text[0][0] + 1]


def test_what_differs_from_what_a_cache_was_made_for_is_said():
    cache = Cache(Rope(head_dim=16))
    cache.check(Rope(head_dim=16))
    with pytest.raises(InputError, match=r"encoding\.base: 10000\.0 and 500000\.0"):
        cache.check(Rope(head_dim=16, base=500000.0))
    with pytest.raises(InputError, match=r"regime: PerRow\(\) and Frozen\(fixed=8\)"):
        cache.check(Rope(head_dim=16), Frozen(8))
    other = Cache(Rope(head_dim=16, base=500.0))
    other.append(torch.zeros(1, 1, 1, 16), torch.zeros(1, 1, 1, 16))
    with pytest.raises(InputError, match=r"encoding\.base"):
        cache.splice(other.entries())
    with pytest.raises(InputError, match="pairing"):
        cache.rebase(group("rope", pairing="interleaved"))
    with pytest.raises(InputError, match="how channels pair"):
        Cache(group("rope", pairing="unknown"))


@pytest.mark.parametrize("said", ["half", "interleaved"])
def test_a_cache_made_from_a_scheme_is_stamped_with_the_pairing_that_turns_its_keys(said):
    cache = Cache(Rope(head_dim=4, pairing=said), keys="rotated")
    key = torch.tensor([1.0, 2.0, 3.0, 4.0]).view(1, 1, 1, 4)
    cache.append(key, key, torch.tensor([[1]]), gap=True)
    # base 10000: the first pair turns by 1 rad a token, the second by 0.01.
    pairs = {"half": (0, 2), "interleaved": (0, 1)}
    a, b = pairs[said]
    kept = cache.keys()[0, 0, 0]
    wanted = [(a + 1) * np.cos(1) - (b + 1) * np.sin(1), (a + 1) * np.sin(1) + (b + 1) * np.cos(1)]
    np.testing.assert_allclose(kept[[a, b]].numpy(), wanted, rtol=1e-6)
    assert cache.stamp.group.pairing == said
    cache.check(Rope(head_dim=4, pairing=said))
    cache.check(LayerGroup("full_attention", Rope(head_dim=4), pairing=said))
    other = {"half": "interleaved", "interleaved": "half"}[said]
    with pytest.raises(InputError, match=f"pairing: {said} and {other}$"):
        cache.check(LayerGroup("full_attention", Rope(head_dim=4), pairing=other))
    with pytest.raises(InputError, match=f"pairing: {said} and {other}$"):
        cache.check(Rope(head_dim=4, pairing=other))


def test_entries_of_caches_that_pair_alike_are_spliced_whoever_says_how():
    one = Cache(Rope(head_dim=16), keys="rotated")
    other = Cache(LayerGroup("full_attention", Rope(head_dim=16, pairing="interleaved"), pairing="half"))
    k = torch.randn(1, 3, 1, 16, generator=torch.Generator().manual_seed(0))
    other.append(k, k)
    one.append(k, k)
    one.splice(other.entries())
    np.testing.assert_allclose(one.keys("unrotated")[:, 3:6].numpy(), k.numpy(), atol=1e-6)


@pytest.mark.parametrize(
    "positions, options, message",
    [
        ([[3, 4]], {}, "row 0 would have two at 3"),
        ([[4, 4]], {"gap": True}, "row 0 would have two at 4"),
        ([[5, 6]], {}, "row 0 goes on at 4, got 5 where 4 comes next"),
        ([[4, 6]], {}, "got 6 where 5 comes next"),
        ([[-2, 4]], {}, "-1 for no token, got -2"),
        ([[4, 5, 6]], {}, r"positions must have shape \[1, 2\]"),
    ],
)
def test_positions_that_collide_or_leave_a_gap_are_refused(positions, options, message):
    random = np.random.default_rng(1)
    of = group("rope")
    cache, model = both(of, 1, "rotated", Dense())
    append(cache, model, random, (4,))
    with pytest.raises(InputError, match=message):
        cache.append(*tokens(random, (1, 2), of), torch.tensor(positions), **options)
    check(cache, model)
    cache.append(*tokens(random, (1, 2), of), torch.tensor([[5, 4]]))
    assert cache.lengths.tolist() == [6]


def test_a_declared_gap_may_be_filled_later():
    random = np.random.default_rng(1)
    of = group("rope")
    cache = Cache(of)
    cache.append(*tokens(random, (1, 2), of), torch.tensor([[10, 11]]), gap=True)
    assert cache.lengths.tolist() == [12]
    cache.append(*tokens(random, (1, 2), of), torch.tensor([[3, 4]]), gap=True)
    assert cache.entries().positions.tolist() == [[3, 4, 10, 11]]
    assert cache.lengths.tolist() == [12]


def test_queries_past_the_end_are_refused():
    random = np.random.default_rng(1)
    of = group("rope")
    cache, model = both(of, 2, "rotated", Dense())
    append(cache, model, random, (4, 2))
    q = torch.zeros(2, 1, 2, 16)
    with pytest.raises(InputError, match="row 1 ends before 2, got 3"):
        cache.attend(q, torch.tensor([[3], [3]]))
    with pytest.raises(InputError, match="a query for each token appended last, 4, got 1"):
        cache.attend(q)
    cache.crop(1)
    with pytest.raises(InputError, match="appended last, none, got 1"):
        cache.attend(q)


def test_a_query_of_what_a_ring_has_overwritten_is_refused():
    random = np.random.default_rng(1)
    of = group("rope")
    cache, model = both(of, 1, "rotated", Ring(window=4))
    for _ in range(10):
        append(cache, model, random, (1,))
    cache.rewind(1)
    with pytest.raises(InputError, match="has overwritten positions 0 to 5: a query at 8 needs keys from 5 on"):
        cache.attend(torch.zeros(1, 1, 2, 16), torch.tensor([[8]]))


def test_a_cache_keeps_no_gradient():
    cache = Cache(group("rope"))
    k = torch.zeros(1, 1, 1, 16, requires_grad=True)
    with pytest.raises(InputError, match="keeps no gradient"):
        cache.append(k, k)
    with torch.no_grad():
        cache.append(k, k)
    assert cache.counts.tolist() == [1]


@pytest.mark.parametrize("kept", ["rotated", "unrotated"])
def test_what_is_not_finite_is_refused_where_a_token_is(kept):
    random = np.random.default_rng(1)
    of = group("rope")
    cache, model = both(of, 1, kept, Ring(window=4))
    append(cache, model, random, (6,))
    k, v = tokens(random, (1, 3), of)
    k[0, 0] = torch.nan
    with pytest.raises(InputError, match="k must be finite"):
        cache.append(k, v)
    check(cache, model)
    cache.append(k, v, torch.tensor([[-1, 6, 7]]))
    assert torch.isfinite(cache.keys()).all()
    assert torch.isfinite(cache.attend(torch.randn(1, 3, 2, 16))).all()


@pytest.mark.parametrize("scheme", ["rope", "multimodal"])
def test_a_row_that_is_cleared_begins_at_0_whatever_was_evicted(scheme):
    random = np.random.default_rng(1)
    of = group(scheme)
    cache, model = both(of, 2, "rotated", Dense())
    append(cache, model, random, (6, 3))
    cache.evict(0, 0)
    cache.clear([0])
    assert cache.lengths.tolist() == [0, 3]
    cache.append(*tokens(random, (2, 1), of))
    assert cache.lengths.tolist() == [1, 4]
