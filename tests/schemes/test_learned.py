"""Learned positions: the table, its bounds, and the ways past its end that checkpoints took."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from transformers.models.bart.modeling_bart import BartLearnedPositionalEmbedding
from transformers.models.opt.modeling_opt import OPTLearnedPositionalEmbedding

import ordinate
from ordinate.errors import InputError

Learned = ordinate.scheme("learned")


def random_table(rows, dim, seed=0):
    return {"table": np.random.default_rng(seed).normal(size=(rows, dim))}


@pytest.mark.parametrize(
    ("length", "dim", "parameters"), [(512, 768, 393_216), (1024, 768, 786_432), (1024, 1600, 1_638_400)]
)
def test_bert_and_gpt2_tables_have_their_known_sizes(length, dim, parameters):
    cost = Learned(length=length, dim=dim).cost(512)
    assert (cost.parameters, cost.table_bytes, cost.operations) == (parameters, 0, 512 * dim)


def test_a_position_is_its_row():
    learned = random_table(16, 4)
    table = Learned(length=16, dim=4).table([15, 0, 3, 3], learned)
    np.testing.assert_array_equal(table, learned["table"][[15, 0, 3, 3]])


@pytest.mark.parametrize("embedding", [OPTLearnedPositionalEmbedding, BartLearnedPositionalEmbedding])
def test_opt_and_bart_start_at_row_two(embedding):
    module = embedding(10, 4)
    scheme = Learned(length=10, dim=4, offset=2)
    learned = {"table": module.weight.detach().numpy()}
    positions = torch.arange(10)[None]
    with torch.no_grad():
        if embedding is OPTLearnedPositionalEmbedding:
            theirs = module(torch.ones(1, 10, dtype=torch.long), position_ids=positions)
        else:
            theirs = module(torch.zeros(1, 10), position_ids=positions[0])
    np.testing.assert_array_equal(scheme.table(range(10), learned), theirs.numpy().reshape(10, 4))


@pytest.mark.parametrize(("padding_idx", "fit"), [(1, 512), (3, 510)])
def test_robertas_514_rows_hold_fewer_tokens(padding_idx, fit):
    scheme = Learned(length=514 - padding_idx - 1, dim=2, offset=padding_idx + 1)
    learned = {"table": np.arange(1028.0).reshape(514, 2)}
    assert scheme.limit == fit
    assert scheme.table([0, fit - 1], learned)[:, 0].tolist() == [2 * (padding_idx + 1), 2 * 513]
    with pytest.raises(InputError, match=f"position {fit} is outside the learned table of {fit} positions"):
        scheme.table(range(fit + 1), learned)


@pytest.mark.parametrize("position", [1024, -1])
def test_a_position_past_the_table_is_refused_with_both_numbers(position):
    scheme = Learned(length=1024, dim=2)
    with pytest.raises(InputError, match=f"position {position} is outside the learned table of 1024 positions"):
        scheme.table([0, position], scheme.initial())


def test_a_stretched_table_ends_too():
    for beyond in ("interpolate", "extend"):
        scheme = Learned(length=4, dim=2, beyond=beyond, target=9)
        assert scheme.table([8], scheme.initial()).shape == (1, 2)
        with pytest.raises(InputError, match=r"position 9 is outside the learned table of 9 positions$"):
            scheme.table([9], scheme.initial())


def long_clip(old, keep, ratio=4):
    """Long-CLIP's table, row by row: its first rows, then each step cut in `ratio`, then the last step carried on."""
    length = len(old)
    rows = [old[i] for i in range(keep)]
    for i in range(keep, length - 1):
        rows += [old[i] + (old[i + 1] - old[i]) * part / ratio for part in range(ratio)]
    rows += [old[length - 1] + (old[length - 1] - old[length - 2]) * part / ratio for part in range(ratio)]
    return np.array(rows)


def test_clips_77_positions_become_long_clips_248():
    learned = random_table(77, 8)
    scheme = Learned(length=77, dim=8, beyond="interpolate", target=248, keep_first=20, spacing="steps")
    table = scheme.table(range(248), learned)
    expected = long_clip(learned["table"], 20)
    assert expected.shape == (248, 8)
    np.testing.assert_allclose(table, expected, rtol=1e-12, atol=1e-14)
    np.testing.assert_array_equal(table[:21], learned["table"][:21])


def test_two_rows_are_carried_on_past_the_second():
    scheme = Learned(length=2, dim=1, beyond="interpolate", target=4, spacing="steps")
    assert scheme.table(range(4), {"table": np.array([[0.0], [2.0]])})[:, 0].tolist() == [0, 1, 2, 3]


def test_one_position_is_served_and_none_are():
    scheme = Learned(length=1, dim=2)
    assert scheme.table([0], scheme.initial()).shape == (1, 2)
    assert scheme.table([], scheme.initial()).shape == (0, 2)


