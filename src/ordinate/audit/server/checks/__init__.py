"""Checks of a running server, one a file; a new file is asked on arrival."""
