"""Which method is chosen, and that the reason is true."""

import math

import pytest

from ordinate.extend.choose import choose
from ordinate.extend.methods import stretch
from ordinate.scaling.llama3 import Llama3
from ordinate.schemes.rope import Rope
from ordinate.spec import LayerGroup


def group(stretch=None, **settings):
    return LayerGroup("full_attention", Rope(**({"head_dim": 64} | settings)), stretch)


def test_yarn_is_the_usual_choice():
    for trained in (2048, 8192, 131072):
        method, why = choose(group(base=100000.0), trained=trained, to=2 * trained)
        assert method == "yarn"
        assert "2 times the length is within" in why
    assert "train on" in choose(group(base=100000.0), trained=2048, to=9 * 2048)[1]


def test_a_stretched_model_keeps_its_method():
    method, why = choose(group(Llama3(8.0, 8192)), trained=8192, to=262144)
    assert method == "llama3"
    assert "already" in why


def test_where_no_pair_turns_often_ntk_is_taken():
    # The fastest pair turns by 1 rad a token: 31.99 times in 201 tokens, 32.1 times in 202.
    for trained, expected in ((64, "ntk"), (201, "ntk"), (202, "yarn")):
        method, why = choose(group(), trained=trained, to=4 * trained)
        assert method == expected
        assert (f"{trained / (2 * math.pi):.1f} times" in why) == (method == "ntk")


def test_a_single_pair_leaves_linear():
    assert choose(group(head_dim=2), trained=4096, to=8192)[0] == "linear"


@pytest.mark.parametrize("settings", [{}, {"head_dim": 2}, {"base": 1e6}])
@pytest.mark.parametrize("trained", [64, 4096])
def test_the_choice_can_be_carried_out(settings, trained):
    chosen = group(**settings)
    method, _ = choose(chosen, trained=trained, to=3 * trained)
    assert stretch(method, chosen.rope, trained=trained, to=3 * trained, options={}).factor == 3
