"""What is written about the code is true of the code."""

import importlib.util
import re
import tomllib
from pathlib import Path

import pytest

from ordinate.cli import run
from ordinate.cli.index import COMMANDS

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = sorted(ROOT.glob("docs/*.md"))
WRITTEN = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md")] + PAGES


def generator():
    spec = importlib.util.spec_from_file_location("make_docs", ROOT / "tools" / "make_docs.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_generated_pages_and_the_index_are_fresh():
    make_docs = generator()
    same, pages = make_docs.same, make_docs.pages()
    stale = [path for path, text in pages.items() if not same(path, (ROOT / path).read_text(encoding="utf-8"), text)]
    assert stale == []


def test_a_picture_may_differ_by_a_rounding_and_no_more():
    same = generator().same
    old = '<path d="M 1.250000 -3.5"/>'
    assert same("a.svg", old, '<path d="M 1.250001 -3.5"/>')
    assert not same("a.svg", old, '<path d="M 1.350000 -3.5"/>')
    assert not same("a.svg", old, '<path d="L 1.250000 -3.5"/>')
    assert not same("a.svg", old, old + "<g/>")
    assert not same("a.md", "1.250000", "1.250001")


def test_the_index_has_every_command_and_its_first_line():
    make_docs = generator()
    assert list(COMMANDS) == make_docs.command_names()
    for name, line in COMMANDS.items():
        assert make_docs.one_line(name) == line


@pytest.mark.parametrize("page", WRITTEN, ids=lambda p: p.name)
def test_every_link_between_pages_leads_somewhere(page):
    for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target


@pytest.mark.parametrize("page", WRITTEN, ids=lambda p: p.name)
def test_every_ordinate_command_in_the_pages_exists_and_has_the_options_shown(page, capsys):
    for line in re.findall(r"^\$? ?ordinate ([a-z].*)$", page.read_text(encoding="utf-8"), flags=re.MULTILINE):
        name, *rest = line.split()
        assert name in COMMANDS, line
        assert run([name, "--help"]) == 0
        shown = capsys.readouterr().out
        for option in (word for word in rest if word.startswith("--")):
            assert option in shown, line


@pytest.mark.parametrize("page", WRITTEN, ids=lambda p: p.name)
def test_every_make_target_in_the_pages_exists(page):
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.MULTILINE))
    for name in re.findall(r"`?make ([a-z-]+)", page.read_text(encoding="utf-8")):
        if f"`make {name}" in page.read_text(encoding="utf-8") or f"\nmake {name}" in page.read_text(encoding="utf-8"):
            assert name in targets, name


def test_the_readmes_first_example_ends_within_60_lines():
    lines = README.splitlines()
    fences = [i for i, line in enumerate(lines) if line.startswith("```")]
    assert fences[1] < 60


@pytest.mark.parametrize(
    "page", [p for p in WRITTEN if "```python" in p.read_text(encoding="utf-8")], ids=lambda p: p.name
)
def test_the_python_examples_of_a_page_run_in_order(page):
    together: dict[str, object] = {}
    for example in re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.DOTALL):
        exec(compile(example, page.name, "exec"), together)  # noqa: S102 - our own page


def test_the_version_is_said_once():
    import ordinate

    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["version"] == ordinate.__version__


def test_no_file_names_a_machine_or_a_host_of_packages():
    words = re.compile("/" + r"work/|/root/|pypi\.org|files\.pythonhosted|deb\.debian")
    for path in [*WRITTEN, ROOT / "Makefile", *ROOT.glob("tools/*"), *ROOT.glob("src/ordinate/**/*.py")]:
        if path.is_file():
            assert not words.search(path.read_text(encoding="utf-8")), path.name
