"""`ordinate check`: what is wrong or risky in a model's positional settings."""

from typing import Annotated, Literal

import typer

from ordinate.cli.out_file import Out

# As `rules.engines()` has them; to ask it for the help alone would load every rule.
ENGINES = (
    "airllm, deepseek, deepspeed, exllamav2, exllamav3, huggingface (transformers), huggingface_v4, keras_hub, "
    "koboldcpp, liger, litgpt, llama_cpp, maxtext, meta, mistral, mlx, ollama, sglang, tensorrt_llm, "
    "text_generation_webui, torchtitan, vllm"
)


def command(
    sources: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="PATH...",
            help="Directories, config.json, params.json or GGUF files, or models' names.",
            show_default=False,
        ),
    ] = None,
    engine: Annotated[
        list[str] | None,
        typer.Option(
            help=f"Also ask the rules about this engine; may be given again, or several with commas: {ENGINES}."
        ),
    ] = None,
    format: Annotated[
        Literal["text", "json", "sarif", "github"] | None,
        typer.Option(help="What to write. Default: as --out ends, else text.", show_default=False),
    ] = None,
    out: Out = None,
    severity: Annotated[
        Literal["note", "warning", "error"], typer.Option(help="The least that is shown and counts for the exit code.")
    ] = "warning",
    ignore: Annotated[
        list[str] | None, typer.Option(help="A rule not to ask; may be given again, or several with commas.")
    ] = None,
    explain: Annotated[
        str | None, typer.Option(help="Say what a rule is about, and read no file; no other option goes with it.")
    ] = None,
) -> int:
    """Say what is wrong or risky in a model's positional settings.

    Reads the files alone: no weights are loaded, nothing in them is executed, nothing is downloaded. The exit code is
    1 where something is found at or above the severity; JSON and SARIF hold what is below it as well. It is 2 where a
    path cannot be read; what is found in the others is printed all the same.
    """
    from ordinate import __version__, rules
    from ordinate.cli.out_file import form_of, put
    from ordinate.errors import InputError, Unavailable

    form = form_of(format, out, ("text", "json", "sarif", "github"))
    engines = [rules.find_engine(name) for name in _several(engine)]
    ignored = [rules.find_rule(name).id for name in _several(ignore)]
    if explain is not None:
        if sources:
            raise InputError(f"--explain reads no file, got {sources[0]}")
        beside = {"--format": format is not None, "--out": out is not None, "--severity": severity != "warning"}
        beside |= {"--engine": bool(engines), "--ignore": bool(ignored)}
        for option, given in beside.items():
            if given:
                raise InputError(f"--explain prints one rule as text and takes no other option, got {option}")
        typer.echo(rules.explain(rules.find_rule(explain)))
        return 0
    if not sources:
        raise InputError("give at least one path or model's name, or --explain RULE")
    for name in engines:
        if not rules.has_rules(name):
            typer.echo(f"ordinate: no rule is about {name}: only the rules for all engines are asked", err=True)
    reports: list[rules.Report] = []
    errors: list[InputError | OSError | Unavailable] = []
    for source in sources:
        try:
            reports.append(rules.check(source, engine=engines, ignore=ignored))
        except (InputError, OSError, Unavailable) as error:
            if len(sources) == 1:
                raise
            errors.append(error)
    if form == "json":
        text = rules.to_json(reports)
    elif form == "sarif":
        text = rules.to_sarif(reports, __version__)
    elif form == "github":
        text = rules.to_github(reports, severity)
    else:
        text = rules.to_text(reports, severity)
    if text or out is not None:
        put(text, out)
    if errors:
        wrong = all(isinstance(error, Unavailable) for error in errors)
        raise (Unavailable if wrong else InputError)("; ".join(map(str, errors)))
    return int(any(rules.shown(report, severity) for report in reports))


def _several(given: list[str] | None) -> list[str]:
    """What a repeated option was given, its values with commas taken apart."""
    return [name.strip() for value in given or () for name in value.split(",")]
