"""Find the command, run it, and turn what went wrong into one line and an exit code.

Data goes to stdout, progress and errors to stderr. Exit codes: 0 ok, 1 findings, 2 usage or input,
3 environment, 101 internal.
"""

import atexit
import importlib
import os
import signal
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from typing import NoReturn

from ordinate.cli.index import COMMANDS
from ordinate.errors import InputError, Unavailable

COMPUTING = "ordinate-validate"
"""The name of threads that answer prompts, and that nobody waits for."""

OK, FINDINGS, INPUT, ENVIRONMENT, INTERNAL, INTERRUPTED, TERMINATED = 0, 1, 2, 3, 101, 130, 143


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and leave with its exit code; an error is one line on stderr, never a traceback.

    Args:
        arguments: what follows the command's name; `sys.argv[1:]` where not given
    """
    # Ended from outside, a command still removes what it has half written.
    signal.signal(signal.SIGTERM, _end)
    try:
        code = run(list(sys.argv[1:] if arguments is None else arguments))
    except SystemExit as leaving:
        if isinstance(leaving.code, int):
            _leave(leaving.code)
        raise
    _leave(code)


def _leave(code: int) -> NoReturn:
    """Leave with a code, what is registered for the exit done and all output written.

    Where a thread still computes, the interpreter is not ended under it: that unwinds the thread inside a library's
    C++, which aborts the process with another code.
    """
    if any(thread.name == COMPUTING for thread in threading.enumerate()):
        atexit._run_exitfuncs()
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                with suppress(OSError, ValueError):  # whoever read it went away, or it is closed
                    stream.flush()
        os._exit(code)
    sys.exit(code)


def _end(*_signal: object) -> NoReturn:
    sys.exit(TERMINATED)


def run(arguments: list[str]) -> int:
    """Run the command line and return its exit code.

    `--traceback` before the command lets errors travel, for a bug report.
    """
    if arguments[:1] == ["--traceback"]:
        return _dispatch(arguments[1:])
    try:
        return _dispatch(arguments)
    except (InputError, OSError) as error:
        if isinstance(error, BrokenPipeError):  # the reader of our output went away
            sys.stderr.close()
            return OK
        return _fail(str(error), INPUT)
    except Unavailable as error:
        return _fail(str(error), ENVIRONMENT)
    except KeyboardInterrupt:
        return _fail("interrupted", INTERRUPTED)
    except Exception as error:  # noqa: BLE001 - the edge: a fault of ours is one line and 101 too
        return _fail(
            f"internal error: {type(error).__name__}: {error} (show where: ordinate --traceback ...)",
            INTERNAL,
        )


def _dispatch(arguments: list[str]) -> int:
    name = arguments[0] if arguments else "--help"
    if name in ("--help", "-h"):
        print(usage())
        return OK
    if name == "--version":
        from ordinate import __version__

        print(f"ordinate {__version__}")
        return OK
    if name not in COMMANDS:
        from ordinate.registry import suggestion

        raise InputError(f"unknown command {name!r}{suggestion(name, list(COMMANDS))}")
    return _call(name, arguments[1:])


def usage() -> str:
    """What `ordinate --help` prints: every command with its one line, none of them imported."""
    width = max(map(len, COMMANDS))
    lines = [f"  {name:<{width}}  {line}" for name, line in COMMANDS.items()]
    return "\n".join(
        [
            "Usage: ordinate [--version] [--traceback] COMMAND ...",
            "",
            "Positional encoding for Transformers: describe, check, translate, convert, apply, audit, extend, prove.",
            "",
            "Commands (ordinate COMMAND --help for more):",
            *lines,
            "",
            "Exit codes: 0 ok, 1 findings, 2 usage or input, 3 environment, 101 internal.",
        ]
    )


def _call(name: str, arguments: list[str]) -> int:
    import typer
    from typer.main import get_command

    app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
    command = importlib.import_module(f"ordinate.cli.{name}").command
    app.command()(command)
    try:
        result = get_command(app).main(args=arguments, prog_name=f"ordinate {name}", standalone_mode=False)
    except typer.TyperException as error:
        from ordinate.cli.hints import meant

        raise InputError(f"{error.format_message()}{meant(error, command)} (see `ordinate {name} --help`)") from error
    except typer.Abort as error:
        raise KeyboardInterrupt from error
    except SystemExit as error:
        if isinstance(error.__context__, BrokenPipeError):  # typer makes it 1, which is our code for findings
            raise error.__context__ from None
        raise
    if sys.stdout is not None:  # where it is closed there is none
        sys.stdout.flush()
    return result if isinstance(result, int) else OK


def _fail(message: str, code: int) -> int:
    line = " ".join(message.split())
    # A path may hold anything, and nothing in it may reach the terminal as a command.
    print("ordinate: " + "".join(c if c.isprintable() else ascii(c)[1:-1] for c in line), file=sys.stderr)
    return code
