"""A setting beside settings for each layer type."""

from collections.abc import Iterator, Mapping
from typing import ClassVar

from ordinate.rules._subject import Subject
from ordinate.rules.base import Finding, Rule


class SettingBesideLayerTypes(Rule):
    name = "setting_beside_layer_types"
    explanation = "A single setting stands beside settings for each layer type."
    why = "Where settings are by layer type nothing beside them is read: the layers run without it."
    remedy = "Write it into the settings of each layer type that it is for."
    reports = ("antonellof/ferrox#39", "Blaizzy/mlx-vlm#1709", "lablup/mlxcel#1340")
    example: ClassVar = {
        "model_type": "olmo3",
        "rope_parameters": {
            "full_attention": {"rope_type": "default", "rope_theta": 500000.0},
            "sliding_attention": {"rope_type": "default", "rope_theta": 500000.0},
            "factor": 8.0,
        },
    }

    def find(self, subject: Subject) -> Iterator[Finding]:
        for word in ("rope_parameters", "rope_scaling"):
            given = subject.config.get(word)
            if subject.kind != "huggingface" or not isinstance(given, Mapping):
                continue
            types = [key for key, value in given.items() if isinstance(value, Mapping)]
            for key, value in given.items() if types else ():
                if value is not None and not isinstance(value, Mapping):
                    place = f"{subject.prefix}{word}.{key}"
                    yield self.finding(
                        subject,
                        place,
                        f"{place} {str(value)[:40]} stands beside settings for {', '.join(types[:4])} and is not read",
                        f"move it to {subject.prefix}{word}.{types[0]}.{key}",
                        value=str(value)[:40],
                    )
