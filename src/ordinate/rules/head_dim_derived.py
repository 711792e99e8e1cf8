"""A head width that does not follow from the hidden size."""

from collections.abc import Iterator
from typing import ClassVar

from ordinate.rules._numbers import shown
from ordinate.rules._subject import Subject
from ordinate.rules.base import Finding, Rule


class HeadDimDerived(Rule):
    name = "head_dim_derived"
    explanation = "`head_dim` is absent, and hidden_size is no multiple of the heads."
    why = "Engines round hidden_size / num_attention_heads down, or refuse: the frequencies depend on the result."
    remedy = "Write `head_dim`."
    reports = ("vllm-project/vllm#43770", "huggingface/transformers 5.24, modeling_rope_utils.py")
    example: ClassVar = {"model_type": "llama", "hidden_size": 3010, "num_attention_heads": 32}

    def find(self, subject: Subject) -> Iterator[Finding]:
        hidden, heads = subject.number("hidden_size"), subject.number("num_attention_heads")
        if (
            subject.kind != "huggingface"
            or subject.number("head_dim") is not None
            or not (subject.rotating or subject.error)
        ):
            return
        if subject.get("qk_rope_head_dim") is not None or not hidden or not heads or heads < 1 or hidden < heads:
            return
        if hidden % heads and subject.config.get("num_attention_heads") is not None:
            yield self.finding(
                subject,
                subject.key("hidden_size"),
                f"head_dim is absent, and hidden_size {shown(hidden)} / {shown(heads)} heads is "
                f"{hidden / heads:.6g}: transformers "
                f"rounds down to {int(hidden // heads)}",
                f'"head_dim": {int(hidden // heads)}, or the width that the weights have',
                hidden_size=hidden,
                heads=heads,
            )
