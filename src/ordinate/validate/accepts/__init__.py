"""Level 1: is a prompt of exactly N tokens taken whole, refused, or cut in silence?"""

from ordinate.validate.accepts.accepts import accepts
from ordinate.validate.accepts.lengths import edges
from ordinate.validate.accepts.reading import Outcome, Reading

__all__ = ["Outcome", "Reading", "accepts", "edges"]
