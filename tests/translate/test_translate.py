"""The same model in another engine's words: what is proven, what is refused, and what the command prints."""

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import ordinate
from ordinate.cli import run
from ordinate.errors import InputError
from ordinate.scaling.linear import Linear
from ordinate.spec import Spec
from ordinate.translate import compare, engine, engines, prove, translate

GPT_OSS = {
    "model_type": "gpt_oss",
    "head_dim": 64,
    "num_attention_heads": 64,
    "num_key_value_heads": 8,
    "num_hidden_layers": 24,
    "sliding_window": 128,
    "max_position_embeddings": 131072,
    "rope_parameters": {
        "rope_type": "yarn",
        "rope_theta": 150000.0,
        "factor": 32.0,
        "original_max_position_embeddings": 4096,
        "beta_fast": 32.0,
        "beta_slow": 1.0,
        "truncate": False,
    },
}
LLAMA = {
    "model_type": "llama",
    "head_dim": 64,
    "num_attention_heads": 8,
    "num_hidden_layers": 4,
    "max_position_embeddings": 4096,
    "rope_parameters": {"rope_type": "default", "rope_theta": 500000.0},
}


def file(folder: Path, config: dict[str, Any], name: str = "config.json") -> str:
    path = folder / name
    path.write_text(json.dumps(config), encoding="utf-8")
    return str(path)


def with_scaling(scaling: Any) -> Spec:
    spec = ordinate.read(LLAMA)
    return replace(spec, groups={"full_attention": replace(spec.group, stretch=scaling)})


def test_the_proof_of_a_model_against_itself_is_exact() -> None:
    spec = ordinate.read(GPT_OSS)
    for proof in prove(spec, spec):
        assert proof.exact
        assert (proof.frequency_error, proof.magnitude_error, proof.angle_error) == (0.0, 0.0, 0.0)


def test_the_angle_error_is_the_difference_in_frequency_times_the_window() -> None:
    (proof,) = prove(with_scaling(None), with_scaling(Linear(2.0)))
    # Every frequency is halved; the fastest turns at 1 rad/token.
    assert proof.frequency_error == pytest.approx(0.5)
    assert proof.angle_error == pytest.approx(0.5 * 4096)
    assert proof.at == 4096


def test_a_length_that_is_given_counts_alone() -> None:
    (proof,) = prove(with_scaling(None), with_scaling(Linear(2.0)), 100)
    assert proof.lengths == (100,)
    assert proof.angle_error == pytest.approx(50)


def test_groups_of_another_number_of_pairs_or_kind_are_never_exact() -> None:
    spec = ordinate.read(LLAMA)
    narrow = ordinate.read({**LLAMA, "head_dim": 32})
    bias = ordinate.read({"model_type": "bloom", "n_head": 8, "hidden_size": 512, "n_layer": 4})
    for other in (narrow, bias):
        (proof,) = prove(spec, other)
        assert not proof.exact
        assert proof.scheme is not None


@pytest.mark.parametrize("name", ["mlx", "tensorrt_llm", "llama_cpp", "ollama", "koboldcpp"])
def test_rounding_moves_pair_17_of_gpt_oss_by_76_percent(name: str) -> None:
    (row,) = compare(ordinate.read(GPT_OSS), [name])
    for proof in row.proof:
        assert proof.pair == 17
        assert proof.frequency_error == pytest.approx(0.76, abs=0.005)
    assert any(loss.setting == "truncate" for loss in row.losses)
    assert not row.same


@pytest.mark.parametrize("name", ["vllm", "sglang", "huggingface"])
def test_engines_that_heed_truncate_run_gpt_oss_as_it_is(name: str) -> None:
    (row,) = compare(ordinate.read(GPT_OSS), [name])
    assert row.same
    assert row.losses == ()


def test_a_translation_is_faithful_where_nothing_is_lost_and_only_there() -> None:
    assert translate(ordinate.read(GPT_OSS), "vllm").faithful
    lossy = translate(ordinate.read(GPT_OSS), "mlx")
    assert not lossy.faithful
    assert lossy.losses


@pytest.mark.parametrize("name", engines())
def test_every_engine_says_plain_rope_and_proves_it(name: str) -> None:
    translation = translate(ordinate.read(LLAMA), name)
    assert all(proof.exact for proof in translation.proof)
    assert translation.written.text


def test_an_unknown_engine_is_refused_with_the_nearest() -> None:
    with pytest.raises(InputError, match="did you mean 'vllm'"):
        engine("vlm")


