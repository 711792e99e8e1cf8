"""The same model in another engine's words, with what is lost, and a proof."""

from ordinate.translate.comparison import Row, compare
from ordinate.translate.dictionary import comparison_to_dict, difference_to_dict, translation_to_dict
from ordinate.translate.difference_text import difference_to_text
from ordinate.translate.engines import engine, engines
from ordinate.translate.proof import GroupProof, prove
from ordinate.translate.text import comparison_to_text, translation_to_text
from ordinate.translate.translation import Translation, translate

__all__ = [
    "GroupProof",
    "Row",
    "Translation",
    "compare",
    "comparison_to_dict",
    "comparison_to_text",
    "difference_to_dict",
    "difference_to_text",
    "engine",
    "engines",
    "prove",
    "translate",
    "translation_to_dict",
    "translation_to_text",
]
