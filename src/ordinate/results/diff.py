"""What two models differ in."""

from typing import Any, Literal

from ordinate.results.base import Record, Version

COMMAND = "ordinate diff A B --format json"
BEFORE = {"a", "b", "fingerprints", "same", "differences", "proof"}


class Change(Record, frozen=True):
    """One thing in which two models differ.

    Args:
        path: where, such as "groups.full_attention.encoding.base"
        a: its value in the first
        b: its value in the second
        relative: |b - a| / |a| of a frequency or magnitude, else null, [1]
    """

    path: str
    a: Any
    b: Any
    relative: float | None


class Proof(Record, frozen=True):
    """The largest differences of a layer group over the lengths that were compared.

    Args:
        group: its name
        pairs: pairs that were compared; 0 where nothing rotates
        lengths: tokens seen so far, null as at construction, [token]
        frequency_error: largest |b - a| / |a|, [1]; null where different pairs turn
        pair: where that is
        frequencies: of that pair, in both, [rad/token]
        length: at which length that is, [token]
        magnitude_error: largest relative difference in magnitude, [1]
        magnitudes: at that length, in both, [1]
        angle_error: largest |b - a| at position `at`, not reduced by full turns, [rad]
        at: the position of that angle, [token]
        scheme: null where the same scheme stands on both sides, else both
        exact: whether frequencies and magnitude agree to a relative 1e-6
    """

    group: str
    pairs: int
    lengths: list[int | None]
    frequency_error: float | None
    pair: int
    frequencies: tuple[float, float]
    length: int | None
    magnitude_error: float
    magnitudes: tuple[float, float]
    angle_error: float
    at: int | None
    scheme: tuple[str, str] | None
    exact: bool


class Diff(Record, frozen=True):
    """What two models differ in, and how far they are apart in what they compute.

    Args:
        schema_version: of this schema
        kind: "diff"
        a: what the first is called
        b: what the second is called
        fingerprints: of both
        same: whether they are the same in every number that has to do with position
        differences: field by field
        proof: group by group
    """

    schema_version: Version
    kind: Literal["diff"]
    a: str
    b: str
    fingerprints: tuple[str, str]
    same: bool
    differences: list[Change]
    proof: list[Proof]


FORM = Diff