@given(length=st.integers(1, 30), more=st.integers(0, 60))
def test_aligned_ends_are_torchs_aligned_corners(length, more):
    learned = random_table(length + 2, 3)
    scheme = Learned(length=length, dim=3, offset=2, beyond="interpolate", target=length + more)
    rows = torch.tensor(learned["table"][2:]).T[None]
    expected = torch.nn.functional.interpolate(rows, size=length + more, mode="linear", align_corners=True)[0].T
    table = scheme.table(range(length + more), learned)
    np.testing.assert_allclose(table, expected.numpy(), atol=1e-12)
    if length > 1:
        np.testing.assert_array_equal(table[[0, -1]], learned["table"][[2, -1]])


def test_kept_rows_stay_and_the_rest_is_stretched_to_the_last_row():
    learned = random_table(10, 3)
    scheme = Learned(length=10, dim=3, beyond="interpolate", target=25, keep_first=4)
    table = scheme.table(range(25), learned)
    np.testing.assert_array_equal(table[:5], learned["table"][:5])
    at = np.linspace(4, 9, 21)
    for channel in range(3):
        expected = np.interp(at, np.arange(10), learned["table"][:, channel])
        np.testing.assert_allclose(table[4:, channel], expected, atol=1e-14)


def test_thirty_seven_rows_become_thirty_nine_and_not_thirty_eight():
    for spacing in ("ends", "steps"):
        scheme = Learned(length=37, dim=2, beyond="interpolate", target=39, spacing=spacing)
        assert scheme.table(range(39), scheme.initial()).shape == (39, 2)


@pytest.mark.parametrize("keep_first", [0, 3, 6, 7])
@pytest.mark.parametrize(("beyond", "spacing"), [("interpolate", "ends"), ("interpolate", "steps"), ("extend", "ends")])
def test_a_stretch_to_its_own_length_changes_nothing(beyond, spacing, keep_first):
    learned = random_table(8, 3)
    scheme = Learned(length=8, dim=3, beyond=beyond, target=8, keep_first=keep_first, spacing=spacing)
    np.testing.assert_array_equal(scheme.table(range(8), learned), learned["table"])


def test_an_extended_table_starts_again_as_longformer_did():
    learned = random_table(2 + 6, 3)
    scheme = Learned(length=6, dim=3, offset=2, beyond="extend", target=15)
    repeated = np.concatenate([learned["table"][2:]] * 3)[:15]
    np.testing.assert_array_equal(scheme.table(range(15), learned), repeated)


def test_an_extended_table_repeats_only_what_is_not_kept():
    learned = {"table": np.arange(5.0)[:, None]}
    scheme = Learned(length=5, dim=1, beyond="extend", target=12, keep_first=2)
    assert scheme.table(range(12), learned)[:, 0].tolist() == [0, 1, 2, 3, 4, 2, 3, 4, 2, 3, 4, 2]


def test_torch_agrees_and_every_row_learns_its_share():
    scheme = Learned(length=5, dim=2, offset=1, beyond="interpolate", target=9)
    learned = scheme.initial(3)
    table = torch.tensor(learned["table"], requires_grad=True)
    served = scheme.table(range(9), {"table": table}, xp=torch)
    np.testing.assert_allclose(served.detach().numpy(), scheme.table(range(9), learned), rtol=1e-15)
    served.sum().backward()
    assert table.grad is not None
    # a row in the middle is reached by itself and by half of each neighbour in between; the ends by one of those
    np.testing.assert_allclose(table.grad[:, 0].numpy(), [0, 1.5, 2, 2, 2, 1.5])


def test_the_start_is_drawn_from_the_seed_with_a_deviation_of_two_hundredths():
    scheme = Learned(length=512, dim=64)
    first = scheme.initial(0)["table"]
    assert first.std() == pytest.approx(0.02, rel=0.02)
    np.testing.assert_array_equal(first, scheme.initial(0)["table"])
    assert (first != scheme.initial(1)["table"]).any()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"length": 0}, "length"),
        ({"dim": -1}, "dim"),
        ({"offset": -2}, "offset"),
        ({"beyond": "wrap"}, "beyond"),
        ({"target": 1024}, "target and keep_first are for"),
        ({"keep_first": 20}, "target and keep_first are for"),
        ({"beyond": "interpolate"}, "target must be >= length 512, got 0"),
        ({"beyond": "extend", "target": 511}, "target must be >= length 512, got 511"),
        ({"beyond": "extend", "target": 600, "keep_first": 512}, "keep_first must be < length 512"),
        ({"beyond": "extend", "target": 600, "spacing": "steps"}, "spacing"),
        ({"spacing": "corners"}, "spacing"),
        ({"combine": "mean"}, "combine"),
    ],
)
def test_a_wrong_argument_is_named(arguments, words):
    with pytest.raises(InputError, match=words):
        Learned(**arguments)


def test_a_missing_table_is_named():
    with pytest.raises(InputError, match="learned learns table"):
        Learned(length=4, dim=2).table([0])
