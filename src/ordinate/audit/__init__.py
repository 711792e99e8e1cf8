"""Is position handled as a model's files say? What answers runs the model."""

from ordinate.audit.pairing import Detection, detect

__all__ = ["Detection", "detect"]
