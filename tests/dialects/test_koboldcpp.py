"""KoboldCpp's --ropeconfig and the base that it chooses by itself."""

import math
from dataclasses import replace

import numpy as np
import pytest

from ordinate.dialects.koboldcpp import KoboldCpp
from ordinate.errors import InputError
from ordinate.scaling.abf import Abf
from ordinate.scaling.linear import Linear
from ordinate.scaling.llama3 import Llama3
from ordinate.scaling.ntk import Ntk
from ordinate.scaling.yarn import Yarn
from ordinate.schemes.alibi import Alibi
from ordinate.schemes.rope import Rope
from ordinate.spec import LayerGroup, Spec, Window


def model(stretch=None, base=10000.0, trained=4096, declared=4096):
    group = LayerGroup("full_attention", Rope(128, base=base), stretch, "half")
    return Spec("model", "llama", "gguf", {"full_attention": group}, Window(trained, declared))


def test_linear_scaling_is_a_frequency_scale_below_1():
    written = KoboldCpp().write(model(Linear(4.0), declared=16384))
    assert written.text == "--ropeconfig 0.25 10000 --contextsize 16384"
    assert written.losses == ()
    read = KoboldCpp().read(written.settings, model()).group
    np.testing.assert_allclose(read.frequencies(), 1e4 ** -(np.arange(64) / 64) / 4, rtol=1e-12)


@pytest.mark.parametrize("alpha, base", [(2.0, 20221.26), (4.0, 40889.94), (8.0, 82684.62)])
def test_ntk_is_a_base(alpha, base):
    written = KoboldCpp().write(model(Ntk(alpha)))
    assert written.losses == ()
    assert written.settings["ropeconfig"] == [1, pytest.approx(base, abs=0.005)]


@pytest.mark.parametrize("stretch", [Yarn(4.0, 4096), Llama3(8.0, 4096)], ids=lambda stretch: stretch.name)
def test_nothing_but_a_base_and_a_linear_scale_can_be_said(stretch):
    written = KoboldCpp().write(model(stretch, declared=32768))
    assert [loss.setting for loss in written.losses] == ["rope_type"]
    assert written.text == "--ropeconfig 1 10000 --contextsize 32768"


def test_a_longer_context_changes_the_base_without_being_asked():
    run = KoboldCpp().interpret(model(), capacity=16384)
    base = 10000 ** (math.log(16384 / 2 / math.pi) / math.log(4096 / 2 / math.pi))
    assert base == pytest.approx(71738, abs=1)
    np.testing.assert_allclose(run.spec.group.frequencies(), base ** -(np.arange(64) / 64), rtol=1e-12)
    assert [loss.setting for loss in run.losses] == ["rope_theta"]


@pytest.mark.parametrize(
    "spec, capacity",
    [
        (model(), None),
        (model(), 4096),
        (model(base=1e6), 16384),
        (model(Linear(2.0)), 16384),
        (model(Yarn(4.0, 4096)), 65536),
        (model(trained=512, declared=512), 2048),
    ],
)
def test_no_base_is_chosen_where_the_file_has_its_own_or_the_context_fits(spec, capacity):
    run = KoboldCpp().interpret(spec, capacity)
    assert (run.spec, run.losses) == (spec, ())


def test_a_context_just_past_2048_is_long_enough():
    assert KoboldCpp().interpret(model(trained=512, declared=512), 2049).losses


def test_llama_3s_divisors_do_not_keep_the_base():
    spec = model(Llama3(8.0, 8192), base=500000.0, trained=8192, declared=131072)
    run = KoboldCpp().interpret(spec, 262144)
    base = 500000 ** (math.log(262144 / 2 / math.pi) / math.log(131072 / 2 / math.pi))
    assert run.spec.group.rope.base == pytest.approx(base, rel=1e-12)
    assert run.spec.group.stretch == Llama3(8.0, 8192)
    assert KoboldCpp().interpret(spec, 131072).losses == ()


def test_words_keep_another_base_from_being_chosen():
    read = KoboldCpp().read({"ropeconfig": [1.0, 10000.0], "contextsize": 16384}, model())
    run = KoboldCpp().interpret(read)
    assert run.losses == ()
    np.testing.assert_allclose(run.spec.group.frequencies(), 1e4 ** -(np.arange(64) / 64), rtol=1e-12)
    assert KoboldCpp().interpret(KoboldCpp().read({"contextsize": 16384}, model())).losses


def test_a_scale_alone_means_base_10000():
    assert KoboldCpp().read({"ropeconfig": [0.5]}, model(base=1e6)).group.rope.base == 10000.0
    assert KoboldCpp().read({"ropeconfig": [1]}, model(base=1e6)).group.stretch == Abf(10000.0)


def test_layers_with_a_base_of_their_own_lose_it():
    local = replace(model().group, layer_type="sliding_attention")
    spec = model(base=1e6)
    written = KoboldCpp().write(replace(spec, groups={"sliding_attention": local, **spec.groups}))
    assert written.settings["ropeconfig"] == [1, 1000000]
    assert [(loss.setting, loss.group) for loss in written.losses] == [("rope_parameters", "sliding_attention")]


def test_what_does_not_rotate_has_no_words_and_runs_as_it_is():
    group = LayerGroup("full_attention", Alibi(heads=8))
    spec = replace(model(), groups={"full_attention": group})
    with pytest.raises(InputError, match="has words for rotary position of text alone, and model has alibi"):
        KoboldCpp().write(spec)
    assert KoboldCpp().interpret(spec, 65536).spec == spec


@pytest.mark.parametrize(
    "words, message",
    [
        ({"ropeconfig": 1.0}, "must be a scale"),
        ({"ropeconfig": [1, 2, 3]}, "must be a scale"),
        ({"ropeconfig": [0, 10000]}, "must be > 0"),
        ({"ropeconfig": [2, 10000]}, "must have a scale of at most 1"),
        ({"ropeconfig": [1, "many"]}, "must be a finite number"),
        ({"contextsize": 0}, "contextsize must be an integer >= 1"),
        ({"ropescale": 1}, "unknown key 'ropescale'"),
    ],
)
def test_impossible_words_are_refused(words, message):
    with pytest.raises(InputError, match=message):
        KoboldCpp().read(words, model())


def test_scalings_of_the_file_run_as_in_llama_cpp():
    """gpt-oss: the ramp is rounded, and pair 17 turns 76 % faster than the model's."""
    scaling = Yarn(32.0, 4096, truncate=False)
    group = LayerGroup("full_attention", Rope(64, base=150000.0), scaling, "half")
    spec = Spec("model", "gpt_oss", "huggingface", {"full_attention": group}, Window(4096, 131072))
    found = KoboldCpp().interpret(spec)
    assert [loss.setting for loss in found.losses] == ["truncate"]
    ratio = found.spec.group.frequencies() / spec.group.frequencies()
    assert int(np.abs(ratio - 1).argmax()) == 17
    assert ratio[17] == pytest.approx(1.7627, abs=1e-4)
