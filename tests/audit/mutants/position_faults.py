"""Faults of the positions that new tokens get: each takes a call and returns its wrong positions, [rows, tokens]."""

import torch


def restart(call):
    """Every pass after the first counts from 0."""
    return _counted(call) if call.past else call.positions


def chunk_restart(call):
    """Every chunk counts from its own start; single tokens go on."""
    return _counted(call) if call.past and call.tokens > 1 else call.positions


def one_too_far(call):
    """The cache's length was read after the new token was appended."""
    return call.positions + 1 if call.past else call.positions


def one_too_near(call):
    """The cache's last position was read for its length."""
    return call.positions - 1 if call.past else call.positions


def one_token_prompt(call):
    """A prompt of one token is counted twice: when it is read and when the next pass begins."""
    return call.positions + 1 if call.past == 1 else call.positions


def prefix_hit(call):
    """What follows a reused prefix starts at its last position; single tokens are right."""
    return call.positions - 1 if call.past and call.tokens > 1 else call.positions


def shared_window(call):
    """All tokens of a short window get the position of its first."""
    if call.past and 1 < call.tokens <= 8:
        return call.positions[:, :1].expand_as(call.positions)
    return call.positions


def shared_last(call):
    """All tokens of a short window get the position of its last."""
    if call.past and 1 < call.tokens <= 8:
        return call.positions[:, -1:].expand_as(call.positions)
    return call.positions


def batch_counted(call):
    """A cached pass counts on from row to row."""
    row = torch.arange(call.positions.shape[0])[:, None]
    return call.positions + row * call.tokens if call.past else call.positions


def left_pad_slots(call):
    """The prompt counts its padding, the tokens after it do not."""
    return call.slots if call.padded and not call.past else call.positions


def slots(call):
    """Padding is counted in every pass."""
    return call.slots if call.padded else call.positions


def one_vector(call):
    """The longest row's positions serve every row."""
    if call.past:
        return call.positions.amax(0, keepdim=True).expand_as(call.positions)
    return call.positions


def gaps_counted(call):
    """Slots from the first token on are counted, padding between tokens among them."""
    if not call.padded:
        return call.positions
    first = call.present.long().argmax(1, keepdim=True)
    return (call.slots - first).clamp(min=0)


def rounded(call):
    """Positions in bfloat16."""
    return call.positions.to(torch.bfloat16).to(torch.int64)


def uint8(call):
    """Positions in one byte: 256 is 0."""
    return call.positions.to(torch.uint8).to(torch.int64)


def crop_keeps_offset(call):
    """Tokens that were cropped still count."""
    return call.positions + (call.seen - call.past)


def rank_local(call):
    """A shard of a longer row counts from its own start."""
    steps = call.positions.diff(dim=1)
    if call.padded or call.tokens < 2 or not bool(((steps != 1) & (call.positions[:, 1:] != 0)).any()):
        return call.positions
    return call.slots


def ignored(call):
    """What is given is not read; positions are slots, or counted from a mask."""
    if not call.given or call.padded:
        return call.positions
    return call.slots


def packed_global(call):
    """Documents of one row keep counting."""
    if call.padded or not bool((call.positions[:, 1:] == 0).any()):
        return call.positions
    return call.slots


def offset_lost(call):
    """The two reserved rows of a learned table are forgotten while decoding."""
    return call.positions - 2 if call.past else call.positions


def ring_index(window):
    """Behind a full window the slot of the ring is taken for the position."""

    def wrong(call):
        return call.positions % window if call.past else call.positions

    return wrong


def clamped(rows):
    """A table of so many rows, whose last serves all positions behind it."""
    return lambda call: call.positions.clamp(max=rows - 1)


def clamped_on_a_cache(rows):
    """The same, of a table that only passes on a cache read."""
    return lambda call: call.positions.clamp(max=rows - 1) if call.past else call.positions


def by_shape(call):
    """The tables of the pass before serve every pass of its shape; passes on a cache make their own."""
    return call.positions if call.past or call.before is None else call.before


def wrapped(rows):
    """A table of so many rows, read again from its start."""
    return lambda call: call.positions % rows


def _counted(call):
    return torch.arange(call.tokens).expand_as(call.positions)
