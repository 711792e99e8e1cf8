"""Tables and biases in the forms of other libraries, and back: shapes change, formulas do not."""

from ordinate.ops.adapters.biases import alibi_slopes, by_distance_score_mod, scheme_score_mod, slopes_score_mod
from ordinate.ops.adapters.rotary import (
    apply_rotary_pos_emb,
    from_angles,
    from_complex,
    from_duplicated,
    from_packed,
    to_angles,
    to_complex,
    to_duplicated,
    to_packed,
)

__all__ = [
    "alibi_slopes",
    "apply_rotary_pos_emb",
    "by_distance_score_mod",
    "from_angles",
    "from_complex",
    "from_duplicated",
    "from_packed",
    "scheme_score_mod",
    "slopes_score_mod",
    "to_angles",
    "to_complex",
    "to_duplicated",
    "to_packed",
]
