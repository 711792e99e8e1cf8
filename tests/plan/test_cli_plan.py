"""The command: what it prints, its exit codes, and that it loads nothing heavy."""

import json
import subprocess
import sys

import pytest

from ordinate.cli import run
from ordinate.plan import Request, plan

CONFIG = {
    "model_type": "llama",
    "hidden_size": 256,
    "intermediate_size": 512,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "num_hidden_layers": 2,
    "vocab_size": 100,
    "max_position_embeddings": 2048,
    "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0},
}


def said(capsys, *arguments):
    code = run(["plan", *arguments])
    out, error = capsys.readouterr()
    return code, out, error


def test_the_table_of_llama_2(capsys):
    code, out, _ = said(capsys, "llama-2-7b", "--context", "4k,32k,128k", "--batch", "1,16")
    assert code == 0
    rows = [line.split() for line in out.splitlines() if line.startswith("  ") and "iB" in line]
    sizes = {(row[0], row[1]): " ".join(row[2:4]) for row in rows if row[0][0].isdigit()}
    assert sizes == {
        ("4,096", "1"): "2 GiB",
        ("4,096", "16"): "32 GiB",
        ("32,768", "1"): "16 GiB",
        ("32,768", "16"): "256 GiB",
        ("131,072", "1"): "64 GiB",
        ("131,072", "16"): "1,024 GiB",
    }
    assert "trained 4,096 · declared 4,096 · not extended · effective not validated" in out


def test_json_is_the_plan(capsys, tmp_path):
    (tmp_path / "config.json").write_text(json.dumps(CONFIG))
    options = ("--memory", "80GiB", "--tensor-parallel", "2", "--kv", "fp8", "--format", "json", "--target", "8k")
    code, out, _ = said(capsys, str(tmp_path), *options)
    found = json.loads(out)
    assert code == 0
    assert (found["schema_version"], found["kind"]) == (1, "plan")
    assert found["requested"]["kv"] == "fp8"
    # one of two heads of 64 on a rank: 64 bytes and two scales of 4, twice, in 2 layers
    assert found["cells"][0]["cache_bytes"] == 2048 * 2 * 2 * 1 * (64 + 2 * 4)
    assert found["largest"]["contexts"][0]["context"] > 10**8
    assert {way["kv"] for way in found["ways"]["memory"]} == {"fp8", "int8", "int4"}


@pytest.mark.parametrize("memory, code", [("1GiB", 0), ("1MiB", 1)])
def test_the_exit_code_says_whether_it_fits(capsys, tmp_path, memory, code):
    (tmp_path / "config.json").write_text(json.dumps(CONFIG))
    found, out, _ = said(capsys, str(tmp_path), "--memory", memory)
    assert found == code
    assert ("yes" if code == 0 else "no") in out


@pytest.mark.parametrize(
    "options, words",
    [
        (("--context", "0"), "from 1 to"),
        (("--context", "4x"), "4096, 4k or 1M"),
        (("--context", "-4k"), "4096, 4k or 1M"),
        (("--memory", "80 apples"), "80GiB"),
        (("--batch", "0"), "from 1 to"),
        (("--batch", "1,,2"), "like 1 or 16"),
        (("--kv", "int3"), "unknown KV format"),
        (("--tensor-parallel", "0"), "tensor-parallel ranks"),
        (("--tensor-parallel", "3"), "divide the 4 query heads"),
        (("--page-size", "0"), "page_size"),
        (("--keep-sinks", "4"), "recent"),
        (("--reserve", "1GiB"), "give the memory too"),
        (("--reserve", "90GB", "--memory", "80GB"), "a reserve must be less than the memory"),
        (("--memory", "80"), "memory must be like 80GiB, 80GB or 1000B, with its unit"),
        (("--run", "/nowhere"), "card.json"),
        (("--sources", "--format", "json"), "--sources belongs to the text"),
    ],
)
def test_what_cannot_be_planned_is_one_line_and_code_2(capsys, tmp_path, options, words):
    (tmp_path / "config.json").write_text(json.dumps(CONFIG))
    code, out, error = said(capsys, str(tmp_path), *options)
    assert code == 2
    assert out == ""
    assert error.startswith("ordinate: ")
    assert error.count("\n") == 1
    assert words in error


