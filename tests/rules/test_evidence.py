"""The numbers that findings carry, against those of the reports and of the peers' own code."""

import copy
from typing import Any

import pytest
from rules.corpus import CASES, GPT_OSS, Case, deepseek, gpt_oss, llama, longrope, qwen3, scaled, vision, yarn

from ordinate.rules import check

LENGTH = 32768


def numbers(files: dict[str, Any], rule: str, engine: str | None = None) -> dict[str, Any]:
    found = [finding for finding in check(files, engine=engine).findings if finding.rule == rule]
    assert len(found) == 1
    return dict(found[0].numbers)


@pytest.mark.parametrize("engine", ["llama_cpp", "ollama", "koboldcpp", "mlx", "tensorrt_llm"])
def test_rounding_gpt_oss_moves_pair_17_by_76_percent(engine: str) -> None:
    config = yarn(131072, 4096, 32.0, theta=150000.0, truncate=False) | GPT_OSS
    found = numbers(config, "engine-truncate", engine)
    assert found["pair"] == 17
    assert found["relative"] == pytest.approx(0.76, abs=0.005)


def test_a_lost_truncate_moves_pair_17_of_gpt_oss_by_76_percent() -> None:
    settings = {"rope_type": "yarn", "factor": 32.0, "original_max_position_embeddings": 4096, "rope_theta": 150000.0}
    found = numbers(gpt_oss(**settings), "truncate-lost")
    assert found["pair"] == 17
    assert found["relative"] == pytest.approx(0.76, abs=0.005)
    for sound in (gpt_oss(**settings, truncate=False), gpt_oss() | {"rope_scaling": None}):
        assert "truncate-lost" not in [finding.rule for finding in check(sound).findings]


YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32768}
LOCAL = {"rope_type": "default", "rope_theta": 500000.0}
OUTSIDE = {"model_type": "qwen3", "max_position_embeddings": 131072}
TEXT = {"model_type": "qwen2_vl_text", "max_position_embeddings": 131072}


@pytest.mark.parametrize(
    ("config", "place", "path"),
    [
        (OUTSIDE | {"rope_scaling": YARN}, "beside rope_scaling", ""),
        (OUTSIDE | {"rope_parameters": YARN}, "in rope_parameters", "rope_parameters"),
        (
            {"model_type": "qwen2_vl", "text_config": TEXT | {"rope_scaling": YARN}},
            "in text_config, beside text_config.rope_scaling",
            "text_config",
        ),
        (
            {"model_type": "qwen2_vl", "text_config": TEXT | {"rope_parameters": YARN}},
            "in text_config.rope_parameters",
            "text_config.rope_parameters",
        ),
        (
            {"model_type": "olmo3", "rope_parameters": {"full_attention": YARN, "sliding_attention": LOCAL}},
            "in rope_parameters.full_attention",
            "rope_parameters.full_attention",
        ),
    ],
)
def test_a_missing_base_is_found_no_more_where_it_stands_in_the_place_named(
    config: dict[str, Any], place: str, path: str
) -> None:
    finding = next(f for f in check(config).findings if f.rule == "missing-base")
    assert finding.fix.endswith(f"trained with, {place}")
    mended = copy.deepcopy(config)
    inner = mended
    for step in path.split(".") if path else ():
        inner = inner[step]
    inner["rope_theta"] = 1000000.0
    assert "missing-base" not in [f.rule for f in check(mended).findings]


def test_a_zero_gives_1_261_in_sglang_and_1_369_in_transformers() -> None:
    found = numbers(yarn(163840, 4096, 40.0, mscale=0.707, mscale_all_dim=0), "zero-setting")
    assert found["sglang"] == pytest.approx(1.261, abs=5e-4)
    assert found["transformers"] == pytest.approx(1.369, abs=5e-4)


@pytest.mark.parametrize(
    ("config", "magnitude"),
    [(yarn(8192, 2048, 4.0), 1.139), (yarn(4096, 2048, 2.0), 1.0693), (longrope(factor=32.0), 1.19)],
)
def test_each_context_shift_multiplies_keys(config: dict[str, Any], magnitude: float) -> None:
    found = numbers(config, "engine-shift-magnitude", "llama_cpp")
    assert found["magnitude"] == pytest.approx(magnitude, abs=5e-4)


def test_the_fix_of_a_shift_is_one_that_the_engine_has() -> None:
    fixes = {}
    for engine in ("llama_cpp", "ollama", "koboldcpp"):
        findings = check(yarn(8192, 2048, 4.0), engine=engine).findings
        fixes[engine] = next(f.fix for f in findings if f.rule == "engine-shift-magnitude")
    assert fixes["llama_cpp"] == "no --context-shift"
    assert fixes["ollama"].startswith("Ollama always shifts, and no setting stops it")
    assert fixes["koboldcpp"] == "--noshift"


def test_a_beta_that_llama_cpp_leaves_has_an_option_in_llama_cpp_alone() -> None:
    for engine, fix in (("llama_cpp", "--yarn-beta-fast 16"), ("ollama", "ollama has no option")):
        findings = check(yarn(8192, 2048, 4.0, beta_fast=16.0), engine=engine).findings
        assert next(f.fix for f in findings if f.rule == "engine-yarn-settings").endswith(fix)


