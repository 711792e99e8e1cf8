"""A first look, in about 60,000 tokens."""

from typing import ClassVar

from ordinate.validate.suites._entries import Entry
from ordinate.validate.suites.base import Suite


class Smoke(Suite):
    """Three trials that a model of 135 million parameters can be asked on two cores in minutes.

    Where no lengths are asked for they are 256 and 512 tokens (the next doubles where a tokenizer needs more):

    - passkey as the papers have it, without other keys, which SmolLM2-135M does not tell apart (14 of 50 right at 256
      tokens with three others, its floor); one demonstration, the key at the start, which is the worst place for a
      window: up to 50 units, because 24 of 24 right answers support nothing there, while 48 of 50 do. A search for any
      number solves it: it shows reach, and nothing of telling things apart. At most 50 * (256 + 512) = 38,400 tokens.
    - associative copy with the first copy at the start, where losses are to be had: 24 units, whose gains in nats say
      more than right and wrong. 24 * (256 + 512) = 18,400 tokens, and a little for the first copies.
    - multi-hop with two chains of two links: a small model is at its floor there, which shows at the short length
      after 24 units, 6,100 tokens, and is reported as not applicable; a larger one goes on to 50 units.

    In all 63,000 tokens where passkey needs both looks and multi-hop is at its floor, at most 96,000. Longer lengths
    cost in proportion: 512, 1024 and 2048 take seven times the tokens of 512 for each unit, 250,000 in all.
    """

    name = "smoke"
    title = "a first look in about 60,000 tokens"
    units = 50
    doublings = 1
    controls: ClassVar = ()
    levels: ClassVar = ("L3",)

    def entries(self) -> tuple[Entry, ...]:
        return (
            Entry("passkey", ("start",), difficulty={"demonstrations": 1, "others": 0}),
            Entry("associative_copy", ("start",), "copy", units=24),
            Entry("multi_hop", ("start",), difficulty={"chains": 2}),
        )
