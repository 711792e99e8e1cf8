"""An `mrope_interleaved` that contradicts the architecture."""

from collections.abc import Iterator
from typing import ClassVar

from ordinate.rules._subject import Subject
from ordinate.rules.base import Finding, Rule


class MropeLayout(Rule):
    name = "mrope_layout"
    explanation = "`mrope_interleaved` differs from the layout that the architecture's code has."
    why = "transformers ignores the key and decides by class; engines that read it share channels otherwise. It says "
    why += "nothing of how channels are paired."
    remedy = "Set it to what the architecture has, or remove it."
    reports = ("ohdearquant/lattice#96", "huggingface/transformers#43952")
    example: ClassVar = {
        "model_type": "qwen2_vl",
        "text_config": {
            "rope_parameters": {
                "rope_type": "default",
                "rope_theta": 1e6,
                "mrope_section": [16, 24, 24],
                "mrope_interleaved": True,
            },
        },
    }

    def find(self, subject: Subject) -> Iterator[Finding]:
        known = subject.known
        if known is None or known.scheme != "multimodal" or known.layout not in (None, "chunked", "interleaved"):
            return
        layout = known.layout or "chunked"
        for settings in subject.settings:
            flag = settings.values.get("mrope_interleaved")
            if isinstance(flag, bool) and flag != (layout == "interleaved"):
                yield self.finding(
                    subject,
                    settings.key("mrope_interleaved"),
                    f"mrope_interleaved is {str(flag).lower()}, and transformers' {subject.model_type} has its "
                    "sections "
                    f"{layout}, whatever the key says",
                    f'"mrope_interleaved": {str(layout == "interleaved").lower()}',
                    layout=layout,
                )
