"""Copies of a model that can be cast and emptied: the model itself is left alone."""

import copy
from typing import Any

import torch
from torch import nn

from ordinate.audit.base import Refusal
from ordinate.audit.subject import Subject

_LARGEST = 2**31


def too_large(subject: Subject) -> str | None:
    """Why a model is not copied, or None."""
    size = sum(tensor.numel() * tensor.element_size() for tensor in subject.model.state_dict().values())
    return f"a copy takes {size / 2**30:.1f} GiB, more than an audit may take" if size > _LARGEST else None


def cast_and_back(subject: Subject, dtype: torch.dtype) -> Subject:
    """A copy that was cast to another dtype and back; its parameters are then filled with the exact values again."""
    made: Any = copy.deepcopy(subject.model)
    before = {name: tensor.dtype for name, tensor in made.named_parameters()}
    made.to(dtype).to(subject.dtype)
    # Some parameters are wider than the model.
    for name, parameter in made.named_parameters():
        parameter.data = parameter.data.to(before[name])
    return _filled(subject, made)


def emptied_and_filled(subject: Subject) -> Subject:
    """A copy whose memory was emptied as after a load on the meta device, initialised again and filled from the state.

    Raises:
        Refusal: the model's own initialisation raised an error
    """
    aside = {id(parameter): nn.Parameter(parameter.to("meta"), False) for parameter in subject.model.parameters()}
    made: Any = copy.deepcopy(subject.model, aside)
    made.to_empty(device=subject.model.device)
    for tensor in made.buffers():
        tensor.fill_(torch.nan if tensor.is_floating_point() else 0)
    for module in made.modules():
        module._is_hf_initialized = False
    try:
        with torch.no_grad():
            made.initialize_weights()
    except (RuntimeError, AttributeError, TypeError, NotImplementedError, ValueError) as error:
        line = (str(error).splitlines() or [""])[0]
        raise Refusal(f"{type(error).__name__}: {line}") from error
    return _filled(subject, made)


def _filled(subject: Subject, made: Any) -> Subject:
    made.load_state_dict(subject.model.state_dict(), strict=False)
    return Subject(made.eval(), subject.spec, ids=subject.ids.reshape(-1), length=subject.length, name=subject.name)
