"""Break schemes/ and scaling/ in every small way and see whether the tests notice: `make mutants`.

Each mutant is one change of one operator, constant, comparison, condition or check in one file. It lives in
memory only: a child process is forked from one that has the libraries loaded, its import of the module is served
the changed source, and the tests of that module run there until the first failure; first of all unchanged, where
they must pass. A mutant is killed when a test
fails or the time runs out. The exit code is 1 below 95 %, or where a survivor has no reason in
`tests/survivors.json` (mutant -> reason), or a reason there names a mutant that was killed or no longer exists.

    python tools/mutate.py [--only schemes/rope.py] [--jobs 2] [--list]
"""

import argparse
import ast
import copy
import importlib.abc
import importlib.machinery
import importlib.util
import json
import os
import signal
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "ordinate"
FOLDERS = ("schemes", "scaling")
REASONS = ROOT / "tests" / "survivors.json"
LEAST = 0.95
SECONDS = 240

COMPARE = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
BINARY = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult, ast.Pow: ast.Mult, ast.MatMult: ast.Add,
}  # fmt: skip
NAMES = {
    "floor": "ceil", "ceil": "floor", "min": "max", "max": "min", "sin": "cos", "cos": "sin", "log": "log1p",
    "log1p": "log", "minimum": "maximum", "maximum": "minimum", "exp": "abs", "abs": "exp", "sqrt": "abs",
    "positive": "finite", "finite": "positive", "even_integer": "positive_integer",
}  # fmt: skip


@dataclass(frozen=True)
class Mutant:
    """One change: where, what, and the module's source with it."""

    file: str
    line: int
    change: str
    source: str

    @property
    def key(self) -> str:
        """How survivors are named: by the text of the change, so that moving lines keeps the name."""
        return f"{self.file}: {self.change}"


def alternatives(node: ast.AST) -> Iterator[ast.AST]:
    """Every small change of one node."""
    new = copy.deepcopy(node)
    match new:
        case ast.Compare(ops=[op]) if type(op) in COMPARE:
            new.ops = [COMPARE[type(op)]()]
            yield new
        case ast.BinOp(op=op) if type(op) in BINARY:
            new.op = BINARY[type(op)]()
            yield new
        case ast.BoolOp(op=op):
            new.op = ast.Or() if isinstance(op, ast.And) else ast.And()
            yield new
        case ast.UnaryOp(op=ast.Not() | ast.USub(), operand=operand):
            yield operand
        case ast.Constant(value=bool(value)):
            yield ast.Constant(not value)
        case ast.Constant(value=int() | float() as value):
            yield ast.Constant(value + 1)
        case ast.If(test=test) | ast.IfExp(test=test) if not _inverted_elsewhere(test):
            new.test = ast.UnaryOp(ast.Not(), new.test)
            yield new
        case ast.Name(id=name) if name in NAMES:
            new.id = NAMES[name]
            yield new
        case ast.Attribute(attr=name) if name in NAMES:
            new.attr = NAMES[name]
            yield new
        case ast.Expr(value=ast.Call()):
            yield ast.Pass()


def _inverted_elsewhere(test: ast.AST) -> bool:
    """Whether the change of the test itself is already its negation."""
    if isinstance(test, ast.Compare):
        return isinstance(test.ops[0], ast.Eq | ast.NotEq | ast.Is | ast.IsNot | ast.In | ast.NotIn)
    return isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not)


def mutants(path: Path) -> Iterator[Mutant]:
    """Every mutant of one file, in the order of its lines."""
    text = path.read_text(encoding="utf-8")
    places = sorted(_places(ast.parse(text)), key=lambda p: p[1])
    seen: dict[str, int] = {}
    for number, line in places:
        tree = ast.parse(text)
        target = list(ast.walk(tree))[number]
        for new in alternatives(target):
            changed = _Replace(target, ast.copy_location(new, target)).visit(tree)
            statement = text.splitlines()[line - 1].strip()
            change = f"`{_short(target)}` -> `{_short(new)}` in `{statement[:90]}`"
            seen[change] = seen.get(change, 0) + 1
            if seen[change] > 1:
                change += f" ({seen[change]})"
            source = ast.unparse(ast.fix_missing_locations(changed))
            yield Mutant(str(path.relative_to(PACKAGE)), line, change, source)
            tree = ast.parse(text)
            target = list(ast.walk(tree))[number]


