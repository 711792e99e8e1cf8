"""`ordinate audit`: is position handled consistently, by a model or by the server that runs it?"""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from ordinate.cli.amounts import tokens_of
from ordinate.cli.out_file import Out


def command(
    source: Annotated[
        str | None, typer.Argument(help="A Hugging Face directory, a GGUF file, or a model's name; none with --url.")
    ] = None,
    checks: Annotated[
        list[str] | None,
        typer.Option(help="A check to run; may be given again, or several with commas. Default: all."),
    ] = None,
    length: Annotated[
        int | None,
        typer.Option(
            parser=tokens_of,
            metavar="TOKENS",
            help="Tokens of the reference pass. Default: what suits the model's size.",
        ),
    ] = None,
    dtype: Annotated[
        Literal["float32", "bfloat16", "float16"] | None,
        typer.Option(help="What to compute in; float32 shows smaller faults. Default: as the files have it."),
    ] = None,
    format: Annotated[
        Literal["text", "json", "sarif"] | None,
        typer.Option(help="What to write. Default: as --out ends, else text.", show_default=False),
    ] = None,
    out: Out = None,
    url: Annotated[
        str | None,
        typer.Option(help="A running OpenAI-compatible server, such as http://127.0.0.1:8080/v1."),
    ] = None,
    model: Annotated[str | None, typer.Option(help="The model's name at the server.")] = None,
    tokenizer: Annotated[
        str | None,
        typer.Option(
            help="A model's directory, file or name with the server's tokenizer: counts are compared with it."
        ),
    ] = None,
    window: Annotated[
        int | None,
        typer.Option(
            parser=tokens_of, metavar="TOKENS", help="The server's window in tokens, which is tried at its edge."
        ),
    ] = None,
    api_key_file: Annotated[Path | None, typer.Option(help="A file that holds the key.")] = None,
    api_key_variable: Annotated[
        str | None, typer.Option(help="The name of an environment variable that holds it.")
    ] = None,
    requests: Annotated[int | None, typer.Option(help="Requests at most. Default: 600.")] = None,
    tokens: Annotated[
        int | None,
        typer.Option(help="Tokens at most, of prompts and answers together. Default: 200000."),
    ] = None,
    seconds: Annotated[float | None, typer.Option(help="Seconds at most. Default: 1800.")] = None,
) -> int:
    """Compute the same in every way that must give the same result, and say where position is handled wrong.

    A model: the reference is one plain pass over a text; each check computes the same otherwise: in chunks, padded,
    packed, cropped, reordered, shifted, cast. A server (--url): the same prompt cold and cached, in turns, beside
    others, and at its window. A difference counts where it is several times the noise that is measured first. The exit
    code is 1 where an error or a warning is found, 0 where nothing or only notes are, and 3 where a budget or a server
    ended the audit before.
    """
    from ordinate import __version__
    from ordinate.audit.report import to_json, to_sarif, to_text
    from ordinate.cli.dispatch import ENVIRONMENT, FINDINGS, OK
    from ordinate.cli.out_file import form_of, put

    form = form_of(format, out, ("text", "json", "sarif"))
    names = [name.strip() for value in checks or () for name in value.split(",")] or None
    server = {
        "model": model,
        "tokenizer": tokenizer,
        "window": window,
        "key_file": api_key_file,
        "key_variable": api_key_variable,
        "requests": requests,
        "tokens": tokens,
        "seconds": seconds,
    }
    given = {name: value for name, value in server.items() if value is not None}
    found = (
        _model(source, names, length, dtype, given)
        if url is None
        else _server(url, names, given, source, length, dtype)
    )
    if form == "json":
        text = to_json(found)
    elif form == "sarif":
        text = to_sarif(found, __version__)
    else:
        text = to_text(found)
    put(text, out)
    if any(finding.severity != "note" for finding in found.findings):
        return FINDINGS
    # What was not asked is not sound.
    return ENVIRONMENT if found.subject.get("ended") else OK


def _model(
    source: str | None, names: Sequence[str] | None, length: int | None, dtype: Any, given: dict[str, Any]
) -> Any:
    from ordinate.cli.progress import progress
    from ordinate.errors import InputError

    if given:
        raise InputError(
            f"{_listed(given)} goes with --url only: add the server's address, as in --url http://127.0.0.1:8080/v1, "
            "or leave it out and give a model's directory, file or name"
        )
    if source is None:
        raise InputError(
            "ordinate audit needs a model's directory, file or name, or --url and --model for a running server"
        )
    from ordinate.audit.names import check_named

    for name in names or ():  # before torch is imported, which takes longer than to say it
        check_named("ordinate.audit.checks", name, "check")
    from ordinate.audit import audit

    with progress() as report:
        return audit(source, checks=names, length=length, dtype=dtype, progress=report)


def _server(
    url: str, names: Sequence[str] | None, given: dict[str, Any], source: str | None, length: int | None, dtype: Any
) -> Any:
    from ordinate.cli.progress import progress
    from ordinate.errors import InputError

    own = {"a model's path": source, "--length": length, "--dtype": dtype}
    wrong = [name for name, value in own.items() if value is not None]
    if wrong:
        raise InputError(f"with --url the server has the model: leave out {', '.join(wrong)}")
    from ordinate.audit.server import asked

    with progress() as report:
        return asked(url, given.pop("model", None), checks=names, progress=report, **given)


def _listed(given: dict[str, Any]) -> str:
    options = {"key_file": "api-key-file", "key_variable": "api-key-variable"}
    return ", ".join(f"--{options.get(name, name)}" for name in given)
