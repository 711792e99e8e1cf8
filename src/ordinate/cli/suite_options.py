"""The options by which a suite is chosen, alike for every command that asks or writes one."""

from typing import Annotated, Literal

import typer

Suite = Annotated[Literal["smoke", "standard", "publication"], typer.Option(help="What is asked.")]
Lengths = Annotated[
    str | None, typer.Option(help="Lengths of prompts in tokens, with commas; the first is the short one.")
]
To = Annotated[int | None, typer.Option(help="Instead: the doubles of the shortest length that fits, up to this one.")]
Tasks = Annotated[str | None, typer.Option(help="These tasks alone, with commas.")]
Filler = Annotated[str, typer.Option(help="What fills the prompts: prose, generated, records, noise, or a text file.")]
Reserve = Annotated[int | None, typer.Option(help="Tokens of an answer at most. Default: by the longest right one.")]
Seed = Annotated[int, typer.Option(help="Of the instances.")]


def numbers(text: str | None) -> tuple[int, ...]:
    """What `Lengths` says, [token].

    Raises:
        InputError: no numbers, or one below 1
    """
    from ordinate.errors import InputError

    try:
        found = tuple(int(part) for part in text.split(",")) if text else ()
    except ValueError as error:
        raise InputError(f"--lengths must be numbers of tokens with commas, got {text!r}") from error
    if any(number < 1 for number in found):
        raise InputError(f"--lengths must be above 0, got {text!r}")
    return found


def names(text: str | None) -> tuple[str, ...]:
    """What `Tasks` says."""
    return tuple(name.strip() for name in text.split(",")) if text else ()
