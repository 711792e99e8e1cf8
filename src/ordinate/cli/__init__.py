"""The `ordinate` command: each subcommand is a file here, found by name and imported only when called.

A command may have the name of a builtin (`list`), and becomes an attribute here once imported: so the code that
dispatches stands in a file of its own.
"""

from ordinate.cli.dispatch import main, run, usage

__all__ = ["main", "run", "usage"]
