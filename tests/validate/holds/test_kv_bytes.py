"""The analytic size of a cache is that of transformers' own caches, to the byte."""

import numpy as np
import pytest
import torch
from tiny_models import tiny

from ordinate.audit.run import described
from ordinate.errors import InputError
from ordinate.validate.holds import kv_bytes
from ordinate.validate.holds.process import cache_bytes

FAMILIES = ("Llama", "Qwen3", "Mistral", "Gemma2", "Gemma3Text", "GPTNeoX", "SmolLM3", "DeepseekV3")


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("family", FAMILIES)
def test_it_is_what_transformers_holds_after_a_pass(family, dtype):
    # GPT-NeoX has as many heads of keys as of queries, and no setting that says so.
    settings = {"num_key_value_heads": 4} if family == "GPTNeoX" else {}
    model = tiny(family, "default", **settings).to(dtype)
    spec = described(model)
    assert spec is not None
    for tokens in (1, 5, 20):
        ids = torch.from_numpy(np.random.default_rng(0).integers(3, 100, (1, tokens)))
        with torch.inference_mode():
            cache = model(input_ids=ids, use_cache=True).cache
        width = torch.finfo(dtype).bits // 8
        assert cache_bytes(cache) == kv_bytes(spec, tokens, value_bytes=width), (family, tokens)


def test_numbers_of_fewer_bits_count_by_their_share():
    spec = described(tiny("Llama", "default"))
    assert spec is not None
    assert kv_bytes(spec, 64, value_bytes=34 / 32) == round(kv_bytes(spec, 64, value_bytes=1) * 34 / 32)
    assert kv_bytes(spec, 0, value_bytes=2) == 0


@pytest.mark.parametrize("tokens, width", [(-1, 2), (1.5, 2), (8, 0), (8, float("nan"))])
def test_what_is_no_size_is_refused(tokens, width):
    spec = described(tiny("Llama", "default"))
    with pytest.raises(InputError):
        kv_bytes(spec, tokens, value_bytes=width)
