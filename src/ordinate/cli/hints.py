"""What may have been meant by an option that a command does not have."""

from collections.abc import Callable
from typing import Any, Literal, get_args, get_origin, get_type_hints


def meant(error: Exception, command: Callable[..., Any]) -> str:
    """'; did you mean --format json?' where the option is a value of one that there is, else nothing.

    Args:
        error: of typer, which names the option that it does not know as `option_name`
        command: the function, whose annotations hold the values
    """
    name, context = getattr(error, "option_name", None), getattr(error, "ctx", None)
    if name is None or context is None:
        return ""
    written = {one.name: [option for option in one.opts if option.startswith("--")] for one in context.command.params}
    for parameter, kind in get_type_hints(command).items():
        for value in _values(kind):
            if value.replace("_", "-") == name.lstrip("-").replace("_", "-"):
                # an argument is written without a name of its own
                return f"; did you mean {' '.join([*written.get(parameter, [])[:1], value])}?"
    return ""


def _values(kind: Any) -> tuple[str, ...]:
    """The strings that a type allows by name."""
    if get_origin(kind) is Literal:
        return tuple(value for value in get_args(kind) if isinstance(value, str))
    return tuple(value for part in get_args(kind) for value in _values(part))
