"""Whole directories with a longer window: what transformers makes of them, and what is refused."""

import ast
import hashlib
import json
import os
import shlex
import shutil
import sys

import msgspec
import pytest
import torch
from transformers import (
    AutoModelForCausalLM,
    AutoTokenizer,
    Gemma2Config,
    Gemma2ForCausalLM,
    Gemma3TextConfig,
    GPT2Config,
    GPT2LMHeadModel,
    MixtralConfig,
    MixtralForCausalLM,
    Phi3Config,
    Phi3ForCausalLM,
)

import ordinate
from ordinate.cli import run
from ordinate.errors import InputError, Unavailable
from ordinate.extend import Extension, extend
from ordinate.extend.methods import methods
from ordinate.models import find
from ordinate.transformers import attention
from ordinate.transformers.loading import load
from ordinate.transformers.prefill import prefill

LISTS = {"short_factor": [1.0] * 16, "long_factor": [1 + i / 8 for i in range(16)]}
IDS = torch.randint(3, 50, (1, 30), generator=torch.Generator().manual_seed(0))


def options(method):
    return LISTS if method == "longrope" else {}


def snapshot(directory):
    return {file.name: (file.stat().st_mtime_ns, file.read_bytes()) for file in directory.iterdir()}


@pytest.mark.parametrize("method", methods())
@torch.inference_mode()
def test_transformers_loads_it_and_computes_what_ordinate_computes(model, tmp_path, method, config_of):
    before = snapshot(model)
    done = extend(model, to=1024, method=method, out=tmp_path / "long", **options(method))
    assert snapshot(model) == before
    plain = AutoModelForCausalLM.from_pretrained(tmp_path / "long", local_files_only=True).eval()
    parity, _ = load(tmp_path / "long", float32_angles=True)
    exact, _ = load(tmp_path / "long")
    for start in (0, 200, 900):
        positions = torch.arange(start, start + 30)[None]
        logits = [m(input_ids=IDS, position_ids=positions).logits for m in (plain, parity, exact)]
        assert torch.equal(logits[0], logits[1])
        assert 0 < (logits[0] - logits[2]).abs().max() < 1e-2
    spec = ordinate.read(tmp_path / "long")
    assert spec.window.declared == done.declared == 1024
    assert done.trained == 256
    assert done.parameters == config_of(tmp_path / "long")["rope_parameters"]
    assert done.parameters["rope_theta"] >= 10000.0


@pytest.mark.parametrize(
    "method, maximum",
    [("linear", 256), ("dynamic_ntk", 256), ("yarn", 1024), ("ntk", 1024), ("abf", 1024), ("llama3", 1024)],
)
def test_max_position_embeddings_means_what_it_means_for_the_method(model, tmp_path, config_of, method, maximum):
    extend(model, to=1024, method=method, out=tmp_path / "long")
    config = config_of(tmp_path / "long")
    assert config["max_position_embeddings"] == maximum
    original = config["rope_parameters"].get("original_max_position_embeddings")
    assert original == (256 if method in ("yarn", "llama3") else None)


def test_weights_tokenizer_and_other_files_are_the_source_s(model, tmp_path, config_of):
    done = extend(model, to=512, out=tmp_path / "long")
    assert done.files == tuple(sorted(file.name for file in (tmp_path / "long").iterdir()))
    assert set(done.files) == {file.name for file in model.iterdir()} - {"modeling_evil.py"}
    for name in set(done.files) - {"config.json", "README.md", "tokenizer_config.json"}:
        assert (tmp_path / "long" / name).read_bytes() == (model / name).read_bytes()
    changed = {"rope_parameters", "max_position_embeddings"}
    old, new = config_of(model), config_of(tmp_path / "long")
    assert {key: value for key, value in old.items() if key not in changed} == {
        key: value for key, value in new.items() if key not in changed
    }
    assert AutoTokenizer.from_pretrained(tmp_path / "long").model_max_length == 512


def test_nothing_in_it_is_tied_to_the_source(model, tmp_path):
    extend(model, to=512, out=tmp_path / "long")
    for file in (tmp_path / "long").iterdir():
        assert not file.is_symlink()
        # A link would let whoever trains the new model in place change the old one.
        assert file.stat().st_nlink == 1


