"""transformers' own functions and classes, run beside the reader: drawn settings, tables, axes, and learned rows."""

import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ordinate.dialects import huggingface
from ordinate.schemes.learned import LearnedPositions
from ordinate.schemes.sinusoidal import Sinusoidal

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

RELATIVE = 2e-6


@st.composite
def scalings(draw: st.DrawFn) -> dict[str, Any]:
    """A Llama configuration with scaling of any type, all settings drawn."""
    head_dim = draw(st.sampled_from([32, 64, 80, 96, 128, 256]))
    partial = draw(st.sampled_from([1.0, 0.5, 0.25]))
    original = draw(st.sampled_from([1024, 2048, 4096, 8192]))
    factor = draw(st.sampled_from([1.0, 1.5, 2.0, 4.0, 8.0, 40.0]))
    kind = draw(st.sampled_from(["linear", "dynamic", "yarn", "longrope", "llama3", "proportional"]))
    rope: dict[str, Any] = {"rope_type": kind, "rope_theta": draw(st.sampled_from([1e3, 1e4, 5e5, 1e7]))}
    if partial != 1 or draw(st.booleans()):
        rope["partial_rotary_factor"] = partial
    if kind not in ("longrope", "proportional") or draw(st.booleans()):
        rope["factor"] = factor
    if kind in ("yarn", "longrope", "llama3"):
        rope["original_max_position_embeddings"] = original
    if kind == "yarn":
        optional = {
            "beta_fast": st.sampled_from([0, 16.0, 64.0]),
            "beta_slow": st.sampled_from([0, 0.5, 2.0]),
            "mscale": st.sampled_from([0, 0.707, 1.0]),
            "mscale_all_dim": st.sampled_from([0, 0.5, 1.0]),
            "attention_factor": st.sampled_from([0.9, 1.5]),
            "truncate": st.booleans(),
        }
        rope |= {key: draw(values) for key, values in optional.items() if draw(st.booleans())}
    if kind == "longrope":
        pairs = int(head_dim * partial) // 2
        for key, most in (("short_factor", 1.5), ("long_factor", 60.0)):
            rope[key] = draw(st.lists(st.floats(1.0, most, width=32), min_size=pairs, max_size=pairs))
    if kind == "llama3":
        rope["low_freq_factor"] = draw(st.sampled_from([0.5, 1.0, 2.0]))
        rope["high_freq_factor"] = rope["low_freq_factor"] * draw(st.sampled_from([2.0, 4.0]))
    return {
        "model_type": "llama",
        "head_dim": head_dim,
        "hidden_size": head_dim * 4,
        "num_attention_heads": 4,
        "num_hidden_layers": 2,
        "max_position_embeddings": round(original * factor),
        "rope_parameters": rope,
    }


@given(config=scalings(), length=st.sampled_from([None, 1, 1024, 4096, 4097, 8193, 131072]))
def test_drawn_settings_give_the_frequencies_of_transformers(config: dict[str, Any], length: int | None) -> None:
    from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

    rope = config["rope_parameters"]
    theirs = transformers.LlamaConfig(**{**config, "rope_parameters": dict(rope)})
    frequencies, factor = ROPE_INIT_FUNCTIONS[rope["rope_type"]](theirs, "cpu", seq_len=length)
    group = huggingface.read(config, name="drawn").group
    np.testing.assert_allclose(group.frequencies(length), frequencies.double().numpy(), rtol=RELATIVE, atol=0)
    assert group.attention_factor(length) == pytest.approx(factor, rel=RELATIVE)


@given(config=scalings())
def test_what_transformers_writes_is_read_as_what_it_was_given(config: dict[str, Any]) -> None:
    theirs = transformers.LlamaConfig(**{**config, "rope_parameters": dict(config["rope_parameters"])}).to_dict()
    ours, again = (huggingface.read(c, name="drawn") for c in (config, theirs))
    assert (ours.groups, ours.window) == (again.groups, again.window)


