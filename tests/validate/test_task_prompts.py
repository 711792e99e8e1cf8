"""Prompts of all tasks: exactly so many tokens, the same when they travel as text, and evidence where it is said to be.

The full count is 10,008 prompts: 12 tasks, three tokenizers, every filler, mode, place and control.
"""

from functools import cache

import pytest
from validate_checks import FILLERS, LONGEST, MODES, builder, check
from validate_samples import SHORTEST, TOKENIZERS, tokenizer, words

from ordinate.validate.builder import PLACES, Builder, verify
from ordinate.validate.instances import Instance
from ordinate.validate.streams import stream
from ordinate.validate.tasks import Task, task, task_names

TASKS = task_names()
FEW, MANY = 5, 278
"""Prompts of each task and tokenizer."""
LEAST = 8  # tokens of filler: of fewer some numbers are no sum of sentences, which is an error that says so
APART = 40  # tokens that a record may stand from where the layout asks for it: what no sentences make


@cache
def source(name: str, tokens: str) -> Task:
    return task(name, words(tokens))


def drawn(name: str, tokens: str, number: int) -> tuple[Builder, Instance, int, str | tuple[float, ...]]:
    """The settings of one prompt out of many: all of them vary, the length from shortest to longest by octaves.

    Where a length does not hold the task's default, its short form is asked, and without a chat template.
    """
    generator, made = stream(23, f"prompt {name} {tokens}", number), source(name, tokens)
    filler, mode = (options[int(generator.integers(len(options)))] for options in (FILLERS, MODES))
    length = round(SHORTEST[tokens] * (LONGEST / SHORTEST[tokens]) ** float(generator.random()))
    length = (SHORTEST[tokens], LONGEST, length)[min(number, 2)]
    for chosen, level in ((mode, {}), (mode, made.short), ("base", made.short)):
        build, instance = builder(tokens, filler, chosen), made.instance(31, number, **level)
        if build.needed(instance) + LEAST <= length:
            break
    if number % 4 == 3:
        instance = list(instance.controls.values())[number // 4 % len(instance.controls)]
    choices: list[str | tuple[float, ...]] = [p for p in PLACES if p != "reversed" or not instance.ordered]
    choices.append((float(generator.random()),))
    return build, instance, length, choices[int(generator.integers(len(choices)))]


@pytest.mark.parametrize("tokens", TOKENIZERS)
@pytest.mark.parametrize("name", TASKS)
@pytest.mark.parametrize("count", [FEW, pytest.param(MANY, marks=pytest.mark.slow)])
def test_every_prompt_of_every_task_is_exact_and_travels_as_text(name: str, tokens: str, count: int) -> None:
    for number in range(count):
        build, instance, length, places = drawn(name, tokens, number)
        prompt = build.build(instance, length, places=places)
        check(tokens, instance, prompt, length)
        for record in instance.records:
            placed = prompt.placed[record.name]
            if isinstance(places, str):
                assert abs(placed.start - placed.requested) <= APART
        if number % 10 == 0:
            verify(prompt, tokenizer(tokens), instance, build.template)