def _places(tree: ast.Module) -> Iterator[tuple[int, int]]:
    """The nodes that may change: by index in `ast.walk`, with their lines. Words and annotations are left out."""
    skipped: set[ast.AST] = set()
    for node in ast.walk(tree):
        roots: list[ast.AST | None] = []
        match node:
            case ast.AnnAssign():
                roots = [node.annotation]
            case ast.FunctionDef(name="example"):  # it only feeds laws and pages
                roots = [node]
            case ast.FunctionDef():
                arguments = [*node.args.args, *node.args.kwonlyargs, *node.args.posonlyargs]
                roots = [node.returns, *node.decorator_list, *(a.annotation for a in arguments)]
            case ast.ClassDef():
                roots = [*node.decorator_list, *node.bases]
            case ast.Raise() | ast.Import() | ast.ImportFrom() | ast.JoinedStr():
                roots = [node]
            case ast.Call(func=ast.Name(id="Facts" | "ScalingFacts")):
                roots = [node]
            case ast.Expr(value=ast.Constant()):
                roots = [node]
            case _:
                continue
        for root in roots:
            if root is not None:
                skipped.update(ast.walk(root))
    for number, node in enumerate(ast.walk(tree)):
        if node not in skipped and hasattr(node, "lineno") and any(True for _ in alternatives(node)):
            yield number, node.lineno  # type: ignore[attr-defined]


class _Replace(ast.NodeTransformer):
    def __init__(self, target: ast.AST, new: ast.AST) -> None:
        self.target, self.new = target, new

    def visit(self, node: ast.AST) -> ast.AST:
        return self.new if node is self.target else super().visit(node)


def _short(node: ast.AST) -> str:
    text = " ".join(ast.unparse(node).split())
    return text if len(text) <= 70 else text[:67] + "..."


class _Serve(importlib.abc.MetaPathFinder, importlib.abc.SourceLoader):
    """An importer that has the changed source of one module."""

    def __init__(self, name: str, path: str, source: str) -> None:
        self.name, self.path, self.source = name, path, source

    def find_spec(self, fullname, path=None, target=None):  # noqa: ARG002
        if fullname != self.name:
            return None
        return importlib.util.spec_from_file_location(fullname, self.path, loader=self)

    def get_filename(self, fullname: str) -> str:  # noqa: ARG002
        return self.path

    def get_data(self, path: str) -> bytes:
        if path != self.path:
            raise OSError(path)
        return self.source.encode()

    def get_code(self, fullname: str):  # noqa: ARG002
        return compile(self.source, self.path, "exec")


def tests_of(file: str) -> list[list[str]]:
    """The tests that should notice a change of this file: its own, or its whole folder's, and then the laws.

    A test file that is named after no file of the package is about them all, as a law is.
    """
    folder, name = Path(file).parent.name, Path(file).stem
    own = ROOT / "tests" / folder / f"test_{name}.py"
    every = sorted(own.parent.glob("test_*.py"))
    shared = [t for t in every if not (PACKAGE / folder / t.name.removeprefix("test_")).exists()]
    first = [own, *shared] if own.exists() else every
    laws = [ROOT / "tests" / f"test_{law}.py" for law in ("laws", "registry_laws", "order_laws", "precision", "golden")]
    return [[str(p) for p in first], [str(p) for p in laws]]


