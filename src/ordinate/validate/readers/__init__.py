"""Readers that answer without a model, so that the suite can be tested: some can read, some only seem to."""

from ordinate.validate.readers.base import Reader
from ordinate.validate.readers.noisy import Noisy
from ordinate.validate.readers.oracle import Oracle
from ordinate.validate.readers.partial import LostInTheMiddle, Window
from ordinate.validate.readers.retrieval import RetrievalOnly

__all__ = ["LostInTheMiddle", "Noisy", "Oracle", "Reader", "RetrievalOnly", "Window"]
