"""The bounded JSON reader."""

import json
import math
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ordinate.errors import InputError, finite
from ordinate.files.json import parse_object, read_json

MIB = 2**20
LEAVES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
OBJECTS = st.dictionaries(
    st.text(),
    st.recursive(LEAVES, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=8),
)


def refused(data: bytes, reason: str) -> None:
    """Every refusal is one line that names the file."""
    with pytest.raises(InputError, match=reason) as caught:
        read_json(data, name="config.json")
    message = str(caught.value)
    assert "config.json" in message
    assert "\n" not in message
    assert len(message) < 300


@given(OBJECTS)
@settings(max_examples=60, deadline=None)
def test_every_object_written_as_json_is_read_back(value):
    assert read_json(json.dumps(value).encode(), name="x") == value
    assert read_json(json.dumps(value, ensure_ascii=False, indent=1).encode(), name="x") == value


def test_a_file_is_read_like_its_bytes(tmp_path):
    (tmp_path / "config.json").write_bytes(b'{"rope_theta": 10000.0}')
    assert read_json(tmp_path / "config.json", name="config.json") == {"rope_theta": 10000.0}


def test_a_missing_file_is_refused(tmp_path):
    with pytest.raises(InputError, match="does not exist"):
        read_json(tmp_path / "config.json", name="config.json")


def test_infinity_and_nan_are_read_and_refused_only_by_who_reads_the_key():
    value = read_json(b'{"time_step_limit": [0.0, Infinity], "rope_theta": NaN, "a": -Infinity}', name="config.json")
    assert value["time_step_limit"] == [0.0, math.inf]
    assert value["a"] == -math.inf
    with pytest.raises(InputError, match="rope_theta must be a finite number, got nan"):
        finite("rope_theta", value["rope_theta"])


@pytest.mark.parametrize("data", [b"", b" \n\t", b"\x00"])
def test_nothing_is_refused(data):
    refused(data, "is empty|not valid JSON")


@pytest.mark.parametrize("data", [b"[1]", b'"text"', b"1", b"null", b"NaN", b"true"])
def test_what_is_not_an_object_is_refused(data):
    refused(data, "must hold a JSON object")


@pytest.mark.parametrize("data", [b'{"a": "\xff"}', b'{"\xc3": 1}', b"\xff\xfe{\x00}\x00", b'{"a": "\xed\xa0\x80"}'])
def test_what_is_not_utf8_is_refused(data):
    refused(data, "must be UTF-8")


@pytest.mark.parametrize("data", [b'{"a": ["\\ud800"]}', b'{"\\uDFFF": 1}', b'{"a": "\\ude00\\ud83d"}'])
def test_half_a_surrogate_pair_is_refused(data):
    refused(data, "half a surrogate pair")


def test_a_whole_surrogate_pair_is_one_character():
    assert read_json(b'{"a": "\\ud83d\\ude00"}', name="x") == {"a": "\N{GRINNING FACE}"}


@pytest.mark.parametrize("data", [b'{"a": 1', b'{"a" 1}', b"{'a': 1}", b'{"a": 1,}', b"{} {}", b'{"a": "\n"}', b"{a}"])
def test_broken_json_is_refused_with_its_place(data):
    refused(data, r"is not valid JSON: .*\(line \d+, column \d+\)")


@pytest.mark.parametrize(
    "data", [b'{"a": 1, "a": 1}', b'{"b": {"c": [{"a": 1, "x": 0, "a": 2}]}}', b'{"a": 1, "\\u0061": 2}']
)
def test_a_duplicate_key_is_refused_at_any_depth_and_in_any_spelling(data):
    refused(data, "duplicate key 'a'")


def test_the_same_key_in_two_objects_is_no_duplicate():
    assert read_json(b'{"a": {"a": 1}, "b": {"a": 2}}', name="x") == {"a": {"a": 1}, "b": {"a": 2}}


@pytest.mark.parametrize("opening,closing", [(b"[", b"]"), (b'{"a":', b"}")])
def test_nesting_is_read_to_64_levels_and_no_deeper(opening, closing):
    inner = b"0" if opening != b"[" else b""
    read_json(b'{"a":' + opening * 63 + inner + closing * 63 + b"}", name="x")
    refused(b'{"a":' + opening * 64 + inner + closing * 64 + b"}", "nested 65 levels deep, at most 64")


@pytest.mark.parametrize("data", [b"[" * 1_000_000, b'{"a":' * 90_000, b"[]" + b"]" * 10 + b"[" * 500_000])
def test_a_depth_bomb_is_refused_and_never_a_recursion_error(data):
    refused(data, "levels deep|brackets|not valid JSON")


def test_objects_and_lists_that_are_closed_again_add_no_depth():
    closed = b'{"a": [' + b"[[]], {}, " * 200
    read_json(closed + b"[" * 62 + b"]" * 62 + b"]}", name="x")
    refused(closed + b"[" * 63 + b"]" * 63 + b"]}", "nested 65 levels deep")


