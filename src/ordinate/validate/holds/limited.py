"""Become another program with a limit on its memory: `python limited.py BYTES PROGRAM ...`.

The limit is one on private memory (RLIMIT_DATA) where the system counts that, else one on addresses (RLIMIT_AS).
"""

import os
import sys


def main(arguments: list[str]) -> None:
    """Set the limit and become the program."""
    import resource

    size = int(arguments[0])
    # Linux counts private mappings as data; elsewhere it is the heap alone, which nobody fills.
    which = resource.RLIMIT_DATA if sys.platform == "linux" else resource.RLIMIT_AS
    resource.setrlimit(which, (size, size))
    os.execv(arguments[1], arguments[1:])  # noqa: S606 - what to become is given by the caller


if __name__ == "__main__":
    main(sys.argv[1:])
