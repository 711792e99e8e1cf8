"""`ordinate plot`: one picture, its words, and one line where it cannot be."""

import json
import subprocess
import sys

import pytest
from stored_results import STORED, stored

from ordinate.cli import run

TOO_LARGE = [
    ["similarity", "sinusoidal:dim=8", "--tokens", "4097"],
    ["sinusoid_matrix", "sinusoidal:dim=65536", "--tokens", "257"],
    ["sinusoid_curves", "sinusoidal:dim=65536", "--tokens", "257"],
    ["alibi_penalties", "alibi:heads=8", "--tokens", "1000000000"],
    ["kerple", "kerple:heads=8", "--tokens", "1000000000"],
    ["t5_buckets", "t5:heads=8", "--tokens", "1000000000"],
    ["transformer_xl", "transformer_xl:heads=2,head_dim=8,dim=16", "--tokens", "1000000000"],
]


def refused(capsys, *arguments):
    assert run(["plot", *arguments]) == 2
    out, error = capsys.readouterr()
    assert out == ""
    return error


@pytest.mark.parametrize(("suffix", "start"), [("svg", b"<?xml"), ("pdf", b"%PDF"), ("png", b"\x89PNG")])
def test_a_picture_is_written_and_said(suffix, start, tmp_path, capsys):
    file = tmp_path / f"slopes.{suffix}"
    assert run(["plot", "alibi_slopes", "alibi:heads=8", "--out", str(file)]) == 0
    out = capsys.readouterr().out
    assert "The steepest of 8 heads loses a logit in 2 tokens, the gentlest in 256" in out
    assert out.endswith(f"written: {file}\n")
    assert file.read_bytes().startswith(start)