@pytest.mark.parametrize(
    "case", [case for case in CASES if case.engine == "llama_cpp"], ids=lambda case: f"{case.rule}-{case.report}"
)
def test_what_holds_for_llama_cpp_holds_where_it_runs(case: Case) -> None:
    """Ollama starts llama.cpp's server (ollama/ollama, llm/server.go); KoboldCpp is built on it."""
    for engine in ("ollama", "koboldcpp"):
        assert case.rule in [finding.rule for finding in check(case.files, engine=engine).findings]


def found(config: dict[str, Any], engine: str | tuple[str, ...]) -> set[tuple[str, str]]:
    findings = check(config, engine=engine).findings
    return {(f.rule, f.evidence) for f in findings if f.rule.startswith("engine")}


def test_several_engines_find_what_each_finds() -> None:
    config = yarn(131072, 4096, 32.0, theta=150000.0, truncate=False, attention_factor=1.0) | GPT_OSS
    each = [found(config, engine) for engine in ("sglang", "ollama")]
    assert all(each)
    assert found(config, ("sglang", "ollama")) == each[0] | each[1]


def test_ten_shifts_of_factor_2_make_keys_1_954_times_as_long() -> None:
    found = numbers(yarn(4096, 2048, 2.0), "engine-shift-magnitude", "ollama")
    assert found["after_ten"] == pytest.approx(1.954, abs=1e-3)


def test_exllamav3_runs_qwen3_with_1_25() -> None:
    config = qwen3(40960, rope_type="yarn", factor=4.0, original_max_position_embeddings=LENGTH)
    assert numbers(config, "engine-factor-from-lengths", "exllamav3")["engine_factor"] == 1.25
    assert numbers(config, "factor-against-lengths")["ratio"] == 1.25


def test_a_missing_original_length_moves_pair_40_by_124_percent() -> None:
    found = numbers(qwen3(131072, rope_type="yarn", factor=4.0), "original-length-missing")
    assert found["pair"] == 40
    assert found["relative"] == pytest.approx(1.24, abs=0.005)


def test_the_ramp_of_qwen3_is_23_to_40_and_with_its_file_length_24_to_41() -> None:
    config = qwen3(163840, rope_type="yarn", factor=4.0, original_max_position_embeddings=40960)
    evidence = next(f.evidence for f in check(config).findings if f.rule == "original-length-not-native")
    assert "(24, 41) instead of (23, 40)" in evidence


def test_dynamic_scaling_by_8_raises_the_base_as_57_would() -> None:
    assert numbers(scaled(2048, "dynamic", 8.0), "dynamic-growth")["growth"] == 57


def test_bfloat16_frequencies_are_5_radians_off_at_position_4096() -> None:
    files = {"config.json": llama(), "tensors": {"rotary_emb.inv_freq": ["BF16", [64]]}}
    found = numbers(files, "half-precision-tables")
    assert found["pair"] == 1
    assert found["angle_error"] == pytest.approx(5.01, abs=0.005)


def test_mistral_loses_1_277() -> None:
    config = yarn(262144, 16384, 16.0, mscale=1.0, mscale_all_dim=1.0)
    assert numbers(config, "mscale-cancels")["expected"] == pytest.approx(1.2773, abs=5e-5)


def test_the_same_pair_of_mscale_is_right_in_mla() -> None:
    rules = [finding.rule for finding in check(deepseek(mscale=1.0, mscale_all_dim=1.0)).findings]
    assert "mscale-cancels" not in rules
    assert "mla-correction" not in rules


def test_keras_hub_bounds_the_ramp_of_64_channels_at_pair_31() -> None:
    config = yarn(524288, 131072, 4.0) | {"head_dim": 64}
    assert numbers(config, "engine-yarn-ramp", "keras_hub")["pair"] == 31


def test_a_fix_has_the_sections_in_pairs() -> None:
    finding = next(f for f in check(vision(mrope_section=[32, 48, 48])).findings if f.rule == "mrope-sections")
    assert finding.fix == '"mrope_section": [16, 24, 24]'


def test_a_frequency_scale_is_turned_into_a_factor() -> None:
    finding = next(f for f in check(scaled(4096, "linear", 0.25)).findings if f.rule == "factor-out-of-range")
    assert finding.fix.startswith('"factor": 4 ')


def test_stored_frequencies_name_their_base() -> None:
    values = [1e6 ** (-i / 4) for i in range(4)]
    files = {"config.json": llama(head_dim=8), "tensors": {"rotary_emb.inv_freq": ["F32", [4], values]}}
    finding = next(f for f in check(files).findings if f.rule == "stored-frequencies")
    assert finding.fix == '"rope_theta": 1e+06'


def test_what_was_left_out_is_said_with_the_right_words() -> None:
    finding = next(f for f in check(scaled(8192, "yarm", 4.0)).findings if f.rule == "unknown-rope-type")
    assert "'yarm'" in finding.evidence
    assert '"yarn"' in finding.fix
