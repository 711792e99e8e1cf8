"""An engine that chooses LongRoPE's list by capacity."""

from collections.abc import Iterator
from typing import ClassVar

from ordinate.rules._engines import LLAMA_CPP
from ordinate.rules._numbers import furthest
from ordinate.rules._subject import Subject
from ordinate.rules.base import Finding, Rule
from ordinate.scaling.longrope import LongRope

SAYS = {
    "vllm": "takes the long list for all texts where max_model_len exceeds the original length, whose default it is",
    **dict.fromkeys(
        LLAMA_CPP, "takes the long list for all texts where the allocated context exceeds the original length"
    ),
    "exllamav2": "takes the long list for all texts where max_seq_len exceeds the original length",
    "tensorrt_llm": "takes the long list for all texts unless max_seq_len is at most the original length",
    "exllamav3": "takes the long list for all texts where its maximum length exceeds the original one",
    "mlx": "takes the long list always: short_factor is read and not used",
    "sglang": "switches for the whole batch, and turns the token right at the original length as position 0",
    "huggingface_v4": "switches for the whole batch as soon as one of its texts is longer",
    "transformers": "switches for the whole batch as soon as one of its texts is longer",
}


class EngineLongrope(Rule):
    name = "engine_longrope"
    engines = tuple(SAYS)
    explanation = "The engine chooses LongRoPE's list by its capacity or batch, not by the text."
    why = "The same short prompt gives other logits on a server with a larger length or a longer neighbour."
    remedy = "Serve short and long texts apart: one engine with a length of at most the original, one beyond."
    reports = (
        "vllm-project/vllm#27414",
        "vllm-project/vllm#27431",
        "ggml-org/llama.cpp#24823",
        "ggml-org/llama.cpp#24875",
    )
    example: ClassVar = {
        "model_type": "llama",
        "head_dim": 8,
        "max_position_embeddings": 131072,
        "rope_scaling": {
            "rope_type": "longrope",
            "rope_theta": 10000.0,
            "original_max_position_embeddings": 4096,
            "short_factor": [1.0, 1.0, 1.0, 1.0],
            "long_factor": [2.0, 4.0, 8.0, 16.0],
        },
    }

    def find(self, subject: Subject) -> Iterator[Finding]:
        for settings in subject.scaled("longrope"):
            group, engine = subject.group(settings), subject.engine or ""
            if group is None or not isinstance(group.stretch, LongRope):
                continue
            original = group.stretch.original_max_position_embeddings
            short, long = (
                group.stretch.frequencies(group.rope, original),
                group.stretch.frequencies(group.rope, original + 1),
            )
            pair, worst = furthest(long, short)
            if worst == 0:
                continue
            yield self.finding(
                subject,
                settings.key("long_factor"),
                f"{engine} {SAYS[engine]}; a short text under the long list has pair {pair} {worst:.0%} off",
                f"a length of at most {original} for short texts",
                pair=pair,
                relative=worst,
                original_max_position_embeddings=original,
            )
