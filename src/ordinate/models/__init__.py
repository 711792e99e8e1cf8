"""Named models: for each a file of data that says in which installed package its weights lie, or what configuration it
was published with. Nothing is downloaded.
"""

from ordinate.models.named import Model, about, find, names, path_of, verify
from ordinate.models.published import Published, published, published_names

__all__ = ["Model", "Published", "about", "find", "names", "path_of", "published", "published_names", "verify"]
