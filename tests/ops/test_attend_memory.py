"""Memory grows with tokens, not with their square: no tensor that eager makes has a logit for every pair, and the
kernels take next to nothing beside what they give.
"""

import json
import os
import subprocess
import sys
from importlib import import_module

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

import ordinate
from ordinate.ops import attend
from ordinate.ops.backends import compiled


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


# Prints MiB by term: what forward takes, its output included, and what backward takes beside the gradients of inputs.
CHILD = """
import json

import torch

from ordinate.ops import attend


def resident(name):
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith(name)) / 1024


def growth(run):
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")  # the high-water mark begins anew
    before = resident("VmRSS")
    made = run()
    return made, resident("VmHWM") - before


torch.set_num_threads(1)
tokens, heads, dim, reach = 4096, 16, 64, 128
q, k, v, upstream = (torch.randn(1, tokens, heads, dim) for _ in range(4))
angles = torch.rand(tokens, dim // 2)
rope = {"cos": angles.cos(), "sin": angles.sin()}
alibi, t5 = {"slopes": torch.rand(heads)}, {"by_distance": torch.rand(heads, 2 * reach + 1), "reach": reach}
terms = {"none": {}, "rope": rope, "alibi": alibi, "t5": t5, "rope and t5": rope | t5}
found = {}
for name, given in {"warm": {}, **terms}.items():
    arrays = [x[:, :2] if name == "warm" else x for x in (q, k, v, upstream)]
    leaves = [x.detach().requires_grad_() for x in arrays[:3]]
    leaves += [given[learned].requires_grad_() for learned in ("slopes", "by_distance") if learned in given]
    out, forward = growth(lambda: attend(*leaves[:3], causal=True, **given, backend="cpu"))
    gradients, backward = growth(lambda: torch.autograd.grad(out, leaves, arrays[3]))
    found[name] = forward, backward - sum(x.nbytes for x in gradients) / 2**20
    del out, gradients
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def mebibytes():
    if compiled is None:
        pytest.skip("the compiled kernels are not part of this installation")
    if not os.access("/proc/self/clear_refs", os.W_OK):
        pytest.skip("this system does not say how much memory a process had at most")
    # Freed memory goes back to the system at once, so that what is taken again counts again.
    environment = os.environ | {"MALLOC_MMAP_THRESHOLD_": "65536", "OMP_NUM_THREADS": "1"}
    ran = subprocess.run([sys.executable, "-c", CHILD], env=environment, capture_output=True, text=True, check=True)
    return json.loads(ran.stdout)


@pytest.mark.parametrize("term", ["none", "rope", "alibi", "t5", "rope and t5"])
def test_kernels_take_next_to_nothing_beside_what_they_give(term, mebibytes):
    forward, backward = mebibytes[term]
    # The output is 16 MiB, one array of logits of one head would be 64.
    assert 16 <= forward <= 20
    assert 0 <= backward <= 16
