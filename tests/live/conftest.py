"""Files here that need what is no part of a development install are collected only where it is installed."""

from importlib.util import find_spec

NEEDS = {"inspect_reader.py": "inspect_ai", "lm_eval_reader.py": "lm_eval", "test_ray_live.py": "ray"}

collect_ignore = [file for file, module in NEEDS.items() if find_spec(module) is None]
