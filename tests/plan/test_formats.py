"""Bytes of a head in each format are those that the caches and llama.cpp take."""

import pytest

from ordinate.caches.storage import storage, storages
from ordinate.errors import InputError
from ordinate.files.tensor_types import TYPES, bytes_of
from ordinate.plan.formats import formats, kv_format, pair_of

DIMS = (1, 2, 31, 32, 33, 63, 64, 80, 96, 127, 128, 256, 512, 576)


@pytest.mark.parametrize("name", storages())
@pytest.mark.parametrize("dim", DIMS)
def test_a_head_takes_what_the_storage_of_the_caches_takes(name, dim):
    assert kv_format(name).bytes_per_head(dim) == storage(name).bytes_per_head(dim)


@pytest.mark.parametrize("name", ["fp8", "int8", "int4"])
@pytest.mark.parametrize("block", [1, 16, 48, 128])
@pytest.mark.parametrize("scales", ["float32", "bfloat16"])
@pytest.mark.parametrize("dim", [1, 33, 128])
def test_blocks_and_scales_of_a_storage_can_be_chosen(name, block, scales, dim):
    expected = storage(name, block=block, scales=scales).bytes_per_head(dim)
    assert kv_format(f"{name}:{block}:{scales}").bytes_per_head(dim) == expected


@pytest.mark.parametrize("name", ["q8_0", "q5_1", "q5_0", "q4_1", "q4_0", "iq4_nl"])
@pytest.mark.parametrize("dim", [32, 64, 96, 128])
def test_a_head_takes_what_llama_cpps_type_takes(name, dim):
    kind = next(one for one in TYPES.values() if one.name == name.upper())
    assert kv_format(name).bytes_per_head(dim) == bytes_of(kind, (dim,), "a head")


def test_some_heads_by_hand():
    assert kv_format("q8_0").bytes_per_head(128) == 4 * (2 + 32)
    assert kv_format("q4_0").bytes_per_head(128) == 4 * (2 + 16)
    assert kv_format("int4").bytes_per_head(128) == 64 + 4 * 4
    assert kv_format("fp8_e4m3").bytes_per_head(128) == 128
    assert kv_format("fp16") == kv_format("float16") == kv_format("f16")


def test_values_can_have_a_format_of_their_own():
    assert [one.name for one in pair_of("q8_0/q4_0")] == ["q8_0", "q4_0"]
    assert [one.name for one in pair_of("int8")] == ["int8", "int8"]


@pytest.mark.parametrize(
    "name, said",
    [
        ("int9", "did you mean 'int8'"),
        ("", "unknown KV format"),
        ("float16:32", "settings must be one of fp8, int8, int4"),
        ("int8:0", "must be an integer >= 1"),
        ("int8:x", "must be an integer >= 1"),
        ("int8:32:float64", "must be one of float32, bfloat16"),
        ("int8:32:float32:1", "a block and a type of scales"),
        ("q8_0/", "unknown KV format"),
    ],
)
def test_what_is_no_format_is_refused(name, said):
    with pytest.raises(InputError, match=said):
        pair_of(name)


def test_llama_cpps_blocks_are_whole():
    with pytest.raises(InputError, match="multiple of 32 channels, got 80"):
        kv_format("q8_0").bytes_per_head(80)


def test_every_listed_format_is_there():
    for name in formats():
        assert kv_format(name).name == name
