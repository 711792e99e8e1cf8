"""A spec's identity: what changes it and what does not, and what two specs differ in."""

import dataclasses
import hashlib
import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ordinate import registry
from ordinate.errors import InputError
from ordinate.fingerprint import ABSENT, Difference, differences, fingerprint
from ordinate.scaling.longrope import LongRope
from ordinate.scaling.yarn import Yarn
from ordinate.schemes.alibi import Alibi
from ordinate.schemes.rope import Rope
from ordinate.spec import Heads, LayerGroup, Spec, Window
from ordinate.temperature import QueryTemperature

FULL = LayerGroup("full_attention", Rope(64, base=1e5), None, "half", (0, 2), Heads(9, 3, 64, 64))
LOCAL = LayerGroup("sliding_attention", Rope(64), None, "half", (1, 3), Heads(9, 3, 64, 64), sliding_window=512)
SPEC = Spec(
    "a model",
    "llama",
    "huggingface",
    {"full_attention": FULL, "sliding_attention": LOCAL},
    Window(8192, 8192),
    4,
    {"full_attention.base": "rope_theta"},
    ("beware",),
)


def with_group(spec: Spec, name: str, **changes) -> Spec:
    return dataclasses.replace(spec, groups={**spec.groups, name: dataclasses.replace(spec.groups[name], **changes)})


@pytest.mark.parametrize(
    "changes",
    [
        {"name": "another"},
        {"architecture": "mistral"},
        {"container": "gguf"},
        {"sources": {}},
        {"warnings": ()},
        {"groups": dict(reversed(SPEC.groups.items()))},
    ],
)
def test_names_sources_warnings_and_order_change_nothing(changes):
    other = dataclasses.replace(SPEC, **changes)
    assert fingerprint(other) == fingerprint(SPEC)
    assert differences(SPEC, other) == []


CHANGES = {
    "encoding": Rope(64, base=np.nextafter(1e5, 2e5)),
    "stretch": Yarn(2.0, 8192),
    "pairing": "interleaved",
    "layers": (0, 1),
    "heads": Heads(9, 9, 64, 64),
    "sliding_window": 4096,
    "softmax_scale": 1.0,
    "temperature": QueryTemperature("llama4", 0.1, 8192.0),
}


def test_every_field_of_a_group_is_changed_below():
    assert CHANGES.keys() == {field.name for field in dataclasses.fields(LayerGroup)} - {"layer_type"}


@pytest.mark.parametrize("field", CHANGES)
def test_whatever_a_group_does_with_position_changes_the_fingerprint(field):
    other = with_group(SPEC, "full_attention", **{field: CHANGES[field]})
    assert fingerprint(other) != fingerprint(SPEC)
    found = differences(SPEC, other)
    assert found
    assert all(difference.path.startswith("groups.full_attention.") for difference in found)


@pytest.mark.parametrize("window", [Window(8192, 16384), Window(None, 8192)])
def test_the_window_changes_the_fingerprint(window):
    assert fingerprint(dataclasses.replace(SPEC, window=window)) != fingerprint(SPEC)


def test_a_group_more_changes_the_fingerprint():
    other = dataclasses.replace(SPEC, groups={"full_attention": FULL})
    assert fingerprint(other) != fingerprint(SPEC)
    assert differences(SPEC, other) == [Difference("groups.sliding_attention", LOCAL, ABSENT)]


def test_two_classes_with_the_same_fields_differ():
    classes = [registry.lookup("ordinate.scaling", name, "scaling") for name in ("linear", "ntk")]
    prints = {fingerprint(with_group(SPEC, "full_attention", stretch=cls(4.0))) for cls in classes}
    assert len(prints) == 2


def test_equal_numbers_of_other_types_are_equal():
    other = with_group(SPEC, "full_attention", encoding=Rope(np.int64(64), base=np.float64(100000)))
    same = with_group(SPEC, "full_attention", encoding=Rope(64, base=100000))
    assert fingerprint(other) == fingerprint(same) == fingerprint(SPEC)


def test_zero_has_no_sign():
    specs = [
        with_group(SPEC, "full_attention", temperature=QueryTemperature("llama4", zero, 8192.0)) for zero in (0.0, -0.0)
    ]
    assert fingerprint(specs[0]) == fingerprint(specs[1])


def test_pairs_that_turn_in_neither_spec_do_not_differ():
    parts = [Rope(64, rotary_dim=dim, base=1e5, part="proportional") for dim in (16, 32)]
    one, other = (with_group(SPEC, "full_attention", encoding=part) for part in parts)
    assert differences(one, other)[-1].path == "groups.full_attention.frequencies[8]"


def test_lists_count_entry_by_entry():
    lists = [(1.0, 2.0), (2.0, 1.0), (1.0, 2.0000000000000004)]
    specs = [with_group(SPEC, "full_attention", stretch=LongRope(one, one, 1.0, 4096)) for one in lists]
    assert len({fingerprint(spec) for spec in specs}) == 3


