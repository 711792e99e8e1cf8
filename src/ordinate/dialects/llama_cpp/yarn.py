"""YaRN in a GGUF file: what its keys mean, where they are unclear, and what llama.cpp leaves aside."""

from dataclasses import replace

from ordinate.dialects.llama_cpp.architectures import Architecture
from ordinate.dialects.llama_cpp.keys import Keys
from ordinate.errors import InputError, positive
from ordinate.scaling.yarn import Yarn

# The architectures for which llama.cpp reads the ends of YaRN's ramp from the file; others have 32 and 1 there.
READS_BETAS = ("grok", "mistral3")
# What an absent yarn_beta_fast means in grok's files, and in all others.
GROK_FAST, FAST, SLOW = 8.0, 32.0, 1.0


def read_yarn(keys: Keys, known: Architecture, factor: float, original: int, attention: float) -> tuple[Yarn, str]:
    """Read YaRN's further keys.

    Args:
        keys: the file's metadata
        known: what its architecture implies
        factor: >= 1
        original: the length before stretching, [token]
        attention: `rope.scaling.attn_factor`, which multiplies the magnitude

    Returns:
        the method, and what is to be added to its source

    Raises:
        InputError: a value out of range, or a share of extrapolation other than 1
    """
    extrapolation = keys.number("rope.scaling.yarn_ext_factor")
    if extrapolation not in (None, 1):
        raise InputError(f"{keys.label('rope.scaling.yarn_ext_factor')} must be 1, got {extrapolation:g}")
    fast, slow = _betas(keys)
    mscale, mscale_all_dim = _mscale(keys, known)
    # gpt-oss was trained without rounding the ramp; its GGUF files have no key for that.
    rounded = keys.architecture != "gpt-oss"
    if not rounded:
        keys.warn(
            "gpt-oss was trained with YaRN's ramp not rounded to whole pairs (truncate false), which GGUF cannot say; "
            "llama.cpp rounds it, and some of its frequencies are up to 43 % off"
        )
    method = Yarn(
        factor,
        original,
        beta_fast=fast,
        beta_slow=slow,
        mscale=mscale,
        mscale_all_dim=mscale_all_dim,
        truncate=rounded,
    )
    given = _magnitude(keys, method, attention)
    method = replace(method, magnitude_factor=given)
    return method, "" if rounded else "; truncate false assumed, as in every gpt-oss release"


def _betas(keys: Keys) -> tuple[float, float]:
    fast, slow = keys.number("rope.scaling.yarn_beta_fast"), keys.number("rope.scaling.yarn_beta_slow")
    fast = (GROK_FAST if keys.architecture == "grok" else FAST) if fast is None else fast
    slow = SLOW if slow is None else slow
    if keys.architecture not in READS_BETAS and (fast, slow) != (FAST, SLOW):
        keys.warn(
            f"yarn_beta_fast {fast:g} and yarn_beta_slow {slow:g} are in the file, but llama.cpp takes {FAST:g} and "
            f"{SLOW:g} for architecture {keys.architecture}"
        )
    positive(keys.label("rope.scaling.yarn_beta_fast"), fast)
    return fast, positive(keys.label("rope.scaling.yarn_beta_slow"), slow)


def _mscale(keys: Keys, known: Architecture) -> tuple[float | None, float | None]:
    """Hugging Face's `mscale` and `mscale_all_dim`; of the two the file has the second, as a log multiplier."""
    log = keys.number("rope.scaling.yarn_log_multiplier")
    if not log:
        return None, None
    # Where it is a tenth, in DeepSeek's releases, the two are equal; elsewhere the first is 1.
    both = round(log * 10, 6)
    return (both, both) if known.tenth else (1.0, log)


def _magnitude(keys: Keys, method: Yarn, attention: float) -> float | None:
    """The magnitude that the file has instead of the computed one, or None."""
    name = "rope.scaling.yarn_attn_factor"
    fixed = keys.number(name)
    if fixed is not None:
        positive(keys.label(name), fixed)
        if keys.architecture == "grok":
            fixed *= method.attention_factor()
        else:
            keys.warn(
                f"yarn_attn_factor {fixed:g} is read as the whole magnitude (attention_factor in Hugging Face's "
                "configs); llama.cpp computes the magnitude itself and ignores it"
            )
        keys.sources["attention_factor"] = keys.full(name)
    if attention == 1:
        return fixed
    both = f" and {keys.full(name)}" if fixed is not None else ""
    keys.sources["attention_factor"] = keys.full("rope.scaling.attn_factor") + both
    return attention * (method.attention_factor() if fixed is None else fixed)
