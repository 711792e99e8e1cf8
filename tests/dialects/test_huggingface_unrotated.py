"""Models that do not rotate: what each knows of position, with the numbers that papers and releases give."""

from typing import Any

import numpy as np
import pytest

from ordinate.dialects import huggingface
from ordinate.errors import InputError
from ordinate.schemes.alibi import Alibi
from ordinate.schemes.deberta import Deberta
from ordinate.schemes.learned import LearnedPositions
from ordinate.schemes.rope import Rope
from ordinate.schemes.shaw import Shaw
from ordinate.schemes.sinusoidal import Sinusoidal
from ordinate.schemes.t5 import T5
from ordinate.schemes.transformer_xl import TransformerXL
from ordinate.spec import Spec, Window


def read(model_type: str, **values: Any) -> Spec:
    return huggingface.read({"model_type": model_type, **values}, name=model_type)


@pytest.mark.parametrize(("model_type", "values", "scheme", "parameters"), [
    ("bert", {}, LearnedPositions(512, 768), 393216),
    ("gpt2", {}, LearnedPositions(1024, 768), 786432),
    ("gpt2", {"n_embd": 1600, "n_head": 25}, LearnedPositions(1024, 1600), 1638400),
    ("roberta", {"max_position_embeddings": 514, "pad_token_id": 1}, LearnedPositions(512, 768, 2), 394752),
    ("opt", {"max_position_embeddings": 2048, "hidden_size": 768}, LearnedPositions(2048, 768, 2), 1574400),
    ("albert", {"embedding_size": 128, "hidden_size": 4096}, LearnedPositions(512, 128), 65536),
])  # fmt: skip
def test_learned_tables_have_their_released_sizes(
    model_type: str, values: dict[str, Any], scheme: LearnedPositions, parameters: int
) -> None:
    spec = read(model_type, **values)
    assert spec.group.encoding == scheme
    assert scheme.cost(1).parameters == parameters
    assert spec.window == Window(scheme.length, scheme.length)
    assert (spec.group.pairing, spec.group.rotary_dim, spec.group.scaling) == (None, None, None)


def test_bloom_has_the_slopes_of_its_heads() -> None:
    spec = read("bloom", n_head=112, hidden_size=14336, n_layer=70, seq_length=2048)
    assert spec.group.encoding == Alibi(112)
    assert spec.window == Window(2048, 2048)
    assert spec.group.slopes is not None
    # 64 slopes 2 ** (-k / 8), then every second of 128's.
    np.testing.assert_allclose(spec.group.slopes[[0, 63, 64]], [2**-0.125, 2**-8, 2**-0.0625], rtol=1e-12)


def test_mpt_has_its_own_gentlest_slope() -> None:
    spec = read("mpt", n_heads=32, d_model=4096, attn_config={"alibi": True, "alibi_bias_max": 16})
    assert spec.group.encoding == Alibi(32, bias_max=16.0)


def test_falcon_scales_its_bias_with_the_logits() -> None:
    spec = read("falcon", alibi=True, num_attention_heads=64, hidden_size=4096)
    assert spec.group.encoding == Alibi(64, scale=0.125)
    assert read("falcon", alibi=False).group.scheme == "rope"


def test_t5_has_a_stack_of_each_kind_and_no_scale() -> None:
    spec = read("t5", d_model=512, d_kv=64, num_heads=8, num_layers=6, n_positions=512)
    assert {name: group.encoding for name, group in spec.groups.items()} == {
        "encoder": T5(32, 128, bidirectional=True, heads=8),
        "decoder": T5(32, 128, bidirectional=False, heads=8),
    }
    assert all(group.softmax_scale == 1.0 for group in spec.groups.values())


def test_deberta_v3_tells_apart_256_buckets() -> None:
    spec = read("deberta-v2", relative_attention=True, position_buckets=256, max_relative_positions=-1,
                pos_att_type=["p2c", "c2p"], position_biased_input=False, max_position_embeddings=512,
                hidden_size=768, num_attention_heads=12)  # fmt: skip
    assert spec.group.encoding == Deberta(12, 64, max_distance=512, buckets=256)
    assert read("deberta-v2", relative_attention=False).group.scheme == "learned"


def test_xlnet_is_a_transformer_xl() -> None:
    assert read("xlnet").group.encoding == TransformerXL(16, 64, 1024)


def test_an_older_bert_may_have_relative_keys() -> None:
    spec = read("bert", position_embedding_type="relative_key")
    assert spec.group.encoding == Shaw(12, 64, left=511)


@pytest.mark.parametrize(("model_type", "layout"), [
    ("marian", "concatenated"), ("pegasus", "concatenated"), ("m2m_100", "tensor2tensor"), ("xglm", "tensor2tensor"),
])  # fmt: skip
def test_sinusoids_lie_as_each_model_has_them(model_type: str, layout: Any) -> None:
    assert read(model_type).group.encoding == Sinusoidal(1024, layout=layout)


def test_whisper_hears_by_sinusoids_and_writes_by_a_table() -> None:
    spec = read("whisper", d_model=384)
    assert spec.groups["encoder"].encoding == Sinusoidal(384, layout="tensor2tensor")
    assert spec.groups["decoder"].encoding == LearnedPositions(448, 384)


