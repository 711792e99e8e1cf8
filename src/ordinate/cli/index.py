"""The commands and their one-line helps. Written by `make docs`; a test holds it to the commands."""

COMMANDS = {
    "backends": "Say which backends are here, with their instruction sets and threads, and what the absent ones need.",
    "bench": "Time rotate and attend on this machine against the limit of memory, PyTorch and transformers.",
    "describe": "Say what a model does with position.",
    "extend": "Stretch a model's window and write the result as a complete model directory.",
    "list": "List the positional schemes, scaling methods or named models.",
    "prove": "Run a model and its extended copy side by side and report what the window is worth.",
}