def rotary(model: str, name: str, config: str, **values: Any) -> tuple[Any, dict[str, Any]]:
    """A rotary class of transformers, built, and the configuration it was built from."""
    models = importlib.import_module(f"transformers.models.{model}.modeling_{model}")
    own = getattr(importlib.import_module(f"transformers.models.{model}.configuration_{model}"), config)(**values)
    return getattr(models, name)(own), own.to_dict()


@pytest.mark.parametrize(("model", "name"), [
    ("llama", "Llama"), ("phi3", "Phi3"), ("gpt_neox", "GPTNeoX"), ("qwen3", "Qwen3"), ("deepseek_v3", "DeepseekV3"),
])  # fmt: skip
def test_tables_are_those_of_the_rotary_class(model: str, name: str) -> None:
    module, config = rotary(model, f"{name}RotaryEmbedding", f"{name}Config")
    positions = torch.arange(0, 256)[None]
    cos, sin = module(torch.zeros(1, dtype=torch.float32), positions)
    group = huggingface.read(config, name=model).group
    ours = group.table(np.arange(256))
    for mine, theirs in zip(ours, (cos, sin), strict=True):
        half = theirs[0].numpy()[:, : mine.shape[1]]
        np.testing.assert_allclose(mine, half, rtol=0, atol=3e-5)


@pytest.mark.parametrize(("model", "name", "config", "flipped"), [
    ("qwen2_vl", "Qwen2VLVisionRotaryEmbedding", "Qwen2VLVisionConfig", False),
    ("pixtral", "PixtralVisionRotaryEmbedding", "PixtralVisionConfig", False),
    ("kimi_k25", "Kimi_K25VisionRotaryEmbedding", "Kimi_K25VisionConfig", True),
    ("step3p7", "Step3p7VisionRotaryEmbedding", "Step3p7VisionConfig", True),
    ("minimax_m3_vl", "MiniMaxM3VLVisionRotaryEmbedding", "MiniMaxM3VLVisionConfig", False),
    ("sam3", "Sam3ViTRotaryEmbedding", "Sam3ViTConfig", False),
])  # fmt: skip
def test_axes_lie_where_the_vision_tower_has_them(model: str, name: str, config: str, flipped: bool) -> None:
    module, values = rotary(model, name, config)
    group = huggingface.read(values, name=model).group
    axes = group.encoding.axes  # type: ignore[attr-defined]
    positions = np.random.default_rng(0).integers(0, 40, (axes, 30))
    cos = module(torch.zeros(1, dtype=torch.float32), torch.from_numpy(positions.T.copy()))[0].squeeze().numpy()
    angles = group.rope.angles(positions[::-1] if flipped else positions, group.frequencies())
    theirs = cos[:, ::2] if group.pairing == "interleaved" else cos[:, : angles.shape[1]]
    np.testing.assert_allclose(np.cos(angles), theirs, rtol=0, atol=2e-5)


@pytest.mark.parametrize(("model", "name", "config", "order"), [
    ("qwen2_vl", "Qwen2VLRotaryEmbedding", "Qwen2VLTextConfig", (0, 1, 2)),
    ("qwen3_vl", "Qwen3VLTextRotaryEmbedding", "Qwen3VLTextConfig", (0, 1, 2)),
    ("qwen4_exp", "Qwen4ExpTextRotaryEmbedding", "Qwen4ExpTextConfig", (0, 1, 2)),
    ("ernie4_5_vl_moe", "Ernie4_5_VLMoeTextRotaryEmbedding", "Ernie4_5_VLMoeTextConfig", (0, 1, 2)),
])  # fmt: skip
def test_sections_lie_where_the_language_model_has_them(model: str, name: str, config: str, order: Any) -> None:
    module, values = rotary(model, name, config)
    group = next(iter(huggingface.read(values, name=model).groups.values()))
    assert group.scheme == "multimodal"
    positions = np.random.default_rng(0).integers(0, 40, (3, 30))
    cos = module(torch.zeros(1, dtype=torch.float32), torch.from_numpy(positions)[:, None])[0].squeeze().numpy()
    angles = group.rope.angles(positions[list(order)], group.frequencies())
    theirs = cos[:, ::2] if group.pairing == "interleaved" and np.array_equal(cos[:, 0], cos[:, 1]) else cos
    np.testing.assert_allclose(np.cos(angles), theirs[:, : angles.shape[1]], rtol=0, atol=2e-5)


