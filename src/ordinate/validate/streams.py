"""One stream of random numbers for each instance of a task, the same at every length, depth and filler."""

import hashlib

import numpy as np

from ordinate.errors import InputError, got, non_negative_integer


def stream(seed: int, task: str, instance: int, use: str = "") -> np.random.Generator:
    """The random numbers of one instance: Philox keyed by the first 128 bits of sha256("seed|task|instance").

    Args:
        seed: of the run
        task: the task's name
        instance: its number, from 0
        use: empty for the task itself; others who draw for the instance (the builder, the words) name their purpose,
            which is a fourth part of what is hashed, so that nobody's draws move another's

    Raises:
        InputError: a negative number, or a name that holds "|"

    >>> stream(1, "passkey", 0).integers(0, 10, 5).tolist() == stream(1, "passkey", 0).integers(0, 10, 5).tolist()
    True
    """
    return np.random.Generator(np.random.Philox(key=int.from_bytes(digest(seed, task, instance, use)[:16], "little")))


def digest(seed: int, task: str, instance: int, *uses: str) -> bytes:
    """The sha256 of "seed|task|instance" and what follows it, empty uses left out; 32 bytes."""
    for name in (task, *uses):
        if not isinstance(name, str) or "|" in name:
            raise InputError(f"a name that random numbers are drawn for must be text without '|', got {got(name)}")
    seed, instance = non_negative_integer("seed", seed), non_negative_integer("instance", instance)
    return hashlib.sha256("|".join((str(seed), task, str(instance), *filter(None, uses))).encode()).digest()
