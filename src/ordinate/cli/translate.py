"""`ordinate translate`: the same model in another engine's words."""

from pathlib import Path
from typing import Annotated, Literal

import typer


def command(
    source: Annotated[
        str,
        typer.Argument(help="A Hugging Face directory or config.json, a GGUF file, a params.json, or a model's name."),
    ],
    to: Annotated[str, typer.Option(help="An engine (vllm, sglang, mlx, ...), or gguf for a copy of a GGUF file.")],
    lossy: Annotated[bool, typer.Option("--lossy", help="Give the words also where they change the model.")] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            help="A file for what would be printed. With --to gguf: the copy to write, which is never overwritten."
        ),
    ] = None,
    take_from: Annotated[
        str | None,
        typer.Option("--from", help="With --to gguf: the model whose positional settings the copy gets."),
    ] = None,
    format: Annotated[
        Literal["text", "json"] | None,
        typer.Option(help="What to write. Default: as --out ends, else text.", show_default=False),
    ] = None,
) -> int:
    """Say a model's positional settings in another engine's words, with what is lost, and prove it.

    The words to paste come first. The proof rebuilds the tables from them as the engine reads them, and compares
    them with the model's. Where something is lost the words are withheld, and the exit code is 1, unless --lossy is
    given. With --to gguf a copy of the file is written that has the rope.* keys of the model named by --from, and what
    changed is printed, with the proof read back from the copy.
    """
    from ordinate.cli.out_file import form_of, put
    from ordinate.dialects import read
    from ordinate.errors import InputError

    if to == "gguf":
        return _copy(source, out, take_from, lossy=lossy, as_json=format == "json")
    form = form_of(format, out, ("text", "json"))
    if take_from is not None:
        raise InputError(f"--from belongs to --to gguf, got --to {to}")
    spec = read(source)
    from ordinate.translate import translate, translation_to_dict, translation_to_text

    translation = translate(spec, to)
    allowed = translation.faithful or lossy
    if form == "json":
        import json

        put(json.dumps(translation_to_dict(translation, words=allowed), indent=2, allow_nan=False), out)
    else:
        withheld = "the words are withheld, because they would change the model: --lossy gives them"
        text = translation_to_text(translation, words=allowed)
        put(text if allowed else f"{text}\n{withheld}", out)
    return 0 if allowed else 1


def _copy(source: str, out: Path | None, take_from: str | None, *, lossy: bool, as_json: bool) -> int:
    """Write a copy of a GGUF file with another model's positional settings, and say what changed."""
    import json

    from ordinate.dialects import read
    from ordinate.errors import InputError
    from ordinate.translate.gguf import check_fit, find_file, other_bases, unheeded, write_copy

    if out is None or take_from is None:
        raise InputError(
            "--to gguf needs --out, the copy to write, and --from, a model or config.json with the settings it gets"
        )
    path = find_file(source)
    before, wanted = read(path), read(take_from)
    check_fit(before, wanted, path)
    losses = unheeded(before, wanted)
    allowed = lossy or not losses
    if allowed:
        write_copy(path, out, wanted)
    from ordinate.translate.copy_text import copy_to_dict, copy_to_text

    after = read(out) if allowed else None
    warnings = other_bases(before, wanted)
    shown = (
        json.dumps(copy_to_dict(before, wanted, after, losses, warnings), indent=2, allow_nan=False)
        if as_json
        else copy_to_text(before, wanted, after, losses, warnings)
    )
    typer.echo(shown)
    if allowed and not as_json:
        typer.echo(f"written: {out}")
    return 0 if allowed else 1
