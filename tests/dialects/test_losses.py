"""What each engine loses, against what was read in its source: no loss is missing, and none is made up.

The table is the research's list of lossy translations and of engines that compute something else from the same
words, one line an engine, in the names of the examples below.
"""

from dataclasses import replace
from functools import cache

import pytest

from ordinate import registry
from ordinate.dialects.base import Dialect
from ordinate.errors import InputError
from ordinate.scaling.abf import Abf
from ordinate.scaling.dynamic_ntk import DynamicNtk
from ordinate.scaling.linear import Linear
from ordinate.scaling.llama3 import Llama3
from ordinate.scaling.longrope import LongRope
from ordinate.scaling.proportional import Proportional
from ordinate.scaling.yarn import Yarn
from ordinate.schemes.base import Rotary
from ordinate.schemes.multimodal import Multimodal
from ordinate.schemes.rope import Rope
from ordinate.spec import Heads, LayerGroup, Spec, Window
from ordinate.temperature import QueryTemperature

YARN = Yarn(4.0, 4096)
SHORT, LONG = (1.0,) * 32, tuple(1 + i / 8 for i in range(32))
LONGROPE = LongRope(SHORT, LONG, 4.0, 4096)


def model(
    stretch=None, rope: Rotary | None = None, architecture="llama", declared=16384, trained=4096, **group
) -> Spec:
    heads = Heads(32, 8, 64, 64)
    made = LayerGroup("full_attention", rope or Rope(64), stretch, "half", tuple(range(4)), heads)
    return Spec(
        "model",
        architecture,
        "huggingface",
        {"full_attention": replace(made, **group)},
        Window(trained, declared),
        layers=4,
    )


def nested() -> Spec:
    """As Gemma 3: another base for layers with a window, and scaling for the others alone."""
    full = model(Linear(4.0), Rope(64, base=1e6)).group
    full = replace(full, layers=(1, 3))
    local = replace(full, layer_type="sliding_attention", stretch=None, encoding=Rope(64), layers=(0, 2))
    groups = {"full_attention": full, "sliding_attention": replace(local, sliding_window=512)}
    return replace(model(architecture="gemma3_text"), groups=groups)


def gemma4(stretch) -> Spec:
    """As the full layers of Gemma 4: a quarter of the pairs turn, by frequencies of the whole head."""
    rope = Rope(512, 128, 1e6, part="proportional")
    return model(stretch, rope, "gemma4_text", 4096, heads=Heads(8, 4, 512, 512), softmax_scale=1.0)


EXAMPLES = {
    "plain": model(declared=4096),
    "base": model(Abf(5e5), declared=4096),
    "linear": model(Linear(4.0)),
    "dynamic": model(DynamicNtk(4.0, 4096)),
    "yarn": model(YARN),
    "truncate": model(replace(YARN, truncate=False)),
    "attention_factor": model(replace(YARN, magnitude_factor=1.3)),
    "mscale": model(replace(YARN, mscale=0.707, mscale_all_dim=1.0)),
    "betas": model(replace(YARN, beta_fast=16.0)),
    "llama3": model(Llama3(8.0, 8192), trained=8192, declared=65536),
    "llama3 numbers": model(Llama3(32.0, 8192), trained=8192, declared=131072),
    "longrope": model(LONGROPE, architecture="phi3"),
    "longrope magnitude": model(replace(LONGROPE, magnitude_factor=1.5), architecture="phi3"),
    "proportional": gemma4(None),
    "proportional factor": gemma4(Proportional(4.0)),
    "partial": model(None, Rope(64, 32), "phi", 4096),
    "mrope": model(None, Multimodal(64, (8, 12, 12)), "qwen2_vl_text", 4096),
    "nested": nested(),
    "temperature": model(YARN, architecture="ministral3", temperature=QueryTemperature("ministral3", 0.1, 4096.0)),
}
ALL = frozenset(EXAMPLES)
YARNS = frozenset({"yarn", "truncate", "attention_factor", "mscale", "betas", "temperature"})
LONGROPES = frozenset({"longrope", "longrope magnitude"})
ONLY_BASE_AND_LINEAR = ALL - {"plain", "base", "linear", "proportional", "partial", "mrope"}

