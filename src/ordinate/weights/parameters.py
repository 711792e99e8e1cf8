"""The parameters of one projection: which are cut by its rows, which stay, and which packed ones are refused."""

import math
import re
from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np

from ordinate.errors import InputError, got
from ordinate.weights.cuts import Turning


class Tensor(Protocol):
    """What is known of a tensor without reading it."""

    @property
    def dtype(self) -> str: ...

    @property
    def shape(self) -> tuple[int, ...]: ...


# One row of the first axis for each row of the projection.
_ROWS = frozenset(
    {"weight", "bias", "lora_B.weight", "lora_B.bias", "lora_magnitude_vector", "lora_magnitude_vector.weight", "SCB"}
    | {"weight_packed"}
)
# One number for all, for each row, or for each block of rows.
_SCALES = frozenset({"weight_scale", "weight_scale_inv", "weight_scales", "weight_zero_point"})
# Of the input's channels, or of the whole tensor.
_STAYS = frozenset(
    {"lora_A.weight", "input_scale", "input_global_scale", "weight_global_scale", "weight_scale_2", "pre_quant_scale"}
    | {"weight_shape", "weight_g_idx", "weight_format", "input_zero_point"}
)
_SINGLE = frozenset({"output_scale", "k_scale", "q_scale", "v_scale"})
_FLOATS = frozenset({"F64", "F32", "F16", "BF16", "F8_E4M3", "F8_E5M2", "F8_E4M3FNUZ", "F8_E5M2FNUZ"})
_REFUSED = (
    (r"qweight|qzeros|scales|g_idx|B_scale", "GPTQ and AWQ pack several rows of a projection into one integer"),
    (
        r"weight\.(absmax|quant_map|nested_|quant_state).*|absmax|quant_map|quant_state.*|nested_.*",
        "bitsandbytes' 4-bit blocks run across rows",
    ),
    (r"lora_embedding_.*|ia3_l|hada_.*|lokr_.*|oft_.*|vera_.*", "of adapters, only LoRA and DoRA are converted"),
)


def turning_parameters(
    what: str, module: Mapping[str, Tensor], turning: Turning, block_rows: int | None
) -> dict[str, Turning]:
    """Which parameters of a projection move with its rows.

    Args:
        what: the projection's name, for messages
        module: its parameters by name
        turning: its rows that turn
        block_rows: rows of a block that shares a scale, where the configuration says

    Returns:
        the rows that turn, by the name of each parameter that moves

    Raises:
        InputError: a parameter that is not known, or whose format does not keep rows apart
    """
    moved = {}
    names = {
        name: re.sub(r"^(lora_[AB]|lora_magnitude_vector)\.\w+\.(weight|bias)$", r"\1.\2", name) for name in module
    }
    for name, word in names.items():
        for pattern, reason in _REFUSED:
            if re.fullmatch(pattern, word):
                raise InputError(f"{what}.{name} cannot be converted: {reason}; convert the unquantised model")
    for name, word in names.items():
        tensor = module[name]
        label = f"{what}.{name}"
        if word in _SCALES:
            if math.prod(tensor.shape) == 1 or _blocks_stay(label, tensor, turning, block_rows):
                continue
            moved[name] = turning
        elif word in _ROWS:
            if word == "weight":
                _check_type(label, tensor, set(names.values()))
            if not tensor.shape or tensor.shape[0] != turning.rows:
                raise InputError(f"{label} must have {turning.rows} rows, got shape {got(list(tensor.shape))}")
            moved[name] = turning
        elif word not in _STAYS and not (word in _SINGLE and math.prod(tensor.shape) == 1):
            raise InputError(f"{label} belongs to q or k, and how it follows the rows is not known")
    return moved


def _check_type(label: str, tensor: Tensor, words: set[str]) -> None:
    if tensor.dtype in _FLOATS:
        return
    # Packed along the input, each row by itself, where there is a scale of the rows beside it.
    if not words & (_SCALES | {"SCB"}) or tensor.dtype not in ("I8", "U8", "F4", "F6_E2M3", "F6_E3M2"):
        raise InputError(f"{label} is stored as {tensor.dtype} in a packing that is not known: its rows are not moved")


def _blocks_stay(label: str, tensor: Tensor, turning: Turning, block_rows: int | None) -> bool:
    """Whether a scale of blocks of rows stays what it is, because no row leaves its block; False for one of rows."""
    if tensor.shape and tensor.shape[0] == turning.rows:
        return False
    if block_rows is None or not tensor.shape or tensor.shape[0] != -(-turning.rows // block_rows):
        raise InputError(
            f"{label} must be one number, one a row ({turning.rows}) or one a block of rows of a size that "
            f"quantization_config states, got shape {got(list(tensor.shape))}"
        )
    blocks = turning.starts // block_rows
    if np.any(blocks != (turning.starts + turning.width - 1) // block_rows):
        raise InputError(
            f"{label} has a scale for each {block_rows} rows, and heads of {turning.width} turning rows reach across "
            "blocks: rows would leave their scale; convert the unquantised model"
        )
    return True


def block_rows(config: Mapping[str, Any]) -> int | None:
    """Rows of a block that shares a scale, or None where `quantization_config` does not say.

    Args:
        config: of the model
    """
    settings = config.get("quantization_config")
    if not isinstance(settings, Mapping):
        return None
    groups = settings.get("config_groups")
    schemes = (
        [group.get("weights") for group in groups.values() if isinstance(group, Mapping)]
        if isinstance(groups, Mapping)
        else []
    )
    sizes = [settings.get("weight_block_size")]
    sizes += [scheme.get("block_structure") for scheme in schemes if isinstance(scheme, Mapping)]
    for size in sizes:
        if isinstance(size, list) and len(size) == 2 and type(size[0]) is int and size[0] > 0:
            return size[0]
    return None
