"""A spec for people and programs: as text, as a JSON object, and as a picture."""

from ordinate.describe.dictionary import to_dict
from ordinate.describe.picture import to_svg
from ordinate.describe.text import to_text

__all__ = ["to_dict", "to_svg", "to_text"]
