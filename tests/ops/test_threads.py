"""How many threads a compiled call may use: as many as torch, whatever the kernels share their work with."""

import subprocess
import sys
import threading

import pytest
import torch

from ordinate.ops import attend
from ordinate.ops.backends import compiled

if compiled is None:
    pytest.skip("the compiled kernels are not part of this installation", allow_module_level=True)


@pytest.fixture(autouse=True)
def restored():
    """The kernels have met torch, and its number of threads is given back."""
    one = torch.ones(1, 1, 1, 1)
    attend(one, one, one, backend="cpu")
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_a_call_uses_as_many_threads_as_torch(threads):
    torch.set_num_threads(threads)
    assert compiled.threads() == threads


# OpenMP's own number is that of one thread; torch's is carried over to the others.
@pytest.mark.parametrize("threads", [1, 3])
def test_so_does_a_call_from_another_thread(threads):
    torch.set_num_threads(threads)
    found = []
    other = threading.Thread(target=lambda: found.extend((compiled.threads(), torch.get_num_threads())))
    other.start()
    other.join()
    assert found == [threads, threads]


def test_without_torch_the_system_says_how_many():
    code = "import sys; sys.modules['torch'] = None\nfrom ordinate.ops import _cpu\nassert _cpu.threads() >= 1"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_one_token_over_many_keys_is_the_same_on_any_number_of_threads():
    generator = torch.Generator().manual_seed(0)
    q, k, v = (torch.randn(2, n, heads, 64, generator=generator) for n, heads in ((1, 4), (2600, 2), (2600, 2)))
    made = []
    for threads in (1, 2, 5):
        torch.set_num_threads(threads)
        made.append(attend(q, k, v, causal=True, backend="cpu"))
    assert torch.equal(made[0], made[1])
    assert torch.equal(made[0], made[2])
