"""Named models: for each a file of data that says in which installed package its weights lie. Nothing is downloaded."""

from ordinate.models.named import Model, about, find, names, verify

__all__ = ["Model", "about", "find", "names", "verify"]
