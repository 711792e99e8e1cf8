"""The commands and their one-line helps. Written by `make docs`; a test holds it to the commands."""

COMMANDS = {
    "audit": "Compute the same in every way that must give the same result, and say where position is handled wrong.",
    "backends": "Say which backends are here, with their instruction sets and threads, and what the absent ones need.",
    "bench": "Time rotate and attend on this machine against the limit of memory, PyTorch and transformers.",
    "check": "Say what is wrong or risky in a model's positional settings.",
    "convert": "Rewrite q and k weights between pair layouts, or detect the layout they are in.",
    "describe": "Say what a model does with position.",
    "diff": "Compare two models, or what engines make of one, in frequencies, magnitude and angle; or two validations.",
    "export": "Write a suite as a folder for lm-evaluation-harness or inspect_ai: prompts, answers and a scorer.",
    "extend": "Stretch a model's window and write the result as a complete model directory.",
    "list": "List the positional schemes, scaling methods, named models or plots.",
    "merge": "Put the shards of a run together and judge them; doing it again changes nothing.",
    "plan": "Say what a model's cache, tables, scratch and weights take, and what fits.",
    "plot": "Draw a picture of a model, a scheme or a result, and say in words what it shows.",
    "prove": "Run a model and its extended copy side by side and report what the window is worth.",
    "report": "Render what describe, diff, check, translate, prove, audit, validate, bench and plan found.",
    "translate": "Say a model's positional settings in another engine's words, with what is lost, and prove it.",
    "validate": "Ask a model tasks over a long text, at growing lengths, and say which lengths it uses.",
}