def fork(mutant: Mutant) -> int:
    """Run the tests on a mutant in a child process; return its process id."""
    pid = os.fork()
    if pid:
        return pid
    os.setsid()
    null = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(null, stream)
    module = "ordinate." + mutant.file.removesuffix(".py").replace("/", ".").removesuffix(".__init__")
    sys.meta_path.insert(0, _Serve(module, str(PACKAGE / mutant.file), mutant.source))
    import pytest

    options = [
        "-x",
        "-q",
        "-p",
        "no:cacheprovider",
        "--assert=plain",  # what is loaded already cannot be rewritten, and need not be
        "-m",
        "not slow",
        "--no-header",
        "-c",
        str(ROOT / "pyproject.toml"),
    ]
    os._exit(int(any(pytest.main([*options, *files]) for files in tests_of(mutant.file))))


def survivors_of(found: list[Mutant], jobs: int, *, quiet: bool = False) -> list[Mutant]:
    """Run every mutant, `jobs` at a time; return those that no test noticed."""
    waiting, running, survived, done = list(reversed(found)), {}, [], 0
    while waiting or running:
        while waiting and len(running) < jobs:
            mutant = waiting.pop()
            running[fork(mutant)] = (mutant, time.monotonic() + SECONDS)
        pid, status = os.waitpid(-1, os.WNOHANG)
        if pid:
            mutant, _ = running.pop(pid)
            done += 1
            if os.waitstatus_to_exitcode(status) == 0:
                survived.append(mutant)
            if not quiet and survived[-1:] == [mutant]:
                print(f"survived  {mutant.file}:{mutant.line}  {mutant.change}", flush=True)
            if not quiet and done % 50 == 0:
                print(f"{done}/{len(found)} run, {len(survived)} survived", flush=True)
            continue
        for child, (_, deadline) in running.items():
            if time.monotonic() > deadline:
                os.killpg(child, signal.SIGKILL)
        time.sleep(0.02)
    return survived


def main() -> int:
    """Run every mutant and judge the outcome; return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", action="append", help="a file below src/ordinate; may be repeated")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--list", action="store_true", help="print the mutants, run nothing")
    options = parser.parse_args()
    every = [p for folder in FOLDERS for p in sorted((PACKAGE / folder).glob("*.py"))]
    files = [p for p in every if options.only is None or str(p.relative_to(PACKAGE)) in options.only]
    found = [m for path in files for m in mutants(path)]
    if options.list:
        print("\n".join(f"{m.file}:{m.line}  {m.change}" for m in found))
        return 0
    import hypothesis  # noqa: F401 - loaded once here, so that no child pays for it
    import mpmath  # noqa: F401
    import numpy  # noqa: F401
    import scipy  # noqa: F401
    import torch
    import transformers  # noqa: F401

    torch.set_num_threads(1)
    # One file a folder: without an own test it runs its whole folder's tests.
    one_each = [PACKAGE / folder / "base.py" for folder in {p.parent.name for p in files}]
    unchanged = [Mutant(str(p.relative_to(PACKAGE)), 1, "nothing", p.read_text(encoding="utf-8")) for p in one_each]
    broken = sorted({m.file for m in unchanged} - {m.file for m in survivors_of(unchanged, options.jobs, quiet=True)})
    if broken:
        print(f"the tests fail without any change: {', '.join(broken)}")
        return 1
    start = time.monotonic()
    survived = survivors_of(found, options.jobs)
    killed = len(found) - len(survived)
    print(f"{killed} of {len(found)} mutants killed ({killed / len(found):.1%}) in {time.monotonic() - start:.0f} s")
    reasons = json.loads(REASONS.read_text(encoding="utf-8")) if REASONS.exists() else {}
    keys = {m.key for m in survived}
    unexplained = sorted(keys - reasons.keys())
    ran = {m.key for m in found}
    stale = sorted(k for k in reasons if (k in ran and k not in keys) or (options.only is None and k not in ran))
    for key in sorted(keys & reasons.keys()):
        print(f"explained  {key}: {reasons[key]}")
    for key in unexplained:
        print(f"no reason given  {key}")
    for key in stale:
        print(f"reason for a mutant that was killed or is gone  {key}")
    return int(killed < LEAST * len(found) or bool(unexplained) or bool(stale))


if __name__ == "__main__":
    sys.exit(main())
