"""What `ordinate bench` and `make bench` say of times: figures, bars, and nothing where a result is off."""

import importlib.util
import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from ordinate.bench import CASES, Inaccurate, asked, cases, machine, measure, short
from ordinate.bench.case import Case, Figure, call, extra, share, speed
from ordinate.bench.timing import summary
from ordinate.cli import run
from ordinate.errors import InputError
from ordinate.ops.backends import compiled

ROOT = Path(__file__).resolve().parent.parent
SECONDS = {"ours": [2.0, 3.0, 4.0], "limit": [2.0, 2.0, 2.0], "better limit": [1.0, 1.0, 4.0], "rival": [8.0, 3.0, 2.0]}


@pytest.mark.parametrize(
    "figure, expected",
    [
        (share("ours", "limit"), [1.0, 1.5, 2.0]),
        (share("ours", "limit", "better limit"), [2.0, 3.0, 1.0]),
        (speed("ours", "rival"), [4.0, 1.0, 0.5]),
        (call("ours", 4), [5e5, 7.5e5, 1e6]),
        (extra("ours", "limit", 2), [0.0, 5e5, 1e6]),
    ],
)
def test_a_figure_is_read_off_each_round(figure, expected):
    assert figure.of(SECONDS) == pytest.approx(expected)


def figure(**bar):
    return Figure("a figure", "x", lambda _: [], **bar)


# The interval of these rounds goes from 1 to 3, and their median is 2.
ROUNDS = [1.0] * 5 + [2.0] + [3.0] * 5


@pytest.mark.parametrize(
    "bar, verdict",
    [
        ({"at_most": 2.0}, "met"),
        ({"at_most": 1.5}, "met at the lower end only"),
        ({"at_most": 0.9}, "not met"),
        ({"at_least": 1.0}, "met"),
        ({"at_least": 1.5}, "not met"),
    ],
)
def test_a_bar_is_on_the_lower_end_of_the_interval(bar, verdict):
    made = summary(figure(**bar), ROUNDS)
    assert (made["median"], made["interval"]) == (2.0, [1.0, 3.0])
    assert made["bar"] == verdict
    assert "bar" not in summary(figure(), ROUNDS)


def test_an_interval_narrows_as_rounds_grow():
    generator = torch.Generator().manual_seed(0)
    widths = []
    for count in (15, 1500):
        low, high = summary(figure(), torch.randn(count, generator=generator).tolist())["interval"]
        widths.append(high - low)
    # The error of a median falls with the root of the count: 10 times here.
    assert 5 < widths[0] / widths[1] < 20


def case(order, **changes):
    contenders = {name: lambda n=name: order.append((n, torch.get_num_threads())) for name in ("ours", "theirs")}
    return replace(Case("a case", contenders, [speed("ours", "theirs")], 0.0, "a difference", 1.0), **changes)


def test_contenders_take_turns_each_with_its_threads():
    order, before = [], torch.get_num_threads()
    made = measure(case(order, threads={"theirs": 2}), 3)
    # One round more warms up.
    assert order == [("ours", 1), ("theirs", 2)] * 4
    assert torch.get_num_threads() == before
    assert made["rounds"] == 3
    assert made["clock"] == "wall time"
    assert [made["contenders"][name]["threads"] for name in ("ours", "theirs")] == [1, 2]
    assert measure(case([]), 1)["clock"] == "CPU time of the thread"
    json.dumps(made, allow_nan=False)


@pytest.mark.parametrize("difference", [1.1, float("nan")])
def test_what_is_off_is_not_timed(difference):
    order = []
    with pytest.raises(Inaccurate, match="a case is not timed: a difference must be at most 1"):
        measure(case(order, difference=difference), 3)
    assert order == []


def test_names_are_found_by_their_beginnings():
    assert asked(["b", "a2"], ["a1", "a2", "b1", "b2"]) == ["a2", "b1", "b2"]
    with pytest.raises(InputError, match="no benchmark begins with 'c': there are a1"):
        asked(["a", "c"], ["a1"])


