"""A cache is filled under `torch.inference_mode` and gone on with outside, and the other way round."""

from contextlib import nullcontext

import pytest
import torch

from ordinate.caches import Cache, Dense, Paged, Ring
from ordinate.errors import InputError
from ordinate.schemes.rope import Rope

_ROPE = Rope(head_dim=8)
_LAYOUTS = {"dense": Dense(capacity=2), "paged": Paged(pages=40, page_size=2), "ring": Ring(window=6, keep_first=1)}


def _life(mode, layout, keys, storage):
    """What attention gives after each operation; `mode` is entered for each step in turn."""
    drawn = torch.Generator().manual_seed(0)

    def new(rows, tokens):
        return (torch.randn(rows, tokens, 1, 8, generator=drawn) for _ in range(3))

    steps, modes = [], iter(mode)
    with next(modes):
        cache = Cache(_ROPE, batch=2, layout=layout, keys=keys, storage=storage)
    operations = (
        lambda cache: cache,
        lambda cache: cache.rewind(1),
        lambda cache: cache.shift(2, 1),
        lambda cache: cache.rebase(Rope(head_dim=8, base=77.0)),
        lambda cache: cache.reorder([1, 0]),
        lambda cache: cache.fork(),
        lambda cache: cache.clear([0]),
        lambda cache: cache.evict(1, 2, "renumbered"),
        lambda cache: cache.crop([0, 2]),
    )
    for operation in operations:
        with next(modes):
            made = operation(cache)
            cache = made if isinstance(made, Cache) else cache
        q, k, v = new(2, 3)
        with next(modes):
            cache.append(k, v)
        with next(modes):
            steps.append(cache.attend(q))
    return steps


@pytest.mark.parametrize("storage", ["float32", "int8"])
@pytest.mark.parametrize("keys", ["rotated", "unrotated"])
@pytest.mark.parametrize("layout", _LAYOUTS)
def test_every_operation_goes_on_with_what_another_mode_left(layout, keys, storage):
    plain = _life([nullcontext()] * 40, _LAYOUTS[layout], keys, storage)
    for period in (1, 2, 3):
        modes = [torch.inference_mode() if (step // period) % 2 == 0 else nullcontext() for step in range(40)]
        mixed = _life(modes, _LAYOUTS[layout], keys, storage)
        assert all(torch.equal(a, b) for a, b in zip(plain, mixed, strict=True))


def test_attention_outside_has_gradients_for_queries_of_a_cache_filled_inside():
    cache = Cache(_ROPE)
    with torch.inference_mode():
        cache.append(torch.ones(1, 3, 1, 8), torch.ones(1, 3, 1, 8))
        cache.attend(torch.ones(1, 3, 1, 8))
    q = torch.ones(1, 3, 1, 8, requires_grad=True)
    cache.attend(q).sum().backward()
    assert q.grad is not None


def test_keys_that_require_a_gradient_are_refused_all_the_same():
    with pytest.raises(InputError, match="keeps no gradient"):
        Cache(_ROPE).append(torch.ones(1, 3, 1, 8, requires_grad=True), torch.ones(1, 3, 1, 8))


def test_sparse_keys_are_refused():
    with pytest.raises(InputError, match="sparse"):
        Cache(_ROPE).append(torch.ones(1, 3, 1, 8).to_sparse(), torch.ones(1, 3, 1, 8))
