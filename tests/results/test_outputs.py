"""What each command really prints as JSON is valid by the published schema, and loses no key when it is read."""

import json

import jsonschema
import msgspec
import pytest
from validate_runs import drawn, trial

from ordinate import models
from ordinate.cli import run
from ordinate.errors import Unavailable
from ordinate.results import find, read, schema
from ordinate.validate.store import Manifest
from ordinate.validate.store.folder import open_run

LLAMA = {
    "model_type": "llama",
    "hidden_size": 64,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "num_hidden_layers": 2,
    "vocab_size": 256,
    "intermediate_size": 128,
    "max_position_embeddings": 8192,
    "rope_theta": 10000.0,
}
YARN = {"rope_scaling": {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 2048}}
MODELS = {
    "plain": LLAMA,
    "stretched": LLAMA | YARN,
    "slopes": {"model_type": "bloom", "hidden_size": 64, "n_head": 8, "n_layer": 2, "vocab_size": 256},
    "buckets": {
        "model_type": "t5",
        "d_model": 64,
        "d_kv": 16,
        "num_heads": 4,
        "num_layers": 2,
        "vocab_size": 256,
        "d_ff": 128,
    },
    "learned": {"model_type": "gpt2", "n_embd": 64, "n_head": 4, "n_layer": 2, "n_positions": 1024, "vocab_size": 256},
    "latent": {
        "model_type": "deepseek_v3",
        "hidden_size": 64,
        "num_attention_heads": 4,
        "num_key_value_heads": 4,
        "num_hidden_layers": 2,
        "kv_lora_rank": 32,
        "q_lora_rank": None,
        "qk_rope_head_dim": 8,
        "qk_nope_head_dim": 16,
        "v_head_dim": 16,
        "intermediate_size": 128,
        "vocab_size": 256,
        "max_position_embeddings": 4096,
        "rope_theta": 10000.0,
    },
}


@pytest.fixture(scope="module")
def validator():
    return jsonschema.Draft202012Validator(schema())


@pytest.fixture
def printed(validator, capsys, tmp_path, monkeypatch):
    """Runs a command in a folder of models, checks what it prints, and gives it with its exit code."""
    monkeypatch.chdir(tmp_path)
    for name, config in MODELS.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "config.json").write_text(json.dumps(config))

    def call(*arguments):
        capsys.readouterr()  # what was said before
        code = run(list(map(str, arguments)))
        out = capsys.readouterr()
        assert code in (0, 1, 3), out.err
        found = json.loads(out.out)
        sound(found, validator)
        return found, code

    return call


def sound(found, validator):
    """Valid, and every key of it is in its form."""
    validator.validate(found)
    assert read(found) == found
    assert json.loads(msgspec.json.encode(msgspec.convert(found, find(found["kind"]).form))) == found


@pytest.mark.parametrize("name", MODELS)
def test_describe(name, printed):
    assert printed("describe", name, "--format", "json")[0]["kind"] == "describe"
    assert printed("describe", name, "--length", 5000, "--format", "json")[0]["length"] == 5000


@pytest.mark.parametrize(
    "a, b, same", [("plain", "plain", True), ("plain", "stretched", False), ("plain", "slopes", False)]
)
def test_diff_of_two_models(a, b, same, printed):
    found, code = printed("diff", a, b, "--format", "json")
    assert (found["kind"], found["same"], code) == ("diff", same, int(not same))


@pytest.mark.parametrize("name", ["stretched", "slopes", "latent"])
def test_diff_of_all_engines(name, printed):
    found, _ = printed("diff", name, "--engines", "all", "--format", "json")
    assert found["kind"] == "engines"
    assert len(found["engines"]) > 10


def test_check(printed):
    found, _ = printed("check", *MODELS, "--engine", "vllm", "--format", "json")
    assert found["kind"] == "check"
    assert len(found["reports"]) == len(MODELS)
    assert any(report["findings"] for report in found["reports"])


@pytest.mark.parametrize("engine", ["vllm", "exllamav2", "llama_cpp"])
@pytest.mark.parametrize("more", [[], ["--lossy"]])
def test_translate(engine, more, printed):
    assert printed("translate", "stretched", "--to", engine, *more, "--format", "json")[0]["kind"] == "translate"


