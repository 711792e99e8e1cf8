"""Python files that are written into an export as they are: they need Python alone, not Ordinate."""