def test_brackets_in_strings_are_no_nesting():
    text = "[" * 1000 + '"' + "{" * 1000 + "\\"
    assert read_json(json.dumps({"a": text, "b": [text]}).encode(), name="x") == {"a": text, "b": [text]}


def test_brackets_after_an_escaped_quote_are_still_in_the_string():
    assert read_json(b'{"a": "\\\\", "b": "\\"' + b"[" * 100 + b'"}', name="x") == {"a": "\\", "b": '"' + "[" * 100}
    refused(b'{"a": "\\\\", "b": ' + b"[" * 100 + b"}", "nested 101 levels")


def test_keys_are_counted_over_all_objects():
    def objects(count: int) -> bytes:
        one = b'{"a":0,"b":{"c":":"}}'
        return b'{"k":[' + b",".join([one] * count) + b"]}"

    assert len(read_json(objects(33_333), name="x")["k"]) == 33_333
    refused(objects(33_334), "holds 100003 keys, at most 100000")


def test_a_caller_may_set_its_own_bounds_on_keys_and_length():
    assert parse_object(b'{"a": 1, "b": 2}', name="x", maximum_keys=2, maximum_bytes=16) == {"a": 1, "b": 2}
    with pytest.raises(InputError, match="holds 2 keys, at most 1"):
        parse_object(b'{"a": 1, "b": 2}', name="x", maximum_keys=1)
    with pytest.raises(InputError, match="at most 15 bytes"):
        parse_object(b'{"a": 1, "b": 2}', name="x", maximum_bytes=15)


def test_a_million_values_are_read_and_no_more():
    assert len(read_json(b'{"a":[' + b"0," * 999_999 + b"0]}", name="x")["a"]) == 1_000_000
    refused(b'{"a":[' + b"0," * 1_000_000 + b"0]}", "holds 1000001 values")


def test_a_string_of_one_mebibyte_is_read_and_no_longer_one():
    assert len(read_json(b'{"a":"' + b"x" * MIB + b'"}', name="x")["a"]) == MIB
    refused(b'{"a":"' + b"x" * (MIB + 1) + b'"}', "a string of 1048577 bytes")
    refused(b'{"' + b"x" * (MIB + 1) + b'": 1}', "a string of 1048577 bytes")


def test_a_file_beyond_64_mebibytes_is_refused_from_its_beginning(tmp_path):
    path = tmp_path / "config.json"
    with open(path, "wb") as handle:
        handle.truncate(64 * MIB + 1)
    with pytest.raises(InputError, match="at most 67108864 bytes"):
        read_json(path, name="config.json")


def test_integers_become_floats_without_overflow_or_are_refused():
    assert float(read_json(b'{"a": ' + b"9" * 308 + b"}", name="x")["a"]) == pytest.approx(1e308)
    refused(b'{"a": ' + b"9" * 309 + b"}", "an integer of 309 digits")
    refused(b'{"a": -' + b"9" * 5000 + b"}", "an integer of 5001 digits")


@pytest.mark.parametrize(
    "data",
    [
        b'{"a":"' + b'\\"' * 16 * MIB,
        b'{"a":"' + b"\\" * 32 * MIB,
        b'"' * 32 * MIB,
        b"[]" * 16 * MIB,
        b'{"a":[' + b"0," * 16 * MIB,
        b'{"a":' + b"1" * 32 * MIB + b"}",
    ],
    ids=["escaped quotes", "backslashes", "quotes", "brackets", "values", "digits"],
)
def test_the_work_for_hostile_text_grows_no_faster_than_its_length(data):
    start = time.process_time()
    refused(data, "config.json")
    # 32 MiB take under a second; a scan that starts anew at every quote would take hours.
    assert time.process_time() - start < 10


def check_outcome(data: bytes) -> None:
    """Any bytes are an object, or an InputError of one line; nothing else."""
    message = ""
    try:
        assert isinstance(read_json(data, name="config.json"), dict)
    except InputError as error:
        message = str(error)
    assert "\n" not in message


@given(st.binary(max_size=60) | st.text(alphabet='{}[]",:\\0159.eE-+untrfalsyNIi ', max_size=60).map(str.encode))
@settings(max_examples=300, deadline=None)
def test_any_bytes_are_an_object_or_an_input_error(data):
    check_outcome(data)


@given(st.data())
@settings(max_examples=300, deadline=None)
def test_a_damaged_config_is_an_object_or_an_input_error(data):
    whole = bytearray(
        b'{"rope_theta": 1e4, "rope_scaling": {"rope_type": "yarn", "factor": [2.0, NaN]}, "x": "\\u00e9"}'
    )
    for _ in range(data.draw(st.integers(1, 4))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    check_outcome(bytes(whole[: data.draw(st.integers(0, len(whole)))]))
