"""Ways to use a model: what each gives, so that tests can see where a planted fault shows and where it does not."""

import copy

import torch

LONG, SHORT = 96, 71


def ids(rows=1, tokens=LONG, seed=1):
    return torch.randint(3, 97, (rows, tokens), generator=torch.Generator().manual_seed(seed))


def whole(model):
    return model(ids()).logits


def far(model):
    """Behind the rows of a table, where positions may be given."""
    rows = getattr(model.embed_positions, "num_embeddings", 0)
    start = rows - 2 - LONG if rows else 500
    return model(ids(2), position_ids=start + torch.arange(LONG)[None]).logits


def past_the_table(model):
    try:
        return model(ids(2), position_ids=500 + torch.arange(LONG)[None]).logits
    except IndexError:
        return torch.zeros(())


def steps(model, rows=2):
    return _fed(model, ids(rows), [SHORT] + [1] * (LONG - SHORT))


def chunks(model, rows=2):
    return _fed(model, ids(rows), [32, 40, 4, 20])


def padded(model):
    """A short row after a long one, both padded on the left, then both decoded."""
    rows = ids(3)
    mask = torch.ones_like(rows)
    mask[1, :9], mask[2, :17] = 0, 0
    real = mask.bool()[..., None]
    return _fed(model, rows, [80] + [1] * (LONG - 80), mask) * real


def gaps(model):
    mask = torch.ones(2, LONG, dtype=torch.int64)
    mask[1, 20:25], mask[0, 40:42] = 0, 0
    return model(ids(2), attention_mask=mask).logits * mask.bool()[..., None]


def cropped(model):
    text = ids(2)
    cache = model(text[:, :80], use_cache=True).cache
    cache.crop(-6)
    return model(text[:, 74:], cache=cache).logits


def reordered(model):
    cache = model(ids(3)[:, :80], use_cache=True).cache
    cache.reorder_cache(torch.tensor([2, 0, 1]))
    return model(ids(3)[:, 80:], cache=cache).logits


def shifted(model):
    cache = model(ids(2), use_cache=True).cache
    cache.shift(8)
    return model(ids(2, 4), cache=cache).logits


def packed(model):
    lengths = (70, 20, 6)
    positions = torch.cat([torch.arange(n) for n in lengths])[None]
    return model(ids(2), position_ids=positions.expand(2, -1)).logits


def permuted(model):
    """Every second token first: as the shards of two ranks stand one after the other."""
    order = torch.cat([torch.arange(0, LONG, 2), torch.arange(1, LONG, 2)])
    visible = (order[None, :] <= order[:, None])[None, None].expand(2, -1, -1, -1)
    return model(ids(2)[:, order], position_ids=order[None].expand(2, -1), attention_mask=visible).logits


def cast(model):
    return copy.deepcopy(model).to(torch.bfloat16).float()(ids()).logits


def from_meta(model):
    made = type(model)
    with torch.device("meta"):
        empty = made(model.config, model.fault, model.scope)
    empty = empty.to_empty(device="cpu").eval().to(model.dtype)
    for name, buffer in empty.named_buffers():
        buffer.fill_(0.5)
        assert "inv_freq" in name
    empty.load_state_dict(model.state_dict())
    return empty(ids()).logits


def autocast(model):
    with torch.autocast("cpu", torch.bfloat16):
        return model(ids()).logits


def after_a_longer_call(model):
    model = copy.deepcopy(model)
    model(ids(2, 2 * LONG))
    return model(ids(2)).logits


def after_the_same_shape(model):
    """Another text of the same shape in between, its tokens three positions apart."""
    model = copy.deepcopy(model)
    model(ids(2), position_ids=3 * torch.arange(LONG)[None], attention_mask=torch.ones(2, LONG, dtype=torch.int64))
    return model(ids(2)).logits


def far_steps(model):
    """Decoding at the last positions of a window of 512."""
    text, positions = ids(2), 512 - LONG + torch.arange(LONG)[None]
    out = model(text[:, :SHORT], position_ids=positions[:, :SHORT], use_cache=True)
    made = [out.logits]
    for place in range(SHORT, LONG):
        one = slice(place, place + 1)
        out = model(text[:, one], position_ids=positions[:, one], cache=out.cache, use_cache=True)
        made.append(out.logits)
    return torch.cat(made, 1)


def short_beside_long(model):
    mask = torch.ones(2, LONG, dtype=torch.int64)
    mask[1, :40] = 0
    return model(ids(2), attention_mask=mask).logits * mask.bool()[..., None]


WAYS = (
    whole,
    far,
    past_the_table,
    steps,
    chunks,
    padded,
    gaps,
    cropped,
    reordered,
    shifted,
    packed,
    permuted,
    cast,
    from_meta,
    autocast,
    after_a_longer_call,
    after_the_same_shape,
    far_steps,
    short_beside_long,
)


def _fed(model, text, lengths, mask=None):
    cache, made, start = None, [], 0
    for length in lengths:
        end = start + length
        seen = None if mask is None else mask[:, :end]
        out = model(text[:, start:end], attention_mask=seen, cache=cache, use_cache=True)
        made.append(out.logits)
        cache, start = out.cache, end
    return torch.cat(made, 1)
