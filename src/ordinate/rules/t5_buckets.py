"""T5 buckets that leave nothing for far distances."""

from collections.abc import Iterator
from typing import ClassVar

from ordinate.rules._numbers import shown
from ordinate.rules._subject import Subject
from ordinate.rules.base import Finding, Rule


class T5Buckets(Rule):
    name = "t5_buckets"
    severity = "error"
    explanation = "T5's bucket count is odd or too small, or its maximum distance lies within the exact buckets."
    why = "The encoder halves the buckets for the two directions, and halves them again between exact and logarithmic."
    remedy = "32 buckets and 128 tokens are T5's."
    reports = ("huggingface/transformers 5.24, modeling_t5.py", "ggml-org/llama.cpp, llama_relative_position_bucket")
    example: ClassVar = {"model_type": "t5", "relative_attention_num_buckets": 31}

    def find(self, subject: Subject) -> Iterator[Finding]:
        if subject.known is None or subject.known.unrotated != "t5":
            return
        buckets = subject.number("relative_attention_num_buckets")
        distance = subject.number("relative_attention_max_distance")
        if buckets is None:
            return
        # The decoder has them all for one direction: its exact part is half of them.
        exact = buckets // 2
        if buckets % 2 or buckets < 4:
            yield self.finding(
                subject,
                f"{subject.prefix}relative_attention_num_buckets",
                f"relative_attention_num_buckets is {shown(buckets)}: the encoder gives {buckets / 2:g} to each "
                "direction, "
                f"{buckets / 4:g} of them exact",
                f'"relative_attention_num_buckets": {max(4, int(buckets) // 2 * 2)}, or what the table has',
                buckets=buckets,
            )
        elif distance is not None and distance <= exact:
            yield self.finding(
                subject,
                f"{subject.prefix}relative_attention_max_distance",
                f"relative_attention_max_distance {shown(distance)} is within the decoder's {shown(exact)} "
                "exact buckets: there "
                "is no distance left for the logarithmic ones",
                f'"relative_attention_max_distance": {int(4 * buckets)}',
                max_distance=distance,
                exact=exact,
            )