def rotary_classes(model: str) -> Iterator[tuple[Any, dict[str, Any]]]:
    """Each rotary class that says which configuration it is for, built from that configuration's defaults."""
    package = importlib.import_module(f"transformers.models.{model}")
    names = [info.name for info in pkgutil.iter_modules(package.__path__) if info.name.startswith("modeling_")]
    for name in names:
        module = importlib.import_module(f"transformers.models.{model}.{name}")
        for value in vars(module).values():
            if inspect.isclass(value) and value.__module__ == module.__name__ and "Rotary" in value.__name__:
                rotary_class: Any = value
                parameter = inspect.signature(rotary_class.__init__).parameters.get("config")
                config_class: Any = getattr(parameter, "annotation", None)
                # Others are for parts of a whole that is named, or for what is no attention (sounds' time).
                if hasattr(config_class, "to_dict") and model not in ("blt", "musicflamingo"):
                    config = config_class()
                    if config.to_dict().get("rope_parameters"):
                        yield rotary_class(config), config.to_dict()


@pytest.mark.slow
@pytest.mark.parametrize(
    "model", [info.name for info in pkgutil.iter_modules(transformers.models.__path__) if info.ispkg]
)
def test_every_rotary_class_of_transformers_has_the_frequencies_that_are_read(model: str) -> None:
    try:
        built = list(rotary_classes(model))
    except ModuleNotFoundError as error:
        pytest.skip(str(error))
    for module, config in built:
        spec = huggingface.read(config, name=model)
        for buffer, frequencies in module.named_buffers():
            if not buffer.endswith("inv_freq") or "original" in buffer:
                continue
            layer_type = buffer.removesuffix("inv_freq").rstrip("_")
            groups = [spec.groups[layer_type]] if layer_type else [g for g in spec.groups.values() if g.rotary_dim]
            assert groups
            for group in groups:
                expected = frequencies.double().numpy()
                if getattr(group.encoding, "layout", None) == "time-last":
                    expected = np.sort(expected)[::-1]
                np.testing.assert_allclose(group.frequencies(), expected, rtol=RELATIVE, atol=0)


def with_learned_tables() -> list[str]:
    """The model types that have a learned table, says ours."""
    words = ("plain", "after_padding", "after_two", "either", "gpt_neo")
    known = {model_type: huggingface.architecture(model_type) for model_type in huggingface.model_types()}
    return [model_type for model_type, entry in known.items() if entry is not None and entry.unrotated in words]


def learned_rows(model_type: str) -> set[int]:
    """The sizes of the position tables that transformers builds by default, without memory for them."""
    config = transformers.AutoConfig.for_model(model_type)
    with torch.device("meta"):
        model = transformers.AutoModel.from_config(config)
    # I-BERT's tables are of a class of its own.
    words = ("position", "wpe", "positions_embed")
    return {
        len(module.weight)
        for name, module in model.named_modules()
        if hasattr(module, "weight")
        and "Embedding" in type(module).__name__
        and any(word in name.rsplit(".", 1)[-1] for word in words)
    }


