"""No positional encoding at all (NoPE)."""

from dataclasses import dataclass
from typing import ClassVar, Self

from ordinate.schemes.base import Facts, Scheme


@dataclass(frozen=True)
class NoPosition(Scheme):
    """Leave embeddings, q, k and logits as they are: what order there is, the causal mask gives.

    logits = softmax_scale * q k

    Without a mask attention cannot tell orders apart: its output is permuted with its input. Under a causal mask
    one layer's last row still does not change when the prefix is permuted, two layers' does.

    Source: Haviv et al. 2022, arXiv:2203.16634; Kazemnejad et al. 2023, arXiv:2305.19466. Layers without position
    among rotary ones: Llama 4, SmolLM3.
    Differs from the paper: nothing.

    >>> NoPosition().cost(4096).operations
    0
    """

    name: ClassVar[str] = "none"
    kind = "none"
    facts: ClassVar[Facts] = Facts(
        adds="nothing",
        enters="nowhere; the causal mask alone tells tokens apart",
        learned="nothing",
        beyond="defined everywhere; attention spreads thinner as the text grows",
        source="Haviv et al. 2022, arXiv:2203.16634",
    )
    traits: ClassVar[frozenset[str]] = frozenset({"shift_invariant"})

    @classmethod
    def example(cls) -> Self:
        return cls()

    def _table_bytes(self, tokens: int) -> int:
        del tokens
        return 0

    def _operations(self, tokens: int) -> int:
        del tokens
        return 0