# These are lost, and all others are kept. Quoted is the list of lossy translations that engines' code was read for.
LOSES = {
    # "anything but llama3 constants"; one position a token, whole heads, one rope for all layers
    "meta": ALL - {"plain", "base", "llama3"},
    # "anything but yarn": beta, alpha and apply_scale; llama_4_scaling is said
    "mistral": ALL - {"plain", "base", "yarn", "betas", "temperature"},
    # always truncates; the magnitude is on the softmax scale and not on cos and sin
    "deepseek": ALL - {"plain", "base", "partial"},
    # "none|llama|yarn", rope never scaled; truncate and betas honoured, one config a kind of layers
    "torchtitan": YARNS | LONGROPES | {"linear", "dynamic", "proportional", "proportional factor", "nested"},
    # llama3.1 constants; magnitude 1 or YaRN's own; truncate and betas honoured; linear in "default" alone
    "maxtext": LONGROPES
    | {"dynamic", "attention_factor", "mscale", "llama3 numbers", "proportional", "proportional factor", "nested"},
    # base and linear scale; of config.json llama3 as well; YaRN by another ramp; LongRoPE's list chosen once
    "exllamav2": YARNS | LONGROPES | {"dynamic", "proportional", "proportional factor"},
    # "only base and linear scale"
    "text_generation_webui": ONLY_BASE_AND_LINEAR,
    "koboldcpp": ONLY_BASE_AND_LINEAR,
    # dynamic; mscale's ratio unless the architecture has it; the list by the cache's length; 1 beside llama_4_scaling
    "exllamav3": LONGROPES | {"dynamic", "mscale", "temperature"},
    # Truncate, attention_factor, betas and proportional's factor are lost in flags and in llama.cpp's own conversion;
    # a copy of the file with divisors as a tensor holds them, for Llama. LongRoPE's list is chosen by the context.
    "llama_cpp": LONGROPES | {"dynamic"},
    # llama.cpp over a file that its converter made
    "ollama": LONGROPES | {"dynamic", "proportional factor"},
    # "attention_factor, truncate, short_factor, M-RoPE (1-D only)"
    "mlx": LONGROPES | {"attention_factor", "truncate", "mrope"},
    # "dynamic (no-op), proportional factor"; the list by max_model_len
    "vllm": LONGROPES | {"dynamic", "proportional factor"},
    # dynamic static, the lists' switch one token late, no factor; attention_factor is said by the old attn_factor
    "sglang": LONGROPES | {"dynamic", "proportional factor"},
    # "dynamic without alpha; truncate; attention_factor; nested"; no type proportional; the list by max_seq_len
    "tensorrt_llm": LONGROPES
    | {"dynamic", "truncate", "attention_factor", "nested", "proportional", "proportional factor"},
    "huggingface": frozenset(),
    # proportional is new in version 5
    "huggingface_v4": frozenset({"proportional", "proportional factor"}),
}


@cache
def dialect(name: str) -> Dialect:
    return registry.lookup("ordinate.dialects", name, "engine")()


def present(names) -> list[str]:
    return sorted(set(names) & set(registry.names("ordinate.dialects")))


def loses(name: str, example: str) -> bool:
    """Whether anything but the word for the declared length is lost."""
    try:
        losses = dialect(name).write(EXAMPLES[example]).losses
    except InputError:
        return True
    return any(loss.setting != "max_position_embeddings" for loss in losses)


@pytest.mark.parametrize("name", present(LOSES))
def test_an_engine_loses_what_the_list_has_and_nothing_else(name):
    assert {example for example in EXAMPLES if loses(name, example)} == LOSES[name]


def test_every_engine_is_in_the_list():
    assert present(LOSES) == registry.names("ordinate.dialects")


def test_only_metas_file_has_no_word_for_the_window():
    for name in present(LOSES):
        losses = {loss.setting for loss in dialect(name).write(EXAMPLES["plain"]).losses}
        assert losses == ({"max_position_embeddings"} if name == "meta" else set())


# The setting that a loss names, where an example has one that is lost alone.
SETTINGS = {
    "deepseek": {"dynamic": "rope_type", "attention_factor": "attention_factor", "yarn": "attention_factor"},
    "exllamav2": {"dynamic": "rope_type", "yarn": "original_max_position_embeddings", "betas": "beta_fast"},
    "koboldcpp": {"yarn": "rope_type", "nested": "rope_parameters"},
    "maxtext": {"llama3 numbers": "factor", "attention_factor": "attention_factor", "mscale": "mscale"},
    "meta": {"llama3 numbers": "factor", "partial": "partial_rotary_factor", "mrope": "mrope_section"},
    "mistral": {"truncate": "truncate", "attention_factor": "attention_factor", "mscale": "mscale"},
    "text_generation_webui": {"yarn": "rope_type", "nested": "rope_parameters"},
    "torchtitan": {"yarn": "attention_factor", "linear": "rope_type", "proportional": "partial_rotary_factor"},
    "exllamav3": {"dynamic": "rope_type", "mscale": "mscale"},
}


@pytest.mark.parametrize("name", present(SETTINGS))
def test_a_loss_names_its_setting(name):
    for example, setting in SETTINGS[name].items():
        assert setting in {loss.setting for loss in dialect(name).write(EXAMPLES[example]).losses}, example
