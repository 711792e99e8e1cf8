"""Scaling on layers that see a short window only."""

import math
from collections.abc import Iterator
from typing import ClassVar

from ordinate.rules._numbers import furthest
from ordinate.rules._settings import base_of
from ordinate.rules._subject import Subject
from ordinate.rules.base import Finding, Rule


class SlidingScaled(Rule):
    name = "sliding_scaled"
    explanation = "Layers with a sliding window are scaled although they never see past it."
    why = "Their trained distances fit the window; scaling squeezes them for nothing, and blurs neighbours."
    remedy = "Scale the full-attention layers alone."
    reports = ("antonellof/ferrox#39", "Blaizzy/mlx-vlm#1709", "lablup/mlxcel#1340")
    example: ClassVar = {
        "model_type": "gemma3_text",
        "rope_parameters": {
            "full_attention": {"rope_type": "linear", "factor": 8.0, "rope_theta": 1000000.0},
            "sliding_attention": {"rope_type": "linear", "factor": 8.0, "rope_theta": 10000.0},
        },
    }

    def find(self, subject: Subject) -> Iterator[Finding]:
        for settings in subject.settings:
            group = subject.group(settings)
            if not settings.layer_type or group is None or group.stretch is None or group.sliding_window is None:
                continue
            used, plain = subject.frequencies(group), group.rope.plain()
            trained = subject.original(settings)
            reach = trained[0] if trained else math.inf
            if used is None or group.sliding_window >= reach or not (plain > 0).any():
                continue
            pair, worst = furthest(used, plain)
            if worst == 0:
                continue
            base = base_of(subject.config, settings)
            theta = f', "rope_theta": {base[0]}' if base is not None else ""
            yield self.finding(
                subject,
                settings.key("rope_type"),
                f"layers of {settings.layer_type} see {group.sliding_window} tokens, and are scaled by "
                f"{settings.type}: pair "
                f"{pair} turns {worst:.0%} slower than trained",
                f'"{settings.layer_type}": {{"rope_type": "default"{theta}}}',
                sliding_window=group.sliding_window,
                relative=worst,
            )
