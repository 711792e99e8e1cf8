"""A tiny Llama in a directory as a maker publishes it."""

import json

import pytest
import torch
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast


@pytest.fixture(scope="session")
def make_model(tmp_path_factory):
    """A function that saves a tiny Llama of trained length 256 and base 10000, and returns its directory."""

    def make(**settings):
        base = {
            "vocab_size": 50,
            "hidden_size": 64,
            "intermediate_size": 64,
            "num_hidden_layers": 2,
            "num_attention_heads": 2,
            "num_key_value_heads": 1,
            "max_position_embeddings": 256,
            "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0},
            "initializer_range": 0.3,
            "bos_token_id": 1,
            "eos_token_id": 2,
        }
        directory = tmp_path_factory.mktemp("model")
        torch.manual_seed(0)
        LlamaForCausalLM(LlamaConfig(**(base | settings))).save_pretrained(directory)
        words = Tokenizer(WordLevel({f"w{i}": i for i in range(50)}, unk_token="w0"))  # noqa: S106
        PreTrainedTokenizerFast(tokenizer_object=words, model_max_length=256).save_pretrained(directory)
        (directory / "README.md").write_text("The maker's own card.\n")
        (directory / "LICENSE").write_text("Some licence.\n")
        (directory / "modeling_evil.py").write_text("raise SystemExit\n")
        return directory

    return make


@pytest.fixture(scope="session")
def model(make_model):
    """One such directory, not to be changed."""
    return make_model()


@pytest.fixture
def config_of():
    """A directory's configuration, parsed."""
    return lambda directory: json.loads((directory / "config.json").read_text())
