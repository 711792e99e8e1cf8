"""What positions may be, as tensors."""

from typing import Any

import torch
from torch import Tensor

from ordinate.errors import InputError


def check_tensor(name: str, positions: Any) -> None:
    """Raise `InputError` unless positions are an int32 or int64 tensor."""
    if not isinstance(positions, Tensor):
        raise InputError(f"{name} must be a torch tensor, got {type(positions).__name__}")
    if positions.dtype not in (torch.int32, torch.int64):
        raise InputError(f"{name} must be int32 or int64, got {str(positions.dtype).removeprefix('torch.')}")
