"""`float32_angles` against transformers' own modules, alive, bit for bit."""

import copy

import pytest
import torch
from transformers import (
    Gemma4TextConfig,
    LlamaConfig,
    LlamaForCausalLM,
    Phi3Config,
    Qwen2VLTextConfig,
    Qwen3VLTextConfig,
)
from transformers.models.cohere.modeling_cohere import CohereRotaryEmbedding
from transformers.models.gemma4.modeling_gemma4 import Gemma4TextRotaryEmbedding
from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding
from transformers.models.phi3.modeling_phi3 import Phi3RotaryEmbedding
from transformers.models.qwen2_vl.modeling_qwen2_vl import Qwen2VLRotaryEmbedding
from transformers.models.qwen3_vl.modeling_qwen3_vl import Qwen3VLTextRotaryEmbedding
from transformers.utils import logging

from ordinate.errors import InputError
from ordinate.scaling.abf import Abf
from ordinate.scaling.base import ntk_base
from ordinate.scaling.dynamic_ntk import DynamicNtk
from ordinate.scaling.linear import Linear
from ordinate.scaling.llama3 import Llama3
from ordinate.scaling.longrope import LongRope
from ordinate.scaling.ntk import Ntk
from ordinate.scaling.proportional import Proportional
from ordinate.scaling.yarn import Yarn
from ordinate.schemes.axial import Axial
from ordinate.schemes.multimodal import Multimodal
from ordinate.schemes.rope import Rope
from ordinate.schemes.xpos import Xpos
from ordinate.spec import LayerGroup
from ordinate.torch import RotaryEmbedding

L = 2048
POSITIONS = {
    "short": torch.arange(300)[None],
    "window": torch.tensor([[0, L - 1]]),
    "one past": torch.tensor([[0, L]]),
    "16384": torch.cat((torch.arange(0, 16384, 61), torch.tensor([16383])))[None],
    "out of order": torch.tensor([[5, 0, 3], [9000, 2, 40]]),
    "far": torch.tensor([[131071, 2**20 - 1, 2**23 + 1, 2**24 + 1]]),
}


