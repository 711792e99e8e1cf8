"""A window stretched: a method chosen, its numbers worked out, and a complete model directory written."""

from ordinate.extend.extend import Extension, extend

__all__ = ["Extension", "extend"]