def test_the_command_prints_the_words_first(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["translate", file(tmp_path, GPT_OSS), "--to", "vllm"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("--hf-overrides '{")
    assert "nothing is lost" in out


def test_the_command_withholds_words_that_lose_something_unless_asked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = file(tmp_path, GPT_OSS)
    assert run(["translate", path, "--to", "mlx"]) == 1
    out = capsys.readouterr().out
    assert "--lossy" in out
    assert "rope_theta" not in out
    assert run(["translate", path, "--to", "mlx", "--lossy"]) == 0
    assert capsys.readouterr().out.startswith("{")
    assert run(["translate", path, "--to", "mlx", "--format", "json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert (found["settings"], found["text"], found["faithful"]) == (None, None, False)
    assert found["losses"][0]["source"]
    assert found["proof"][0]["pair"] == 17


@pytest.mark.parametrize("name, stale", [("huggingface", "rope_scaling"), ("huggingface_v4", "rope_parameters")])
def test_a_step_says_where_the_json_goes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, stale: str
) -> None:
    assert run(["translate", file(tmp_path, LLAMA), "--to", name]) == 0
    steps = " ".join(capsys.readouterr().out.split()).partition("steps")[2]
    assert "into the model's config.json, in the place" in steps
    assert stale in steps
    part = {"model_type": "llava", "text_config": LLAMA}
    assert run(["translate", file(tmp_path, part), "--to", name]) == 0
    assert "config.json, under text_config," in " ".join(capsys.readouterr().out.split())


def test_options_of_copies_belong_to_copies(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = file(tmp_path, LLAMA)
    assert run(["translate", path, "--to", "vllm", "--from", path]) == 2
    assert "--from belongs to --to gguf, got --to vllm" in capsys.readouterr().err
    assert run(["translate", path, "--to", "gguf"]) == 2
    assert "--from" in capsys.readouterr().err


def test_diff_of_engines_has_a_row_each_and_a_line_for_each_loss(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = file(tmp_path, GPT_OSS)
    assert run(["diff", path, "--engines", "mlx,vllm"]) == 1
    out = capsys.readouterr().out
    assert "76.3%" in out
    assert out.count("source:") == 1
    assert run(["diff", path, "--engines", "vllm,sglang"]) == 0
    assert "source:" not in capsys.readouterr().out
    assert run(["diff", path, "--engines", "all", "--format", "json"]) == 1
    rows = json.loads(capsys.readouterr().out)["engines"]
    assert [row["engine"] for row in rows] == engines()


@pytest.mark.parametrize("part", [None, "text_config"])
@pytest.mark.parametrize("key", ["rope_parameters", "rope_scaling"])
def test_diff_of_engines_sees_the_length_of_the_file_where_a_factor_follows_from_it(
    key: str, part: str | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # As Qwen3's page tells users to write it: 40960 / 32768 is 1.25, and the file says 4.
    rope = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32768}
    words = {"rope_parameters": {**rope, "rope_theta": 1e6}} if key == "rope_parameters" else {key: rope}
    own = {**LLAMA, "model_type": "qwen3", "head_dim": 128, "max_position_embeddings": 40960, "rope_theta": 1e6}
    del own["rope_parameters"]
    own |= words
    if part is not None:
        own = {"model_type": "qwen3_vl", part: {**own, "model_type": "qwen3_vl_text"}}
    path = file(tmp_path, own)
    assert run(["diff", path, "--engines", "exllamav3,vllm", "--format", "json"]) == 1
    mine, theirs = json.loads(capsys.readouterr().out)["engines"]
    assert [loss["setting"] for loss in mine["losses"]] == ["factor"]
    assert "40960 / original_max_position_embeddings 32768" in mine["losses"][0]["what"]
    # The slowest pairs turn at 1 / 1.25 of their plain frequency in place of 1 / 4.
    assert mine["proof"][0]["frequency_error"] == pytest.approx(4 / 1.25 - 1)
    magnitudes = [0.1 * math.log(4) + 1, 0.1 * math.log(1.25) + 1]
    assert mine["proof"][0]["magnitudes"] == pytest.approx(magnitudes)
    assert theirs["losses"] == []
    # With the length that the factor needs there is nothing to say.
    text = Path(path).read_text(encoding="utf-8").replace("40960", "131072")
    Path(path).write_text(text, encoding="utf-8")
    assert run(["diff", path, "--engines", "exllamav3"]) == 0


def test_diff_of_two_models_says_what_differs_and_by_how_much(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    a = file(tmp_path, LLAMA, "a.json")
    rope = {"rope_type": "linear", "rope_theta": 500000.0, "factor": 2.0}
    b = file(tmp_path, {**LLAMA, "rope_parameters": rope}, "b.json")
    assert run(["diff", a, a]) == 0
    assert "the same" in capsys.readouterr().out
    assert run(["diff", a, b, "--format", "json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert "groups.full_attention.stretch" in {entry["path"] for entry in found["differences"]}
    assert found["proof"][0]["frequency_error"] == pytest.approx(0.5)
    assert not found["same"]


def test_diff_of_two_models_reads_as_describe_does_with_shares_of_the_first(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rope = {"rope_type": "linear", "rope_theta": 500000.0, "factor": 2.0}
    a = file(tmp_path, {**LLAMA, "rope_parameters": rope}, "a.json")
    b = file(tmp_path, LLAMA, "b.json")
    assert run(["diff", a, b]) == 1
    out = capsys.readouterr().out
    assert f"a: {a}\nb: {b}\n" in out
    assert "groups.full_attention.stretch: linear, factor 2 -> none" in out
    # Twice as fast is 100 % more than a, and would be 50 % of b.
    assert "frequencies[0]: 0.5 -> 1 (100.0%)" in out
    assert "frequencies within 100.0%" in out
    assert "50.0%" not in out
    assert "paired differently" not in out


def test_diff_says_that_weights_do_not_fit_where_only_the_pairing_differs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    a = file(tmp_path, LLAMA, "a.json")
    b = file(tmp_path, {**LLAMA, "ordinate_pairing": "interleaved"}, "b.json")
    assert run(["diff", a, b]) == 1
    out = " ".join(capsys.readouterr().out.split())
    assert "q and k channels are paired differently (half and interleaved)" in out
    assert "weights of one are not weights of the other" in out


def test_diff_needs_one_thing_to_compare_with(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = file(tmp_path, LLAMA)
    for arguments in ([path], [path, path, "--engines", "all"], [path, path, "--capacity", "5"]):
        assert run(["diff", *arguments]) == 2
    assert run(["diff", path, "--engines", "vllm", "--capacity", "0"]) == 2
    assert "capacity" in capsys.readouterr().err


LONGROPE = {
    "rope_type": "longrope",
    "rope_theta": 1e4,
    "short_factor": [1.0] * 32,
    "long_factor": [4.0] * 32,
    "factor": 4.0,
    "original_max_position_embeddings": 1024,
}


def test_the_tokens_that_each_engine_is_taken_to_be_started_for_are_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = file(tmp_path, {**LLAMA, "max_position_embeddings": 16384, "rope_parameters": LONGROPE})
    expected = {"vllm": 1024, "ollama": 4096, "llama_cpp": 16384}
    rows = compare(ordinate.read(path), list(expected))
    assert {row.engine: row.tokens for row in rows} == expected
    assert {row.tokens for row in compare(ordinate.read(path), list(expected), capacity=2048)} == {2048}
    run(["diff", path, "--engines", "vllm,ollama"])
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["vllm", "1,024", "full_attention"] in [line[:3] for line in lines]
    assert ["ollama", "4,096", "full_attention"] in [line[:3] for line in lines]


def test_an_engine_that_is_the_same_at_one_length_has_no_reason_about_another(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = file(tmp_path, {**LLAMA, "rope_parameters": LONGROPE})
    (short,) = compare(ordinate.read(path), ["vllm"], length=512)
    assert short.same
    assert short.elsewhere
    assert run(["diff", path, "--engines", "vllm", "--length", "512"]) == 0
    out = capsys.readouterr().out
    assert "source:" not in out
    assert "not at others: vllm" in out
    (long,) = compare(ordinate.read(path), ["vllm"], length=2048)
    assert long.losses
    assert not long.elsewhere


def test_a_loss_that_is_of_no_length_stays_where_tables_are_the_same() -> None:
    images = ordinate.read({"model_type": "qwen2_vl_text", "num_hidden_layers": 2})
    (row,) = compare(images, ["mlx"], length=100)
    assert [loss.setting for loss in row.losses] == ["mrope_section"]


def test_engines_that_diff_takes_without_their_flags_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = file(tmp_path, LLAMA)
    run(["diff", path, "--engines", "koboldcpp,text_generation_webui,vllm"])
    assert "koboldcpp, text_generation_webui: what the engine computes from the model's own file" in " ".join(
        capsys.readouterr().out.split()
    )
    run(["diff", path, "--engines", "vllm"])
    assert "own file" not in capsys.readouterr().out


def test_the_capacity_decides_which_list_of_longrope_an_engine_takes() -> None:
    rope = {
        "rope_type": "longrope",
        "rope_theta": 1e4,
        "short_factor": [1.0] * 32,
        "long_factor": [4.0] * 32,
        "factor": 4.0,
        "original_max_position_embeddings": 1024,
    }
    spec = ordinate.read({**LLAMA, "rope_parameters": rope})
    (short,) = compare(spec, ["vllm"], length=4096)
    (long,) = compare(spec, ["vllm"], length=4096, capacity=4096)
    assert short.proof[0].frequency_error == pytest.approx(3.0)
    assert long.proof[0].exact
    (inside,) = compare(spec, ["vllm"], length=512, capacity=4096)
    assert inside.proof[0].frequency_error == pytest.approx(0.75)
    assert math.isclose(inside.proof[0].magnitudes[0], math.sqrt(1 + math.log(4) / math.log(1024)))
