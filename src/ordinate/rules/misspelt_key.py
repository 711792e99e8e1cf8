"""A key of the configuration that is a positional one, misspelt."""

import json
from collections.abc import Iterator
from difflib import SequenceMatcher, get_close_matches
from itertools import islice
from typing import ClassVar

from ordinate.dialects.huggingface.keys import ALIASES
from ordinate.dialects.huggingface.parameters import ROTARY_KEYS
from ordinate.rules._subject import Subject
from ordinate.rules.base import Finding, Rule

WORDS = tuple(
    dict.fromkeys(
        [
            *ROTARY_KEYS,
            *ALIASES,
            *(word for words in ALIASES.values() for word in words),
            "original_max_position_embeddings",
            "sliding_window",
            "use_sliding_window",
            "max_window_layers",
            "no_rope_layers",
            "no_rope_layer_interval",
            "layer_types",
            "qk_rope_head_dim",
            "qk_nope_head_dim",
            "v_head_dim",
            "attention_chunk_size",
        ]
    )
)
# Real configurations have a few hundred.
MAXIMUM_KEYS = 1000
MEANT = tuple(word for word in WORDS if len(word) >= 8)


class MisspeltKey(Rule):
    name = "misspelt_key"
    explanation = "A key of the configuration is one letter or so away from a positional key, and is read by nobody."
    why = "Configurations take any key: a misspelt one is kept, printed and ignored."
    remedy = "Correct the spelling."
    reports = ("Blaizzy/mlx-vlm#1710", "karpathy/llama2.c#356")
    example: ClassVar = {"model_type": "llama", "rope_thetta": 500000.0}

    def find(self, subject: Subject) -> Iterator[Finding]:
        known = subject.known
        own = set() if known is None else {*known.defaults, *known.names.values()}
        for key in islice(subject.config, MAXIMUM_KEYS) if subject.kind == "huggingface" else ():
            if key in WORDS or key in own or not 6 <= len(key) <= 60:
                continue
            plain = key.lower().replace("-", "_")
            close = get_close_matches(plain, MEANT, n=1, cutoff=0.9)
            if close and subject.config.get(close[0]) is None and _alike(plain, close[0]):
                yield self.finding(
                    subject,
                    f"{subject.prefix}{key}",
                    f"{subject.prefix}{key} is read by nobody; {close[0]} is, and is not here",
                    f'"{close[0]}": {json.dumps(subject.config[key], default=str)[:80]}',
                    key=key,
                    meant=close[0],
                )


def _alike(key: str, meant: str) -> bool:
    """Whether two keys are alike word by word: num_position_embeddings is a key of its own."""
    words, others = key.split("_"), meant.split("_")
    return len(words) == len(others) and all(
        SequenceMatcher(None, word, other).ratio() > 0.6 for word, other in zip(words, others, strict=True)
    )
