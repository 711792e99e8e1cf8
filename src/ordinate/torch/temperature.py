"""Query temperature as a module."""

import torch
from jaxtyping import Float, Integer
from torch import Tensor, nn

from ordinate import temperature
from ordinate.errors import InputError, got
from ordinate.spec import LayerGroup
from ordinate.torch.checks import check_tensor


class QueryTemperature(nn.Module):
    """Scale each query by its position, as Llama 4 and Ministral 3 do.

    Args:
        given: an `ordinate.temperature.QueryTemperature`, or a group of layers that has one

    Raises:
        InputError: the group has none
    """

    def __init__(self, given: temperature.QueryTemperature | LayerGroup) -> None:
        super().__init__()
        found = given.temperature if isinstance(given, LayerGroup) else given
        if not isinstance(found, temperature.QueryTemperature):
            raise InputError(f"a query temperature, or a group with one, is needed, got {got(given)}")
        self.temperature = found

    def forward(
        self, q: Float[Tensor, "*lead tokens heads head_dim"], positions: Integer[Tensor, "... tokens"] | None = None
    ) -> Float[Tensor, "*lead tokens heads head_dim"]:
        """Multiply queries by their factors.

        Args:
            q: [batch, tokens, heads, head_dim] or [tokens, heads, head_dim]
            positions: [tokens] or [batch, tokens], int32 or int64, [token]; None for 0 to tokens - 1

        Returns:
            as `q`: multiplied in float32, or float64 where it is, and rounded once to its dtype
        """
        if positions is None:
            positions = torch.arange(q.shape[-3], device=q.device)
        check_tensor("positions", positions)
        lead = tuple(q.shape[:-2])
        if tuple(positions.shape) not in (lead[-1:], lead):
            raise InputError(
                f"positions must have one entry a token, {list(lead[-1:])} or {list(lead)}, got {list(positions.shape)}"
            )
        factors = torch.from_numpy(self.temperature.factors(positions.reshape(-1).cpu().numpy()))
        wide = torch.promote_types(q.dtype, torch.float32)
        factors = factors.to(device=q.device, dtype=wide).view(*positions.shape, 1, 1)
        return (q.to(wide) * factors).to(q.dtype)

    def extra_repr(self) -> str:
        """What `print(module)` says."""
        return repr(self.temperature)
