"""Models loaded with Ordinate's rotary module, against plain transformers."""

import json

import numpy as np
import pytest
import torch
import transformers
from transformers import AutoModelForCausalLM, LlamaForCausalLM

import ordinate.transformers
from ordinate.errors import InputError
from ordinate.transformers import attention
from ordinate.transformers.convert import converted
from ordinate.transformers.loading import load
from ordinate.transformers.rotary import DecoderRotary

DIVISORS = [1.0 + i / 8 for i in range(16)]
PARAMETERS = {
    "default": {"rope_type": "default"},
    "linear": {"rope_type": "linear", "factor": 2.0},
    "dynamic": {"rope_type": "dynamic", "factor": 2.0},
    "yarn": {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 64},
    "llama3": {
        "rope_type": "llama3",
        "factor": 4.0,
        "low_freq_factor": 1.0,
        "high_freq_factor": 4.0,
        "original_max_position_embeddings": 64,
    },
    "longrope": {
        "rope_type": "longrope",
        "factor": 4.0,
        "short_factor": [1.0] * 16,
        "long_factor": DIVISORS,
        "original_max_position_embeddings": 64,
    },
}
IDS = torch.randint(3, 200, (1, 40), generator=torch.Generator().manual_seed(0))


@pytest.fixture(scope="module")
def directories(tmp_path_factory, tiny):
    """A directory for each rope type; the tokenizer comes with a conversion."""
    root = tmp_path_factory.mktemp("models")
    file = tiny.write_gguf(root / "tiny.gguf", tiny.model())
    tokenizer = (converted(file, cache=root) / "tokenizer.json").read_text()
    for name, parameters in PARAMETERS.items():
        tiny.model(rope_parameters={"rope_theta": 10000.0, **parameters}).save_pretrained(root / name)
        (root / name / "tokenizer.json").write_text(tokenizer)
        (root / name / "tokenizer_config.json").write_text('{"tokenizer_class": "PreTrainedTokenizerFast"}')
    return root


@pytest.mark.parametrize("name", PARAMETERS)
@torch.inference_mode()
def test_float32_angles_are_transformers_to_the_bit(directories, name):
    plain = LlamaForCausalLM.from_pretrained(directories / name).eval()
    ours, _ = load(directories / name, float32_angles=True)
    # Rising, because transformers' Dynamic NTK remembers the longest text.
    for start in (0, 50, 300, 100_000):
        positions = torch.arange(start, start + 40)[None]
        expected, found = (model(input_ids=IDS, position_ids=positions).logits for model in (plain, ours))
        assert torch.equal(found, expected), start


@pytest.mark.parametrize("name", PARAMETERS)
@torch.inference_mode()
def test_exact_angles_differ_by_no_more_than_float32_loses(directories, name):
    ours, _ = load(directories / name)
    parity, _ = load(directories / name, float32_angles=True)
    near, far = (
        (ours(input_ids=IDS, position_ids=p).logits - parity(input_ids=IDS, position_ids=p).logits).abs().max()
        for p in (torch.arange(40)[None], torch.arange(100_000, 100_040)[None])
    )
    assert near < 1e-3
    assert far > 2e-3


@torch.inference_mode()
def test_exact_tables_are_float64_rounded_once(directories):
    model, _ = load(directories / "linear")
    positions = torch.tensor([[0, 1, 4095, 131071]])
    cos, sin = model.model.rotary_emb(torch.zeros(()), positions)
    angles = positions[0].double().numpy()[:, None] * (10000.0 ** (-np.arange(16) / 16) / 2)
    for found, expected in ((cos, np.cos(angles)), (sin, np.sin(angles))):
        assert found.dtype == torch.float32
        assert torch.equal(found[0, :, :16], found[0, :, 16:])
        assert np.abs(found[0, :, :16].numpy() - expected).max() < 6e-8


def test_nothing_but_this_model_is_changed(directories):
    forward = transformers.models.llama.modeling_llama.LlamaRotaryEmbedding.forward
    model, tokenizer = load(directories / "default")
    assert isinstance(model.model.rotary_emb, DecoderRotary)
    assert not model.training
    assert tokenizer.vocab_size == 265
    assert transformers.models.llama.modeling_llama.LlamaRotaryEmbedding.forward is forward
    other = AutoModelForCausalLM.from_pretrained(directories / "default")
    assert type(other.model.rotary_emb).__name__ == "LlamaRotaryEmbedding"
    assert transformers.utils.logging.is_progress_bar_enabled()


def test_it_is_found_in_the_package(directories):
    assert ordinate.transformers.load is load
    with pytest.raises(AttributeError, match="no attribute 'lod'"):
        ordinate.transformers.lod  # noqa: B018


