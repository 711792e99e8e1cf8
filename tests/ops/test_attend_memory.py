"""Eager's memory grows with tokens, not with their square: no tensor it makes has a logit for every pair."""

from importlib import import_module

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

import ordinate
from ordinate.ops import attend


class Largest(TorchDispatchMode):
    """How many numbers the largest new tensor has."""

    def __init__(self):
        super().__init__()
        self.size = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        made = function(*args, **(kwargs or {}))
        for value in made if isinstance(made, (tuple, list)) else (made,):
            if isinstance(value, torch.Tensor):
                self.size = max(self.size, value.untyped_storage().nbytes() // value.element_size())
        return made


def largest(tokens, **options):
    """Of the forward and the backward pass over this many tokens, in numbers."""
    torch.manual_seed(0)
    q, k, v = (torch.randn(1, tokens, 2, 16, requires_grad=True) for _ in range(3))
    with Largest() as mode:
        attend(q, k, v, **options, backend="eager").sum().backward()
    return mode.size


def learned(scheme):
    return {name: torch.from_numpy(value).float().requires_grad_() for name, value in scheme.initial().items()}


ANGLES = torch.rand(1024, 8)
FIRE, SHAW = ordinate.scheme("fire")(heads=2, width=8), ordinate.scheme("shaw")(heads=2, head_dim=16, left=4)
TERMS = {
    "nothing": {},
    "rotation": {"cos": ANGLES.cos(), "sin": ANGLES.sin()},
    "slopes": {"slopes": torch.tensor([0.5, 0.25], requires_grad=True)},
    "table": {"by_distance": torch.zeros(2, 65, requires_grad=True), "reach": 32},
    "fire": {"scheme": FIRE, "learned": learned(FIRE)},
    "shaw": {"scheme": SHAW, "learned": learned(SHAW)},
}


@pytest.mark.parametrize("terms", TERMS.values(), ids=TERMS)
@pytest.mark.parametrize("causal", [True, False])
def test_twice_the_tokens_are_at_most_twice_the_numbers(terms, causal, monkeypatch):
    # Small blocks at a size that takes no time: what must not grow is what a pair of tokens costs.
    monkeypatch.setattr(import_module("ordinate.ops.attend.blocks"), "LOGITS", 2**13)
    sizes = [largest(tokens, causal=causal, **terms) for tokens in (256, 512, 1024)]
    assert sizes[1] <= 2 * sizes[0]
    assert sizes[2] <= 2 * sizes[1]
    assert sizes[2] < 1024 * 1024 / 4


def test_a_decode_step_makes_nothing_larger_than_its_cache():
    q, k, v = torch.randn(1, 1, 8, 16), torch.randn(1, 4096, 2, 16), torch.randn(1, 4096, 2, 16)
    with Largest() as mode:
        attend(q, k, v, causal=True, slopes=torch.rand(8), backend="eager")
    assert mode.size <= k.numel()