@given(st.floats(min_value=1.0, max_value=1e9), st.floats(min_value=1.0, max_value=1e9))
def test_bases_have_one_fingerprint_exactly_where_they_are_equal(a, b):
    one, other = (with_group(SPEC, "full_attention", encoding=Rope(64, base=base)) for base in (a, b))
    assert (fingerprint(one) == fingerprint(other)) == (a == b)


@pytest.mark.parametrize("name", registry.names("ordinate.schemes"))
def test_every_scheme_has_a_fingerprint(name):
    scheme = registry.lookup("ordinate.schemes", name, "scheme").example()
    spec = Spec("a model", "llama", "gguf", {"full_attention": LayerGroup("full_attention", scheme)}, Window(8, 8))
    assert len(fingerprint(spec)) == 64
    assert differences(spec, spec) == []


def test_the_form_that_is_hashed_is_written_down():
    # 64 is 0x1p6, 10000 is 0x1.388p13; keys in alphabetical order, as JSON has them with sort_keys.
    text = (
        '["ordinate spec 1", {"groups": {"full_attention": {"class": "LayerGroup", "encoding": {"base": '
        '"0x1.3880000000000p+13", "class": "Rope", "direction": "0x1.0000000000000p+0", "head_dim": '
        '"0x1.0000000000000p+6", "pairing": "half", "part": "first", "rotary_dim": "0x1.0000000000000p+6"}, '
        '"heads": null, "layer_type": "full_attention", "layers": null, "pairing": "half", "sliding_window": null, '
        '"softmax_scale": null, "stretch": null, "temperature": null}}, "layers": null, "window": {"class": "Window", '
        '"declared": "0x1.0000000000000p+3", "trained": null}}]'
    )
    group = LayerGroup("full_attention", Rope(64), pairing="half")
    spec = Spec("a model", "llama", "gguf", {"full_attention": group}, Window(None, 8))
    assert fingerprint(spec) == hashlib.sha256(text.encode()).hexdigest()


def test_the_fingerprint_is_the_same_in_another_process():
    code = (
        "from ordinate.schemes.rope import Rope; from ordinate.spec import LayerGroup, Spec, Window;"
        "from ordinate.fingerprint import fingerprint;"
        "g = LayerGroup('full_attention', Rope(64), pairing='half');"
        "print(fingerprint(Spec('x', 'y', 'gguf', {'full_attention': g}, Window(8, 8))))"
    )
    found = {
        subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("1", "2")
    }
    assert len(found) == 1


def test_differences_name_fields_and_what_follows_from_them():
    found = differences(SPEC, with_group(SPEC, "full_attention", stretch=Yarn(2.0, 8192)))
    paths = [difference.path for difference in found]
    assert [path.split("[")[0] for path in paths] == [
        "groups.full_attention.stretch",
        "groups.full_attention.frequencies",
        "groups.full_attention.attention_factor",
    ]
    # By the paper's formula pairs from 64 ln(8192 / 2 pi) / (2 ln 1e5) = 19.9 on are divided by the whole factor.
    assert int(paths[1].split("[")[1].rstrip("]")) >= 20
    assert (found[0].a, found[0].b) == (None, Yarn(2.0, 8192))
    assert found[1].relative == pytest.approx(0.5, rel=1e-12)
    assert found[2].a == 1.0
    assert found[2].relative == pytest.approx(1 - 1 / 1.0693147180559945, rel=1e-12)


def test_differences_follow_the_length_where_frequencies_do():
    short, long = (1.0,) * 32, (4.0,) * 32
    one = with_group(SPEC, "full_attention", stretch=LongRope(short, long, 1.0, 4096))
    other = with_group(SPEC, "full_attention", stretch=LongRope(short, short, 1.0, 4096))
    assert [d.path for d in differences(one, other, 4096)] == ["groups.full_attention.stretch.long_factor"]
    far = differences(one, other, 4097)[-1]
    assert far.relative == pytest.approx(0.75, rel=1e-12)


def test_pairs_that_do_not_turn_in_one_spec_differ_wholly():
    part = Rope(64, rotary_dim=32, base=1e5, part="proportional")
    found = differences(SPEC, with_group(SPEC, "full_attention", encoding=part))
    assert (found[-1].path, found[-1].relative) == ("groups.full_attention.frequencies[16]", 1.0)


def test_other_numbers_of_pairs_are_a_difference_of_their_own():
    found = differences(SPEC, with_group(SPEC, "full_attention", encoding=Rope(64, rotary_dim=32, base=1e5)))
    assert found[-1] == Difference("groups.full_attention.pairs", 32, 16)


def test_another_scheme_is_one_difference():
    found = differences(SPEC, with_group(SPEC, "full_attention", encoding=Alibi(9)))
    assert found == [Difference("groups.full_attention.encoding", FULL.encoding, Alibi(9))]


def test_what_is_no_value_is_refused():
    with pytest.raises(InputError, match="numbers, words, lists and dataclasses"):
        fingerprint(with_group(SPEC, "full_attention", layers={0, 1}))
