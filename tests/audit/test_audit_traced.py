"""What `torch.compile` alone makes wrong is found, and a model that it leaves as it is passes."""

import pytest
import torch
from audit.audited_models import small
from torch import nn

from ordinate.audit import audit_model


class OneFurtherWhereTraced(nn.Module):
    """A table whose rows are taken one further on, in the traced model alone."""

    def __init__(self, own):
        super().__init__()
        self.own = own

    def forward(self, positions):
        return self.own(positions + 1 if torch.compiler.is_compiling() else positions)


def traced(model):
    return audit_model(model, checks=["torch_compile", "batch_rows"], length=24)


@pytest.mark.slow
def test_a_model_that_tracing_leaves_as_it_is_passes():
    found = traced(small("gpt2", n_layer=1))
    assert found.findings == ()
    cases = [(one.case, one.status) for one in found.outcomes if one.check == "torch_compile"]
    assert cases == [("12 tokens", "passed"), ("then 24 tokens", "passed")]


@pytest.mark.slow
def test_positions_that_are_wrong_in_the_traced_model_alone_are_found_there_alone():
    model = small("gpt2", n_layer=1)
    model.transformer.wpe = OneFurtherWhereTraced(model.transformer.wpe)
    found = traced(model)
    (finding,) = found.findings
    assert (finding.kind, finding.check, finding.where.token) == ("compiled", "torch_compile", 0)
    assert finding.cases == ("torch-compile: 12 tokens", "torch-compile: then 24 tokens")
    assert {one.status for one in found.outcomes if one.check == "batch_rows"} == {"passed"}
