"""Detection of the pair layout: trained weights tell, random ones do not; and SmolLM2 converted and run."""

import json
from functools import partial

import numpy as np
import pytest
import torch
import transformers
from conversion_models import as_half, as_interleaved, tiny
from safetensors import safe_open
from tokenizers import Tokenizer
from tokenizers.models import BPE
from tokenizers.pre_tokenizers import ByteLevel

from ordinate import audit, texts
from ordinate.audit import detect
from ordinate.audit.pairing import _judged, reorder
from ordinate.audit.passages import cut, losses
from ordinate.cli import run
from ordinate.dialects import read
from ordinate.errors import InputError
from ordinate.transformers.convert import converted
from ordinate.weights import convert

BRIEF = {"passages": 2, "length": 192}
LETTERS = sorted(ByteLevel.alphabet())


def save_tokenizer(directory):
    """A token a byte, so that a tiny model can read the text."""
    tokenizer = Tokenizer(BPE(vocab={letter: place for place, letter in enumerate(LETTERS)}, merges=[]))
    tokenizer.pre_tokenizer = ByteLevel(add_prefix_space=False)
    transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer).save_pretrained(directory)


@pytest.mark.parametrize("model_type", ["qwen3", "qwen2", "gpt_neox", "deepseek_v3", "gptj"])
def test_random_weights_are_undecidable_and_say_so(model_type, tmp_path):
    model = tiny(model_type, vocab_size=len(LETTERS), **({"attention_bias": True} if model_type == "qwen3" else {}))
    model.save_pretrained(tmp_path / "a")
    save_tokenizer(tmp_path / "a")
    found = detect(tmp_path / "a", **BRIEF)
    assert (found.found, found.agrees) == ("undecidable", None)
    assert found.why
    assert min(found.half.mean, found.interleaved.mean) > found.frequencies - 0.25
    assert found.positions == (65, 191)


@pytest.mark.parametrize("model_type", ["qwen3", "gpt_neox", "deepseek_v2", "gptj"])
def test_reordering_a_loaded_model_is_converting_its_files(model_type, tmp_path):
    model = tiny(model_type)
    model.save_pretrained(tmp_path / "a")
    spec = read(tmp_path / "a")
    own = "interleaved" if next(iter(spec.groups.values())).pairing.startswith("interleaved") else "half"
    other = "half" if own == "interleaved" else "interleaved"
    convert(tmp_path / "a", tmp_path / "b", other)
    loaded = type(model).from_pretrained(tmp_path / "b", dtype=torch.float32)
    reorder(loaded, read(tmp_path / "b"), loaded.config.to_dict(), own)
    for (name, before), (_, after) in zip(model.state_dict().items(), loaded.state_dict().items(), strict=True):
        assert torch.equal(before, after), name


def paired(half, interleaved, common):
    generator = np.random.default_rng(0)
    noise = generator.normal(size=(2, 320))
    spec = read({"model_type": "llama", "hidden_size": 8, "num_attention_heads": 2, "max_position_embeddings": 64})
    a, b = half + noise, interleaved + noise + 0.1 * generator.normal(size=noise.shape)
    return _judged("x", spec, "half", "half", a, b, common, "emma")


def test_the_likelier_layout_wins_only_where_the_model_has_learnt():
    assert paired(3.0, 5.0, common=6.0).found == "half"
    assert paired(3.0, 5.0, common=6.0).agrees is True
    assert paired(5.0, 3.0, common=6.0).found == "interleaved"
    assert paired(5.0, 3.0, common=6.0).agrees is False
    # A near miss of each: as far apart, but no better than counting words; learnt, but not apart.
    assert paired(5.9, 7.9, common=6.0).found == "undecidable"
    assert paired(3.0, 3.001, common=6.0).found == "undecidable"


def test_losses_that_are_equal_to_the_bit_are_undecidable():
    spec = read({"model_type": "llama", "hidden_size": 8, "num_attention_heads": 2, "max_position_embeddings": 64})
    same = np.full((2, 100), 3.0)
    found = _judged("x", spec, "half", "half", same, same.copy(), 6.0, "emma")
    assert (found.found, found.standard_errors) == ("undecidable", None)


def test_the_frequencies_are_those_of_the_text():
    def tokenizer(text, **options):
        return {"input_ids": [ord(letter) for letter in text]}

    # Three of four tokens are 'a': the mean surprise of what is read is the entropy, as it repeats.
    found = cut("aaab" * 500, tokenizer, passages=2, length=400 + 65)
    assert found.ids.shape == (2, 465)
    assert found.common == pytest.approx(-(0.75 * np.log(0.75) + 0.25 * np.log(0.25)))
    with pytest.raises(InputError, match="window must be at least 128"):
        cut("aaab" * 500, tokenizer, passages=2, length=127)
    with pytest.raises(InputError, match="text must have at least 2000 tokens"):
        cut("aaab" * 400, tokenizer, passages=4, length=500)


