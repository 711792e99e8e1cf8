"""What lm-evaluation-harness calls: the documents, and the judgement of one response.

The harness cuts a prompt that is longer than its `max_length` at the left, with a warning at most, and some of its
models have a `max_length` of 2048 where none is given. A prompt without its beginning is another prompt, so the
documents are not loaded before a `max_length` that is long enough is given.
"""

import importlib
import importlib.util
from pathlib import Path
from typing import Any

_SPEC = importlib.util.spec_from_file_location("ordinate_scoring", Path(__file__).with_name("scoring.py"))
if _SPEC is None or _SPEC.loader is None:
    raise ImportError("scoring.py must lie beside this file")
scoring = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(scoring)


def documents(
    ordinate_file: str, ordinate_window: int, ordinate_bos: bool, ordinate_habit: bool, **given: Any
) -> dict[str, Any]:
    """The documents of one cell, for `custom_dataset`.

    Args:
        ordinate_file: its JSON lines, beside this file
        ordinate_window: what the longest prompt of the file and its answer take, [token]
        ordinate_bos: whether the beginning-of-text token is to be put before the prompts
        ordinate_habit: whether the tokenizer does so where nothing is said
        given: what --model_args and --metadata hold

    Raises:
        ValueError: no `max_length`, one that is too short, or an `add_bos_token` that makes other tokens
    """
    served = "base_url" in given
    window = ordinate_window + served  # the harness keeps one token back for servers
    length = next((given[name] for name in ("max_length", "max_model_len") if given.get(name) is not None), None)
    if length is None or int(length) < window:
        raise ValueError(
            f"{ordinate_file}: prompts would be cut at the left without a word: give max_length={window} or more in "
            f"--model_args, got {length} (a model that has none takes it in --metadata)"
        )
    adds = given.get("add_bos_token")
    adds = ordinate_habit and not served if adds is None else adds
    if bool(adds) != ordinate_bos:
        raise ValueError(f"{ordinate_file}: prompts are exact with add_bos_token={ordinate_bos} in --model_args alone")
    datasets = importlib.import_module("datasets")  # the harness stands on it
    return {"test": datasets.Dataset.from_list(scoring.read(ordinate_file))}


def process_results(document: dict[str, Any], results: list[str]) -> dict[str, Any]:
    """One response, judged; a metric's aggregation counts what is given for it here."""
    right, readable = scoring.judged(document, results[0])
    row = (document["unit"], document["members"], right)
    return {"correct": row, "lower": row, "upper": row, "unread": float(not readable)}


def share(rows: list[Any]) -> float:
    """The share of units that are right."""
    return scoring.share(rows)


def lower(rows: list[Any]) -> float:
    """The lower end of its 95 % interval."""
    return scoring.lower(rows)


def upper(rows: list[Any]) -> float:
    """The upper end of its 95 % interval."""
    return scoring.upper(rows)