def test_the_card_says_what_was_done(model, tmp_path):
    done = extend(model, to=512, method="auto", out=tmp_path / "long")
    card = (tmp_path / "long" / "README.md").read_text()
    digest = hashlib.sha256((model / "model.safetensors").read_bytes()).hexdigest()
    assert done.sha256 == {"model.safetensors": digest}
    for words in (
        "from 256 to 512 tokens",
        f"`{done.method}`",
        "was not trained on at the longer length",
        digest,
        f"Written by Ordinate {ordinate.__version__}",
        'AutoModelForCausalLM.from_pretrained("long")',
        "library_name: transformers",
        done.why,
    ):
        assert words in card
    assert all(f"`{key}`" in card for key in done.parameters)
    assert msgspec.json.decode(msgspec.json.encode(done), type=Extension) == done


@pytest.mark.skipif(sys.platform != "linux", reason="file names are bytes on Linux")
def test_a_name_that_is_no_utf8_is_taken(model, tmp_path):
    out = tmp_path / os.fsdecode(b"caf\xe9")
    extend(model, to=512, method="yarn", out=out)
    assert "# caf?" in (out / "README.md").read_text(encoding="utf-8")


def test_what_is_to_be_pasted_holds_for_any_name(model, tmp_path, capsys):
    out = tmp_path / 'it\'s "long"'
    assert run(["extend", str(model), "--to", "512", "--method", "yarn", "--out", str(out)]) == 0
    _, following = capsys.readouterr().out.split("  next ")
    assert shlex.split(following) == ["ordinate", "prove", str(model), str(out)]
    code = (out / "README.md").read_text().split("```python")[1].split("```")[0]
    assert out.name in [node.value for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Constant)]


def test_a_model_that_is_stretched_already_is_stretched_from_its_trained_length(make_model, model, tmp_path):
    extend(model, to=512, method="yarn", out=tmp_path / "once")
    twice = extend(tmp_path / "once", to=1024, method="auto", out=tmp_path / "twice")
    direct = extend(model, to=1024, method="yarn", out=tmp_path / "direct")
    assert (twice.method, twice.factor, twice.trained) == ("yarn", 4.0, 256)
    assert "already" in twice.why
    assert twice.parameters == direct.parameters
    with pytest.raises(InputError, match="stretched by yarn already"):
        extend(tmp_path / "once", to=1024, method="linear", out=tmp_path / "other")
    with pytest.raises(InputError, match="longer than the 512 tokens"):
        extend(tmp_path / "once", to=512, method="yarn", out=tmp_path / "other")


def test_older_spellings_are_replaced(make_model, tmp_path, config_of):
    source = make_model()
    config = config_of(source)
    del config["rope_parameters"]
    (source / "config.json").write_text(json.dumps(config | {"rope_theta": 500000.0, "rope_scaling": None}))
    extend(source, to=512, out=tmp_path / "long")
    written = config_of(tmp_path / "long")
    assert "rope_theta" not in written
    assert "rope_scaling" not in written
    assert written["rope_parameters"]["rope_theta"] == 500000.0


def test_code_is_neither_copied_nor_pointed_to(make_model, tmp_path, config_of):
    source = make_model()
    pointing = {"auto_map": {"AutoModelForCausalLM": "modeling_evil.EvilModel"}}
    (source / "config.json").write_text(json.dumps(config_of(source) | pointing))
    done = extend(source, to=512, out=tmp_path / "long")
    assert "auto_map" not in config_of(tmp_path / "long")
    assert not any(name.endswith(".py") for name in done.files)


def test_shards_are_all_copied(tmp_path, make_model):
    source = make_model()
    loaded = AutoModelForCausalLM.from_pretrained(source)
    (source / "model.safetensors").unlink()
    loaded.save_pretrained(source, max_shard_size="40KB")
    done = extend(source, to=512, out=tmp_path / "long")
    assert len(done.sha256) > 1
    again = AutoModelForCausalLM.from_pretrained(tmp_path / "long").state_dict()
    assert all(torch.equal(tensor, again[name]) for name, tensor in loaded.state_dict().items())


