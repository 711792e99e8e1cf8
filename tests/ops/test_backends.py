"""Which backend is used, which is absent, and why."""

import json
import subprocess
import sys

import pytest

from ordinate.cli import run
from ordinate.errors import InputError, Unavailable
from ordinate.ops import backends, rotate
from ordinate.ops.backends import BACKENDS, NOT_COMPILED, choose

COMPILED = backends.compiled is not None


@pytest.fixture
def without_kernels(monkeypatch):
    """An installation that found no compiler."""
    monkeypatch.setattr(backends, "compiled", None)
    monkeypatch.setattr(sys.modules["ordinate.ops.rotate"], "compiled", None)


def test_kernels_serve_what_they_take():
    for arrays in ("torch", "numpy"):
        assert choose("cpu", "float32", arrays=arrays).name == (
            "cpu" if COMPILED else {"torch": "eager", "numpy": "reference"}[arrays]
        )
    assert choose("cuda", "float32").name == "eager"
    assert choose("cpu", "float64").name == "eager"
    assert choose("cpu", "float64", arrays="numpy").name == "reference"


def test_without_kernels_torch_is_served_by_eager_and_numpy_by_the_reference(without_kernels):
    assert choose("cpu", "bfloat16").name == "eager"
    assert choose("cpu", "float32", arrays="numpy").name == "reference"
    assert choose("cpu", "float32").absent["cpu"] == NOT_COMPILED
    with pytest.raises(Unavailable, match="install a C"):
        choose("cpu", "float32", backend="cpu")


def test_without_kernels_everything_works(without_kernels):
    import numpy as np
    import torch

    q, cos, sin = torch.randn(2, 1, 4), torch.rand(2, 2), torch.rand(2, 2)
    made, _ = rotate(q, None, cos, sin)
    wanted, _ = rotate(*(t.numpy() for t in (q,)), None, cos.numpy(), sin.numpy())
    assert np.allclose(made, wanted, atol=1e-6)


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
        ({"backend": "cpu", "dtype": "float64"}, Unavailable, "cpu takes float16, bfloat16, float32, got float64"),
        ({"backend": "cpu", "device": "cuda"}, Unavailable, "cpu takes what is on the cpu, got 'cuda'"),
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
        "for dtype in ('float16', 'float32', 'float64'):\n"
        "    assert ops.rotate(np.ones((1, 1, 2), dtype), None, one, 0 * one)[0].shape == (1, 1, 2)\n"
        "    ops.rotate_(np.ones((1, 1, 2), dtype), None, one, 0 * one)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


def test_the_command_says_what_is_here(capsys):
    assert run(["backends"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == list(BACKENDS)
    assert run(["backends", "--format", "json"]) == 0
    rows = {row["name"]: row for row in json.loads(capsys.readouterr().out)}
    assert rows["cpu"]["here"] is COMPILED
    if COMPILED:
        assert rows["cpu"]["in_use"] in rows["cpu"]["instruction_sets"]
        assert f"compiled C++: {rows['cpu']['in_use']}" in lines[2]


def test_the_command_says_what_to_install(without_kernels, capsys):
    assert run(["backends"]) == 0
    assert "install a C++17 compiler" in capsys.readouterr().out.splitlines()[2]
    assert run(["backends", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)[2]["needs"] == NOT_COMPILED
