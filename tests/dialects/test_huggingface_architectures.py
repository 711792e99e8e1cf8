"""The table by model type: that it is whole, and says what its makers' notes say."""

import contextlib
import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

from ordinate.dialects import huggingface
from ordinate.errors import InputError
from ordinate.schemes.base import Rotary

BY_HAND = Path(__file__).parents[2] / "tools" / "architectures_by_hand.py"
WORDS = {"half", "interleaved", "interleaved-in-half-out", "unknown"}


def by_hand() -> ModuleType:
    spec = importlib.util.spec_from_file_location("architectures_by_hand", BY_HAND)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_entry_can_be_read_and_names_its_pairing() -> None:
    rotating = 0
    for model_type in huggingface.model_types():
        known = huggingface.architecture(model_type)
        assert known is not None
        if known.theta is None:
            assert known.pairing is None or isinstance(known.pairing, str)
            continue
        rotating += 1
        pairing = known.pairing
        words = {pairing} if isinstance(pairing, str) or pairing is None else {pairing.true, pairing.false}
        assert words <= WORDS, model_type
    assert rotating >= 240


def test_what_is_known_by_hand_stands_in_the_table() -> None:
    for model_types, facts in by_hand().BY_HAND:
        for model_type in model_types.split() or [""]:
            known = huggingface.architecture(model_type)
            assert known is not None
            for key, value in facts.items():
                stands = getattr(known, key)
                assert stands == value, f"run tools/make_architectures.py: {model_type} {key}"


def test_architectures_without_key_value_heads_of_their_own_number_have_no_word_of_them_in_their_code() -> None:
    from transformers.models.auto.configuration_auto import model_type_to_module_name

    from ordinate.plan.known import decoders

    package = importlib.util.find_spec("transformers")
    assert package is not None
    assert package.origin is not None
    word = re.compile("num_key_value_heads|num_kv_heads|kv_n_heads|multi_query")
    ungrouped = set()
    for model_type in decoders():
        folder = Path(package.origin).parent / "models" / model_type_to_module_name(model_type)
        code = [file.read_text(encoding="utf-8") for file in folder.glob("modeling_*.py")]
        if code and not word.search("".join(code)):
            ungrouped.add(model_type)
    known = {model_type for model_type in decoders() if getattr(huggingface.architecture(model_type), "grouped", True)}
    # MPT's published code, unlike transformers', has attn_config.kv_n_heads.
    assert ungrouped - {"mpt"} == {model_type for model_type in decoders() if model_type not in known}


def test_a_composite_points_to_a_language_model_that_stands_in_the_table() -> None:
    for model_type in huggingface.model_types():
        known = huggingface.architecture(model_type)
        assert known is not None
        if known.text is not None and known.text[1]:
            assert huggingface.architecture(known.text[1]) is not None, model_type


def test_an_unknown_model_type_has_no_entry() -> None:
    assert huggingface.architecture("no-such-model") is None


@pytest.mark.parametrize("model_type", huggingface.model_types())
def test_a_bare_model_type_is_its_default_or_one_line(model_type: str) -> None:
    known = huggingface.architecture(model_type)
    assert known is not None
    covered = known.theta is not None or known.unrotated is not None
    # BLT is of four parts, and none has the name; the model without a name is known by its keys.
    if not covered or model_type in ("blt", ""):
        with contextlib.suppress(InputError):
            huggingface.read({"model_type": model_type}, name="bare")
        return
    spec = huggingface.read({"model_type": model_type}, name="bare")
    assert spec.architecture == model_type
    if known.theta is not None and known.rotates is None:
        assert all(isinstance(group.encoding, Rotary) for group in spec.groups.values() if group.scheme != "none")
