"""An adapter trained under other positional settings than its base model."""

import json
import os
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from ordinate.errors import InputError
from ordinate.fingerprint import differences
from ordinate.rules._subject import Subject
from ordinate.rules.base import Finding, Rule
from ordinate.spec import Spec


class AdapterPositions(Rule):
    name = "adapter_positions"
    explanation = "A LoRA adapter was trained under other positional settings than its base model has."
    why = "An adapter holds no position of its own: on another base or scaling its q and k rows meet other angles."
    remedy = "Run it with the settings that it was trained under."
    reports = ("unslothai/unsloth#1199", "vllm-project/speculators#574", "hiyouga/LlamaFactory#8101")
    example: ClassVar = {
        "config.json": {"model_type": "llama", "rope_theta": 10000.0},
        "adapter_config.json": {"peft_type": "LORA", "base_model_name_or_path": "base", "rope_theta": 500000.0},
    }

    def find(self, subject: Subject) -> Iterator[Finding]:
        adapter = subject.files.values("adapter_config.json") or {}
        # Trainers that change position write it down under the model's own words.
        config = subject.config if subject.kind == "huggingface" else {}
        for key in ("rope_theta", "rope_scaling", "rope_parameters", "max_position_embeddings"):
            theirs, ours = adapter.get(key), config.get(key)
            if theirs is not None and ours is not None and theirs != ours:
                yield self.finding(
                    subject,
                    key,
                    f"the adapter has {key} {json.dumps(theirs, default=str)[:120]}, and the model "
                    f"{json.dumps(ours, default=str)[:120]}",
                    f'"{key}": {json.dumps(theirs, default=str)[:200]} in config.json, to run this adapter',
                    file="adapter_config.json",
                )
        base = _base(subject, adapter)
        if base is None or subject.spec is None:
            return
        found = differences(base, subject.spec)
        named = [d for d in found if d.path.startswith(("groups", "window"))]
        if named:
            said = "; ".join(f"{d.path.removeprefix('groups.')} {d.a!s:.40} and {d.b!s:.40}" for d in named[:4])
            yield self.finding(
                subject,
                "base_model_name_or_path",
                f"its base model and the configuration beside the adapter differ: {said}",
                "the positional settings of config.json beside the adapter, written into the base model's",
                file="adapter_config.json",
                differences=len(named),
            )


def _base(subject: Subject, adapter: Mapping[str, Any]) -> Spec | None:
    """The spec of the adapter's base model, where that is a directory on this machine with a config.json."""
    from ordinate.rules._subject import read_subject

    path = adapter.get("base_model_name_or_path")
    folder = subject.files.directory
    if not isinstance(path, str) or not path or len(path) > 1000 or "\0" in path or folder is None:
        return None
    file = os.path.join(folder, path, "config.json")
    if not os.path.isfile(file) or os.path.dirname(os.path.realpath(file)) == os.path.realpath(folder):
        return None
    try:
        return read_subject(file).spec
    except InputError:
        return None
