"""Additive position encodings as a module."""

import numpy as np
import torch
from jaxtyping import Float, Integer
from torch import Tensor

from ordinate.errors import InputError, got
from ordinate.schemes.base import Additive
from ordinate.torch.checks import check_tensor
from ordinate.torch.kept import KeepsRows
from ordinate.torch.learned import LearnedParameters


class AdditiveEncoding(KeepsRows):
    """Put position into embeddings by a scheme of the additive kind: sinusoidal, learned, or a new one.

    What the scheme learns are parameters under `learned` ("learned.table" in a state dict) and take the module's
    dtype; a fixed table is float32 whatever the module is cast to, is computed from the scheme, and is in no
    state dict.

    Args:
        scheme: an additive scheme
        seed: what the initial values are drawn from
        held: how many positions of a fixed table may be kept between calls, 4 * dim bytes each
        device, dtype: of the parameters

    Raises:
        InputError: a scheme of another kind
    """

    def __init__(
        self,
        scheme: Additive,
        *,
        seed: int = 0,
        held: int = 8192,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(held)
        if not isinstance(scheme, Additive):
            raise InputError(f"scheme must be an additive one, got {got(scheme)}")
        self.scheme = scheme
        self.learned = LearnedParameters(scheme, seed, device, dtype)

    def reset_parameters(self) -> None:
        """Set the parameters to their initial values again, after `to_empty` say."""
        self.learned.reset_parameters()

    def forward(
        self,
        embeddings: Float[Tensor, "*batch tokens width"],
        positions: Integer[Tensor, "... tokens"] | None = None,
    ) -> Float[Tensor, "*batch tokens out"]:
        """Put position into embeddings.

        Args:
            embeddings: [batch, tokens, width] or [tokens, width]
            positions: [tokens] or [batch, tokens], int32 or int64, [token]; None for 0 to tokens - 1

        Returns:
            [..., tokens, width], or [..., tokens, width + dim] where the scheme concatenates; of the dtype and on
            the device of `embeddings`

        Raises:
            InputError: shapes that do not fit, or a position that the scheme does not define
        """
        lead = tuple(embeddings.shape[:-1])
        if positions is None:
            positions = torch.arange(embeddings.shape[-2], device=embeddings.device)
        if tuple(positions.shape) not in (lead[-1:], lead):
            raise InputError(
                f"positions must have one entry a token, {list(lead[-1:])} or {list(lead)}, got {list(positions.shape)}"
            )
        exact = embeddings.dtype == torch.float64
        return self.scheme.combined(embeddings, self.table(positions, torch.float64 if exact else None), torch)

    def table(
        self, positions: Integer[Tensor, "*places"], dtype: torch.dtype | None = None
    ) -> Float[Tensor, "*places dim"]:
        """The encoding of each token.

        Args:
            positions: [...], int32 or int64, [token]
            dtype: torch.float64 for a fixed table in float64; None for float32. What is learned keeps its dtype

        Returns:
            [..., dim], on the device of `positions`
        """
        check_tensor("positions", positions)
        if dtype not in (None, torch.float32, torch.float64):
            raise InputError(f"dtype must be float32 or float64, got {dtype}")
        if not len(self.learned) and dtype != torch.float64 and (rows := self._kept(positions)) is not None:
            return rows[0][positions]
        flat = positions.reshape(-1).cpu().numpy()
        if len(self.learned):
            table = self.scheme.table(flat, self.learned.as_mapping(), torch)
        else:
            table = torch.from_numpy(self.scheme.table(flat)).to(dtype or torch.float32)
        return table.to(positions.device).reshape(*positions.shape, table.shape[-1])

    def _compute(self, positions: np.ndarray) -> tuple[Tensor, ...]:
        return (torch.from_numpy(self.scheme.table(positions).astype(np.float32)),)

    def extra_repr(self) -> str:
        """What `print(module)` says."""
        return repr(self.scheme)