def test_an_unknown_architecture_is_code_2(capsys, tmp_path):
    (tmp_path / "config.json").write_text(json.dumps({**CONFIG, "model_type": "llamma"}))
    code, out, error = said(capsys, str(tmp_path))
    assert (code, out) == (2, "")
    assert "'llamma'" in error
    assert "did you mean 'llama'" in error


def test_a_name_that_is_no_model_is_refused_with_a_suggestion(capsys):
    code, _, error = said(capsys, "llama-2-7")
    assert code == 2
    assert "did you mean 'llama-2-7b'" in error


def test_sources_are_shown(capsys):
    code, out, _ = said(capsys, "llama-2-7b", "--sources")
    assert code == 0
    assert "huggingface.co/meta-llama/Llama-2-7b-hf" in out.replace("\n", "").replace(" ", "")
    assert "max_position_embeddings" in out


def test_a_name_from_a_file_cannot_steer_the_terminal(capsys, tmp_path):
    folder = tmp_path / "a\x1b[31mred"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(CONFIG))
    code, out, _ = said(capsys, str(folder))
    assert code == 0
    assert "\x1b" not in out


@pytest.mark.parametrize(
    "options",
    [
        (),
        ("--page-size", "16", "--shared-prefix", "400"),
        ("--keep-recent", "1k", "--keep-sinks", "4"),
        ("--allocator", "full", "--attention", "eager", "--queries", "512"),
        ("--pipeline-parallel", "2", "--context-parallel", "2", "--memory", "1TiB", "--reserve", "1GB"),
        ("--dtype", "float32", "--kv", "q8_0/q4_0", "--weights", "1GB"),
    ],
)
@pytest.mark.parametrize("name", ["gemma-2-9b", "jamba-v0.1", "whisper-large-v3", "bert-base", "deepseek-v3"])
def test_every_kind_of_model_is_shown(capsys, name, options):
    if name == "bert-base" and "--pipeline-parallel" in options:
        options = (*options, "--batch", "2")
    code, out, error = said(capsys, name, "--context", "448", *options)
    assert code == 0, error
    assert all(len(line) <= 160 for line in out.splitlines())


def test_nothing_heavy_is_loaded(tmp_path):
    code = (
        "import sys; from ordinate.cli import run; run(['plan', 'llama-3-8b', '--memory', '80GiB', '--target', '32k']);"
        "sys.exit(any(m in sys.modules for m in ('torch', 'transformers', 'matplotlib', 'scipy', 'safetensors')))"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, cwd=tmp_path)


def test_a_plan_from_python_is_the_plan_of_the_command(capsys):
    _, out, _ = said(capsys, "llama-3-8b", "--context", "8k", "--format", "json")
    assert json.loads(out) == json.loads(json.dumps(plan("llama-3-8b", Request(contexts=(8192,))).to_dict()))


def test_what_is_kept_free_has_a_column_of_the_total(capsys):
    _, out, _ = said(
        capsys, "llama-3-8b", "--context", "8k", "--memory", "80GiB", "--reserve", "8GiB", "--tensor-parallel", "4"
    )
    lines = [line.split("  ") for line in out.splitlines() if line.startswith(("  context", "  8,192"))]
    head, row = lines[:2]
    row = {name.strip(): value.strip() for name, value in zip(filter(None, head), filter(None, row), strict=True)}
    # A fourth of 1 GiB of cache and of the weights, and the reserve.
    assert (row["cache"], row["reserve"], row["weights"]) == ("256 MiB", "8 GiB", "3.74 GiB")
    assert row["total"] == "12 GiB"
    assert "131,072 B a token on all devices" in out
    assert "what fits 80 GiB, of which 8 GiB are kept free" in out
    assert "give a reserve" not in out
    assert "give a reserve" in said(capsys, "llama-3-8b")[1]
