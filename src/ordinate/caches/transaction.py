"""Operations that are done whole or not at all."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import fields

from ordinate.caches.state import State


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

    with ExitStack() as undo:
        undo.callback(restore)
        yield
        undo.pop_all()