def test_jamba_has_attention_without_position_and_mamba_none() -> None:
    assert read("jamba").group.scheme == "none"
    mamba = read("mamba")
    assert mamba.group.scheme == "none"
    assert any("no attention" in warning for warning in mamba.warnings)


def test_esm_does_what_its_position_embedding_type_says() -> None:
    assert read("esm", position_embedding_type="rotary").group.encoding == Rope(64)
    assert read("esm", position_embedding_type="absolute", pad_token_id=1).group.scheme == "learned"


def test_granite_hybrids_without_position_keep_their_settings_aside() -> None:
    spec = read("granitemoehybrid", position_embedding_type="nope", rope_theta=10000.0, num_hidden_layers=4,
                layer_types=["mamba", "mamba", "mamba", "attention"])  # fmt: skip
    assert (spec.groups["full_attention"].scheme, spec.groups["full_attention"].layers) == ("none", (3,))
    assert (spec.groups["unused"].scheme, spec.groups["unused"].layers) == ("rope", ())
    plain = read("granitemoehybrid", position_embedding_type="rope", rope_theta=10000.0, num_hidden_layers=4,
                 layer_types=["mamba", "mamba", "mamba", "attention"])  # fmt: skip
    assert (plain.group.scheme, plain.group.layers) == ("rope", (3,))


def test_gpt_neos_local_layers_have_a_window() -> None:
    spec = read("gpt_neo", num_layers=24, attention_types=[[["global", "local"], 12]], window_size=256)
    assert {name: group.encoding for name, group in spec.groups.items()} == dict.fromkeys(
        ("full_attention", "sliding_attention"), LearnedPositions(2048, 2048)
    )
    layers = {name: (group.layers, group.sliding_window) for name, group in spec.groups.items()}
    assert layers == {
        "full_attention": (tuple(range(0, 24, 2)), None),
        "sliding_attention": (tuple(range(1, 24, 2)), 256),
    }
    # Its makers' files have both lists; transformers goes by the one that names each layer.
    listed = read("gpt_neo", num_layers=2, attention_types=[[["global"], 2]], attention_layers=["local", "global"])
    assert (listed.groups["sliding_attention"].layers, listed.groups["full_attention"].layers) == ((0,), (1,))
    assert read("gpt_neo", num_layers=2, attention_types=[[["global"], 2]]).group.sliding_window is None


@pytest.mark.parametrize(("key", "value"), [
    ("attention_types", [[["global", "local"], 2]]),
    ("attention_types", [[["global", "local"], 10**9]]),
    ("attention_types", [[["global", "far"], 1]]),
    ("attention_types", [["global", 2]]),
    ("attention_types", "global"),
    ("attention_layers", ["global"]),
    ("attention_layers", ["global", ["local"]]),
])  # fmt: skip
def test_gpt_neos_lists_must_say_of_each_layer_what_it_is(key: str, value: Any) -> None:
    with pytest.raises(InputError, match=f"gpt_neo: {key} must"):
        read("gpt_neo", num_layers=2, **{key: value})


def test_mpnet_has_t5s_buckets_and_says_that_it_has_a_table_too() -> None:
    # microsoft/mpnet-base: 514 rows, two of them for padding.
    spec = read("mpnet", max_position_embeddings=514, pad_token_id=1, relative_attention_num_buckets=32)
    assert spec.group.encoding == T5(32, 128, bidirectional=True, heads=12)
    assert (spec.group.softmax_scale, spec.window) == (None, Window(512, 512))
    assert any("a learned table of 512 positions" in warning for warning in spec.warnings)
    more = read("mpnet", relative_attention_num_buckets=64)
    assert more.group.encoding == T5(32, 128, bidirectional=True, heads=12)
    assert any("the first 32 alone" in warning for warning in more.warnings)
    with pytest.raises(InputError, match="relative_attention_num_buckets must be at least the 32"):
        read("mpnet", relative_attention_num_buckets=16)


def test_led_learns_a_table_for_its_encoder_and_one_for_its_decoder() -> None:
    spec = read("led", max_encoder_position_embeddings=16384, max_decoder_position_embeddings=1024, d_model=768)
    assert {name: group.encoding for name, group in spec.groups.items()} == {
        "encoder": LearnedPositions(16384, 768),
        "decoder": LearnedPositions(1024, 768),
    }
    assert spec.window == Window(1024, 1024)


def test_prophetnet_is_refused_with_what_no_scheme_does() -> None:
    with pytest.raises(InputError, match=r"prophetnet is not covered: .*a logit for each bucket of distance"):
        read("prophetnet")


@pytest.mark.parametrize(("model_type", "values"), [
    ("gpt_neo", {"num_layers": 3, "attention_types": [[["local"], 1], [["global"], 2]], "window_size": 9}),
    ("gpt_neo", {"num_layers": 2, "attention_types": [[["global"], 2]]}),
    ("gpt_neo", {}),
    ("mpnet", {"max_position_embeddings": 514}),
    ("led", {"max_encoder_position_embeddings": 4096, "max_decoder_position_embeddings": 512}),
])  # fmt: skip
def test_what_they_know_of_position_is_written_and_read_back(model_type: str, values: dict[str, Any]) -> None:
    spec = read(model_type, **values)
    written = huggingface.write(spec)
    assert written.losses == ()
    again = huggingface.read(written.settings, name=model_type)
    assert (again.groups, again.window) == (spec.groups, spec.window)
