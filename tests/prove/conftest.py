"""Tiny models and a tokenizer of single bytes: real ones in every respect but size."""

import pytest
import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from ordinate.transformers.attention import NAME, register


def make_tokenizer(*, bos=False, order=1):
    """A token a byte, `order` -1 numbers them backwards; with `bos`, one special token before every text."""
    words = sorted(pre_tokenizers.ByteLevel.alphabet())[::order]
    special = {"<s>": 256} if bos else {}
    tokenizer = Tokenizer(models.BPE(vocab={word: i for i, word in enumerate(words)} | special, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.decoder = decoders.ByteLevel()
    if bos:
        tokenizer.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 256)])
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, **({"bos_token": "<s>"} if bos else {}))


def make_model(*, seed=0, window=1024, rope=None, **options):
    """A random Llama of two layers, with weights large enough that its losses differ from token to token."""
    config = LlamaConfig(
        vocab_size=257,
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=window,
        rope_parameters={"rope_type": "default", "rope_theta": 10000.0} | (rope or {}),
        initializer_range=0.3,
        bos_token_id=None,
        eos_token_id=None,
        pad_token_id=None,
        **options,
    )
    torch.manual_seed(seed)
    return LlamaForCausalLM(config).eval()


@pytest.fixture(scope="session")
def byte_tokenizer():
    return make_tokenizer


@pytest.fixture(scope="session")
def tiny_model():
    return make_model


@pytest.fixture(scope="session")
def tokenizer():
    return make_tokenizer()


@pytest.fixture(scope="session")
def model():
    register()
    torch.manual_seed(0)
    return LlamaForCausalLM._from_config(make_model().config, attn_implementation=NAME).eval()


@pytest.fixture(scope="session")
def full_losses():
    """Losses by one plain forward pass of transformers in float64: of tokens 1, 2, ..., [tokens - 1], [nat]."""

    def losses(model, ids, positions=None):
        plain = LlamaForCausalLM(make_model().config)
        plain.load_state_dict(model.state_dict())
        plain = plain.double().eval()
        ids = torch.tensor(ids)[None]
        positions = torch.arange(ids.shape[1])[None] if positions is None else torch.tensor(positions)[None]
        with torch.inference_mode():
            logits = plain(input_ids=ids, attention_mask=torch.ones_like(ids), position_ids=positions).logits
        chosen = torch.log_softmax(logits[0, :-1], -1).gather(1, ids[0, 1:, None])
        return -chosen[:, 0].numpy()

    return losses
