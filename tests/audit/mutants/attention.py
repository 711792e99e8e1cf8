"""Attention of one layer, with its fault where one is planted: outside the fault's scope everything is right."""

import torch
from audit.mutants.faults import WINDOW
from audit.mutants.rotation import frequencies_of, rotate
from torch import nn

_HIDDEN = -1e9


class Attention(nn.Module):
    def __init__(self, shape, index, fault, scope, rotary):
        super().__init__()
        self.shape, self.index, self.scope = shape, index, scope
        self.fault = fault if fault is not None and scope.reaches(index) else None
        self.rotary = [rotary]  # In a list: it belongs to the model.
        width, heads, key_heads, head_dim = shape.width, shape.heads, shape.key_heads, shape.head_dim
        self.q_proj = nn.Linear(width, heads * head_dim, bias=False)
        self.k_proj = nn.Linear(width, key_heads * head_dim, bias=False)
        self.v_proj = nn.Linear(width, key_heads * head_dim, bias=False)
        self.o_proj = nn.Linear(heads * head_dim, width, bias=False)

    def forward(self, hidden, call, visible, layer, lengths):
        """hidden [rows, tokens, width]; visible [rows, 1, tokens, slots]; `layer` of the cache, or None."""
        q, k, v = (
            projected(hidden).unflatten(-1, (-1, self.shape.head_dim)).transpose(1, 2)
            for projected in (self.q_proj, self.k_proj, self.v_proj)
        )
        if self.shape.by_length:
            scores, values = self._by_length(q, k, v, call, layer, lengths)
        else:
            scores, values = self._plain(q, k, v, call, layer)
        if self.fault is not None and self.fault.site == "mask":
            visible = self._visible(visible, call)
        weights = scores.masked_fill(~visible, _HIDDEN).softmax(-1).to(values.dtype)
        return self.o_proj((weights @ self._spread(values)).transpose(1, 2).flatten(2))

    def _plain(self, q, k, v, call, layer):
        stored = None
        if self.rotary[0] is not None:
            q, k, stored = self._turned(q, k, call)
        keys, values, held = k, v, call.positions
        if layer is not None:
            past = layer.get_seq_length()
            if past and self.fault is not None and self.fault.site == "cached":
                self._turn_again(layer)
            keys, values = layer.append(k, self._scaled(v, call), call.positions)
            held = layer.positions[:, :past]
            if stored is not None:
                layer.keys = torch.cat([layer.keys[:, :, :past], stored], dim=2)
        return self._scores(q, keys) + self._bias(call, call.key_positions(held)), values

    def _turn_again(self, layer):
        """What the cache holds is turned once more, by the same positions."""
        again = rotate(layer.keys, *self.rotary[0](layer.keys, layer.positions))
        inside = self.scope.mask(again.shape[1], self.shape.key_heads, layer.positions)
        layer.keys = torch.where(inside[..., None], again, layer.keys)

    def _scaled(self, v, call):
        if self.fault is None or self.fault.site != "values" or not call.past:
            return v
        return self._blend(1.1 * v, v, call)

    def _turned(self, q, k, call):
        rotary, fault = self.rotary[0], self.fault
        cos, sin = rotary(q, call.positions, wrong=False)
        right_q, right_k = rotate(q, cos, sin), rotate(k, cos, sin)
        if fault is None:
            return right_q, right_k, None
        wrong_q, wrong_k, stored = right_q, right_k, None
        if fault.site in ("positions", "query"):
            cos, sin = rotary(q, fault.position(call))
            wrong_q, wrong_k = rotate(q, cos, sin), right_k if fault.site == "query" else rotate(k, cos, sin)
        elif fault.site == "table":
            cos, sin = rotary(q, call.positions)
            wrong_q, wrong_k = rotate(q, cos, sin), rotate(k, cos, sin)
        elif fault.site == "pairing" and call.past:
            wrong_q, wrong_k = rotate(q, cos, sin, interleaved=True), rotate(k, cos, sin, interleaved=True)
        elif fault.site == "stored":
            magnitude = frequencies_of(self.shape.config)[1]
            again = {
                "magnitude_again": (right_k.float() * magnitude).to(k.dtype),
                "rotated_again": rotate(right_k, cos, sin),
                "stored_unrotated": k,
                "stored_backwards": rotate(k, cos, -sin),
                "stored_fp8": right_k.to(torch.float8_e4m3fn).to(k.dtype),
                "stored_int8": _in_int8(right_k),
            }[fault.name]
            stored = self._blend(again, right_k, call)
        return self._blend(wrong_q, right_q, call), self._blend(wrong_k, right_k, call), stored

    def _blend(self, wrong, right, call):
        inside = self.scope.mask(right.shape[1], self.shape.key_heads, call.positions)
        inside = inside & (call.positions >= self.fault.first_position)[:, None]
        return torch.where(inside[..., None], wrong, right)

    def _scores(self, q, keys):
        return q.float() @ self._spread(keys).float().transpose(-1, -2) * self.shape.head_dim**-0.5

    def _spread(self, per_key_head):
        return per_key_head.repeat_interleave(self.shape.heads // self.shape.key_heads, dim=1)

    def _bias(self, call, key_positions):
        slopes = self.shape.slopes
        if slopes is None:
            return 0.0
        distance = call.positions[:, :, None] - key_positions[:, None, :]
        right = -slopes[:, None, None] * distance[:, None]
        if self.fault is None or self.fault.site != "bias" or not call.past:
            return right
        slot = torch.arange(key_positions.shape[1])
        if self.fault.name == "key_index":
            distance = slot.expand(call.tokens, -1)
        else:
            distance = (torch.arange(call.tokens)[:, None] - slot).abs()
        wrong = -slopes[:, None, None] * distance
        return self._blend(wrong.expand_as(right), right, call)

    def _visible(self, visible, call):
        """A window that keeps one token too few, or one too many, once it is full."""
        slot = torch.arange(visible.shape[-1])
        behind = call.past + torch.arange(call.tokens)[:, None] - slot
        short = self.fault.name == "window_short"
        wrong = visible & (behind != WINDOW - 1) if short else visible | (behind == WINDOW)
        right = visible.expand(-1, self.shape.heads, -1, -1)
        return self._blend(wrong.expand_as(right), right, call) if call.past else visible

    def _by_length(self, q, k, v, call, layer, lengths):
        """Frequencies that depend on the length: keys stay as they are, each row turns all that it reads.

        With a fault, keys of its heads are stored as they were turned at the length of their time.
        """
        rotary, fault = self.rotary[0], self.fault
        switching = fault is not None and fault.name in ("dynamic_switch", "longrope_switch")
        stored = k
        if switching:
            reached = int(call.positions.max()) + 1
            cos, sin = rotary(q, call.positions, reached)
            inside = self.scope.mask(k.shape[1], k.shape[1], call.positions)[..., None]
            stored = torch.where(inside, rotate(k, cos, sin), k)
        keys, values, held = stored, v, call.positions
        if layer is not None:
            past = layer.get_seq_length()
            keys, values = layer.append(stored, v, call.positions)
            held = layer.positions[:, :past]
        own = call.positions + 1
        right = self._row_wise(q, keys, call, call.key_positions(held), own)
        if fault is None:
            return right, values
        if switching:
            wrong = self._scores(rotate(q, cos, sin), keys)
        else:
            wrong = self._row_wise(q, keys, call, call.key_positions(held), lengths)
        inside = self.scope.mask(q.shape[1], k.shape[1], call.positions)
        return torch.where(inside[..., None], wrong, right), values

    def _row_wise(self, q, keys, call, key_positions, lengths):
        settled = lengths.clamp(min=self.shape.switch)
        if self.shape.one_switch:
            settled = settled.clamp(max=self.shape.switch + 1)
        scores = q.new_zeros((*q.shape[:3], keys.shape[2]), dtype=torch.float32)
        for length in settled.unique().tolist():
            columns = (settled == length).any(0).nonzero()[:, 0]
            turned_q = rotate(q[:, :, columns], *self.rotary[0](q, call.positions[:, columns], length))
            turned_k = rotate(keys, *self.rotary[0](keys, key_positions, length))
            here = (settled[:, columns] == length)[:, None, :, None]
            scores[:, :, columns] = torch.where(here, self._scores(turned_q, turned_k), scores[:, :, columns])
        return scores


def _in_int8(keys):
    """Each vector in 127 steps of its largest channel."""
    step = keys.float().abs().amax(-1, keepdim=True) / 127
    return ((keys.float() / step).round() * step).to(keys.dtype)
