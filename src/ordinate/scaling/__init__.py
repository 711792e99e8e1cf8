"""How trained rotary frequencies are stretched to a longer window: one method, one file."""
