"""Sections of multimodal RoPE that do not add up."""

from collections.abc import Iterator, Sequence
from typing import ClassVar

from ordinate.rules._numbers import shown
from ordinate.rules._settings import number
from ordinate.rules._subject import Subject
from ordinate.rules.base import Finding, Rule


class MropeSections(Rule):
    name = "mrope_sections"
    severity = "error"
    explanation = "`mrope_section` does not add up to the pairs."
    why = "Pairs past the last section have no axis: code drops them, repeats a section, or fails."
    remedy = "Numbers of pairs, not channels: they add up to half the rotary width."
    reports = ("ohdearquant/lattice#96", "linkedin/Liger-Kernel#276", "huggingface/transformers#40490")
    example: ClassVar = {
        "model_type": "qwen2_vl",
        "text_config": {
            "hidden_size": 1536,
            "num_attention_heads": 12,
            "rope_parameters": {"rope_type": "default", "rope_theta": 1e6, "mrope_section": [32, 48, 48]},
        },
    }

    def find(self, subject: Subject) -> Iterator[Finding]:
        head = subject.number("head_dim")
        if head is None:
            hidden, heads = subject.number("hidden_size"), subject.number("num_attention_heads")
            head = hidden // heads if hidden and heads and heads >= 1 else None
        for settings in subject.settings:
            sections = settings.values.get("mrope_section")
            share = (
                settings.number("partial_rotary_factor") or number(subject.config.get("partial_rotary_factor")) or 1.0
            )
            if head is None or not isinstance(sections, Sequence) or isinstance(sections, str):
                continue
            pairs = int(min(head, 65536) * min(share, 1.0)) // 2
            numbers = [number(section) for section in sections[:16]]
            total = sum(n for n in numbers if n is not None)
            if None in numbers or not numbers or total == pairs or pairs < 1:
                continue
            known = subject.known
            if known is not None and known.scheme != "multimodal":
                continue
            scale = pairs / total if total > 0 else 0
            scaled = [n * scale for n in numbers if n is not None]
            whole = all(n == int(n) and n > 0 for n in scaled)
            yield self.finding(
                subject,
                settings.key("mrope_section"),
                f"mrope_section {[int(n) for n in numbers if n is not None]} adds up to {shown(total)}, and "
                f"{pairs} pairs turn",
                f'"mrope_section": {[int(n) for n in scaled]}' if whole else f"sections that add up to {pairs}",
                total=total,
                pairs=pairs,
            )
