"""What the caches of transformers take, whatever their layers hold."""

import torch


def tensors_of(value, seen):
    """Bytes of every tensor that a cache holds, each once."""
    if isinstance(value, torch.Tensor):
        key = (value.untyped_storage().data_ptr(), value.shape)
        if key in seen:
            return 0
        seen.add(key)
        return value.numel() * value.element_size()
    if isinstance(value, dict):
        return sum(tensors_of(entry, seen) for entry in value.values())
    if isinstance(value, (list, tuple)):
        return sum(tensors_of(entry, seen) for entry in value)
    if hasattr(value, "__dict__"):
        return sum(tensors_of(entry, seen) for name, entry in vars(value).items() if not name.startswith("_"))
    return 0
