"""How the sentences of each task are understood: written from their meaning, not from the code that makes them."""
