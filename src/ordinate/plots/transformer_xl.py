"""The four terms of Transformer-XL's attention over distance."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ordinate.describe.words import counted, figures
from ordinate.errors import InputError, positive_integer
from ordinate.plots import _canvas, _sources
from ordinate.plots.base import Facts, check_size
from ordinate.schemes.transformer_xl import TransformerXL

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FACTS = Facts(
    "the four terms of Transformer-XL over distance", "transformer_xl:heads=2,head_dim=16, or a model that has it"
)


def transformer_xl(
    scheme: TransformerXL,
    q: np.ndarray | None = None,
    k: np.ndarray | None = None,
    learned: Mapping[str, np.ndarray] | None = None,
    reach: int = 256,
    head: int = 0,
    *,
    seed: int = 0,
    ax: "Axes | None" = None,
) -> "Figure":
    """Draw the terms of one query and one key at distances 0 to reach.

    content = scale q k; position = scale q r[n]; key alone = scale u k; distance alone = scale v r[n]

    Args:
        scheme: its heads and numbers
        q, k: [heads, head_dim]; drawn from the seed, of variance 1, where not given
        learned: u, v and the projection; starting values drawn from the seed where not given
        reach: the largest distance, [token]
        head: which
        seed: of what is drawn
        ax: where to draw; a new figure where not given

    Raises:
        InputError: a head that is not there, or shapes that do not fit
    """
    if not 0 <= head < scheme.heads:
        raise InputError(f"a head must be from 0 to {scheme.heads - 1}, got {head}")
    shape, generator = (scheme.heads, scheme.head_dim), np.random.default_rng(seed)
    q, k = (generator.standard_normal(shape) if one is None else np.asarray(one, dtype=np.float64) for one in (q, k))
    values = scheme.initial(seed) if learned is None else dict(learned)
    check_size(positive_integer("reach", reach) + 1, scheme.heads)
    distance = np.arange(reach + 1)
    terms = _terms(scheme, q, k, values, distance, head)
    ax = _canvas.axes(ax, height=3.8)
    for index, (name, term) in enumerate(terms.items()):
        ax.plot(distance, term, label=name, linewidth=1.4, **_canvas.look(index))
    _canvas.grid(ax)
    ax.set_xlabel("distance of query and key [token]")
    ax.set_ylabel("part of the score [logit]")
    _canvas.beside(ax, "")
    spread = {name: float(np.ptp(term)) for name, term in terms.items()}
    moving = ", ".join(f"{name} by {figures(value, 2)}" for name, value in spread.items() if value > 1e-12)
    words = (
        f"Of the four terms of one query and key, two change with distance ({moving} logits over "
        f"{counted(reach, 'token')}), the two products of content alone do not."
    )
    return _canvas.finished(ax, f"Transformer-XL's terms, head {head}", words)


def _terms(
    scheme: TransformerXL,
    q: np.ndarray,
    k: np.ndarray,
    learned: Mapping[str, np.ndarray],
    distance: np.ndarray,
    head: int,
) -> dict[str, np.ndarray]:
    """Each term by leaving the others out of what the scheme computes."""
    none, reach = np.zeros_like(q), int(distance[-1])

    def bias(query: np.ndarray, key: np.ndarray, **changed: np.ndarray) -> np.ndarray:
        tiled = np.broadcast_to(key, (len(distance), *key.shape))
        found = scheme.bias([reach], reach - distance, q=query[None], k=tiled, learned={**learned, **changed})
        return found[head, 0]

    content = scheme.softmax_scale * float(q[head] @ k[head])
    return {
        "q k: content": np.full(len(distance), content),
        "q r: position": bias(q, none, v=none),
        "u k: key alone": bias(none, k, v=none),
        "v r: distance alone": bias(none, none),
    }


def from_sources(
    sources: Sequence[str],
    *,
    group: str | None = None,
    tokens: int = 256,
    seed: int = 0,
    ax: "Axes | None" = None,
) -> "Figure":
    return transformer_xl(_sources.scheme(sources[0], TransformerXL, group), reach=tokens, seed=seed, ax=ax)