@pytest.mark.parametrize(
    "settings, message",
    [
        ({"to": 256}, "to must be longer than the 256 tokens"),
        ({"to": 100}, "to must be longer than the 256 tokens"),
        ({"to": 0}, "to must be an integer >= 1"),
        ({"to": 10**400}, "to must be at most 1099511627776"),
        ({"to": 512.0}, "to must be an integer >= 1"),
        ({"to": 512, "method": "yran"}, "did you mean 'yarn'?"),
        ({"to": 512, "method": "longrope"}, "needs short_factor"),
        ({"to": 512, "method": "linear", "base": 1e6}, "method linear has no base"),
        ({"to": 512, "source": "smollm3"}, "smollm3"),
    ],
)
def test_bad_input_is_one_line_and_leaves_nothing(model, tmp_path, settings, message):
    settings = {"source": model, "out": tmp_path / "new" / "long", "cache": tmp_path} | settings
    with pytest.raises(InputError) as caught:
        extend(settings.pop("source"), **settings)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_a_target_that_exists_is_never_overwritten(model, tmp_path):
    (tmp_path / "long").mkdir()
    with pytest.raises(InputError, match="exists already"):
        extend(model, to=512, out=tmp_path / "long")
    assert list((tmp_path / "long").iterdir()) == []


def test_a_directory_without_weights_is_refused(make_model, tmp_path):
    source = make_model()
    (source / "model.safetensors").unlink()
    with pytest.raises(InputError, match="has no weights"):
        extend(source, to=512, out=tmp_path / "long")


def test_a_model_without_rotary_position_is_refused(tmp_path):
    config = GPT2Config(n_embd=8, n_layer=1, n_head=1, vocab_size=10, n_positions=32)
    GPT2LMHeadModel(config).save_pretrained(tmp_path / "gpt2")
    with pytest.raises(InputError, match="has no rotary position, so that nothing can be stretched: it has learned"):
        extend(tmp_path / "gpt2", to=64, out=tmp_path / "long")


def test_an_architecture_that_takes_the_method_for_another_is_refused(tmp_path):
    config = Phi3Config(vocab_size=50, hidden_size=64, intermediate_size=64, num_hidden_layers=1, pad_token_id=None)
    config.num_attention_heads = config.num_key_value_heads = 2
    Phi3ForCausalLM(config).save_pretrained(tmp_path / "phi3")
    with pytest.raises(InputError, match="yarn cannot be written for this architecture"):
        extend(tmp_path / "phi3", to=8192, method="yarn", out=tmp_path / "long")
    lists = {name: [1.0 + i for i in range(16)] for name in ("short_factor", "long_factor")}
    extend(tmp_path / "phi3", to=8192, method="longrope", out=tmp_path / "long", **lists)
    found = AutoModelForCausalLM.from_pretrained(tmp_path / "long").model.rotary_emb.inv_freq
    assert torch.allclose(found, 10000.0 ** (-torch.arange(16) / 16) / (1.0 + torch.arange(16)))


def test_a_head_dim_that_is_null_is_filled_in(tmp_path, config_of):
    # transformers 5.24 multiplies None when it computes yarn for such a configuration.
    config = MixtralConfig(vocab_size=50, hidden_size=64, intermediate_size=8, num_hidden_layers=1)
    config.num_attention_heads = config.num_key_value_heads = 4
    MixtralForCausalLM(config).save_pretrained(tmp_path / "mixtral")
    assert config_of(tmp_path / "mixtral")["head_dim"] is None
    extend(tmp_path / "mixtral", to=2 * config.max_position_embeddings, method="yarn", out=tmp_path / "long")
    assert config_of(tmp_path / "long")["head_dim"] == 16
    assert len(AutoModelForCausalLM.from_pretrained(tmp_path / "long").model.rotary_emb.inv_freq) == 8


