"""Documents: a prompt each, with its answer and all that is needed to make it again."""

from collections.abc import Iterator
from typing import Any

from ordinate.errors import InputError
from ordinate.validate.exports.base import Part
from ordinate.validate.sampling import Material
from ordinate.validate.sampling.answers import placed
from ordinate.validate.sampling.base import fingerprint
from ordinate.validate.tasks.base import Task


def documents(part: Part, material: Material) -> Iterator[dict[str, Any]]:
    """The documents of a cell, in the order of instances.

    Raises:
        InputError: one cannot be built
    """
    cell, task = part.cell, words_of(material, part)
    builder = material.builder(cell.filler, cell.mode)
    level = task.difficulty(dict(cell.difficulty))
    for index in range(part.units * task.members):
        instance = material.instance(cell.task, part.seed, index, dict(cell.difficulty), cell.control)
        prompt = builder.build(instance, cell.length, places=placed(cell.places), reserve=cell.reserve, full=True)
        yield {
            "id": f"{part.seed}-{index}",
            "task": cell.task,
            "seed": part.seed,
            "index": index,
            "unit": index // task.members,
            "members": task.members,
            "length": cell.length,
            "places": cell.places,
            "filler": builder.filler.identity,
            "mode": cell.mode,
            "control": cell.control,
            "difficulty": level,
            "reserve": cell.reserve,
            "nonce": prompt.nonce,
            "prompt": prompt.text,
            "target": task.write(instance.answer),
            "answer": list(instance.answer),
            "form": task.form,
            "continues": cell.mode == "base",
            "thinks": cell.mode == "reasoning",
            "tokens": len(prompt.ids),
            "head": prompt.head,
            "tail": prompt.tail,
            "ids_sha256": fingerprint(prompt.ids),
            "evidence": [
                {"name": name, "start": one.start, "stop": one.stop, "distance": one.distance}
                for name, one in prompt.placed.items()
                if one.role == "evidence"
            ],
        }


def words_of(material: Material, part: Part) -> Task:
    """The task of a cell, whose prompts are words.

    Raises:
        InputError: they are bare tokens
    """
    task = material.task(part.cell.task)
    if not isinstance(task, Task):
        raise InputError(f"{part.cell.task!r} has no prompts in words and cannot be exported")
    return task
