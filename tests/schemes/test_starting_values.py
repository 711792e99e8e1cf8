"""What learned schemes start from, and the numbers they have where none are given."""

import numpy as np
import pytest

from ordinate.errors import InputError
from ordinate.schemes.cope import Cope
from ordinate.schemes.deberta import Deberta
from ordinate.schemes.learned import LearnedPositions


def test_deberta_starts_from_bert_positions_and_projections_that_keep_their_size():
    learned = Deberta(heads=4, head_dim=64, max_distance=512).initial(3)
    assert learned["positions"].std() == pytest.approx(0.02, rel=0.02)
    assert learned["key_projection"].std() == pytest.approx(256**-0.5, rel=0.02)


def test_cope_has_64_positions_and_the_usual_scale_where_none_are_given():
    scheme = Cope(heads=2, head_dim=16)
    assert scheme.positions == 64
    assert scheme.softmax_scale == pytest.approx(0.25)


def test_learned_positions_are_berts_where_nothing_is_given():
    scheme = LearnedPositions()
    assert (scheme.length, scheme.dim, scheme.beyond, scheme.combine) == (512, 768, "refuse", "add")
    assert scheme.cost(512).parameters == 393216


def test_an_unknown_spacing_is_refused():
    with pytest.raises(InputError, match="spacing must be one of ends, steps, got 'middle'"):
        LearnedPositions(length=8, dim=2, beyond="interpolate", target=16, spacing="middle")


@pytest.mark.parametrize("seed", [0, 1])
def test_starting_values_depend_on_the_seed_alone(seed):
    scheme = Deberta.example()
    first, second = scheme.initial(seed), scheme.initial(seed)
    assert all(np.array_equal(first[name], second[name]) for name in first)
    assert not np.array_equal(first["positions"], scheme.initial(seed + 2)["positions"])


def test_the_seed_is_0_where_none_is_given():
    scheme = Deberta.example()
    assert np.array_equal(scheme.initial()["positions"], scheme.initial(0)["positions"])
    assert not np.array_equal(scheme.initial()["positions"], scheme.initial(1)["positions"])
