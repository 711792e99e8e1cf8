"""What lies at the edge: no tokens, far positions, other windows, other channels, and what just fits."""

import mpmath
import numpy as np
import pytest
import torch
from reference_caches import SCHEMES, Model, axes, check, group, tokens

from ordinate.caches import Cache, Dense, Frozen, Paged, PerRow, Ring, regime
from ordinate.caches.latent_cache import LatentCache
from ordinate.dialects import read
from ordinate.errors import InputError, got
from ordinate.schemes.alibi import Alibi
from ordinate.schemes.rope import Rope
from ordinate.schemes.xpos import Xpos
from ordinate.spec import LayerGroup

ROPE = group("rope")
SEVERAL = [name for name in SCHEMES if axes(group(name)) > 1]


def sliding(window, base=10_000.0):
    return LayerGroup("sliding", Rope(head_dim=16, base=base), pairing="half", sliding_window=window)


def filled(of=ROPE, count=3, **options):
    cache, model = Cache(of, **options), Model(of, 1, PerRow(), options.get("layout"))
    grow(cache, model, count)
    return cache, model


def grow(cache, model, count):
    k, v = tokens(np.random.default_rng(count), (1, count), cache.stamp.group)
    start = model.ends[0]
    model.append(
        0, k[0].double().numpy(), v[0].double().numpy(), [(start + i,) * axes(model.group) for i in range(count)]
    )
    cache.append(k, v)


def attends(cache, model, position):
    q = torch.from_numpy(
        np.random.default_rng(9).standard_normal((1, 1, 2, cache.stamp.group.encoding.head_dim))
    ).float()
    at = torch.full((axes(model.group), 1, 1), position)
    out = cache.attend(q, at if axes(model.group) > 1 else at[0], causal=False)[0].numpy()
    rank = model.next_rank(0) - 1 if axes(model.group) > 1 else position
    wanted = model.attend(0, q[0].double().numpy(), [(position,) * axes(model.group)], [rank])
    np.testing.assert_allclose(out, wanted, rtol=1e-4, atol=2e-5)


@pytest.mark.parametrize("kept", ["rotated", "unrotated"])
def test_a_ring_keeps_its_window_when_its_keys_are_turned_anew(kept):
    cache, model = filled(sliding(4), 8, keys=kept, layout=Ring(4))
    for other in (sliding(3), sliding(8)):
        with pytest.raises(InputError, match="sliding window"):
            cache.rebase(other)
        check(cache, model)
    cache.rebase(sliding(4, 500.0))
    model.group = sliding(4, 500.0)
    check(cache, model)
    attends(cache, model, 7)


def test_a_dense_cache_takes_another_window():
    cache, model = filled(sliding(4), 8)
    cache.rebase(sliding(3))
    model.group, model.window = sliding(3), 3
    check(cache, model)
    attends(cache, model, 7)


@pytest.mark.parametrize("keep_first", [0, 1])
@pytest.mark.parametrize("scheme", SEVERAL)
def test_a_ring_of_several_axes_knows_what_it_has_overwritten_after_a_crop(scheme, keep_first):
    cache, model = filled(group(scheme), 8, layout=Ring(8, keep_first))
    for _ in range(4):
        grow(cache, model, 1)
    cache.crop(3)
    model.crop(0, 3)
    grow(cache, model, 1)
    check(cache, model)
    lost = model.misses(0, [3])
    assert lost
    with pytest.raises(InputError, match="overwritten"):
        cache.attend(torch.ones(1, 1, 2, cache.stamp.group.encoding.head_dim))


@pytest.mark.parametrize("scheme", SEVERAL)
def test_a_ring_of_one_token_and_several_axes_goes_on(scheme):
    cache, model = filled(group(scheme), 1, layout=Ring(1))
    for _ in range(3):
        grow(cache, model, 1)
        check(cache, model)
        attends(cache, model, model.ends[0] - 1)


def test_a_frozen_length_holds_without_any_scaling():
    cache = Cache(ROPE, regime=Frozen(3))
    k, v = tokens(np.random.default_rng(0), (1, 4), ROPE)
    with pytest.raises(InputError, match="frozen at length 3"):
        cache.append(k, v)
    cache.append(k[:, :3], v[:, :3])
    assert cache.lengths.tolist() == [3]
    with pytest.raises(InputError, match="frozen at length 2"):
        cache.rebase(regime=Frozen(2))


