"""How many tokens level 2 takes, said before it is measured."""

from collections.abc import Sequence

from ordinate.validate.backends import Backend
from ordinate.validate.holds.holds import near
from ordinate.validate.holds.timing import LEAST, STEPS, WARM


def cost(backend: Backend, lengths: Sequence[int], *, repeats: int = LEAST) -> tuple[int, int]:
    """Tokens of prompts and answers at least, where each length is refused at once, and at most.

    At most each length is asked `repeats` times and twice again, each time with a second prompt of one token's answer,
    the shortest and the longest once more; where the model runs in processes of its own, it reads each length once
    there, and the shortest several times.

    Args:
        backend: as for `holds`
        lengths: [token]
        repeats: as for `holds`

    Returns:
        least and most, [token]
    """
    wanted = sorted({near(length, lengths) for length in lengths})
    one = [2 * length + STEPS + 1 for length in wanted]
    most = (repeats + WARM) * sum(one) + one[0] + one[-1]
    if hasattr(getattr(backend, "model", None), "named_modules"):
        from ordinate.validate.holds.memory import TURNS

        most += sum(wanted) + TURNS * wanted[0]
    return sum(wanted), most