@pytest.mark.parametrize("installed", [False, True])
def test_the_short_choice_has_transformers_only_where_it_is(monkeypatch, installed):
    monkeypatch.setattr(cases, "find_spec", lambda _: object() if installed else None)
    assert set(short()) <= set(CASES)
    assert any("transformers" in name for name in short()) == installed


def test_the_settings_of_malloc_are_those_of_the_environment(monkeypatch):
    for name in ("MALLOC_MMAP_MAX_", "GLIBC_TUNABLES"):
        monkeypatch.delenv(name, raising=False)
    assert machine()["malloc"] == "default"
    monkeypatch.setenv("MALLOC_MMAP_MAX_", "0")
    assert machine()["malloc"] == "MALLOC_MMAP_MAX_=0"


@pytest.mark.skipif(compiled is None, reason="the compiled kernels are not part of this installation")
def test_the_command_prints_figures_of_this_machine(capsys):
    name = "rotate_limit_p64_bfloat16_half"
    assert run(["bench", name, "--rounds", "1", "--format", "json"]) == 0
    made = json.loads(capsys.readouterr().out)
    (measured,) = made["measurements"]
    assert measured["name"] == name
    assert measured["figures"][0]["median"] > 0
    assert made["machine"]["versions"]["torch"] == torch.__version__
    assert run(["bench", name, "--rounds", "1"]) == 0
    assert "time of ordinate, of that of the memory limit; bar at most 1.5" in capsys.readouterr().out


@pytest.mark.skipif(compiled is None, reason="the compiled kernels are not part of this installation")
def test_the_command_says_what_is_off_and_leaves_with_1(capsys, monkeypatch):
    from ordinate.bench import rotate

    monkeypatch.setitem(rotate.TOLERANCE, "bfloat16", 0.0)
    assert run(["bench", "rotate_limit_p64", "--rounds", "1"]) == 1
    assert "is not timed: largest difference of a channel" in capsys.readouterr().err


def test_the_command_refuses_a_name_that_is_none(capsys):
    assert run(["bench", "nothing"]) == 2
    assert "no benchmark begins with 'nothing'" in capsys.readouterr().err


def loaded(path, monkeypatch):
    monkeypatch.syspath_prepend(str(path.parent))
    spec = importlib.util.spec_from_file_location(f"loaded_{path.stem}", path)
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, module)
    spec.loader.exec_module(module)
    return module


def test_every_benchmark_has_tests_that_exist_and_a_function_that_makes_it(monkeypatch):
    entries = loaded(ROOT / "benchmarks" / "cases.py", monkeypatch).CASES
    assert {name for name in CASES if not name.startswith("rotate_transformers")} < set(entries)
    for entry in entries.values():
        assert entry.tests
        assert all((ROOT / path).exists() for path in entry.tests)
        module, function = entry.make.args[:2]
        file = ROOT / "benchmarks" / f"{module}.py"
        if not file.exists():
            file = ROOT / "src" / "ordinate" / "bench" / f"{module.rpartition('.')[2]}.py"
        assert f"def {function}(" in file.read_text(encoding="utf-8")


def test_the_page_has_every_figure_and_says_which_bars_are_not_met(monkeypatch, tmp_path):
    make_docs = loaded(ROOT / "tools" / "make_docs.py", monkeypatch)
    made = measure(case([]), 3) | machine() | {"processor": "a processor"}
    figures = [summary(figure(at_most=2.0), ROUNDS), summary(figure(at_least=9.0), ROUNDS) | {"name": "too slow"}]
    results = tmp_path / "benchmarks" / "results"
    results.mkdir(parents=True)
    (results / "a.json").write_text(json.dumps({"name": "a", "measurements": [made | {"figures": figures}]}))
    monkeypatch.setattr(make_docs, "ROOT", tmp_path)
    before, unmet = make_docs.benchmarks_page().split("## Bars that are not met\n")
    unmet, met = unmet.split("## a case\n")
    assert "1. a processor, " in before
    assert f"torch {torch.__version__}" in before
    row = "| too slow | 2× | 1 to 3 | at least 9× | not met | 1 | CPU | 3 | default | 1 |"
    assert row.removeprefix("| ") in unmet
    assert "a figure" not in unmet
    assert row in met
    assert "| a figure | 2× | 1 to 3 | at most 2× | met |" in met