@pytest.mark.parametrize("layout", [Dense(), Paged(4, 4), Ring(8)])
@pytest.mark.parametrize("kept", ["rotated", "unrotated"])
def test_no_tokens_are_none(layout, kept):
    cache, model = filled(layout=layout, keys=kept)
    k, v = tokens(np.random.default_rng(0), (1, 0), ROPE)
    for positions in (None, torch.zeros(1, 0, dtype=torch.int64), torch.zeros(0, dtype=torch.int64)):
        cache.append(k, v, positions)
        assert cache.attend(k).shape == (1, 0, 2, 3)
        check(cache, model)
    attends(cache, model, 2)


@pytest.mark.parametrize("kept", ["rotated", "unrotated"])
@pytest.mark.parametrize("position", [2, 100, 2**30])
def test_a_query_may_stand_far_away(position, kept):
    cache, model = filled(keys=kept)
    cache.append(*tokens(np.random.default_rng(0), (1, 1), ROPE), torch.tensor([[2**31]]), gap=True)
    cache.rewind(1)
    model.ends[0] = 2**31
    attends(cache, model, position)
    made = cache._tables
    assert made is not None
    assert all(len(table[0]) < 2**12 for table in made._made.values())


def test_keys_turn_within_a_thousandth_of_a_radian_up_to_where_they_are_refused():
    base, last = 500_000.0, 2**42 - 1
    cache = Cache(Rope(head_dim=128, base=base), keys="rotated", storage="float32")
    k = torch.tensor([1.0] * 64 + [0.0] * 64).view(1, 1, 1, 128)
    with pytest.raises(InputError, match=f"must be below {last + 1}.*got {last + 1}"):
        cache.append(k, k, torch.tensor([last + 1]), gap=True)
    cache.append(k, k, torch.tensor([last]), gap=True)
    with mpmath.workdps(60):
        angles = [last * mpmath.power(base, -mpmath.mpf(pair) / 64) for pair in range(64)]
        exact = torch.tensor([float(mpmath.cos(a)) for a in angles] + [float(mpmath.sin(a)) for a in angles])
    off = (cache.keys("rotated")[cache.positions == last] - exact).abs().max()
    assert float(off) < 1e-3
    # The bound is no wider than it must be.
    positions = 2**44 - 1 - np.arange(64)
    worst = 0.0
    with mpmath.workdps(60):
        for position, found in zip(positions, cache.stamp.group.rope.angles(positions, None), strict=True):
            true = [int(position) * mpmath.power(base, -mpmath.mpf(pair) / 64) for pair in range(8)]
            worst = max(worst, *(abs(float(f - t)) for f, t in zip(map(mpmath.mpf, found), true, strict=False)))
    assert worst > 1e-3


def test_what_turns_faster_reaches_less_far():
    fast = Rope(head_dim=16, base=2.0**-8)  # the last pair turns by 2^7 rad a token
    k = torch.ones(1, 1, 1, 16)
    cache = Cache(fast)
    with pytest.raises(InputError, match=r"must be below 34359738368, .* got 34359738368"):
        cache.append(k, k, torch.tensor([2**35]), gap=True)
    slow = Cache(ROPE)
    slow.append(k, k, torch.tensor([2**35]), gap=True)
    with pytest.raises(InputError, match="must be below 34359738368"):
        slow.rebase(fast)
    with pytest.raises(InputError, match=r"must be below 4398046511104, .* got 9007199254740991"):
        slow.attend(k, torch.tensor([2**53 - 1]))


def test_no_entry_stands_past_the_last_position():
    cache = Cache(Alibi(heads=2))
    k = v = torch.ones(1, 1, 2, 8)
    for _ in range(3):
        cache.append(k, v)
    chunk = cache.entries(start=2)
    with pytest.raises(InputError, match="2\\^53 - 1, got 9007199254740992"):
        cache.splice(chunk, 2**53, gap=True)
    cache.splice(chunk, 2**53 - 1, gap=True)
    assert cache.lengths.tolist() == [2**53]
    with pytest.raises(InputError, match="2\\^53 - 1"):
        cache.append(k, v)


def test_a_wrong_position_is_named():
    cache, _ = filled()
    with pytest.raises(InputError, match=r"got 9007199254740993$"):
        cache.append(*tokens(np.random.default_rng(0), (1, 2), ROPE), torch.tensor([3, 2**53 + 1]))


@pytest.mark.parametrize("kept", ["rotated", "unrotated"])
def test_keys_have_the_channels_of_their_scheme(kept):
    cache = Cache(ROPE, keys=kept)
    for width in (8, 32):
        k = torch.ones(1, 2, 1, width)
        with pytest.raises(InputError, match="16 channels"):
            cache.append(k, k)
    cache.append(torch.ones(1, 2, 1, 16), torch.ones(1, 2, 1, 5))
    for other in (Rope(head_dim=32), Rope(head_dim=8)):
        with pytest.raises(InputError, match="channels"):
            cache.rebase(LayerGroup("x", other, pairing="half"))
    assert cache.stamp.group == ROPE