def test_a_run_folder_is_a_source(tmp_path, capsys):
    folder, file = tmp_path / "run", tmp_path / "depth.png"
    asked = ["--backend", "simulated:window=300", "--suite", "smoke", "--lengths", "300,600", "--tasks", "passkey"]
    run(["validate", *asked, "--out", str(folder)])
    capsys.readouterr()
    assert run(["plot", "depth_by_length", str(folder), "--out", str(file)]) == 0
    assert "passkey" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["waveleng", "x"], "did you mean 'wavelengths'?"),
        (["alibi_slopes", "alibi:heads=8", "--out", "x.gif"], "--out must end in .svg, .pdf, .png, got x.gif"),
        (["alibi_slopes", "alibi:heads=8", "--out", "nowhere/x.svg"], "a directory that exists"),
        (["alibi_slopes", "alibi:heads=8", "--to", "5"], "alibi_slopes has no --to: it takes --group"),
        (["loss_by_position", "x.json", "--seed", "5"], "loss_by_position has no --seed: it takes no options but"),
        (["spec_difference", "alibi:heads=8"], "is drawn from two models that rotate, got 1 of them"),
        (["alibi_slopes", "rope:head_dim=8"], "this plot needs the scheme alibi, got rope"),
        (["alibi_slopes", "alibi"], "alibi needs heads, as in alibi:heads=..."),
        (["alibi_slopes", "alibi:heads=8,heads=9"], "once each as field=value, got 'heads=9'"),
        (["alibi_slopes", "alibi:head=8"], "got 'head=8'"),
        (["alibi_slopes", "alibi:heads=many"], "heads must be an integer"),
        (["rotation", "rope:head_dim=8", "--positions", "1,2,3"], "must be two"),
        (["rotation", "rope:head_dim=8", "--pairs", "1,b"], "--pairs must be integers with commas"),
        (["rotation", "rope:head_dim=8", "--group", "g"], "--group chooses layers of a model"),
        (["stale_keys", "rope:head_dim=8"], "a new base or a number of dropped tokens"),
        (["wavelengths", "alibi:heads=8"], "alibi:heads=8"),
        *((arguments, "values is too large: at most 16,777,216") for arguments in TOO_LARGE),
    ],
)
def test_what_cannot_be_drawn_is_one_line(arguments, words, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    if "--out" not in arguments:
        arguments = [*arguments, "--out", "x.svg"]
    error = refused(capsys, *arguments)
    assert words in error
    assert error.count("\n") == 1
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("kind", ["loss_by_position", "depth_by_length", "memory"])
def test_a_result_of_another_kind_is_named(kind, tmp_path, capsys):
    for version in (0, 1):  # before there was a schema results had no kind; they are known by their keys
        file = STORED / f"version_{version}" / "bench.json"
        assert "got kind 'bench'" in refused(capsys, kind, str(file), "--out", str(tmp_path / "x.svg"))


def test_a_result_of_another_version_of_the_schema_is_refused_with_the_command_that_writes_it_anew(tmp_path, capsys):
    file = tmp_path / "result.json"
    file.write_text(json.dumps(stored("plan") | {"schema_version": 0}))
    said = refused(capsys, "memory", str(file), "--out", str(tmp_path / "x.svg"))
    assert "has schema version 0, and this version of Ordinate reads 1: write it again with `ordinate plan" in said


def test_a_result_as_large_as_a_report_takes_is_drawn_too(tmp_path):
    plan = stored("plan")
    plan["provenance"] |= {f"config.{number}": "config.json" for number in range(150_000)}
    file = tmp_path / "result.json"
    file.write_text(json.dumps(plan))
    assert run(["plot", "memory", str(file), "--out", str(tmp_path / "x.svg")]) == 0


def test_scaling_needs_a_target_and_a_method_needs_one_too(configs, tmp_path, capsys):
    out = ["--out", str(tmp_path / "x.svg")]
    assert "needs --to" in refused(capsys, "scaling_bands", configs["plain"], *out)
    assert "--method needs --to" in refused(capsys, "attention_decay", configs["plain"], "--method", "ntk", *out)


def test_without_matplotlib_the_extra_is_named(tmp_path, capsys, monkeypatch):
    from ordinate import extras

    found = extras.find_spec
    monkeypatch.setattr(extras, "find_spec", lambda name: None if name == "matplotlib" else found(name))
    assert run(["plot", "alibi_slopes", "alibi:heads=8", "--out", str(tmp_path / "x.svg")]) == 3
    assert (
        "this needs matplotlib, not installed here: install ordinate with its extra [plots]" in capsys.readouterr().err
    )


@pytest.mark.parametrize("arguments", [["plot", "--help"], ["list", "plots"]])
def test_help_and_the_list_import_neither_matplotlib_nor_torch(arguments):
    code = f"import sys; from ordinate.cli import run; run({arguments!r}); print('loaded', *sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split("loaded ")[1].split())
    assert not loaded & {"matplotlib", "torch", "transformers"}


def test_plots_can_be_listed(capsys):
    assert run(["list", "plots"]) == 0
    assert "wavelength of each pair against trained, declared and target length" in capsys.readouterr().out


def test_the_list_says_what_each_kind_is_drawn_from(capsys):
    run(["list", "plots"])
    lines = capsys.readouterr().out.splitlines()
    memory = next(number for number, line in enumerate(lines) if line.startswith("memory "))
    assert lines[memory + 1].strip() == "from the JSON of `ordinate plan`"


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("memory", "no file that exists: this plot needs the JSON of `ordinate plan MODEL --format json`\n"),
        ("depth_by_length", "no file that exists: this plot needs the JSON of `ordinate report RUN --format json`, or"),
        ("loss_by_position", "`ordinate prove ORIGINAL EXTENDED --format json` or `ordinate report RUN"),
    ],
)
def test_a_model_where_a_result_is_needed_is_told_the_command(kind, words, capsys, tmp_path):
    assert words in refused(capsys, kind, "llama-3.1-8b", "--out", str(tmp_path / "x.svg"))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["alibi_slopes", "alibi:heads=1"], "ALiBi's slopes, 1 head|The head loses a logit in 256 tokens"),
        (["rotation", "rope:head_dim=8", "--positions", "5,6"], "1 token apart"),
        (["sinusoid_curves", "sinusoidal:dim=8", "--tokens", "1"], "Over 1 token channel 0 turns"),
        (["kerple", "kerple:heads=1", "--tokens", "1"], "kernel of 1 head at starting values: at 1 token "),
        (
            ["stale_keys", "rope:head_dim=8", "--base", "5e5", "--tokens", "1"],
            "1 token is cached|0 of 1 key are wrong|0 at most",
        ),
    ],
)
def test_one_of_a_thing_is_said_as_one(arguments, words, capsys, tmp_path):
    file = tmp_path / "x.svg"
    assert run(["plot", *arguments, "--out", str(file)]) == 0
    said = capsys.readouterr().out + file.read_text()
    for one in words.split("|"):
        assert one in said


@pytest.mark.parametrize("count", [2, 15, 16, 17, 33])
def test_stale_keys_of_any_number_are_as_many_as_were_asked_for(count):
    from ordinate.plots import _sources
    from ordinate.plots.stale_keys import compute

    group = _sources.rotating("rope:head_dim=8", None)
    based, shifted = compute(group, base=5e5, count=count), compute(group, drop=1, keep_first=0, count=count)
    for found, keys in ((based, count), (shifted, count - 1)):
        assert len(found.positions) == len(found.stale) == len(found.turned) == keys
        assert found.turned.max() < 1e-6
    assert shifted.stale.min() > 0.01


def test_numbers_of_an_axis_are_short_and_what_a_result_says_is_printable(tmp_path, capsys):
    from ordinate.plots import _sources
    from ordinate.plots.memory import memory

    file = tmp_path / "plan.json"
    assert run(["plan", "llama-3.1-8b", "--context", "1,4k", "--batch", "1,16", "--out", str(file)]) == 0
    figure = memory(_sources.result(str(file), "plan"))
    figure.canvas.draw()
    labels = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert any(" × 10⁻" in label for label in labels)
    assert all(len(label) <= 12 and "e" not in label for label in labels)
    document = json.loads(file.read_text())
    document["requested"]["kv"] = "\x1b[31m$x$"
    file.write_text(json.dumps(document))
    assert run(["plot", "memory", str(file), "--out", str(tmp_path / "x.svg")]) == 0
    assert "\x1b" not in (tmp_path / "x.svg").read_text()
