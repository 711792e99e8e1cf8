"""What a position means to a model: one formula, one file, in NumPy float64."""
