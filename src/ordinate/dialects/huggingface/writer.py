"""From a spec to a configuration in transformers v5's spelling, read back before it is believed."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from ordinate.dialects.base import Loss, Written
from ordinate.dialects.huggingface.agreement import disagreements
from ordinate.dialects.huggingface.architectures import Architecture, architecture
from ordinate.dialects.huggingface.composition import compose
from ordinate.dialects.huggingface.reader import read
from ordinate.errors import InputError
from ordinate.scaling.dynamic_ntk import DynamicNtk
from ordinate.scaling.longrope import LongRope
from ordinate.schemes.base import Rotary
from ordinate.spec import LayerGroup, Spec

MODEL_TYPES = {
    "command-r": "cohere",
    "deepseek2": "deepseek_v3",
    "exaone-moe": "exaone_moe",
    "falcon-h1": "falcon_h1",
    "gemma3": "gemma3_text",
    "gemma3n": "gemma3n_text",
    "gemma4": "gemma4_text",
    "glm4moe": "glm4_moe",
    "gpt-oss": "gpt_oss",
    "gptneox": "gpt_neox",
    "granitehybrid": "granitemoehybrid",
    "hunyuan-dense": "hunyuan_v1_dense",
    "hunyuan-moe": "hunyuan_v1_moe",
    "jina-bert-v2": "bert",
    "llama4": "llama4_text",
    "minimax-m2": "minimax_m2",
    "mistral3": "ministral3",
    "mistral4": "mistral4",
    "modern-bert": "modernbert",
    "nomic-bert": "nomic_bert",
    "phi2": "phi",
    "qwen2moe": "qwen2_moe",
    "qwen2vl": "qwen2_vl_text",
    "qwen3moe": "qwen3_moe",
    "qwen3next": "qwen3_next",
    "qwen3vl": "qwen3_vl_text",
    "qwen3vlmoe": "qwen3_vl_moe_text",
    "seed_oss": "seed_oss",
}
"""Hugging Face's `model_type` of GGUF's architectures, where the words differ."""

READER = "huggingface/transformers 5.24.0, src/transformers/modeling_rope_utils.py"


def write(spec: Spec) -> Written:
    """Spell a model's positional settings as a configuration of transformers v5, from the spec alone.

    The configuration has the keys that have to do with position, and none else: it is laid over a model's own. What
    is written is read back and compared; where they differ, the difference is a loss.

    Args:
        spec: what the model does with position

    Returns:
        `settings`, which `ordinate.dialects.huggingface.read` takes, the same as JSON, and the losses

    Raises:
        InputError: nothing in v5 says this

    Source: transformers 5.24, modeling_rope_utils.py and the configurations of each architecture.
    """
    best: tuple[dict[str, Any], list[Loss], Spec] | None = None
    refusals: list[InputError] = []
    for candidate in _candidates(spec, refusals):
        try:
            found = read(candidate, name=spec.name)
        except InputError as error:
            refusals.append(error)
            continue
        losses = disagreements(spec, found, READER)
        if best is None or len(losses) < len(best[1]):
            best = candidate, losses, found
        if not losses:
            break
    if best is None:
        raise refusals[0]
    config, losses, found = best
    return Written(config, _text(config), tuple(losses), tuple(_steps(spec, found)))


def _candidates(spec: Spec, refusals: list[InputError]) -> Iterator[dict[str, Any]]:
    """Configurations that may say this, the plainest first."""
    word = MODEL_TYPES.get(spec.architecture, spec.architecture) if spec.container != "huggingface" else None
    types = [t for t in dict.fromkeys((word or spec.architecture, spec.architecture)) if architecture(t) is not None]
    for explicit in (False, True):
        shown = replace(spec, groups={name: _explicit(group, spec) for name, group in spec.groups.items()})
        if explicit and shown == spec:
            return
        for model_type in types or [spec.architecture]:
            known = architecture(model_type) or Architecture()
            for typed in _orders(spec):
                try:
                    yield compose(shown if explicit else spec, model_type, known, typed=typed)
                except InputError as error:
                    refusals.append(error)


def _orders(spec: Spec) -> tuple[bool, ...]:
    """Whether to list layer types: not where one kind of layers says all."""
    return (False, True) if len(spec.groups) == 1 else (True, False)


def _explicit(group: LayerGroup, spec: Spec) -> LayerGroup:
    """The same frequencies as a divisor for each pair: LongRoPE's words say what no other type does."""
    if not isinstance(group.encoding, Rotary) or group.stretch is None or isinstance(group.stretch, DynamicNtk):
        return group
    if isinstance(group.stretch, LongRope) or not group.frequencies().all():
        return group
    length = spec.window.trained or spec.window.declared or 1
    divisors = tuple((group.rope.plain() / group.frequencies()).tolist())
    return replace(group, stretch=LongRope(divisors, divisors, 1.0, length, magnitude_factor=group.attention_factor()))


def _steps(spec: Spec, found: Spec) -> Iterator[str]:
    """What else a user has to do: weights in another pair layout are other weights."""
    differing = {
        (group.pairing, found.groups[name].pairing)
        for name, group in spec.groups.items()
        if name in found.groups and group.pairing not in (found.groups[name].pairing, None, "unknown")
    }
    for ours, theirs in sorted(differing, key=str):
        if theirs in ("half", "interleaved"):
            yield (
                f"the weights pair channels {ours}, this architecture's files {theirs}: a checkpoint in Hugging "
                "Face's layout is needed, or the rows of q and k must be reordered"
            )


def _text(config: Mapping[str, Any]) -> str:
    import json

    return json.dumps(config, indent=2, allow_nan=False)