def test_layers_that_rotate_alike_are_stretched_alike(tmp_path):
    config = Gemma2Config(vocab_size=50, hidden_size=32, intermediate_size=8, num_hidden_layers=2, head_dim=16)
    Gemma2ForCausalLM(config).save_pretrained(tmp_path / "gemma2")
    extend(tmp_path / "gemma2", to=16384, method="ntk", out=tmp_path / "long")
    groups = ordinate.read(tmp_path / "long").groups
    assert len(groups) == 2
    assert all(group.frequencies()[-1] == pytest.approx(10000.0 ** (-7 / 8) / 2) for group in groups.values())


def test_layers_that_rotate_each_in_their_own_way_are_refused(tmp_path):
    config = Gemma3TextConfig(vocab_size=50, hidden_size=32, intermediate_size=8, num_hidden_layers=6, head_dim=16)
    config.save_pretrained(tmp_path)
    with pytest.raises(InputError, match="each in its own way, which is not supported: sliding_attention, full"):
        extend(tmp_path, to=10**6, out=tmp_path / "long")


def test_an_interruption_leaves_nothing(model, tmp_path):
    def stop(stage, done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        extend(model, to=512, out=tmp_path / "long", progress=stop)
    assert list(tmp_path.iterdir()) == []


def test_what_is_written_is_read_back_and_compared(model, tmp_path, monkeypatch):
    import sys

    module = sys.modules["ordinate.extend.extend"]
    monkeypatch.setattr(module, "rope_parameters", lambda *_: {"rope_type": "default", "rope_theta": 1e4})
    with pytest.raises(RuntimeError, match="reads back as None"):
        extend(model, to=512, out=tmp_path / "long")
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def smollm2(tmp_path):
    """SmolLM2 stretched to 16384 by YaRN; half a gigabyte twice, removed afterwards."""
    try:
        find("smollm2")
    except Unavailable as error:
        pytest.skip(str(error))
    done = extend("smollm2", to=16384, method="yarn", out=tmp_path / "long", cache=tmp_path / "cache")
    yield tmp_path / "long", done
    shutil.rmtree(tmp_path / "long")
    shutil.rmtree(tmp_path / "cache")


@torch.inference_mode()
def test_smollm2_stretched_is_loaded_by_transformers_and_gives_the_same_logits(smollm2):
    directory, done = smollm2
    assert (done.factor, done.trained, done.declared, done.licence) == (2.0, 8192, 16384, "Apache-2.0")
    assert done.sha256 == {"GGUF file": find("smollm2").record.sha256}
    plain = AutoModelForCausalLM.from_pretrained(directory, local_files_only=True).eval()
    ours, tokenizer = load(directory, float32_angles=True)
    text = "It is a truth universally acknowledged, that a single man in possession of a good fortune"
    ids = tokenizer(text, return_tensors="pt")["input_ids"]
    for start in (0, 8185, 16300):
        positions = torch.arange(start, start + ids.shape[1])[None]
        expected, found = (m(input_ids=ids, position_ids=positions).logits for m in (plain, ours))
        assert (found - expected).abs().max() <= 1e-3
        losses = -found[0].log_softmax(-1)[:-1].gather(1, ids[0, 1:, None])
        assert losses.mean() < 4  # a guess is 10.8


@pytest.mark.slow
@torch.inference_mode()
def test_smollm2_stretched_over_8448_tokens_of_text(smollm2):
    from ordinate.texts import read

    directory, _ = smollm2
    plain = AutoModelForCausalLM.from_pretrained(directory, local_files_only=True).eval()
    ours, tokenizer = load(directory, float32_angles=True, attention=attention.NAME)
    ids = torch.tensor(tokenizer(read("emma").text[:60_000])["input_ids"][:8448])
    wanted = torch.cat([torch.arange(4000, 4064), torch.arange(8128, 8448)])
    expected = plain(input_ids=ids[None], logits_to_keep=wanted).logits[0]
    done = prefill(ours, ids, score=[(4001, 4065), (8129, 8448)])
    losses = -expected.log_softmax(-1)[:-1].gather(1, ids[wanted[:-1] + 1, None])[:, 0]
    assert (done.losses - losses).abs().max() <= 1e-3
    assert torch.equal(done.best, expected[:-1].argmax(-1))
    # The window holds: loss past 8192 is what it is within.
    assert done.losses[-256:].mean() < 4