def methods(dim):
    """Each method of transformers: its name, its keys, and ours. Factors that float32 does not hold are among them."""
    yield "default", {}, None
    short = tuple(1 + i / 37 for i in range(dim // 2))
    long = tuple(1 + i * 1.3 for i in range(dim // 2))
    trained = {"original_max_position_embeddings": L}
    for factor in (1.0, 2.0, 3.7, 8.0, 40.0):
        yield "linear", {"factor": factor}, Linear(factor)
        yield "dynamic", {"factor": factor}, DynamicNtk(factor, window=L)
        yield "yarn", {"factor": factor, **trained}, Yarn(factor, L)
        yield "yarn", {"factor": factor, **trained, "truncate": False}, Yarn(factor, L, truncate=False)
        sharp = {"beta_fast": 20.0, "beta_slow": 2.5, "mscale": 0.707, "mscale_all_dim": 1.0}
        yield "yarn", {"factor": factor, **trained, **sharp}, Yarn(factor, L, **sharp)
        yield "yarn", {"factor": factor, **trained, "attention_factor": 1.3}, Yarn(factor, L, magnitude_factor=1.3)
        for low, high in ((1.0, 4.0), (0.7, 5.5), (1.0, 1.0)):
            turns = {"low_freq_factor": low, "high_freq_factor": high}
            yield "llama3", {"factor": factor, **trained, **turns}, Llama3(factor, L, **turns)
        lists = {"short_factor": list(short), "long_factor": list(long)}
        yield "longrope", {"factor": factor, **trained, **lists}, LongRope(short, long, factor, L)


def llama(dim, base, rope_type, keys):
    parameters = {"rope_type": rope_type, "rope_theta": base, **keys}
    config = LlamaConfig(
        hidden_size=2 * dim,
        num_attention_heads=2,
        head_dim=dim,
        max_position_embeddings=L,
        rope_parameters=parameters,
    )
    return LlamaRotaryEmbedding(config)


def equal(ours, theirs):
    return all(
        a.dtype == b.dtype and a.shape == b.shape and torch.equal(a, b) for a, b in zip(ours, theirs, strict=True)
    )


@pytest.fixture(autouse=True)
def quiet():
    """Transformers logs what it thinks of these configs; the log is not what is tested."""
    before = logging.get_verbosity()
    logging.set_verbosity_error()
    yield
    logging.set_verbosity(before)


@pytest.mark.parametrize("base", [10000, 500000.0, 1.6e7 / 3])
@pytest.mark.parametrize("dim", [4, 18, 64, 128])
def test_every_method_is_llamas_at_every_position(dim, base):
    for rope_type, keys, stretch in methods(dim):
        group = LayerGroup("full_attention", Rope(dim, base=float(base)), stretch, pairing="half")
        ours, theirs = RotaryEmbedding(group, float32_angles=True), llama(dim, base, rope_type, keys)
        assert torch.equal(ours.inv_freq, theirs.inv_freq), (rope_type, keys)
        for name, positions in POSITIONS.items():
            # Transformers' module has a memory; it is asked as a new one, as ours may always be.
            asked = copy.deepcopy(theirs)
            for dtype in (torch.float32, torch.bfloat16):
                x = torch.zeros(1, dtype=dtype)
                assert equal(ours(x, positions), asked(x, positions)), (rope_type, keys, name)


@pytest.mark.parametrize("stretch, base", [(Abf(500000.0), 500000.0), (Ntk(4.0), ntk_base(10000.0, 64, 4.0))])
def test_a_changed_base_is_the_default_type_with_it(stretch, base):
    ours = RotaryEmbedding(LayerGroup("full_attention", Rope(64), stretch), float32_angles=True)
    x = torch.zeros(1)
    assert equal(ours(x, POSITIONS["16384"]), llama(64, base, "default", {})(x, POSITIONS["16384"]))


@pytest.mark.parametrize("rope_type", ["dynamic", "longrope"])
def test_growing_lengths_are_followed_token_by_token(rope_type):
    keys, stretch = next((keys, s) for name, keys, s in methods(64) if name == rope_type and keys["factor"] == 3.7)
    ours = RotaryEmbedding(LayerGroup("full_attention", Rope(64), stretch), float32_angles=True)
    theirs, x = llama(64, 10000.0, rope_type, keys), torch.zeros(1)
    assert equal(ours(x, torch.arange(2040)[None]), theirs(x, torch.arange(2040)[None]))
    for position in range(2040, 2060):
        step = torch.tensor([[position]])
        assert equal(ours(x, step), theirs(x, step)), position
    # A new and shorter text: transformers returns to the trained window, ours was never anywhere else.
    assert equal(ours(x, torch.arange(50)[None]), theirs(x, torch.arange(50)[None]))


def test_a_shorter_text_past_the_window_is_where_transformers_remembers():
    keys, stretch = {"factor": 2.0}, DynamicNtk(2.0, window=L)
    ours = RotaryEmbedding(LayerGroup("full_attention", Rope(64), stretch), float32_angles=True)
    theirs, x = llama(64, 10000.0, "dynamic", keys), torch.zeros(1)
    long, middle = torch.tensor([[9000]]), torch.tensor([[4000]])
    assert equal(ours(x, long), theirs(x, long))
    assert not equal(ours(x, middle), theirs(x, middle))
    assert equal(ours(x, middle), llama(64, 10000.0, "dynamic", keys)(x, middle))


def test_part_of_a_head_is_phis():
    rope = {"rope_type": "default", "rope_theta": 10000.0, "partial_rotary_factor": 0.4}
    config = Phi3Config(hidden_size=160, num_attention_heads=2, rope_parameters=rope, pad_token_id=0)
    ours, x = RotaryEmbedding(Rope(80, rotary_dim=32), float32_angles=True), torch.zeros(1)
    assert equal(ours(x, POSITIONS["16384"]), Phi3RotaryEmbedding(config)(x, POSITIONS["16384"]))


@pytest.mark.parametrize("factor", [None, 3.7])
def test_proportional_is_gemmas(factor):
    rope = {"rope_type": "proportional", "rope_theta": 1e6, "partial_rotary_factor": 0.25}
    full = rope if factor is None else rope | {"factor": factor}
    config = Gemma4TextConfig(
        num_hidden_layers=2,
        layer_types=["sliding_attention", "full_attention"],
        rope_parameters={"full_attention": full, "sliding_attention": {"rope_type": "default", "rope_theta": 1e4}},
    )
    theirs, x = Gemma4TextRotaryEmbedding(config), torch.zeros(1)
    dim = theirs.full_attention_inv_freq.shape[0] * 2
    stretch = None if factor is None else Proportional(factor)
    group = LayerGroup("full_attention", Rope(dim, rotary_dim=dim // 4, base=1e6, part="proportional"), stretch)
    ours = RotaryEmbedding(group, float32_angles=True)
    assert equal(ours(x, POSITIONS["16384"]), theirs(x, POSITIONS["16384"], "full_attention"))


@pytest.mark.parametrize("rope_type, keys, stretch", [("default", {}, None), ("linear", {"factor": 3.7}, Linear(3.7))])
@pytest.mark.parametrize(
    "layout, configuration, peer",
    [
        ("chunked", Qwen2VLTextConfig, Qwen2VLRotaryEmbedding),
        ("interleaved", Qwen3VLTextConfig, Qwen3VLTextRotaryEmbedding),
    ],
)
def test_multimodal_is_qwens(layout, configuration, peer, rope_type, keys, stretch):
    sections = [16, 24, 24] if layout == "chunked" else [24, 20, 20]
    rope = {"rope_type": rope_type, "rope_theta": 1e6, "mrope_section": sections, **keys}
    config = configuration(hidden_size=256, num_attention_heads=2, head_dim=128, rope_parameters=rope)
    scheme = Multimodal(128, sections=tuple(sections), base=1e6, layout=layout)
    ours = RotaryEmbedding(LayerGroup("full_attention", scheme, stretch), float32_angles=True)
    positions, x = torch.randint(0, 20000, (3, 2, 50)), torch.zeros(1)
    assert equal(ours(x, positions), peer(config)(x, positions))


def test_neighbours_may_be_filled_as_coheres():
    config = LlamaConfig(hidden_size=128, num_attention_heads=2, head_dim=64)
    ours, x = RotaryEmbedding(Rope(64), float32_angles=True, duplicate="interleaved"), torch.zeros(1)
    assert equal(ours(x, POSITIONS["16384"]), CohereRotaryEmbedding(config)(x, POSITIONS["16384"]))


def test_a_model_gives_the_same_logits_with_our_module():
    config = LlamaConfig(
        vocab_size=97,
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=64,
        rope_parameters={"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 16, "rope_theta": 1e4},
    )
    torch.manual_seed(0)
    model = LlamaForCausalLM(config).eval()
    tokens = torch.randint(0, 97, (1, 60))
    with torch.no_grad():
        wanted = model(tokens).logits
        group = LayerGroup("full_attention", Rope(8), Yarn(4.0, 16), pairing="half")
        model.model.rotary_emb = RotaryEmbedding(group, float32_angles=True)
        assert torch.equal(model(tokens).logits, wanted)
        model.model.rotary_emb = RotaryEmbedding(group)
        exact = model(tokens).logits
    assert not torch.equal(exact, wanted)
    assert torch.allclose(exact, wanted, atol=1e-4)


def test_exact_angles_differ_from_these_and_more_so_further_out():
    x, group = torch.zeros(1), LayerGroup("full_attention", Rope(64))
    ours, theirs = RotaryEmbedding(group), RotaryEmbedding(group, float32_angles=True)
    apart = [
        (ours(x, p)[0] - theirs(x, p)[0]).abs().max().item()
        for p in (torch.arange(start, start + 512) for start in (0, 8192, 131072))
    ]
    assert apart[0] < 5e-5 < apart[1] < 1e-3 < apart[2] < 2e-2


def test_rotation_reads_the_same_tables():
    group = LayerGroup("full_attention", Rope(64), Yarn(4.0, L), pairing="half")
    module, q = RotaryEmbedding(group, float32_angles=True), torch.randn(2, 3, 4, 64)
    positions = POSITIONS["out of order"]
    cos, sin = (t.unsqueeze(2) for t in module(q, positions))
    first, second = q.chunk(2, dim=-1)
    wanted = q * cos + torch.cat((-second, first), dim=-1) * sin
    assert torch.allclose(module.rotate(q, None, positions)[0], wanted, atol=1e-6)


@pytest.mark.parametrize(
    "scheme, stretch, message",
    [
        (Axial(16), None, "reproduces transformers for rope and multimodal, got axial"),
        (Xpos(16), None, "reproduces transformers for rope and multimodal, got xpos"),
        (Rope(16), Yarn(4.0, L, ramp="turns"), "YaRN's ramp over the index only, got 'turns'"),
        (Rope(16), DynamicNtk(4.0, L, form="ratio"), "Dynamic NTK's offset form only, got 'ratio'"),
        (Rope(16, part="proportional"), Linear(2.0), "does not stretch proportional RoPE by linear"),
        (Rope(16), Proportional(2.0), "in proportional RoPE only"),
    ],
)
def test_what_transformers_does_not_have_is_refused(scheme, stretch, message):
    with pytest.raises(InputError, match=message):
        RotaryEmbedding(LayerGroup("full_attention", scheme, stretch), float32_angles=True)


def test_a_list_of_the_wrong_length_is_refused():
    group = LayerGroup("full_attention", Rope(16), LongRope((1.0,) * 4, (2.0,) * 4, 4.0, L))
    with pytest.raises(InputError, match="short_factor must have one entry for each of 8 pairs, got 4"):
        RotaryEmbedding(group, float32_angles=True)(torch.zeros(1), torch.arange(3))
