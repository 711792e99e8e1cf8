"""Which backend computes a call of `attend`, and what becomes of calls that a compiled one leaves."""

import importlib
import subprocess
import sys
from types import ModuleType

import numpy as np
import pytest
import torch

from ordinate.errors import Unavailable
from ordinate.ops import attend
from ordinate.ops.backends import Choice

Q = torch.zeros(1, 2, 1, 4)


@pytest.fixture
def compiled(monkeypatch):
    """A compiled backend that gives ones, and takes no soft-cap."""
    module = ModuleType("ordinate.ops.attend.cpu")
    module.serves = lambda call: None if call.softcap is None else "cpu takes no softcap"
    module.attend_call = lambda call: (call.q + 1, None)
    monkeypatch.setitem(sys.modules, module.__name__, module)
    package = importlib.import_module("ordinate.ops.attend")
    monkeypatch.setattr(package, "choose", lambda *_, **__: Choice("cpu", {}))
    # The kernels themselves, where they are built, would take the plainest calls first.
    monkeypatch.setattr(package, "attend_plain", lambda *_: None)
    return module


def test_a_compiled_backend_computes_what_it_takes(compiled):
    assert torch.equal(attend(Q, Q, Q), torch.ones_like(Q))
    assert np.array_equal(attend(Q.numpy(), Q.numpy(), Q.numpy()), np.ones((1, 2, 1, 4)))


def test_what_it_leaves_goes_to_those_that_take_everything(compiled):
    assert torch.equal(attend(Q, Q, Q, softcap=1.0), Q)
    assert np.array_equal(attend(Q.numpy(), Q.numpy(), Q.numpy(), softcap=1.0), Q.numpy())


def test_asked_for_by_name_it_says_what_it_does_not_take(compiled):
    with pytest.raises(Unavailable, match="backend 'cpu' cannot compute this call: cpu takes no softcap"):
        attend(Q, Q, Q, softcap=1.0, backend="cpu")


def test_a_scheme_of_distance_reaches_it_as_a_table(compiled):
    seen = []
    compiled.attend_call = lambda call: (seen.append(call), (call.q, None))[1]
    from ordinate.schemes.alibi import Alibi
    from ordinate.schemes.t5 import T5

    q = Q.expand(1, 2, 4, 4)
    attend(q, q, q, scheme=T5(heads=4), learned={"table": torch.zeros(32, 4)})
    attend(q, q, q, scheme=Alibi(heads=4))
    assert [call.scheme for call in seen] == [None, None]
    assert seen[0].by_distance.shape == (4, 3)
    assert seen[0].reach == 1
    assert seen[1].slopes.tolist() == [[0.25, 0.0625, 0.015625, 0.00390625]]


def test_numpy_alone_imports_no_torch():
    code = (
        "import sys, numpy as np; from ordinate.ops import attend, merge; x = np.ones((1, 2, 1, 4)); "
        "merge([x], [attend(x, x, x, return_lse=True)[1]]); assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
