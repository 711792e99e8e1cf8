"""A transformers cache whose layers remember the position of each key, and which can shift; with faults of its own."""

import torch
from transformers.cache_utils import DynamicCache, DynamicLayer


class Layer(DynamicLayer):
    """Keys, values and positions [rows, slots]; every slot is kept, whatever the window."""

    def __init__(self, fault=None, scope=None, index=0):
        super().__init__()
        self.fault = fault if scope is None or scope.reaches(index) else None
        self.scope = scope
        self.positions = None

    def append(self, keys, values, positions):
        past = self.get_seq_length()
        held = self.positions
        if held is None or held.shape[1] != past:
            held = torch.arange(past).expand(keys.shape[0], -1)
        self.positions = torch.cat([held[:, :past], positions], dim=1)
        return self.update(keys, values)

    def crop(self, tokens_to_remove):
        super().crop(tokens_to_remove)
        if self.positions is not None:
            self.positions = self.positions[:, : self.get_seq_length()]

    def reorder_cache(self, beam_idx):
        before = self.keys
        super().reorder_cache(beam_idx)
        if self.positions is not None:
            self.positions = self.positions[beam_idx]
        if self.fault == "reorder_values_only" and before is not None:
            self.keys = self._kept(before, self.keys)

    def batch_repeat_interleave(self, repeats):
        super().batch_repeat_interleave(repeats)
        if self.positions is not None:
            self.positions = self.positions.repeat_interleave(repeats, dim=0)

    def batch_select_indices(self, indices):
        super().batch_select_indices(indices)
        if self.positions is not None:
            self.positions = self.positions[indices]

    def reset(self):
        super().reset()
        self.positions = None

    def shift(self, tokens, turn, magnitude):
        """Drop the oldest tokens and renumber the others; `turn` rotates keys to positions that are lower by them."""
        if self.get_seq_length() == 0:
            return
        keys, self.values = self.keys[:, :, tokens:], self.values[:, :, tokens:]
        old = self.positions[:, tokens:]
        self.keys = turn(keys, old)
        if self.fault == "shift_unturned":
            self.keys = self._kept(keys, self.keys, old)
        if self.fault == "shift_scales_again":
            self.keys = self._kept((self.keys.float() * magnitude).to(keys.dtype), self.keys, old)
        self.positions = old - tokens

    def _kept(self, wrong, right, positions=None):
        where = self.positions if positions is None else positions
        heads = right.shape[1]
        return torch.where(self.scope.mask(heads, heads, where)[..., None], wrong, right)


class Cache(DynamicCache):
    """The cache that the models here make when they are given none."""

    def __init__(self, model):
        super().__init__()
        self.layers = model.new_layers()
        self.layer_class_to_replicate = None
        self._model = model

    def shift(self, tokens):
        """Drop the oldest tokens of every row and count the others from 0 on."""
        for layer in self.layers:
            layer.shift(tokens, self._model.turner(tokens), self._model.magnitude)
        self.seen = self.get_seq_length()

    def __deepcopy__(self, memo):
        from copy import deepcopy

        copy = object.__new__(type(self))
        memo[id(self)] = copy
        for name, value in vars(self).items():
            setattr(copy, name, value if name == "_model" else deepcopy(value, memo))
        return copy
