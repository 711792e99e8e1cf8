"""The options by which a suite is chosen, alike for every command that asks or writes one."""

from typing import Annotated, Literal

import typer

from ordinate.cli.amounts import tokens_of

Suite = Annotated[Literal["smoke", "standard", "publication"], typer.Option(help="What is asked.")]
Lengths = Annotated[
    str | None,
    typer.Option(
        help="Lengths of prompts in tokens, with commas, as in 512,2k (k is 1,024); the others are compared with the "
        "shortest."
    ),
]
To = Annotated[
    int | None,
    typer.Option(
        parser=tokens_of,
        metavar="TOKENS",
        help="Instead: the doubles of the shortest length that fits, up to this one; 128k is 131,072.",
    ),
]
Tasks = Annotated[str | None, typer.Option(help="These tasks alone, with commas.")]
Filler = Annotated[str, typer.Option(help="What fills the prompts: prose, generated, records, noise, or a text file.")]
Reserve = Annotated[int | None, typer.Option(help="Tokens of an answer at most. Default: by the longest right one.")]
Seed = Annotated[int, typer.Option(help="Of the instances.")]


def names(text: str | None) -> tuple[str, ...]:
    """What `Tasks` says."""
    return tuple(name.strip() for name in text.split(",")) if text else ()
