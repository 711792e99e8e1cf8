"""`ordinate diff`: two models, one model in several engines, or two runs of a validation."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from ordinate.cli.amounts import tokens_of
from ordinate.cli.out_file import Out

RUN = "run.json"
"""The file by which the folder of a validation is known."""


def command(
    a: Annotated[
        str,
        typer.Argument(
            help="A Hugging Face directory or config.json, a GGUF file, a params.json, a model's name, or the folder "
            "of a run of `ordinate validate`."
        ),
    ],
    b: Annotated[str | None, typer.Argument(help="Another, to compare with the first.")] = None,
    engines: Annotated[
        str | None, typer.Option(help="Instead of another model: all, or engines separated by commas.")
    ] = None,
    length: Annotated[
        int | None,
        typer.Option(
            parser=tokens_of, metavar="TOKENS", help="Compare at this length. Default: at every length that matters."
        ),
    ] = None,
    capacity: Annotated[
        int | None,
        typer.Option(
            parser=tokens_of,
            metavar="TOKENS",
            help="Tokens that engines are started for. Default: what each takes by itself.",
        ),
    ] = None,
    format: Annotated[
        Literal["text", "json"] | None,
        typer.Option(help="What to write. Default: as --out ends, else text.", show_default=False),
    ] = None,
    out: Out = None,
) -> int:
    """Compare two models, or what engines make of one, in frequencies, magnitude and angle; or two validations.

    Of two runs, before and after a change of the model, it says whether the short context was kept, which answers
    changed, and what the lengths gained. The exit code is 1 where something differs, or a loss is proved.
    """
    import json

    from ordinate.cli.out_file import form_of, put
    from ordinate.dialects import configuration, read
    from ordinate.errors import InputError, positive_integer
    from ordinate.scaling.base import checked_length

    form = form_of(format, out, ("text", "json"))
    if b is None and engines is None and (Path(a) / RUN).is_file():
        raise InputError(f"{a} is a run, which is compared with another: ordinate diff RUN_BEFORE RUN_AFTER")
    if (b is None) == (engines is None):
        raise InputError("diff needs another model or --engines, one of them")
    runs = [folder for folder in (a, b) if folder is not None and (Path(folder) / RUN).is_file()]
    if runs:
        if b is not None and len(runs) != 2:
            other = b if runs == [a] else a
            raise InputError(f"{other} is no run folder, it has no {RUN}: {runs[0]} is compared with another run alone")
        if b is None or length is not None or capacity is not None:
            raise InputError("two runs are compared with each other, before and after, and nothing else is given")
        return _runs(Path(a), Path(b), form, out)
    if capacity is not None and engines is None:
        raise InputError("--capacity belongs to --engines")
    length = checked_length(length)
    capacity = None if capacity is None else positive_integer("capacity", capacity)
    first = read(a)
    if b is not None:
        from ordinate.fingerprint import differences
        from ordinate.translate import difference_to_dict, difference_to_text, prove

        second = read(b)
        found, proofs = differences(first, second, length), prove(first, second, length)
        shown = (
            json.dumps(difference_to_dict(first, second, found, proofs, names=(a, b)), indent=2, allow_nan=False)
            if form == "json"
            else difference_to_text(first, second, found, proofs, names=(a, b))
        )
        put(shown, out)
        return 1 if found else 0
    from ordinate.translate import compare, comparison_to_dict, comparison_to_text
    from ordinate.translate import engines as every

    names = every() if engines == "all" else [name.strip() for name in str(engines).split(",")]
    rows = compare(first, names, length, capacity, configuration(a))
    shown = (
        json.dumps(comparison_to_dict(first, rows), indent=2, allow_nan=False)
        if form == "json"
        else comparison_to_text(first, rows)
    )
    put(shown, out)
    return 0 if all(row.same for row in rows) else 1


def _runs(before: Path, after: Path, form: str, out: Path | None) -> int:
    import json

    from ordinate.cli.out_file import put
    from ordinate.validate.compared import to_text
    from ordinate.validate.regression import compare

    found = compare(before, after)
    put(json.dumps(found.to_dict(), indent=2, allow_nan=False) if form == "json" else to_text(found), out)
    return 1 if found.regressed else 0
