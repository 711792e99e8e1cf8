"""Runs to be killed: prepared once, then forked, so that each begins at once.

`python killed_run.py BACKEND TASKS LENGTHS` says "ready"; then each line on stdin begins one run in a process of its
own, and it is said how that ended: its exit code, or minus the signal. A line is OUT PLACE NUMBER BYTES; PLACE is
"write": the process kills itself inside the write of the line NUMBER of samples, after BYTES bytes; "replace": just
before it puts a whole file in place for the time NUMBER; "moment": it is killed after NUMBER milliseconds; or
"nowhere".
"""

import os
import signal
import sys
import time
from pathlib import Path

from ordinate.validate.opening import Opening, opened
from ordinate.validate.preparing import Asked, Ready, prepare
from ordinate.validate.validating import validate


def run(ready: Ready, out: Path, place: str, number: int, size: int) -> None:
    left = number
    write, replace = os.write, Path.replace

    def torn(handle: int, data: memoryview) -> int:
        nonlocal left
        left -= 1
        if left < 0:
            write(handle, data[:size])
            os.kill(os.getpid(), signal.SIGKILL)
        return write(handle, data)

    def undone(self: Path, target: Path) -> Path:
        nonlocal left
        left -= 1
        if left < 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return replace(self, target)

    if place == "write":
        os.write = torn
    elif place == "replace":
        Path.replace = undone
    validate(ready, out)


def main(backend: str, tasks: str, lengths: str) -> None:
    ready = prepare(
        opened(Opening(backend=backend)),
        Asked("smoke", lengths=tuple(map(int, lengths.split(","))), tasks=tuple(tasks.split(",")), filler="noise"),
    )
    print("ready", flush=True)
    for line in sys.stdin:
        out, place, number, size = line.split("\t")
        process = os.fork()
        if not process:
            run(ready, Path(out), place, int(number), int(size))
            os._exit(0)
        if place == "moment":  # it is not waited for before it is killed, so that its id is its own
            time.sleep(int(number) / 1000)
            os.kill(process, signal.SIGKILL)
        print(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
