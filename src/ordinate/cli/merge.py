"""`ordinate merge`: shards of a run, put together and judged."""

from pathlib import Path
from typing import Annotated, Literal

import typer


def command(
    runs: Annotated[list[Path], typer.Argument(help="Folders that `ordinate validate --shard i/n` wrote.")],
    out: Annotated[Path, typer.Option(help="The folder of the whole run; what was merged into it before stays.")],
    format: Annotated[Literal["text", "json"], typer.Option(help="How the verdicts are printed.")] = "text",
) -> int:
    """Put the shards of a run together and judge them; doing it again changes nothing.

    Runs that differ in anything but which part they are cannot be merged. The exit code is that of `ordinate
    validate`, and 3 where samples are missing: `ordinate validate --resume` on the merged folder takes them.
    """
    from ordinate.cli.verdicts import shown
    from ordinate.validate.cards import read_claims
    from ordinate.validate.estimate import spent
    from ordinate.validate.running import Course
    from ordinate.validate.shards import merge
    from ordinate.validate.store.folder import check_place
    from ordinate.validate.validating import judge

    check_place(out, "--out")
    folder, missing = merge(runs, out)
    why = f"{missing} samples of the plan are missing" if missing else ""
    tokens = spent(sample.cell for sample in folder.samples.values())
    course = Course("parts" if missing else "complete", why, tokens=tokens)
    return shown(out, course, (folder.manifest, judge(folder, read_claims(out))), format)
