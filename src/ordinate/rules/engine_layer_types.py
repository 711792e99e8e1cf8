"""An engine that has one scaling for all layers."""

from collections.abc import Iterator
from typing import ClassVar

from ordinate.rules._engines import LLAMA_CPP
from ordinate.rules._subject import Subject
from ordinate.rules.base import Finding, Rule


class EngineLayerTypes(Rule):
    name = "engine_layer_types"
    engines = (*LLAMA_CPP, "tensorrt_llm")
    explanation = "The engine has one scaling for all layers, and the file has one for each layer type."
    why = "Layers with a sliding window are scaled too, or full-attention layers are not."
    remedy = "An engine with settings by layer type: vLLM, SGLang, mlx, exllamav3."
    reports = ("Blaizzy/mlx-vlm#1709", "antonellof/ferrox#39", "lablup/mlxcel#1340")
    example: ClassVar = {
        "model_type": "olmo3",
        "max_position_embeddings": 65536,
        "rope_parameters": {
            "full_attention": {
                "rope_type": "yarn",
                "factor": 8.0,
                "rope_theta": 500000.0,
                "original_max_position_embeddings": 8192,
            },
            "sliding_attention": {"rope_type": "default", "rope_theta": 500000.0},
        },
    }

    def find(self, subject: Subject) -> Iterator[Finding]:
        kinds = {s.layer_type: s.type for s in subject.settings if s.layer_type}
        if len(set(kinds.values())) > 1 and not subject.model_type.startswith("gemma"):
            said = ", ".join(f"{name} {kind}" for name, kind in list(kinds.items())[:4])
            yield self.finding(
                subject,
                subject.settings[0].where,
                f"layer types are scaled apart ({said}), and {subject.engine} has one scaling for all",
                "an engine with settings by layer type",
            )
