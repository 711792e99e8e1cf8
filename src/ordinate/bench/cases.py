"""What can be timed wherever the package is installed, by name."""

from collections.abc import Sequence
from functools import partial
from importlib import import_module
from importlib.util import find_spec

from ordinate.bench.case import Case
from ordinate.errors import InputError


def _made(module: str, function: str, *given: object) -> Case:
    """PyTorch is imported when a case is made, not when it is named."""
    return getattr(import_module(f"ordinate.bench.{module}"), function)(*given)


BARRED = {("p128", "float32"), ("p128", "bfloat16"), ("p128", "float16"), ("p64", "bfloat16")}
"""The prompts that are measured against the limit of memory."""

CASES: dict[str, partial[Case]] = {}
for _dtype in ("float32", "bfloat16", "float16"):
    for _shape in ("p128", "p64"):
        for _pairing in ("half", "interleaved") if (_shape, _dtype) in BARRED else ():
            _name = f"rotate_limit_{_shape}_{_dtype}_{_pairing}"
            CASES[_name] = partial(_made, "rotate", "limit", _shape, _dtype, _pairing)
        CASES[f"rotate_transformers_{_shape}_{_dtype}"] = partial(
            _made, "rotate", "against_transformers", _shape, _dtype
        )
for _shape in ("d1", "d32"):
    CASES[f"rotate_decode_{_shape}"] = partial(_made, "rotate", "decode", _shape)
for _dtype in ("float32", "bfloat16"):
    for _kind, _sizes in (("prefill", (1024, 2048, 4096, 8192)), ("backward", (1024, 2048)), ("decode", (4096, 32768))):
        for _size in _sizes:
            CASES[f"attend_{_kind}_{_size}_{_dtype}"] = partial(_made, "attend", _kind, _size, _dtype)


def short() -> list[str]:
    """What is timed where nothing is asked for: it takes about a minute, and has transformers only where it is."""
    against = ["rotate_transformers_p128_bfloat16"] if find_spec("transformers") is not None else []
    return [
        "rotate_limit_p128_bfloat16_half",
        *against,
        "attend_prefill_2048_float32",
        "attend_prefill_2048_bfloat16",
        "attend_decode_4096_bfloat16",
    ]


def asked(names: Sequence[str], cases: Sequence[str]) -> list[str]:
    """The cases whose names begin with one of these, in their own order.

    Raises:
        InputError: a name that begins none

    >>> asked(["rotate_decode"], list(CASES))
    ['rotate_decode_d1', 'rotate_decode_d32']
    """
    for name in names:
        if not any(case.startswith(name) for case in cases):
            raise InputError(f"no benchmark begins with {name!r}: there are {', '.join(cases)}")
    return [case for case in cases if any(case.startswith(name) for name in names)]
