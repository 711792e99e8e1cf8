"""Weights on their way from one container to another: pairing of rotary channels, and how files are written."""