@pytest.mark.parametrize("model_type", ["bert", "roberta", "gpt2", "opt", "bart", "gpt_neo", "xlm-roberta"])
def test_learned_tables_have_the_rows_that_transformers_builds(model_type: str) -> None:
    (scheme,) = {group.encoding for group in huggingface.read({"model_type": model_type}, name="bare").groups.values()}
    assert isinstance(scheme, LearnedPositions)
    assert learned_rows(model_type) == {scheme.offset + scheme.length}


@pytest.mark.slow
@pytest.mark.parametrize("model_type", with_learned_tables())
def test_every_architecture_without_rotation_has_the_rows_that_transformers_builds(model_type: str) -> None:
    (scheme,) = {group.encoding for group in huggingface.read({"model_type": model_type}, name="bare").groups.values()}
    try:
        rows = learned_rows(model_type)
    except (ValueError, ImportError):
        pytest.skip("AutoModel does not build this part alone, or needs what is not installed")
    assert scheme.offset + scheme.length in rows  # type: ignore[attr-defined]


def test_gpt_neo_sees_as_far_back_as_its_mask_lets_it() -> None:
    from transformers.models.gpt_neo.modeling_gpt_neo import GPTNeoSelfAttention

    types = [[["global", "local"], 1], [["local"], 2]]
    given = {"num_layers": 4, "attention_types": types, "window_size": 7, "max_position_embeddings": 32}
    config = transformers.GPTNeoConfig(**given)
    spec = huggingface.read({"model_type": "gpt_neo", **given}, name="gpt_neo")
    for group in spec.groups.values():
        assert group.layers is not None
        for layer in group.layers:
            bias = GPTNeoSelfAttention(config, config.attention_layers[layer]).bias[0, 0]
            assert int(bias.sum(1).max()) == (group.sliding_window or 32)
            assert bool(bias.diagonal().all())
    assert sorted(layer for group in spec.groups.values() for layer in group.layers or ()) == [0, 1, 2, 3]


def test_led_has_a_table_for_each_of_its_stacks() -> None:
    spec = huggingface.read({"model_type": "led"}, name="led")
    assert all(isinstance(group.encoding, LearnedPositions) for group in spec.groups.values())
    assert learned_rows("led") == {group.encoding.length for group in spec.groups.values()}  # type: ignore[attr-defined]


@pytest.mark.parametrize("pad_token_id", [0, 1, 3])
def test_mpnet_counts_from_behind_its_padding_row_up_to_the_last_row(pad_token_id: int) -> None:
    from transformers.models.mpnet.modeling_mpnet import create_position_ids_from_input_ids

    spec = huggingface.read(
        {"model_type": "mpnet", "max_position_embeddings": 40, "pad_token_id": pad_token_id}, name="mpnet"
    )
    assert spec.window.declared is not None
    ids = torch.full((1, spec.window.declared), 7)
    assert int(create_position_ids_from_input_ids(ids, pad_token_id).max()) == 39
    assert learned_rows("mpnet") == {512}


def test_marian_and_m2m_lay_their_sines_as_transformers_does() -> None:
    from transformers.models.m2m_100.modeling_m2m_100 import M2M100SinusoidalPositionalEmbedding
    from transformers.models.marian.modeling_marian import MarianSinusoidalPositionalEmbedding

    marian = huggingface.read({"model_type": "marian", "d_model": 64}, name="marian").group.encoding
    m2m = huggingface.read({"model_type": "m2m_100", "d_model": 64}, name="m2m").group.encoding
    assert isinstance(marian, Sinusoidal)
    assert isinstance(m2m, Sinusoidal)
    table = MarianSinusoidalPositionalEmbedding(32, 64)
    theirs = (table.create_weight() if hasattr(table, "create_weight") else table.weight).detach().numpy()
    np.testing.assert_allclose(marian.table(np.arange(32)), theirs, atol=1e-5)
    rows = M2M100SinusoidalPositionalEmbedding.get_embedding(32, 64).numpy()
    np.testing.assert_allclose(m2m.table(np.arange(32)), rows, atol=1e-5)
