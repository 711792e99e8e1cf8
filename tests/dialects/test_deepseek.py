"""DeepSeek's inference configuration."""

import math
from dataclasses import replace

import numpy as np
import pytest

from ordinate.dialects.deepseek import DeepSeek
from ordinate.errors import InputError
from ordinate.scaling.linear import Linear
from ordinate.scaling.yarn import Yarn
from ordinate.schemes.none import NoPosition
from ordinate.schemes.rope import Rope
from ordinate.spec import Heads, LayerGroup, Spec, Window

HEADS = Heads(128, 128, 192, 128, latent_dim=512, rotary_key_dim=64)
# DeepSeek-V3 as released: factor 40 over 4096, mscale = mscale_all_dim = 1.
SCALE = 192**-0.5 * (0.1 * math.log(40) + 1) ** 2
YARN = Yarn(40.0, 4096, mscale=1.0, mscale_all_dim=1.0)


def model(stretch=YARN, softmax_scale=SCALE, declared=163840, **group):
    rope = Rope(192, 64, 10000.0, "interleaved", "last")
    made = LayerGroup("full_attention", rope, stretch, "interleaved-in-half-out", heads=HEADS)
    made = replace(made, softmax_scale=softmax_scale, **group)
    return Spec("model", "deepseek_v3", "huggingface", {"full_attention": made}, Window(4096, declared))


def frequencies(base, factor, low, high, width=64):
    plain = base ** -(np.arange(width // 2) / (width // 2))
    ramp = np.clip((np.arange(width // 2) - low) / (high - low), 0, 1)
    return plain * (1 - ramp) + plain / factor * ramp


def test_deepseek_v3_is_said_without_a_loss():
    written = DeepSeek().write(model())
    assert written.losses == ()
    assert written.steps == ()
    assert dict(written.settings) == {
        "rope_theta": 10000,
        "max_seq_len": 163840,
        "original_seq_len": 4096,
        "rope_factor": 40,
        "beta_fast": 32,
        "beta_slow": 1,
        "mscale": 1,
    }


def test_the_magnitude_is_on_the_softmax_scale_and_not_on_cos_and_sin():
    words = {"rope_factor": 40, "mscale": 0.707, "max_seq_len": 163840, "original_seq_len": 4096}
    group = DeepSeek().read(words, model()).group
    assert group.attention_factor() == 1
    assert group.softmax_scale == pytest.approx(192**-0.5 * (0.1 * 0.707 * math.log(40) + 1) ** 2, rel=1e-12)
    # The ends of the ramp: 64 ln(4096 / (2 pi r)) / (2 ln 10000) is 10.5 for r = 32 and 22.5 for r = 1.
    np.testing.assert_allclose(group.frequencies(), frequencies(1e4, 40, 10, 23), rtol=1e-12)


def test_no_length_past_the_original_one_is_no_scaling():
    words = {"rope_factor": 40, "max_seq_len": 4096, "original_seq_len": 4096}
    group = DeepSeek().read(words, model()).group
    assert (group.stretch, group.softmax_scale) == (None, None)
    assert DeepSeek().read({**words, "max_seq_len": 4097}, model()).group.stretch is not None


def test_what_is_absent_is_as_in_the_code():
    spec = DeepSeek().read({}, model())
    assert (spec.group.rope.base, spec.window) == (10000.0, Window(4096, 16384))
    assert (spec.group.stretch.factor, spec.group.stretch.beta_fast) == (40.0, 32.0)


def test_a_start_within_the_original_length_scales_nothing():
    assert DeepSeek().interpret(model(), capacity=4097).losses == ()
    run = DeepSeek().interpret(model(), capacity=4096)
    assert (run.spec.group.stretch, run.spec.group.softmax_scale) == (None, None)
    assert [loss.setting for loss in run.losses] == ["rope_type"]


def test_a_ramp_whose_ends_are_not_rounded_is_rounded():
    run = DeepSeek().interpret(model(replace(YARN, truncate=False)))
    assert [loss.setting for loss in run.losses] == ["truncate"]
    assert run.spec.group.stretch.truncate is True


def test_a_magnitude_on_cos_and_sin_is_a_loss_with_its_number():
    run = DeepSeek().interpret(model(Yarn(40.0, 4096), softmax_scale=None))
    assert [loss.setting for loss in run.losses] == ["attention_factor"]
    assert "1.369 becomes 1" in run.losses[0].what
    assert run.spec.group.softmax_scale is None


def test_a_softmax_scale_is_written_as_mscale():
    for mscale in (0.0, 0.707, 1.3):
        scale = 192**-0.5 * (0.1 * mscale * math.log(40) + 1) ** 2
        written = DeepSeek().write(model(softmax_scale=scale))
        assert written.settings["mscale"] == pytest.approx(mscale, abs=1e-9)
        read = DeepSeek().read(written.settings, model())
        assert (read.group.softmax_scale or 192**-0.5) == pytest.approx(scale, rel=1e-9)


def test_other_scalings_are_dropped_and_the_words_say_none():
    written = DeepSeek().write(model(Linear(4.0), softmax_scale=None))
    assert [loss.setting for loss in written.losses] == ["rope_type"]
    assert written.settings["original_seq_len"] == written.settings["max_seq_len"] == 163840
    assert DeepSeek().read(written.settings, model()).group.stretch is None


def test_half_pairs_need_their_weights_rewritten():
    half = model()
    group = replace(half.group, pairing="half")
    (step,) = DeepSeek().write(replace(half, groups={"full_attention": group})).steps
    assert "--pairing interleaved" in step


def test_layers_without_position_would_turn():
    spec = model()
    still = LayerGroup("linear", NoPosition(), heads=HEADS)
    run = DeepSeek().interpret(replace(spec, groups={**spec.groups, "linear": still}))
    assert [(loss.setting, loss.group) for loss in run.losses] == [("no_rope_layers", "linear")]
    assert run.spec.groups["linear"].scheme == "rope"


@pytest.mark.parametrize(
    "words, message",
    [
        ({"rope_factr": 40}, "unknown key 'rope_factr'"),
        ({"rope_factor": 0.5, "max_seq_len": 8192}, "rope_factor must be >= 1"),
        ({"rope_theta": 0}, "rope_theta must be > 0"),
        ({"max_seq_len": 0}, "max_seq_len must be an integer >= 1"),
        ({"beta_fast": 1, "beta_slow": 2}, "beta_fast must be >= beta_slow"),
        ({"mscale": math.nan}, "mscale must be a finite number"),
    ],
)
def test_impossible_words_are_refused(words, message):
    with pytest.raises(InputError, match=message):
        DeepSeek().read(words, model())
