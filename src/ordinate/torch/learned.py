"""What a scheme learns, as parameters of a module."""

import torch
from torch import nn

from ordinate.schemes.base import Scheme


class LearnedParameters(nn.Module):
    """The parameters that a scheme declares, by its own names; none for a fixed scheme.

    Args:
        scheme: of any kind
        seed: what the initial values are drawn from
        device, dtype: where and what they are; torch's defaults where not given
    """

    def __init__(
        self, scheme: Scheme, seed: int, device: torch.device | str | None = None, dtype: torch.dtype | None = None
    ) -> None:
        super().__init__()
        self._scheme = scheme
        self._seed = seed
        for name, value in scheme.initial(seed).items():
            start = torch.as_tensor(value, device=device, dtype=dtype or torch.get_default_dtype())
            self.register_parameter(name, nn.Parameter(start))

    def __getitem__(self, name: str) -> nn.Parameter:
        return self.get_parameter(name)

    def __len__(self) -> int:
        return len(self._parameters)

    def as_mapping(self) -> dict[str, nn.Parameter]:
        """What the scheme takes as `learned`."""
        return dict(self.named_parameters())

    @torch.no_grad()
    def reset_parameters(self) -> None:
        """Set the parameters to their initial values again, after `to_empty` say."""
        for name, value in self._scheme.initial(self._seed).items():
            self[name].copy_(torch.from_numpy(value))
