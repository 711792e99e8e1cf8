"""What weights take: from the headers of files where there are any, else from the shapes in a configuration."""

from ordinate.plan.weights.part import Part, Parts, rank_bytes
from ordinate.plan.weights.shapes import shaped
from ordinate.plan.weights.stored import stored

__all__ = ["Part", "Parts", "rank_bytes", "shaped", "stored"]
