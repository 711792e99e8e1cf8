"""Operations that are done whole or not at all."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import fields

import torch

from ordinate.caches.state import State


@contextmanager
def ordinary_tensors() -> Iterator[None]:
    """New tensors are no inference tensors: a cache that is filled under `torch.inference_mode` is written outside."""
    grad = torch.is_grad_enabled()
    with torch.inference_mode(False), torch.set_grad_enabled(grad):
        yield


@contextmanager
def transaction(state: State) -> Iterator[None]:
    """What is raised inside leaves a state as it was: entries, positions, lengths and free pages.

    Tensors of integers are replaced, not written, until nothing can fail any more; so are keys and values, which
    `State.turn` and `writing.insert` make and check before they write the first of them.
    """
    saved = {field.name: getattr(state, field.name) for field in fields(state)}
    back = None if state.memory is None else state.memory.savepoint()

    pools = len(state.pool)

    def restore() -> None:
        del state.pool[pools:]
        for name, value in saved.items():
            setattr(state, name, value)
        if back is not None:
            back()

    with ordinary_tensors(), ExitStack() as undo:
        undo.callback(restore)
        yield
        undo.pop_all()