def test_keys_of_a_bias_have_any_channels():
    k = torch.ones(1, 2, 2, 7)
    cache = Cache(Alibi(heads=2))
    cache.append(k, k)
    assert cache.counts.tolist() == [2]


def test_a_cache_does_not_become_that_of_another_kind_of_scheme():
    cache, model = filled()
    with pytest.raises(InputError, match="another kind"):
        cache.rebase(Alibi(heads=2))
    check(cache, model)
    cache.rebase(group("xpos"))
    model.group = group("xpos")
    attends(cache, model, 2)


@pytest.mark.parametrize("kept", ["rotated", "unrotated"])
def test_no_key_stands_past_the_reach_of_xpos(kept):
    of = LayerGroup("x", Xpos(head_dim=16), pairing="half")
    cache, model = filled(of, keys=kept)
    k, v = tokens(np.random.default_rng(0), (1, 1), of)
    edge = of.encoding.centre + of.encoding.reach
    with pytest.raises(InputError, match="xPos"):
        cache.append(k, v, torch.tensor([[edge + 1]]), gap=True)
    check(cache, model)
    cache.append(k, v, torch.tensor([[edge]]), gap=True)
    assert cache.lengths.tolist() == [edge + 1]


def test_a_message_is_one_line():
    assert got(torch.ones(2, 2)) == "tensor([[1., 1.], [1., 1.]])"
    with pytest.raises(InputError) as raised:
        Cache(torch.ones(3, 3))
    assert "\n" not in str(raised.value)


WRONG = {
    "no rows": lambda c: c.entries(rows=[]),
    "entries as integers": lambda c: c.entries(dtype=torch.int64),
    "keys as integers": lambda c: c.keys(dtype=torch.int64),
    "values as integers": lambda c: c.values(dtype=torch.int64),
    "rewind past any start": lambda c: c.rewind(2**70),
    "a word for tokens": lambda c: c.recompute_due("x"),
    "less than no tokens": lambda c: c.recompute_due(-1),
    "a word for tables": lambda _: Cache(ROPE, tables="x"),
    "k on no device": lambda c: c.append(*(torch.ones(1, 1, 2, 16, device="meta") for _ in range(2))),
    "k of 8 bits": lambda c: c.append(*(torch.ones(1, 1, 2, 16).to(torch.float8_e4m3fn) for _ in range(2))),
    "a scheme for MLA": lambda _: LatentCache(Rope(head_dim=16), None),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_an_input_error_of_one_line(name):
    cache, model = filled()
    with pytest.raises(InputError) as raised:
        WRONG[name](cache)
    assert "\n" not in str(raised.value)
    check(cache, model)


def test_a_crop_past_an_end_is_refused_as_a_rewind_past_the_beginning_is():
    cache, model = filled()
    ends = cache.lengths.tolist()
    for lengths in (2**70, [*ends[:-1], ends[-1] + 1]):
        with pytest.raises(InputError, match=r"row 0 has \d+ positions to keep, got"):
            cache.crop(lengths)
    cache.crop(ends)
    check(cache, model)
    assert cache.keys(dtype=torch.float64).dtype == torch.float64
    assert cache.recompute_due(2**60) == []


def test_a_spec_is_told_from_one_of_its_groups():
    spec = read({"model_type": "llama", "hidden_size": 64, "num_attention_heads": 4, "max_position_embeddings": 64})
    with pytest.raises(InputError, match=r"group must be one group of .*, full_attention, got all of its spec"):
        Cache(spec)
    assert Cache(spec.group).lengths.tolist() == [0]


def test_names_where_objects_are_needed_are_answered_with_the_choices_and_the_reverse():
    of = Rope(head_dim=16)
    with pytest.raises(
        InputError, match=r"regime must be PerRow\(\), Frozen\(length\) or Recompute\(\).*got 'per_row'"
    ):
        Cache(of, regime="per_row")
    with pytest.raises(InputError, match=r"layout must be Dense\(\), Paged\(pages, page_size\) or Ring\(.*got 'paged'"):
        Cache(of, layout="paged")
    with pytest.raises(
        InputError, match=r"regime must be a name, 'frozen', 'per_row' or 'recompute', got the object Per"
    ):
        regime(PerRow())
