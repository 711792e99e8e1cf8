"""Biases on the attention logits as a module."""

from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Integer
from torch import Tensor, nn

from ordinate.errors import InputError, got, non_negative_integer
from ordinate.schemes._integers import distances
from ordinate.schemes._libraries import distinct
from ordinate.schemes.base import Bias, DistanceBias
from ordinate.torch.checks import check_tensor
from ordinate.torch.learned import LearnedParameters


class PositionBias(nn.Module):
    """What a scheme of the bias kind adds to attention logits: ALiBi, T5, FIRE, Shaw, or a new one.

    What the scheme learns are parameters under `learned`, in a state dict "learned.<name>". A fixed bias is float32
    whatever the module is cast to, and is in no state dict.

    Args:
        scheme: a bias scheme
        seed: what the initial values are drawn from
        device, dtype: of the parameters

    Raises:
        InputError: a scheme of another kind
    """

    def __init__(
        self,
        scheme: Bias,
        *,
        seed: int = 0,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        if not isinstance(scheme, Bias):
            raise InputError(f"scheme must be a bias, got {got(scheme)}")
        self.scheme = scheme
        self.learned = LearnedParameters(scheme, seed, device, dtype)

    def reset_parameters(self) -> None:
        """Set the parameters to their initial values again, after `to_empty` say."""
        self.learned.reset_parameters()

    def forward(
        self,
        query_positions: Integer[Tensor, "... query"],
        key_positions: Integer[Tensor, "... key"],
        *,
        q: Float[Tensor, "... query heads head_dim"] | None = None,
        k: Float[Tensor, "... key heads head_dim"] | None = None,
    ) -> Float[Tensor, "... heads query key"]:
        """The bias of each logit; masking is the caller's.

        Args:
            query_positions, key_positions: [query] and [key], or [batch, query] and [batch, key], int32 or int64,
                [token]
            q, k: [batch, query, heads, head_dim] and [batch, key, heads, head_dim], for schemes that need content

        Returns:
            [heads, query, key], or [batch, heads, query, key] where positions or content have a batch; [logit];
            float32, or the dtype of what it is computed from where that is wider

        Raises:
            InputError: shapes that do not fit; q and k missing, or given to a scheme without use for them
        """
        check_tensor("query_positions", query_positions)
        check_tensor("key_positions", key_positions)
        if query_positions.ndim == key_positions.ndim == 1:
            return self._one(query_positions, key_positions, q, k)
        if not query_positions.ndim == key_positions.ndim == 2 or len(query_positions) != len(key_positions):
            raise InputError(
                "query_positions and key_positions must be [query] and [key], or [batch, query] and [batch, key], "
                f"got {list(query_positions.shape)} and {list(key_positions.shape)}"
            )
        batch = len(query_positions)
        for name, x in (("q", q), ("k", k)):
            if x is not None and (x.ndim != 4 or len(x) != batch):
                raise InputError(f"{name} must have shape [{batch}, tokens, heads, head_dim], got {list(x.shape)}")
        if batch == 0:
            shape = (0, self.scheme.heads, query_positions.shape[1], key_positions.shape[1])
            return torch.zeros(shape, device=query_positions.device)
        rows = [
            self._one(
                query_positions[row],
                key_positions[row],
                None if q is None else q[row],
                None if k is None else k[row],
            )
            for row in range(batch)
        ]
        return torch.stack(rows)

    def attend_arguments(self, reach: int | None = None) -> dict[str, Any]:
        """What `ordinate.ops.attend` takes in place of a bias of queries times keys.

        Args:
            reach: for a bias by distance, as a table up to this distance that stands for all beyond, which a graph
                that is exported can hold; None for the scheme itself, which is exact at every distance, [token]

        Returns:
            `scheme` and `learned`, or `by_distance` and `reach`

        Raises:
            InputError: a reach for a scheme that is no function of distance
        """
        if reach is None:
            return {"scheme": self.scheme, "learned": self.learned.as_mapping() if len(self.learned) else None}
        if not isinstance(self.scheme, DistanceBias):
            raise InputError(f"reach must be None: {self.scheme} is no function of distance, got {reach}")
        reach = non_negative_integer("reach", reach)
        device = next((value.device for value in self.learned.parameters()), torch.device("cpu"))
        with torch.autocast(device.type, enabled=False):
            # Key minus query goes from -reach to reach, and a scheme's distance is query minus key.
            distance = np.arange(reach, -reach - 1, -1)
            made = self.scheme.by_distance(distance, **self._parameters_of_scheme())
        if not isinstance(made, Tensor):
            # From a list it is a constant of the graph that is traced.
            made = torch.tensor(made.astype(np.float32).tolist(), device=device)
        return {"by_distance": made.float(), "reach": reach}

    def _one(self, query_positions: Tensor, key_positions: Tensor, q: Tensor | None, k: Tensor | None) -> Tensor:
        # Autocast would compute the formulas of learned and content schemes in half precision.
        with torch.autocast(query_positions.device.type, enabled=False):
            return self._computed(query_positions, key_positions, q, k)

    def _computed(self, query_positions: Tensor, key_positions: Tensor, q: Tensor | None, k: Tensor | None) -> Tensor:
        query, key = query_positions.cpu().numpy(), key_positions.cpu().numpy()
        device = query_positions.device
        if not isinstance(self.scheme, DistanceBias):
            bias = self.scheme.bias(query, key, q=q, k=k, **self._parameters_of_scheme())
            return self._made(bias).to(device)
        # A number for each distance that occurs, then a look-up: a token pair costs no formula.
        self.scheme.check_content(q, k)
        values, index = distinct(distances(query, key))
        table = self._made(self.scheme.by_distance(values, **self._parameters_of_scheme()))
        return table.to(device)[:, torch.from_numpy(index).to(device)]

    def _parameters_of_scheme(self) -> dict[str, Any]:
        """What is learned, in PyTorch; for a bias of positions alone nothing, in NumPy."""
        fixed = not len(self.learned) and self.scheme.needs != "content"
        return {} if fixed else {"learned": self.learned.as_mapping(), "xp": torch}

    def _made(self, bias: Any) -> Tensor:
        """What is fixed becomes float32; what is learned keeps the dtype it was computed in."""
        return bias if isinstance(bias, Tensor) else torch.from_numpy(bias).to(torch.float32)

    def extra_repr(self) -> str:
        """What `print(module)` says."""
        return repr(self.scheme)