def test_translate_of_a_gguf_file(printed, tmp_path):
    try:
        models.find("smollm2")
    except Unavailable as error:
        pytest.skip(str(error))
    (tmp_path / "wanted").mkdir()
    wanted = {**LLAMA, "num_attention_heads": 9, "num_key_value_heads": 3, "hidden_size": 576, "num_hidden_layers": 30}
    rope = {"rope_type": "yarn", "rope_theta": 100000.0, "factor": 4.0, "original_max_position_embeddings": 8192}
    wanted |= {"max_position_embeddings": 32768, "rope_parameters": rope}
    (tmp_path / "wanted" / "config.json").write_text(json.dumps(wanted))
    copy = ["translate", "smollm2", "--to", "gguf", "--from", "wanted", "--out", tmp_path / "copy.gguf"]
    found, code = printed(*copy, "--format", "json")
    assert (found["kind"], found["written"], code) == ("gguf-copy", True, 0)


@pytest.mark.parametrize("name", MODELS)
def test_plan(name, printed):
    asked = ["--context", "1k,4k", "--batch", "1,16", "--memory", "1GiB", "--format", "json"]
    assert printed("plan", name, *asked)[0]["kind"] == "plan"


def test_plan_with_a_target(printed):
    found, _ = printed("plan", "plain", "--target", "32k", "--kv", "int8", "--tensor-parallel", 2, "--format", "json")
    assert found["ways"]["position"]
    assert found["ways"]["memory"]


@pytest.fixture
def runs(tmp_path):
    """Two runs of the same instances, before and after a change that loses much."""
    one = trial(units=24)
    for name, right in (("before", 1.0), ("after", 0.3)):
        manifest = Manifest("smoke", {"model": name, "tokenizer": "t"}, seed=0, trials=(one,))
        with open_run(tmp_path / name, manifest) as folder:
            for sample in drawn(one, lambda *_, right=right: right):
                folder.add(sample)
    return "before", "after"


def test_report_of_a_run_and_of_several_results(runs, printed, tmp_path):
    found, _ = printed("report", "before", "--format", "json")
    assert found["kind"] == "validate"
    assert json.loads((tmp_path / "plain" / "config.json").read_text())["model_type"] == "llama"
    described, _ = printed("describe", "plain", "--format", "json")
    (tmp_path / "described.json").write_text(json.dumps(described))
    found, _ = printed("report", "before", "described.json", "after", "--format", "json")
    assert [one["kind"] for one in found["results"]] == ["validate", "describe", "validate"]
    (tmp_path / "together.json").write_text(json.dumps(found))
    assert printed("report", "together.json", "--format", "json")[0] == found


def test_diff_of_two_runs(runs, printed):
    found, code = printed("diff", *runs, "--format", "json")
    assert (found["kind"], code) == ("validate-diff", 1)


@pytest.mark.parametrize("more, ended", [([], "complete"), (["--budget", "20k"], "budget")])
def test_validate(more, ended, printed):
    asked = ["--suite", "smoke", "--tasks", "passkey", "--lengths", "700,1200", "--filler", "noise"]
    call = [
        "validate",
        "--backend",
        "simulated:oracle",
        "--tokenizer",
        "bytes",
        *asked,
        "--out",
        "run",
        "--format",
        "json",
        *more,
    ]
    found, _ = printed(*call)
    assert (found["kind"], found["ended"]) == ("run", ended)
    assert found["card"]["kind"] == "validate"


def test_bench(printed):
    found, _ = printed("bench", "rotate_limit_p64_bfloat16_half", "--rounds", 1, "--format", "json")
    assert found["kind"] == "bench"


def test_audit_of_a_model(validator):
    from audit.audited_models import small

    from ordinate.audit import audit_model
    from ordinate.audit.report import to_json

    found = json.loads(to_json(audit_model(small("llama"), checks=["packed", "token-by-token"], length=48, name="x")))
    sound(found, validator)
    assert found["kind"] == "audit"


def test_audit_of_a_server(validator):
    from fake_server import serving

    from ordinate.audit.report import to_json
    from ordinate.audit.server import Budget, audit_server

    with serving() as server:
        found = json.loads(to_json(audit_server(server.url, "tiny", budget=Budget(requests=40))))
    sound(found, validator)
