"""Damaged headers, indexes and configurations: a converted model or one line of refusal."""

import json
import shutil
import tracemalloc

import pytest
from conversion_files import LLAMA, STEM, raw, weights, write
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ordinate.errors import InputError
from ordinate.files.weight_files import INDEX
from ordinate.weights import convert

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)
NAMES = st.sampled_from(
    [
        *(f"{STEM}{module}.weight" for module in ("q_proj", "k_proj", "qkv_proj", "q_norm", "indexer")),
        *(f"{STEM}q_proj.{name}" for name in ("bias", "qweight", "weight_scale", "SCB", "lora_B.weight", "", "x.y")),
        *(
            "model.layers.99999999999.self_attn.q_proj.weight",
            "model.layers.3.self_attn.k_proj.weight",
            "mtp.x",
            "",
            ".",
        ),
    ]
)
TYPES = st.sampled_from(["F32", "BF16", "F4", "U8", "I8", "F8_E4M3", "I64", "BOOL"])


def tried(source, tmp_path, pairing="interleaved"):
    """Convert, and return whether it worked; a refusal must be one line and leave nothing."""
    out, refusal = tmp_path / "out", ""
    tracemalloc.start()
    try:
        convert(source, out, pairing)
    except InputError as error:
        refusal = str(error)
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    made = out.exists()
    shutil.rmtree(out, ignore_errors=True)
    # The reader of JSON sets aside the 64 MiB that it reads at most.
    assert peak < 128 * 2**20
    assert "\n" not in refusal
    assert made != bool(refusal)
    assert not [file for file in tmp_path.iterdir() if ".partial-" in file.name]
    return made


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return tmp_path_factory.mktemp("fuzz")


@pytest.fixture(scope="module")
def source(place):
    directory = write(place / "a", weights())
    assert tried(directory, place)
    return directory


@given(st.data())
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_damaged_headers(place, source, data):
    kept = (source / "model.safetensors").read_bytes()
    length = 8 + int.from_bytes(kept[:8], "little")
    damaged = bytearray(kept)
    for _ in range(data.draw(st.integers(1, 4))):
        damaged[data.draw(st.integers(0, length))] = data.draw(st.integers(0, 255))
    try:
        (source / "model.safetensors").write_bytes(damaged)
        tried(source, place)
    finally:
        (source / "model.safetensors").write_bytes(kept)


@given(names=st.dictionaries(NAMES, st.tuples(TYPES, st.lists(st.integers(0, 30), max_size=3)), max_size=4))
@settings(max_examples=100, deadline=None)
def test_headers_with_other_tensors(place, names):
    entries, start = {}, 0
    plain = {name: ("F32", list(tensor.shape)) for name, tensor in weights().items()}
    bits = {"F32": 32, "BF16": 16, "F4": 4, "I64": 64}
    for name, (dtype, shape) in (plain | names).items():
        size = bits.get(dtype, 8)
        for dimension in shape:
            size *= dimension
        entries[name] = {"dtype": dtype, "shape": shape, "data_offsets": [start, start + size // 8]}
        start += size // 8
    text = json.dumps(entries).encode()
    directory = place / "other"
    directory.mkdir(exist_ok=True)
    (directory / "config.json").write_text(json.dumps(LLAMA))
    (directory / "model.safetensors").write_bytes(len(text).to_bytes(8, "little") + text + bytes(start))
    tried(directory, place)


@given(
    config=st.dictionaries(
        st.sampled_from([*LLAMA, "ordinate_pairing", "text_config", "quantization_config", "layer_types"]),
        JSON,
        max_size=3,
    )
)
@settings(max_examples=100, deadline=None)
def test_odd_configurations(place, config):
    directory = place / "configured"
    if not directory.exists():
        write(directory, weights())
    (directory / "config.json").write_text(json.dumps(LLAMA | config))
    tried(directory, place)


@given(index=st.dictionaries(st.sampled_from(["weight_map", "metadata", "x"]), JSON, max_size=3) | JSON)
@settings(max_examples=60, deadline=None)
def test_odd_indexes(place, index):
    directory = place / "indexed"
    if not directory.exists():
        write(directory, weights())
        (directory / "model.safetensors").rename(directory / "one.safetensors")
    (directory / INDEX).write_text(json.dumps(index))
    assert not tried(directory, place)


@given(st.binary(max_size=64))
@settings(max_examples=60, deadline=None)
def test_indexes_that_are_no_json(place, data):
    directory = place / "indexed too"
    directory.mkdir(exist_ok=True)
    (directory / "config.json").write_text(json.dumps(LLAMA))
    (directory / INDEX).write_bytes(data)
    assert not tried(directory, place)


def test_a_header_that_lies_about_a_huge_tensor_is_refused_in_little_memory(place):
    directory = write(place / "huge", weights())
    entry = {"dtype": "F32", "shape": [2**40, 2**20], "data_offsets": [0, 2**62]}
    text = json.dumps({f"{STEM}q_proj.weight": entry}).encode()
    (directory / "model.safetensors").write_bytes(len(text).to_bytes(8, "little") + text)
    assert not tried(directory, place)


def test_the_fuzzed_source_is_sound(place, source):
    convert(source, place / "sound", "interleaved")
    assert raw(place / "sound").keys() == raw(source).keys()
