"""The longest length that holds, and holds with everything below it."""

from collections.abc import Mapping

from ordinate.validate.statistics.verdicts import Verdict


def effective_length(verdicts: Mapping[int, Verdict]) -> int | None:
    """The largest tested length that is supported while every shorter tested length is, too.

    Testing from short to long and stopping at the first that is not supported keeps the error rate of one test.

    Args:
        verdicts: for each tested length [token], in any order

    Returns:
        that length, [token]; None where the shortest is not supported

    Source: Marcus, Peritz and Gabriel 1976, Biometrika 63, 655-660 (closed testing, in a fixed order).
    Differs from the paper: nothing.

    >>> effective_length({4096: "supported", 1024: "supported", 2048: "inconclusive"})
    1024
    """
    reached = None
    for length in sorted(verdicts):
        if verdicts[length] != "supported":
            break
        reached = length
    return reached
