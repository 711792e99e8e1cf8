"""What counts as free when a model is loaded: pages that only hold copies of files do."""

import pytest
from transformers import LlamaConfig, LlamaForCausalLM

from ordinate.audit import loading
from ordinate.errors import Unavailable

MEMINFO = """MemTotal:       24684228 kB
MemFree:               {free} kB
MemAvailable:   {available} kB
Buffers:          175712 kB
"""


@pytest.fixture
def directory(tmp_path):
    config = LlamaConfig(
        vocab_size=64, hidden_size=32, intermediate_size=32, num_attention_heads=2, num_hidden_layers=1
    )
    LlamaForCausalLM(config).save_pretrained(tmp_path / "model")
    return tmp_path / "model"


@pytest.fixture
def meminfo(tmp_path, monkeypatch):
    """Pretend what the machine tells [kB]."""

    def tell(free, available):
        (tmp_path / "meminfo").write_text(MEMINFO.format(free=free, available=available))
        monkeypatch.setattr(loading, "_MEMORY", tmp_path / "meminfo")

    return tell


def test_memory_filled_with_copies_of_files_is_free(directory, meminfo):
    meminfo(free=1, available=20_000_000)
    model, ids = loading.load_subject(directory)
    assert ids is None
    assert model.config.vocab_size == 64


def test_a_model_larger_than_what_is_left_is_refused_with_both_figures(directory, meminfo):
    meminfo(free=1, available=1)
    with pytest.raises(Unavailable, match=r"needs about 0\.0 GiB of memory, and 0\.0 are free"):
        loading.load_subject(directory)


def test_a_system_that_does_not_tell_refuses_nothing(directory, tmp_path, monkeypatch):
    monkeypatch.setattr(loading, "_MEMORY", tmp_path / "absent")
    loading.load_subject(directory)
