"""A rotary share that this architecture does not read."""

from collections.abc import Iterator
from typing import ClassVar

from ordinate.rules._settings import number
from ordinate.rules._subject import Subject
from ordinate.rules.base import Finding, Rule


class PartialShareIgnored(Rule):
    name = "partial_share_ignored"
    explanation = "`partial_rotary_factor` is set for an architecture whose plain rotation turns the whole head."
    why = "transformers turns all channels, engines that read the key turn some: other scores at every position."
    remedy = "Remove it; or use an architecture that reads it."
    reports = ("vllm-project/vllm#43770", "apple/coreai-models#66", "huggingface/transformers 5.24, modeling_llama.py")
    example: ClassVar = {
        "model_type": "llama",
        "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0, "partial_rotary_factor": 0.5},
    }

    def find(self, subject: Subject) -> Iterator[Finding]:
        known = subject.known
        if known is None or not known.whole:
            return
        shares = [(f"{subject.prefix}partial_rotary_factor", number(subject.config.get("partial_rotary_factor")))]
        shares += [(s.key("partial_rotary_factor"), s.number("partial_rotary_factor")) for s in subject.settings]
        scaled = any(settings.type not in ("default", "") for settings in subject.settings)
        for key, share in shares:
            if share is None or share == 1 or scaled:
                continue
            group = next(iter(subject.rotating), None)
            width = "" if group is None else f", {group.rotary_dim} channels,"
            yield self.finding(
                subject,
                key,
                f"{key} is {share:g}, and transformers 5.24 turns the whole head{width} of {subject.model_type}",
                f"remove {key.rpartition('.')[2]}, if all channels were trained to turn",
                partial_rotary_factor=share,
            )