def test_losses_are_those_of_the_next_token_beyond_position_64():
    def tokenizer(text, **options):
        return {"input_ids": [ord(letter) % 64 for letter in text]}

    model = tiny("llama")
    material = cut(texts.read("emma").body, tokenizer, passages=2, length=150)
    found = losses(model, material)
    with torch.no_grad():
        logits = model(material.ids).logits
    expected = torch.nn.functional.cross_entropy(logits[:, :-1].transpose(1, 2), material.ids[:, 1:], reduction="none")
    assert np.allclose(found, expected[:, 64:].numpy(), rtol=0, atol=1e-4)
    assert found.shape == (2, 85)


@pytest.mark.parametrize("missing, message", [("tokenizer", "cannot be loaded by transformers"), ("weights", "has no")])
def test_what_cannot_be_run_is_one_line(missing, message, tmp_path):
    tiny("llama").save_pretrained(tmp_path)
    if missing == "weights":
        (tmp_path / "model.safetensors").unlink()
    with pytest.raises(InputError, match=message) as caught:
        detect(tmp_path)
    assert "\n" not in str(caught.value)


@pytest.fixture(scope="module")
def smollm2(tmp_path_factory):
    """SmolLM2 in half pairs, as Ordinate keeps it, and in interleaved pairs."""
    directory = tmp_path_factory.mktemp("smollm2")
    convert(converted("smollm2"), directory / "interleaved", "interleaved")
    return converted("smollm2"), directory / "interleaved"


def test_smollm2_there_and_back_is_bit_exact(smollm2, tmp_path):
    half, interleaved = smollm2
    done = convert(interleaved, tmp_path / "half", "half")
    assert done.moved == 2 * 30
    differ = 0
    with (
        safe_open(half / "model.safetensors", "np") as before,
        safe_open(interleaved / "model.safetensors", "np") as between,
        safe_open(tmp_path / "half" / "model.safetensors", "np") as after,
    ):
        assert before.keys() == after.keys()
        for name in before.keys():  # noqa: SIM118 - not a dict
            tensor = before.get_tensor(name)
            assert np.array_equal(tensor, after.get_tensor(name)), name
            differ += not np.array_equal(tensor, between.get_tensor(name))
    assert differ == 2 * 30


def interleaved_rotation(q, k, cos, sin, *given, **named):
    """Pairs (2i, 2i + 1) turned as GPT-J turns them; cos and sin come filled for half pairs."""
    cos, sin = (table[..., : table.shape[-1] // 2].repeat_interleave(2, dim=-1).unsqueeze(1) for table in (cos, sin))

    def turned(x):
        return x * cos + torch.stack([-x[..., 1::2], x[..., ::2]], dim=-1).flatten(-2) * sin

    return turned(q), turned(k)


def test_smollm2_interleaved_gives_the_same_logits_under_interleaved_rotation(smollm2, monkeypatch):
    half, interleaved = smollm2
    tokenizer = transformers.AutoTokenizer.from_pretrained(half)
    ids = torch.tensor(tokenizer(texts.read("emma").body[:2000])["input_ids"][:200])[None]
    module = transformers.models.llama.modeling_llama

    def logits(directory):
        model = transformers.AutoModelForCausalLM.from_pretrained(directory, dtype=torch.float32).eval()
        with torch.inference_mode():
            return model(ids).logits

    expected = logits(half)
    mismatched = logits(interleaved)
    monkeypatch.setattr(module, "apply_rotary_pos_emb", interleaved_rotation)
    found = logits(interleaved)
    assert (found - expected).abs().max() <= 1e-4
    assert (mismatched - expected).abs().max() > 1


def test_smollm2_is_told_in_both_layouts_and_a_mismatch_is_found(smollm2, capsys, monkeypatch):
    half, interleaved = smollm2
    found = detect(half, **BRIEF)
    assert (found.said, found.turned, found.found, found.agrees) == ("half", "half", "half", True)
    assert found.standard_errors > 5
    found = detect(interleaved, **BRIEF)
    assert (found.said, found.turned, found.found, found.agrees) == ("interleaved", "half", "interleaved", True)
    # The same files without the note are a Llama that everyone takes for half.
    config = json.loads((interleaved / "config.json").read_text())
    del config["ordinate_pairing"]
    (interleaved / "config.json").write_text(json.dumps(config))
    monkeypatch.setattr(audit, "detect", partial(detect, **BRIEF))
    assert run(["convert", "--detect", str(interleaved)]) == 1
    shown = capsys.readouterr().out
    assert f"{interleaved}: interleaved, and its files say half" in shown
    assert "standard errors from 0" in shown


def test_turning_the_other_way_is_interleaved_rotation():
    # The tests' two forms of it agree: reordering around half rotation, and pairs of neighbours.
    torch.manual_seed(0)
    q, k = torch.randn(2, 1, 2, 70, 8)
    angles = torch.arange(70)[:, None] * 10000.0 ** (-torch.arange(4) / 4)
    cos, sin = (torch.cat([table, table], -1)[None] for table in (angles.cos(), angles.sin()))
    apply = transformers.models.llama.modeling_llama.apply_rotary_pos_emb
    expected = [as_interleaved(x, 8) for x in apply(as_half(q, 8), as_half(k, 8), cos, sin)]
    found = interleaved_rotation(q, k, cos, sin)
    assert all(torch.allclose(a, b, atol=1e-6) for a, b in zip(found, expected, strict=True))
