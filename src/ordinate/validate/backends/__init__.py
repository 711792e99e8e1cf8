"""What answers prompts: models in this process, servers, and readers without a model. A backend a file."""

from ordinate.validate.backends.base import Backend, Losses, Refusal, Reply
from ordinate.validate.backends.selection import open_backend, read_tokenizer

__all__ = ["Backend", "Losses", "Refusal", "Reply", "open_backend", "read_tokenizer"]
