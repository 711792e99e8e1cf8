"""Which backend is used, which is absent, and why."""

import subprocess
import sys

import pytest

from ordinate.errors import InputError, Unavailable
from ordinate.ops.backends import BACKENDS, choose


def test_torch_is_served_by_eager_and_numpy_by_the_reference():
    assert choose("cpu", "bfloat16").name == "eager"
    assert choose("cuda", "float32").name == "eager"
    assert choose("cpu", "float64", arrays="numpy").name == "reference"


@pytest.mark.parametrize("arrays", ["torch", "numpy"])
def test_every_other_backend_has_a_reason(arrays):
    choice = choose("cpu", "float32", arrays=arrays)
    assert {choice.name, *choice.absent} == set(BACKENDS)
    assert all(choice.absent.values())


@pytest.mark.parametrize(
    "arguments, error, message",
    [
        ({"dtype": "int8"}, InputError, "dtype must be one of float16, bfloat16, float32, float64, got int8"),
        ({"dtype": "bfloat16", "arrays": "numpy"}, InputError, "dtype must be one of float16, float32, float64"),
        ({"device": "cuda", "arrays": "numpy"}, InputError, "NumPy arrays are on the cpu, got device 'cuda'"),
        ({"arrays": "jax"}, InputError, "arrays must be one of numpy, torch, got 'jax'"),
        ({"backend": "gpuu"}, InputError, "did you mean 'gpu'?"),
        ({"backend": "gpu"}, Unavailable, "gpu is not part of this version"),
        ({"backend": "eager", "arrays": "numpy"}, Unavailable, "eager takes torch tensors"),
    ],
)
def test_what_cannot_be_served_is_refused(arguments, error, message):
    with pytest.raises(error, match=message.replace("?", r"\?")):
        choose(**{"device": "cpu", "dtype": "float32"} | arguments)


def test_numpy_users_need_no_torch():
    code = (
        "import sys; sys.modules['torch'] = None\n"
        "import numpy as np, ordinate.ops as ops\n"
        "one = np.ones((1, 1), np.float32)\n"
        "assert ops.rotate(np.ones((1, 1, 2)), None, one, 0 * one)[0].shape == (1, 1, 2)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)
