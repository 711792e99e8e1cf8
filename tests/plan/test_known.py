"""Every architecture whose cache is said to be known holds, in transformers, what its heads say."""

import json

import pytest
import torch
import transformers
from cache_sizes import tensors_of
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

from ordinate.dialects.huggingface import model_types
from ordinate.errors import InputError
from ordinate.plan.cost import cache_bytes
from ordinate.plan.crossing import crossing_types
from ordinate.plan.formats import pair_of
from ordinate.plan.held import Holding
from ordinate.plan.known import decoders, encoders
from ordinate.plan.planner import Planner
from ordinate.plan.recurrent import STATES
from ordinate.plan.request import Request
from ordinate.plan.subject import open_subject

TOKENS = 40
# Tried in order: what a configuration has no key for is left out.
SETTINGS = {
    "vocab_size": 128,
    "hidden_size": 64,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "intermediate_size": 64,
    "head_dim": 16,
    "max_position_embeddings": 256,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "sliding_window": 9,
    "moe_intermediate_size": 32,
    "num_experts": 4,
    "num_local_experts": 4,
    "n_routed_experts": 4,
    "num_experts_per_tok": 2,
    "n_group": 1,
    "topk_group": 1,
    "first_k_dense_replace": 1,
    "d_model": 64,
    "n_embd": 64,
    "n_layer": 4,
    "n_head": 4,
    "n_layers": 4,
    "n_heads": 4,
    "ffn_dim": 64,
    "word_embed_proj_dim": 64,
    "shared_intermediate_size": 32,
}
LATENT = {
    "num_key_value_heads": 4,
    "kv_lora_rank": 32,
    "q_lora_rank": 24,
    "qk_rope_head_dim": 8,
    "qk_nope_head_dim": 16,
    "v_head_dim": 16,
}
_SECTIONS = {"rope_type": "default", "rope_theta": 10000.0, "mrope_section": [2, 3, 3]}
OWN = {
    "gptj": {"rotary_dim": 8},
    "codegen": {"rotary_dim": 8},
    "gpt_neo": {"num_layers": 4, "num_heads": 4, "attention_types": [[["global", "local"], 2]], "window_size": 9},
    **{name: {"rope_parameters": _SECTIONS} for name in ("qwen2_vl_text", "qwen2_5_vl_text", "glm4v_text")},
    "glm4v_moe_text": {
        "rope_parameters": {**_SECTIONS, "mrope_section": [1, 1, 2], "partial_rotary_factor": 0.5},
    },
    "dots1": {"n_shared_experts": 1},
    "hunyuan_v1_moe": {"num_experts": 4, "moe_topk": 2},
}
# Its attention's configuration cannot be made without the rest of its release's.
NOT_BUILT = ("dbrx",)


def settings_of(default):
    latent = LATENT if getattr(default, "kv_lora_rank", None) is not None else {}
    found = {key: value for key, value in {**SETTINGS, **latent}.items() if hasattr(default, key)}
    if latent:
        found.pop("head_dim", None)
    return found


def built(model_type):
    """A tiny model: with as many of the settings as its configuration takes."""
    transformers.utils.logging.set_verbosity_error()
    kind = CONFIG_MAPPING[model_type]
    settings = settings_of(kind()) | OWN.get(model_type, {})
    wrong = None
    for without in ((), ("head_dim",), ("sliding_window",), ("head_dim", "num_key_value_heads")):
        chosen = {key: value for key, value in settings.items() if key not in without}
        try:
            config = kind(**chosen)
            torch.manual_seed(0)
            try:
                return transformers.AutoModelForCausalLM.from_config(config).eval(), config
            except ValueError as error:
                if "Unrecognized configuration" not in str(error):
                    raise
                return transformers.AutoModel.from_config(config).eval(), config
        except (ValueError, RuntimeError, TypeError, AttributeError, KeyError, AssertionError) as error:
            wrong = error
    raise AssertionError(f"{model_type} cannot be built: {wrong}")


def test_the_lists_are_apart_and_of_types_that_are_read():
    lists = (decoders(), encoders(), tuple(STATES), tuple(crossing_types()))
    everything = [name for names in lists for name in names]
    assert len(everything) == len(set(everything))
    assert set(encoders()) <= set(model_types())


def test_architectures_with_more_in_their_cache_are_in_no_list():
    for model_type in ("deepseek_v4", "longcat_flash", "xlnet", "reformer", "rwkv", "hy_v4"):
        with pytest.raises(InputError):
            Planner.of(open_subject({"model_type": model_type}), Request(contexts=(64,)))


@pytest.mark.slow
@pytest.mark.parametrize("model_type", [t for t in decoders() if t in CONFIG_MAPPING and t not in NOT_BUILT])
def test_transformers_holds_the_size_of_the_heads(model_type):
    model, config = built(model_type)
    ids = torch.randint(3, 100, (1, TOKENS), generator=torch.Generator().manual_seed(0))
    with torch.inference_mode():
        made = model(input_ids=ids, use_cache=True)
    cache = made.cache if getattr(made, "cache", None) is not None else made.past_key_values
    subject = open_subject(json.loads(json.dumps(config.to_dict(), default=str)))
    planner = Planner.of(subject, Request(contexts=(TOKENS,), dtype="float32"))
    # GPT-Neo's local layers mask what they do not see, and keep it: the other allocator
    slides = any("Sliding" in type(layer).__name__ for layer in getattr(cache, "layers", ()))
    windows = any(cached.window is not None for cached in planner.layers)
    how = Holding("full" if windows and not slides else "window", between_steps=True)
    assert how.allocator == ("full" if model_type == "gpt_neo" else "window")
    planned = cache_bytes(planner.layers, TOKENS, 1, pair_of("float32"), how, state_bytes=4)
    assert planned.total == tensors_of(cache, set())
