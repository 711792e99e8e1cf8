"""Readers without a model: each is right where what it does suffices, and nowhere else."""

import pytest
from validate_prompts import BYTES, builder, laid_out, made, smollm2

from ordinate.errors import InputError
from ordinate.validate.readers import LostInTheMiddle, Noisy, Oracle, Reader, RetrievalOnly, Window
from ordinate.validate.statistics import floor
from ordinate.validate.tasks import task_names

TASKS = task_names()
EXACT = [name for name in TASKS if name not in ("aggregation", "absence", "contradiction", "graph_walk")]
"""Where one lost record of evidence always makes another answer; in the others it may chance to leave it."""


def right(reader: Reader, name: str, index: int, length: int, places: str, **difficulty: int) -> bool:
    instance = made(name).instance(5, index, **difficulty)
    prompt = laid_out(instance, length, places)
    return made(name).score(reader.answer(prompt.ids, BYTES), instance, continues=True).right


@pytest.mark.parametrize("name", TASKS)
def test_a_window_in_the_worst_slot_reaches_exactly_its_length(name: str) -> None:
    """With the evidence at the start, instances (pairs) are right up to the window, and wrong at twice its length."""
    window, members = 4096, made(name).members
    for unit in range(4):
        for length in (2048, 4096, 8192):
            found = [right(Window(window), name, members * unit + i, length, "start") for i in range(members)]
            assert all(found) == (length <= window), (length, found)


@pytest.mark.parametrize("name", EXACT)
def test_a_window_is_right_exactly_where_all_evidence_is_within_it(name: str) -> None:
    inside = set()
    for index in range(10):
        instance = made(name).instance(6, index)
        prompt = laid_out(instance, 4096, "spread")
        earliest = min(prompt.spans[record.name][0] for record in instance.evidence)
        for window in (len(prompt.ids) - earliest + 2, len(prompt.ids) - earliest - 3):
            sees = earliest >= len(prompt.ids) - window
            found = made(name).score(Window(window).answer(prompt.ids, BYTES), instance, continues=True).right
            assert found == sees, (index, window)
            inside.add(sees)
    assert inside == {True, False}


@pytest.mark.parametrize("name", TASKS)
def test_what_is_lost_in_the_middle_is_found_at_the_ends(name: str) -> None:
    members, reader = made(name).members, LostInTheMiddle(0.3, 0.35)
    for unit in range(3):
        indices = [members * unit + i for i in range(members)]
        assert all(right(reader, name, i, 8192, "start", demonstrations=0) for i in indices)
        assert all(right(reader, name, i, 8192, "end", demonstrations=0) for i in indices)
        assert not all(right(reader, name, i, 8192, "middle", demonstrations=0) for i in indices)


@pytest.mark.parametrize("name", TASKS)
def test_retrieval_alone_passes_lookups_and_nothing_that_combines(name: str) -> None:
    source, units = made(name), 40
    won = sum(
        all(right(RetrievalOnly(), name, source.members * unit + i, 2048, "spread") for i in range(source.members))
        for unit in range(units)
    )
    assert floor(won, units, chance=source.chance()).above == (name in RetrievalOnly.solves)
    assert won == units or name not in RetrievalOnly.solves


def test_a_noisy_reader_is_right_as_often_as_it_says() -> None:
    source, reader = made("near_key"), Noisy(0.8, seed=1)
    instances = [source.instance(8, index) for index in range(300)]
    found = [
        source.score(reader.answer(laid_out(instance, 1024).ids, BYTES), instance, continues=True).right
        for instance in instances
    ]
    assert abs(sum(found) / 300 - 0.8) < 0.07  # three standard errors
    prompt = laid_out(instances[0], 1024)
    assert reader.answer(prompt.ids, BYTES) == reader.answer(prompt.ids, BYTES)


@pytest.mark.parametrize("name", TASKS)
def test_noise_answers_wrongly_and_in_the_form_of_an_answer(name: str) -> None:
    source = made(name)
    for index in range(4):
        instance = source.instance(5, index)
        prompt = laid_out(instance, 2048)
        said = Noisy(0.0).answer(prompt.ids, BYTES)
        assert said
        assert not source.score(said, instance, continues=True).right
        assert source.score(Noisy(1.0).answer(prompt.ids, BYTES), instance, continues=True).right


def test_readers_are_given_ids_alone() -> None:
    """An instance's facts and answer are in no prompt; readers read what a tokenizer of another kind decodes, too."""
    tokenizer = smollm2()
    for name in TASKS:
        instance = made(name, tokenizer).instance(2, 0)
        prompt = builder(tokenizer).build(instance, 1024)
        assert all(isinstance(number, int) for number in prompt.ids)
        judged = made(name, tokenizer).score(Oracle().answer(prompt.ids, tokenizer), instance, continues=True)
        assert judged.right, name


def test_a_prompt_without_a_task_gets_no_answer() -> None:
    for reader in (Oracle(), RetrievalOnly(), Window(50), Noisy(0.5)):
        assert reader.answer(BYTES.encode("It is a truth universally acknowledged."), BYTES) == ""


def test_an_answer_in_the_filler_is_no_worked_example() -> None:
    example = "Box 11 holds the kelu.\n\nQuestion: What does box 11 hold?\nAnswer: kelu\n\n"
    text = "Box 12 holds the bano. She gave no answer: he left.\n\nQuestion: What does box 12 hold?\nAnswer:"
    assert Oracle().respond(text) == Oracle().respond(example + text) == "bano"
    assert Oracle().respond(example + text.replace("box 12 hold?", "box 11 hold?")) == ""


def test_readers_check_their_arguments() -> None:
    for make in (lambda: Window(0), lambda: LostInTheMiddle(0.5, 0.6), lambda: Noisy(1.5)):
        with pytest.raises(InputError):
            make()
