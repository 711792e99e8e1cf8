"""`ordinate check`: exit codes, formats, files of a directory, and what it loads."""

import json
import re
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from rules.corpus import llama, qwen3, yarn

from ordinate import __version__
from ordinate.cli import run
from ordinate.cli.check import ENGINES
from ordinate.registry import names
from ordinate.rules import engines, find_rule, rules

FAULTY = qwen3(40960, rope_type="yarn", factor=4.0, original_max_position_embeddings=32768)


def model(folder: Path, config: dict[str, Any], **files: dict[str, Any]) -> str:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config, indent=2))
    for name, values in files.items():
        (folder / f"{name}.json").write_text(json.dumps(values, indent=2))
    return str(folder)


def printed(capsys: pytest.CaptureFixture[str], code: int, *arguments: str) -> str:
    assert run(["check", *arguments]) == code
    out, error = capsys.readouterr()
    assert error == ""
    return out


def test_text_has_place_evidence_and_fix(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = printed(capsys, 1, model(tmp_path, FAULTY))
    lines = out.splitlines()
    assert re.fullmatch(r".*config\.json:\d+: warning \[factor-against-lengths\]", lines[0])
    assert '"max_position_embeddings": 131072' in out
    assert lines[-1].endswith("config.json: 1 warning")
    assert all(len(line) <= 100 for line in lines[1:-1])


def test_the_line_is_that_of_the_setting(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = printed(capsys, 1, model(tmp_path, FAULTY))
    line = int(re.search(r"config\.json:(\d+):", out)[1])  # type: ignore[index]
    assert '"factor"' in (tmp_path / "config.json").read_text().splitlines()[line - 1]


def test_the_exit_code_follows_the_severity(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = model(tmp_path, FAULTY)
    assert printed(capsys, 0, path, "--severity", "error").count("\n") == 1
    printed(capsys, 1, path, "--severity", "note")
    printed(capsys, 0, path, "--ignore", "factor-against-lengths")
    printed(capsys, 1, path, "--ignore", "factor-against-lengths", "--engine", "exllamav3")


def test_what_is_not_shown_is_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = printed(capsys, 0, model(tmp_path, llama(rope_ratio=8)))
    assert out.endswith("config.json: 1 note (not shown or counted at --severity warning)\n")


def test_a_warning_beside_exit_code_0_is_said_not_to_count(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = model(tmp_path, FAULTY)
    out = printed(capsys, 0, path, "--severity", "error")
    assert out.endswith("config.json: 1 warning (not shown or counted at --severity error)\n")
    both = model(tmp_path / "both", FAULTY | {"rope_ratio": 8})
    assert printed(capsys, 1, both).endswith("1 warning, 1 note (1 not shown or counted at --severity warning)\n")
    assert printed(capsys, 1, both, "--severity", "note").endswith("config.json: 1 warning, 1 note\n")


def test_a_broken_value_is_a_finding_and_a_broken_file_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "[unreadable]" in printed(capsys, 1, model(tmp_path / "a", llama(num_attention_heads=[])))
    (tmp_path / "config.json").write_text("{")
    for path in (tmp_path / "config.json", tmp_path / "nowhere"):
        assert run(["check", str(path)]) == 2
        assert capsys.readouterr().err.count("\n") == 1


def test_an_unknown_rule_or_engine_is_refused_with_the_nearest(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = model(tmp_path, llama())
    for arguments, meant in (
        (["--explain", "factor-one-"], "'factor-one'"),
        ([path, "--ignore", "yarn-beta"], "'yarn-betas'"),
        ([path, "--engine", "vlm"], "'vllm'"),
        ([path, "--engine", "KoboldCp"], "'koboldcpp'"),
    ):
        assert run(["check", *arguments]) == 2
        assert f"did you mean {meant}?" in capsys.readouterr().err
    assert run(["check"]) == 2


@pytest.mark.parametrize("rule", rules(), ids=lambda rule: rule.id)
def test_a_rule_explains_itself(rule: Any, capsys: pytest.CaptureFixture[str]) -> None:
    out = printed(capsys, 0, "--explain", rule.id)
    assert out.startswith(f"{rule.id} ({rule.severity})\n")
    assert all(report in out for report in rule.reports)
    assert rule.explanation.endswith(".")
    assert rule.remedy.endswith(".")
    assert '"' in out.split("Example:")[1]


def test_every_rule_is_named_for_its_file_and_has_a_report() -> None:
    for rule in rules():
        assert type(rule).__module__ == f"ordinate.rules.{rule.name}"
        assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)+|unreadable", rule.id)
        assert rule.reports
        assert rule.severity in ("note", "warning", "error")
    assert find_rule("yarn-betas").name == "yarn_betas"


def test_json_holds_everything(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    paths = [model(tmp_path / "a", FAULTY), model(tmp_path / "b", llama(rope_ratio=8))]
    first, second = json.loads(printed(capsys, 1, *paths, "--format", "json"))["reports"]
    assert first["findings"][0]["numbers"]["product"] == 131072
    assert [finding["severity"] for finding in second["findings"]] == ["note"]


def test_sarif_has_what_the_standard_requires(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """SARIF 2.1.0, sections 3.13 to 3.19, 3.27, 3.28 and 3.49: required properties and what refers to what."""
    log = json.loads(printed(capsys, 1, model(tmp_path, FAULTY), "--engine", "vllm", "--format", "sarif"))
    assert log["version"] == "2.1.0"
    assert log["$schema"].endswith("sarif-2.1.0.json")
    (analysis,) = log["runs"]
    driver = analysis["tool"]["driver"]
    assert (driver["name"], driver["version"]) == ("ordinate", __version__)
    described = driver["rules"]
    assert len({rule["id"] for rule in described}) == len(described) == len(rules())
    assert len(analysis["results"]) == 2
    for result in analysis["results"]:
        assert result["message"]["text"]
        assert result["level"] in ("none", "note", "warning", "error")
        assert described[result["ruleIndex"]]["id"] == result["ruleId"]
        place = result["locations"][0]["physicalLocation"]
        assert re.fullmatch(r"[\w.~/%:\-]+", place["artifactLocation"]["uri"])
        assert place["region"]["startLine"] >= 1
    for rule in described:
        assert rule["shortDescription"]["text"]
        assert rule["defaultConfiguration"]["level"] in ("none", "note", "warning", "error")


def test_a_path_is_written_as_a_uri(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    model(tmp_path / "a b#c", FAULTY)
    monkeypatch.chdir(tmp_path)
    log = json.loads(printed(capsys, 1, "a b#c", "--format", "sarif"))
    place = log["runs"][0]["results"][0]["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "a%20b%23c/config.json"


def test_annotations_are_one_command_a_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    model(tmp_path / "a,b%", FAULTY)
    monkeypatch.chdir(tmp_path)
    out = printed(capsys, 1, "a,b%", "--format", "github")
    assert re.fullmatch(
        r"::warning file=a%2Cb%25/config\.json,line=\d+,title=factor-against-lengths::factor 4 times .*\n", out
    )


def test_files_beside_the_configuration_are_read_and_have_lines(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = model(tmp_path, llama(), generation_config={"do_sample": True, "max_length": 8192})
    assert re.match(r".*generation_config\.json:3: warning \[generation-length\]", printed(capsys, 1, path))
    (tmp_path / "tokenizer_config.json").write_text("[")
    assert "tokenizer_config.json: warning [unreadable]" in printed(capsys, 1, path)


def test_an_adapter_is_held_against_its_base_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model(tmp_path / "base", llama())
    adapter = {"peft_type": "LORA", "base_model_name_or_path": "../base"}
    path = model(tmp_path / "adapter", yarn(8192, 2048, 4.0), adapter_config=adapter)
    assert "adapter_config.json:3: warning [adapter-positions]" in printed(capsys, 1, path)
    assert "nothing found" in printed(capsys, 0, model(tmp_path / "same", llama(), adapter_config=adapter))
    (tmp_path / "adapter" / "config.json").unlink()
    assert "nothing found" in printed(capsys, 0, path)


def test_stored_tables_are_read_from_safetensors(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = model(tmp_path, llama(head_dim=8))
    stored = struct.pack("<4f", *(1e6 ** (-i / 4) for i in range(4)))
    header = json.dumps({"rotary_emb.inv_freq": {"dtype": "F32", "shape": [4], "data_offsets": [0, 16]}}).encode()
    (tmp_path / "model.safetensors").write_bytes(struct.pack("<Q", len(header)) + header + stored)
    assert "[stored-frequencies]" in printed(capsys, 1, path)
    stored = struct.pack("<4f", *(1e4 ** (-i / 4) for i in range(4)))
    (tmp_path / "model.safetensors").write_bytes(struct.pack("<Q", len(header)) + header + stored)
    printed(capsys, 0, path)


def _string(text: str) -> bytes:
    return struct.pack("<Q", len(text)) + text.encode()


def gguf(path: Path, **keys: Any) -> str:
    """A GGUF file of a small Llama with YaRN."""
    words = {"general.architecture": "llama", "llama.rope.scaling.type": "yarn"}
    sizes = {"llama.block_count": 2, "llama.embedding_length": 256, "llama.attention.head_count": 4}
    sizes |= {"llama.context_length": 8192, "llama.rope.dimension_count": 64} | keys
    data = b"".join(_string(key) + struct.pack("<I", 8) + _string(word) for key, word in words.items())
    data += b"".join(_string(key) + struct.pack("<II", 4, value) for key, value in sizes.items())
    for key, value in (("llama.rope.scaling.factor", 4.0), ("llama.rope.freq_base", 10000.0)):
        data += _string(key) + struct.pack("<If", 6, value)
    path.write_bytes(b"GGUF" + struct.pack("<IQQ", 3, 0, len(words) + len(sizes) + 2) + data)
    return str(path)


def test_a_gguf_file_is_checked_by_its_keys(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = printed(capsys, 1, gguf(tmp_path / "a.gguf"))
    assert "llama.rope.scaling.original_context_length is missing" in out
    original = {"llama.rope.scaling.original_context_length": 2048}
    printed(capsys, 0, gguf(tmp_path / "b.gguf", **original))
    printed(capsys, 1, gguf(tmp_path / "b.gguf", **original), "--engine", "llama_cpp")


def test_checking_imports_no_torch(tmp_path: Path) -> None:
    path = model(tmp_path, FAULTY, generation_config={"max_length": 10**6}, tokenizer_config={})
    code = (
        "import sys; from ordinate.cli import run; code = run(['check', sys.argv[1], '--engine', 'vllm']); "
        "heavy = {'torch', 'transformers', 'safetensors', 'tokenizers', 'scipy', 'matplotlib', 'rich'}; "
        "sys.exit(code != 1 or bool(heavy & sys.modules.keys()))"
    )
    assert subprocess.run([sys.executable, "-c", code, path], check=False, capture_output=True).returncode == 0


def test_the_help_lists_every_engine_that_is_taken(capsys: pytest.CaptureFixture[str]) -> None:
    listed = re.split(r"[^a-z0-9_]+", ENGINES)
    assert sorted(listed) == engines()
    assert set(engines()) >= {*names("ordinate.dialects"), "transformers"}
    out = " ".join(printed(capsys, 0, "--help").split())
    assert all(re.search(rf"\b{name}\b", out) for name in engines())


NULL_HEAD = llama(head_dim=None, rope_scaling={"rope_type": "dynamic", "factor": 2.0})


@pytest.mark.parametrize("name", ["huggingface", "transformers", "HuggingFace", "TRANSFORMERS"])
def test_transformers_goes_by_both_its_names_in_any_case(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = printed(capsys, 1, model(tmp_path, NULL_HEAD), "--engine", name, "--severity", "error")
    assert "[engine-null-head-dim]" in out


def test_an_engine_that_no_rule_is_about_is_taken_and_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", model(tmp_path, FAULTY), "--engine", "torchtitan"]) == 1
    out, error = capsys.readouterr()
    assert "[factor-against-lengths]" in out
    assert error == "ordinate: no rule is about torchtitan: only the rules for all engines are asked\n"


@pytest.mark.parametrize("given", [("--engine", "vllm", "--engine", "exllamav3"), ("--engine", "vllm,exllamav3")])
def test_several_engines_are_asked_and_common_findings_stand_once(
    given: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = printed(capsys, 1, model(tmp_path, FAULTY), *given)
    assert sorted(re.findall(r"\[([a-z0-9-]+)\]", out)) == [
        "engine-factor-from-lengths",
        "engine-length-refused",
        "factor-against-lengths",
    ]


def test_rules_to_ignore_may_have_commas_between(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = model(tmp_path, FAULTY | {"rope_ratio": 8})
    severity = ("--severity", "note")
    assert "[reader-note]" in printed(capsys, 1, path, *severity, "--ignore", "factor-against-lengths")
    printed(capsys, 0, path, *severity, "--ignore", "factor-against-lengths, reader-note")
    printed(capsys, 0, path, *severity, "--ignore", "factor-against-lengths", "--ignore", "reader-note")


@pytest.mark.parametrize("broken", ["nowhere", "{", "[1]"])
@pytest.mark.parametrize("format", ["text", "json", "sarif", "github"])
def test_an_unreadable_path_hides_no_other(
    broken: str, format: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    paths = [model(tmp_path / "a", FAULTY), str(tmp_path / "bad"), model(tmp_path / "c", NULL_HEAD)]
    if broken != "nowhere":
        (tmp_path / "bad").mkdir()
        (tmp_path / "bad" / "config.json").write_text(broken)
    assert run(["check", *paths, "--engine", "transformers", "--format", format]) == 2
    out, error = capsys.readouterr()
    assert "factor-against-lengths" in out
    assert "engine-null-head-dim" in out
    assert error.count("\n") == 1
    assert "bad" in error


@pytest.mark.parametrize(
    "beside",
    [("--format", "json"), ("--severity", "error"), ("--engine", "vllm"), ("--ignore", "yarn-betas")],
)
def test_explaining_refuses_other_options(beside: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", "--explain", "factor-one", *beside]) == 2
    out, error = capsys.readouterr()
    assert out == ""
    assert beside[0] in error
