"""The page of the validation's tasks, each with an instance that its own code makes."""

import inspect
import textwrap
from typing import Any

from ordinate.validate.builder.placing import ordered
from ordinate.validate.instances import Instance
from ordinate.validate.readers import RetrievalOnly
from ordinate.validate.readers.base import Reader
from ordinate.validate.readers.shortcuts import SHORTCUTS, Majority
from ordinate.validate.tasks import Task, task, task_names
from ordinate.validate.tasks.associative_copy import AssociativeCopy
from ordinate.validate.tasks.base import DEMONSTRATIONS
from ordinate.validate.tasks.language_modelling import LanguageModelling
from ordinate.validate.tokenizers import ByteTokenizer
from ordinate.validate.words import Words

SEED = 0

INTRODUCTION = """# Tasks

What `ordinate validate` asks of a long window. Every task hides the records that make the answer (the evidence) among
records of the same form (decoys), and has exact scores: the answer, whole and alone, in one slot. Names and numbers
are fresh words, all of one length in the model's tokens. A record's place in the text tells nothing of its role: see
[how prompts are built](building.md).

A *unit* is an instance, or a minimal pair: two instances that differ in one record or in the question, have different
answers, and count as one that is right when both are. *Chance* is the best score of a reader that knows the task's
form and uses no evidence. It is what the floor gate starts from, and what no shortcut solver exceeds: the suite's own
tests count {shortcuts} of them.

```python
from ordinate.models import find
from ordinate.validate.tasks import task
from ordinate.validate.tokenizers import HuggingFaceTokenizer
from ordinate.validate.words import Words

words = Words(HuggingFaceTokenizer.read(find("smollm2").path))
instance = task("multi_hop", words).instance(seed=0, index=0, hops=3)
```

## Places

| place | where the records stand |
| --- | --- |
| `start`, `middle`, `end` | side by side at the beginning, in the middle, at the end of the context |
| `spread` | one in each of as many equal parts of the context as there are records |
| `reversed` | the layout of `spread` read from the end; not for tasks that are told in order |
| `(0.3,)` | the first evidence record at 30 % of the context exactly, all others beside it; or a number for each |

Named places lay out all records alike, whichever of them is evidence: with the evidence at the `start` no decoy stands
later than its neighbours do. Numbers are exact for the evidence and so mark it; use them for charts of depth.

## Controls

Every instance can be asked in five other ways. They show that the evidence, and nothing else, makes the answer.

| control | what it is | what a sound model scores |
| --- | --- | --- |
| `no_context` | no records at all | at most chance |
| `evidence_removed` | the decoys alone | at most chance |
| `evidence_swapped` | the same records by name and length; the evidence leads to another answer | as the instance |
| `evidence_only` | the evidence without decoys | at least as the instance |
| `altered_answers` | the same question with other values throughout | as the instance |

"""


def page() -> str:
    """The whole page, without the note that it is generated."""
    words = Words(ByteTokenizer())
    found = [task(name, words) for name in task_names()]
    text = INTRODUCTION.format(shortcuts=len(SHORTCUTS) + 1)  # one, `Majority`, is told answers + "## Overview\n\n"
    text += "| task | what it asks | needs | chance | unit |\n| --- | --- | --- | --- | --- |\n"
    for one in found:
        unit = "pair" if one.members == 2 else "instance"
        text += f"| [`{one.name}`](#{one.name}) | {one.title} | {', '.join(one.abilities)} | {one.chance():.3g} | "
        text += f"{unit} |\n"
    for kind in (AssociativeCopy, LanguageModelling):
        text += f"| [`{kind.name}`](#{kind.name}) | {kind.title} | {', '.join(kind.abilities)} | by losses | tokens |\n"
    text += "\n" + _wrapped("The oracle of the suite's tests solves all of them. " + _allowed())
    for one in found:
        text += "\n" + _section(one)
    for kind in (AssociativeCopy, LanguageModelling):
        text += f"\n## {kind.name}\n\n{_prose(kind)}\n"
    return text + "\n" + _copy()


def _section(one: Task) -> str:
    instance = one.instance(SEED, 0, demonstrations=0)
    text = f"## {one.name}\n\n{one.title}. {_prose(type(one))}\n\n"
    levels = ", ".join(
        f"`{key}={value!r}`" for key, value in {**one.defaults, "demonstrations": DEMONSTRATIONS}.items()
    )
    chance = _first_lower(inspect.getdoc(type(one).chance) or "")
    text += _wrapped(f"Difficulty: {levels}. Chance {one.chance():.3g}: {chance}")
    members = [one.instance(SEED, index, demonstrations=0) for index in range(one.members)]
    text += "\n```text\n" + "\n\n".join(_shown(member) for member in members) + "\n```\n"
    if one.members == 2:
        text += "\nBoth members of a pair; an arrow marks evidence.\n"
    else:
        swapped = one.write(instance.controls["evidence_swapped"].answer)
        text += f"\nAn arrow marks evidence. With `evidence_swapped` the answer is {swapped}.\n"
    return text


def _shown(instance: Instance) -> str:
    lines = [f"{'->' if record.role == 'evidence' else '  '} {record.text}" for record in ordered(instance, "start")]
    return "\n".join([*lines, "", f"Question: {instance.question}", f"{instance.lead} {', '.join(instance.answer)}"])


def _prose(kind: type[Any]) -> str:
    """A docstring without its first line where it has more, and without its arguments."""
    text = (inspect.getdoc(kind) or "").split("\n\nArgs:")[0]
    head, _, rest = text.partition("\n\n")
    return f"{head}\n\n{rest}" if rest else head


def _wrapped(text: str) -> str:
    return textwrap.fill(text, 120, break_long_words=False, break_on_hyphens=False) + "\n"


def _first_lower(text: str) -> str:
    return text[:1].lower() + text[1:]


def _allowed() -> str:
    solvers: list[type[Reader]] = [RetrievalOnly, *(type(solver) for solver in SHORTCUTS), Majority]
    by_tasks: dict[frozenset[str], list[str]] = {}
    for solver in dict.fromkeys(solvers):
        by_tasks.setdefault(solver.solves, []).append(f"`{solver.name}`")
    rest = by_tasks.pop(frozenset(), [])
    text = ""
    for solves, who in by_tasks.items():
        tasks = " and ".join(f"`{name}`" for name in sorted(solves))
        text += f"Without reading more than one sentence, {', '.join(who)} may solve {tasks}. "
    return text + f"These may solve none: {', '.join(rest)}."


def _copy() -> str:
    copy = AssociativeCopy().instance(SEED, 0, length=40, distance=20, vocabulary=range(10, 100), pairs=2, value=3)
    ids = " ".join(map(str, copy.ids))
    return (
        "## An instance of associative_copy\n\n"
        "Two blocks of a key and a value in noise, in a prompt of 40 tokens that ends with a key. Its value begins 20\n"
        "tokens before the place where it is to come again.\n\n"
        f"```text\n{ids}\nanswer: {' '.join(map(str, copy.answer))}\n```\n"
    )
