"""Run the rules over a model's files."""

import importlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import numpy as np

from ordinate import registry
from ordinate.errors import InputError
from ordinate.rules import _engines
from ordinate.rules._subject import Subject, read_subject
from ordinate.rules.base import SEVERITIES, Finding, Rule

MOST = 20
"""How many findings of one rule are kept: more say no more."""


@dataclass(frozen=True)
class Report:
    """What the rules found in one model's files.

    Args:
        file: the main file
        findings: the gravest first, then in the order of lines
    """

    file: str
    findings: tuple[Finding, ...]


def rules() -> list[Rule]:
    """All rules, in the order of their ids."""
    return [_rule(name) for name in registry.names("ordinate.rules")]


def find_rule(identifier: str) -> Rule:
    """The rule with this id.

    Raises:
        InputError: there is none; the message suggests the nearest
    """
    identifiers = [name.replace("_", "-") for name in registry.names("ordinate.rules")]
    if identifier not in identifiers:
        raise InputError(f"unknown rule {identifier!r}{registry.suggestion(identifier, identifiers)}")
    return _rule(identifier.replace("-", "_"))


def _rule(name: str) -> Rule:
    # As `registry.lookup`, which lists the folder anew for each name.
    module = vars(importlib.import_module(f"ordinate.rules.{name}"))
    return next(v for v in module.values() if isinstance(v, type) and vars(v).get("name") == name)()


def engines() -> list[str]:
    """The names of engines that `check` takes, in alphabetical order.

    Those that some rule is about, and those that settings can be translated for; of the latter some have no rule.

    >>> {"huggingface", "transformers", "koboldcpp"} <= set(engines())
    True
    """
    return _engines.engine_names(_ruled())


def find_engine(name: str) -> str:
    """The engine of a name in any case, as the rules have it.

    Raises:
        InputError: there is none; the message suggests the nearest

    >>> find_engine("HuggingFace")
    'transformers'
    """
    return _engines.find_engine(name, _ruled())


def has_rules(engine: str) -> bool:
    """Whether some rule is about an engine, named as `find_engine` returns it."""
    return engine in _ruled()


def _ruled() -> set[str]:
    return {engine for rule in rules() for engine in rule.engines}


def check(
    source: str | os.PathLike[str] | Mapping[str, Any],
    *,
    engine: str | Sequence[str] | None = None,
    ignore: Sequence[str] = (),
) -> Report:
    """Say what is wrong or risky in a model's positional settings, from its files alone.

    Args:
        source: a directory, a config.json, params.json or GGUF file, a model's name, or a configuration as a dict
        engine: also run the rules about this engine, or about each of several
        ignore: ids of rules that are not asked

    Raises:
        InputError: an unknown engine or rule; a file that does not exist, is of no known kind, or is not JSON
        Unavailable: a named model's package is not installed

    >>> check({"model_type": "llama", "rope_scaling": {"rope_type": "yarm"}}).findings[0].rule
    'unknown-rope-type'
    """
    ignored = {find_rule(identifier).id for identifier in ignore}
    given = [engine] if isinstance(engine, str) else engine or ()
    asked = list(dict.fromkeys(find_engine(name) for name in given))
    return apply(read_subject(source), asked, ignored)


def apply(subject: Subject, engines: Sequence[str] = (), ignored: set[str] | frozenset[str] = frozenset()) -> Report:
    """Run all rules that are for all engines, and for each of these those that are about it."""
    subjects = {engine: replace(subject, engine=engine) for engine in engines}
    found: list[Finding] = []
    waiting: list[Finding] = []
    # Numbers from strangers may overflow on their way to a finding.
    with np.errstate(all="ignore"):
        for rule in rules():
            chosen = [s for engine, s in subjects.items() if engine in rule.engines] if rule.engines else [subject]
            for one in chosen:
                (waiting if rule.gives_way else found).extend(_asked(rule, one))
    found += [finding for finding in waiting if not _covered(finding, found)]
    kept = {(f.rule, f.file, f.key, f.evidence): f for f in found if f.rule not in ignored}
    return Report(subject.file, tuple(sorted(kept.values(), key=_rank)))


def _asked(rule: Rule, subject: Subject) -> list[Finding]:
    """What a rule finds; numbers that leave what can be computed are a fault of the file that they come from."""
    try:
        return list(islice(rule.find(subject), MOST))
    except InputError as error:
        return [find_rule("unreadable").finding(subject, "", str(error), "Correct this value")]


def _covered(waiting: Finding, found: list[Finding]) -> bool:
    """Whether another finding, as grave, is about a setting that this one names."""
    grave = SEVERITIES.index(waiting.severity)
    return any(SEVERITIES.index(f.severity) >= grave and _names(waiting.evidence, f.key) for f in found)


def _names(text: str, key: str) -> bool:
    """Whether a message speaks of a setting, by its path, or by its last word where that can be no other's."""
    word = key.rpartition(".")[2]
    return bool(key) and (key in text or ("_" in word and word in text) or text.startswith(f"{word} "))


def _rank(finding: Finding) -> tuple[int, str, int, str, str]:
    return -SEVERITIES.index(finding.severity), finding.file, finding.line or 0, finding.rule, finding.key
