"""A rotary width that no head has."""

from collections.abc import Iterator
from typing import ClassVar

from ordinate.rules._numbers import shown
from ordinate.rules._settings import number
from ordinate.rules._subject import Subject
from ordinate.rules.base import Finding, Rule


class RotaryWidth(Rule):
    name = "rotary_width"
    severity = "error"
    explanation = "The rotary width is odd, 0, or wider than the head."
    why = "Channels turn in pairs: engines round the width up, down, or read past the table."
    remedy = "An even width of at most head_dim."
    reports = ("ModelTC/LightLLM#1459", "vllm-project/vllm#43770", "jagmarques/nexusquant#12")
    example: ClassVar = {"model_type": "gpt_neox", "hidden_size": 1024, "num_attention_heads": 16, "rotary_pct": 0.3}

    def find(self, subject: Subject) -> Iterator[Finding]:
        if subject.kind != "huggingface" or subject.get("qk_rope_head_dim") is not None:
            return
        head = subject.number("head_dim")
        if head is None:
            hidden, heads = subject.number("hidden_size"), subject.number("num_attention_heads")
            head = hidden // heads if hidden and heads and heads >= 1 else None
        if head is None or head < 1 or (subject.known is not None and subject.known.scheme == "axial"):
            return
        for key, width in _widths(subject, head):
            if 0 < width <= head and width % 2 == 0:
                continue
            even = max(2, min(int(head), width) // 2 * 2)
            fix = f"{even} channels: " + (
                f'"{key}": {even}' if key == "rotary_dim" else f"a share of {even / head:.6g}"
            )
            yield self.finding(
                subject,
                key,
                f"{key} leaves {width} of {shown(head)} channels to turn: the width must be even, and from 2 to "
                f"{shown(head)}",
                fix,
                width=width,
                head_dim=head,
            )


def _widths(subject: Subject, head: float) -> Iterator[tuple[str, int]]:
    """The rotary widths that the configuration states, and the key of each."""
    width = number(subject.config.get("rotary_dim"))
    if width is not None:
        yield f"{subject.prefix}rotary_dim", int(width)
    for word in ("partial_rotary_factor", "rotary_pct", "rotary_percent", "rope_pct"):
        share = number(subject.config.get(word))
        if share is not None and share != 1:
            yield f"{subject.prefix}{word}", int(head * min(share, 1e6))
    for settings in subject.settings:
        share = settings.number("partial_rotary_factor")
        if share is not None and share != 1 and settings.type != "proportional" and subject.error is not None:
            yield settings.key("partial_rotary_factor"), int(head * min(share, 1e6))
