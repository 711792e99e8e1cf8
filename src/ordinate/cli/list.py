"""`ordinate list`: what can be named."""

from typing import Annotated, Literal

import typer


def command(
    things: Annotated[
        Literal["schemes", "scalings", "models", "plots"], typer.Argument(metavar="WHAT", help="What to list.")
    ] = "schemes",
    format: Annotated[Literal["text", "json"], typer.Option(help="What to print.")] = "text",
) -> None:
    """List the positional schemes, scaling methods, named models or plots."""
    import json

    rows = {"schemes": _schemes, "scalings": _scalings, "models": _models, "plots": _plots}[things]()
    if format == "json":
        typer.echo(json.dumps(rows, indent=2))
        return
    width = max(len(row["name"]) for row in rows)
    for row in rows:
        typer.echo(f"{row['name']:<{width}}  {row['summary']}")
        if things == "plots":
            typer.echo(f"{'':<{width}}    from {row['source']}")


def _schemes() -> list[dict[str, str]]:
    from ordinate import scheme, schemes

    return [
        {
            "name": name,
            "kind": scheme(name).kind,
            "summary": scheme(name).facts.adds,
            "source": scheme(name).facts.source,
        }
        for name in schemes()
    ]


def _scalings() -> list[dict[str, str]]:
    from ordinate import registry, scalings

    found = {name: registry.lookup("ordinate.scaling", name, "scaling method").facts for name in scalings()}
    return [{"name": name, "summary": facts.does, "source": facts.source} for name, facts in found.items()]


def _models() -> list[dict[str, str]]:
    from ordinate import models

    installed = [{"name": name, "summary": models.about(name)} for name in models.names()]
    published = [models.published(name) for name in models.published_names()]
    return installed + [{"name": one.name, "summary": f"{one.title}: its configuration alone"} for one in published]


def _plots() -> list[dict[str, str]]:
    from ordinate.plots import facts, plots

    found = {name: facts(name) for name in plots()}
    return [{"name": name, "summary": about.shows, "source": about.source} for name, about in found.items()]
