"""Small clean models of every kind that the faults need, and the same models with one fault planted."""

import torch
from audit.mutants.faults import FAULTS, TABLE, WINDOW
from audit.mutants.model import Model
from audit.mutants.scopes import FAR, SCOPES
from transformers import BloomConfig, LlamaConfig, MistralConfig, OPTConfig

VOCABULARY, WIDTH, LAYERS = 97, 64, 3
_IDS = {"vocab_size": VOCABULARY, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}


def _rotary(made=LlamaConfig, window=TABLE, **rope):
    return made(
        **_IDS,
        hidden_size=WIDTH,
        intermediate_size=96,
        num_hidden_layers=LAYERS,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=16,
        max_position_embeddings=window,
        rope_parameters={"rope_type": "default", "rope_theta": 10000.0, **rope},
        **({"sliding_window": WINDOW} if made is MistralConfig else {}),
    )


_LONG = {"short_factor": [1.0] * 8, "long_factor": [1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0]}

SUBJECTS = {
    "rope": _rotary,
    "yarn": lambda: _rotary(rope_type="yarn", factor=4.0, original_max_position_embeddings=TABLE // 4),
    "dynamic": lambda: _rotary(window=FAR, rope_type="dynamic", factor=4.0),
    "longrope": lambda: _rotary(
        window=4 * FAR, rope_type="longrope", factor=4.0, original_max_position_embeddings=FAR, **_LONG
    ),
    "sliding": lambda: _rotary(MistralConfig),
    "alibi": lambda: BloomConfig(**_IDS, hidden_size=WIDTH, n_layer=LAYERS, n_head=4),
    "learned": lambda: OPTConfig(
        **_IDS,
        hidden_size=WIDTH,
        ffn_dim=96,
        num_hidden_layers=LAYERS,
        num_attention_heads=4,
        max_position_embeddings=TABLE,
        word_embed_proj_dim=WIDTH,
    ),
}


def clean(subject, dtype=torch.float32):
    """The model without a fault: the same weights as every mutant of it."""
    return _made(subject, None, None, dtype)


def mutant(name, scope="everywhere", dtype=torch.float32):
    """A model with one fault, by its name or as it is, in one part of the model."""
    fault = FAULTS[name] if isinstance(name, str) else name
    assert ("later_rows" if scope == "fourth_row_on" else scope) in fault.scopes, (name, scope)
    return _made(fault.subject, fault, SCOPES[scope], dtype)


def _made(subject, fault, scope, dtype):
    torch.manual_seed(5)
    config = SUBJECTS[subject]()
    config._attn_implementation = "eager"
    return Model(config, fault, scope).eval().to(dtype)
