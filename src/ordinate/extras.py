"""Which optional parts are installed."""

from importlib.util import find_spec

from ordinate.errors import Unavailable


def need(extra: str, *modules: str) -> None:
    """Refuse to go on without the modules of an extra.

    Raises:
        Unavailable: one of them is not installed; the message names the extra
    """
    absent = [module for module in modules if find_spec(module) is None]
    if absent:
        raise Unavailable(
            f"this needs {', '.join(absent)}, not installed here: install ordinate with its extra [{extra}]"
        )