def test_weights_that_are_saved_again_have_no_tables(directories, tmp_path):
    model, _ = load(directories / "yarn")
    model.save_pretrained(tmp_path)
    again = LlamaForCausalLM.from_pretrained(tmp_path)
    assert again.state_dict().keys() == LlamaForCausalLM.from_pretrained(directories / "yarn").state_dict().keys()


@torch.inference_mode()
def test_half_precision_leaves_the_angles_alone(directories):
    model, _ = load(directories / "default", dtype=torch.bfloat16)
    assert model.dtype == torch.bfloat16
    positions = torch.arange(100_000, 100_040)[None]
    cos, _ = model.model.rotary_emb(torch.zeros((), dtype=torch.float32), positions)
    exact = np.cos(positions[0].numpy()[:, None] * 10000.0 ** (-np.arange(16) / 16))
    assert np.abs(cos[0, :, :16].numpy() - exact).max() < 1e-7
    assert model.model.rotary_emb(torch.zeros((), dtype=torch.bfloat16), positions)[0].dtype == torch.bfloat16


@pytest.mark.parametrize("name", [None, "eager", "sdpa", attention.NAME])
@torch.inference_mode()
def test_attention_is_the_one_asked_for(directories, name):
    model, _ = load(directories / "default", attention=name)
    assert model.config._attn_implementation == (name or "sdpa")
    plain = LlamaForCausalLM.from_pretrained(directories / "default", attn_implementation="eager").eval()
    assert torch.allclose(model(input_ids=IDS).logits, plain(input_ids=IDS).logits, rtol=0, atol=1e-4)


@torch.inference_mode()
def test_generation_goes_on_from_the_prompt(directories):
    model, _ = load(directories / "default", float32_angles=True, attention=attention.NAME)
    plain = LlamaForCausalLM.from_pretrained(directories / "default").eval()
    settings = {"max_new_tokens": 12, "do_sample": False, "pad_token_id": 2}
    mask = torch.ones_like(IDS)
    expected, found = (m.generate(IDS, attention_mask=mask, **settings) for m in (plain, model))
    assert torch.equal(found, expected)


FAMILIES = ["Qwen3", "Mistral", "Phi3", "GPTNeoX", "SmolLM3", "Cohere", "Gemma2", "Gemma3Text", "Olmo3"]


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("layers", [2, 6])
@torch.inference_mode()
def test_other_families_are_transformers_to_the_bit_too(directories, tmp_path, family, layers):
    # Partial rotation, channels filled by pairs, and layers that rotate each in their own way are among them.
    config = getattr(transformers, f"{family}Config")(
        vocab_size=265,
        hidden_size=64,
        intermediate_size=64,
        num_hidden_layers=layers,
        num_attention_heads=4,
        num_key_value_heads=2,
        pad_token_id=0,
        initializer_range=0.2,
    )
    AutoModelForCausalLM.from_config(config).save_pretrained(tmp_path)
    for name in ("tokenizer.json", "tokenizer_config.json"):
        (tmp_path / name).write_text((directories / "default" / name).read_text())
    plain = AutoModelForCausalLM.from_pretrained(tmp_path).eval()
    parity, _ = load(tmp_path, float32_angles=True)
    exact, _ = load(tmp_path)
    positions = torch.arange(1900, 1940)[None]
    options = {"input_ids": IDS, "position_ids": positions, "attention_mask": torch.ones_like(IDS)}
    logits = [model(**options).logits for model in (plain, parity, exact)]
    assert torch.equal(logits[0], logits[1])
    assert 0 < (logits[0] - logits[2]).abs().max() < 2e-2


def test_a_rotary_module_that_does_something_else_is_refused(directories, tmp_path, monkeypatch):
    from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding

    def doubled(self, x, position_ids):
        cos, sin = plain(self, x, 2 * position_ids)
        return cos, sin

    plain = LlamaRotaryEmbedding.forward
    monkeypatch.setattr(LlamaRotaryEmbedding, "forward", doubled)
    for float32_angles in (False, True):
        with pytest.raises(InputError, match="LlamaRotaryEmbedding returns other tables"):
            load(directories / "default", float32_angles=float32_angles)


def test_a_model_of_unknown_type_is_one_line(directories, tmp_path):
    for file in (directories / "default").iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    config = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps(config | {"model_type": "llamoid"}))
    with pytest.raises(InputError) as caught:
        load(tmp_path)
    assert "\n" not in str(caught.value)


def test_a_directory_without_weights_is_refused(tiny, tmp_path):
    tiny.config().save_pretrained(tmp_path)
    with pytest.raises(InputError, match="has no weights"):
        load(tmp_path)
