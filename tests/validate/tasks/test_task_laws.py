"""What holds for every task whose records stand in a text."""

import re
from collections import Counter
from dataclasses import replace

import pytest
from validate_prompts import BYTES, builder, made, smollm2, words

from ordinate.errors import InputError
from ordinate.registry import names
from ordinate.validate.instances import CONTROLS, Instance
from ordinate.validate.readers import Oracle
from ordinate.validate.tasks import task, task_names

TASKS = task_names()
PAIRED = [name for name in TASKS if made(name).members == 2]


def plain(instance: Instance) -> Instance:
    return replace(instance, controls={})


def test_the_registry_holds_the_tasks() -> None:
    assert set(names("ordinate.validate.tasks")) >= {*TASKS, "associative_copy"}
    assert len(TASKS) == 12
    with pytest.raises(InputError, match="did you mean 'multi_hop'"):
        task("multihop", words(BYTES))


@pytest.mark.parametrize("name", TASKS)
def test_an_instance_depends_on_its_number_alone(name: str) -> None:
    source = made(name)
    first = source.instance(3, 5)
    source.instance(3, 6)
    assert first == source.instance(3, 5)
    assert plain(first) != plain(source.instance(3, 5 + 2)) != plain(source.instance(4, 5 + 2))


@pytest.mark.parametrize("name", TASKS)
def test_the_oracle_is_right_on_the_instance_and_on_every_control_that_holds_evidence(name: str) -> None:
    source, reader = made(name), Oracle()
    for index in range(12):
        instance = source.instance(1, index)
        assert set(instance.controls) == set(CONTROLS)
        for shown in (instance, *(instance.controls[key] for key in CONTROLS if key not in CONTROLS[:2])):
            text = " ".join(record.text for record in shown.records) + f"\n{shown.question}\n{shown.lead}"
            judged = source.score(reader.respond(text), shown, continues=True)
            assert judged.right, (shown.control, judged, shown.answer)


@pytest.mark.parametrize("name", TASKS)
def test_controls_change_what_they_say(name: str) -> None:
    source = made(name)
    for index in range(12):
        instance = source.instance(1, index)
        swapped, altered = instance.controls["evidence_swapped"], instance.controls["altered_answers"]
        assert [(r.name, r.role) for r in swapped.records] == [(r.name, r.role) for r in instance.records]
        assert [(r.name, r.role) for r in altered.records] == [(r.name, r.role) for r in instance.records]
        assert swapped.question == altered.question == instance.question
        assert set(swapped.answer) != set(instance.answer) != set(altered.answer)
        assert builder().needed(swapped) == builder().needed(instance)
        assert not instance.controls["no_context"].records
        assert all(record.role == "decoy" for record in instance.controls["evidence_removed"].records)
        assert instance.evidence == instance.controls["evidence_only"].records
        if instance.choices and name != "state_at_time":
            assert set(swapped.answer) <= set(instance.choices)


@pytest.mark.parametrize("name", TASKS)
def test_decoys_have_the_form_of_evidence(name: str) -> None:
    """No word marks the evidence: with names and numbers taken out, its sentences occur among the decoys."""
    source = made(name)

    def bare(text: str) -> str:
        return re.sub(r"(?<=words ).*|[A-Z][a-z]+|\d+|\b[a-z]+(?=\.)", "_", text)

    evidence, others = Counter(), Counter()
    for index in range(80):
        for record in source.instance(2, index).records:
            (evidence if record.role == "evidence" else others)[bare(record.text)] += 1
    assert others
    if name != "passkey":  # the asked key's name is in the question, and in one record alone
        assert set(evidence) <= set(others)


@pytest.mark.parametrize("name", TASKS)
def test_demonstrations_are_about_others_and_show_each_answer_as_often(name: str) -> None:
    source = made(name)
    for index in range(6):
        instance = source.instance(1, index)
        own = {word for record in instance.records for word in re.findall(r"\b[A-Z][a-z]+\b", record.text)}
        shared = {"The", "Note", "At", "On", "Box", "Remember", "A"}
        assert len(instance.demonstrations) == 2
        for shown in instance.demonstrations:
            assert not (own - shared) & set(" ".join(shown.records).split())
            text = " ".join(shown.records) + f"\n{shown.question}\nAnswer:"
            found = replace(instance, answer=tuple(shown.answer.split(", ")))
            assert source.score(Oracle().respond(text), found, continues=True).right
        if source.members == 2:
            assert len({shown.answer for shown in instance.demonstrations}) == 2


@pytest.mark.parametrize("name", PAIRED)
def test_minimal_pairs_differ_in_one_thing_and_in_their_answer(name: str) -> None:
    source, first = made(name), Counter()
    for unit in range(40):
        one, other = source.instance(1, 2 * unit), source.instance(1, 2 * unit + 1)
        assert one.answer != other.answer
        assert [r.name for r in one.records] == [r.name for r in other.records]
        assert one.demonstrations == other.demonstrations
        changed = [a for a, b in zip(one.records, other.records, strict=True) if a != b]
        # two records may exchange a word, so that neither the word nor the names tell anything alone
        exchanged = name in ("absence", "contradiction")
        assert len(changed) + (one.question != other.question) == (2 if exchanged else 1)
        if exchanged:
            both = [sorted(" ".join(record.text for record in each.evidence).split()) for each in (one, other)]
            assert both[0] == both[1]
        assert all(record.role == "evidence" for record in changed)
        first["no" in one.answer] += 1
    assert 8 < first[True] < 32


@pytest.mark.parametrize(
    ("name", "fact", "options"),
    [
        ("state_at_time", "asked", 3),
        ("event_order", "against", 4),
        ("aggregation", "kind", 4),
        ("ordinal_recall", "asked", 4),
        ("graph_walk", "direction", 2),
        ("citation", "support", 3),
    ],
)
def test_what_is_asked_is_balanced_inside_every_block(name: str, fact: str, options: int) -> None:
    source, orders = made(name), set()
    for block in range(8):
        asked = [source.instance(1, block * options + i).facts[fact] for i in range(options)]
        assert len(set(asked)) == options
        orders.add(tuple(asked))
    assert len(orders) > 1


@pytest.mark.parametrize("name", TASKS)
def test_difficulty_is_checked(name: str) -> None:
    source = made(name)
    key = next(iter(source.defaults))
    with pytest.raises(InputError, match="has no difficulty 'colour'"):
        source.instance(0, 0, colour=3)
    with pytest.raises(InputError, match=key):
        source.instance(0, 0, **{key: "many" if isinstance(source.defaults[key], int) else 3})
    with pytest.raises(InputError, match="must be >= 0"):
        source.instance(0, 0, demonstrations=-1)
    with pytest.raises(InputError):
        source.instance(-1, 0)
    assert 0 < source.chance() <= 1 / 3  # the higher it is, the more units it takes to prove anything


@pytest.mark.parametrize("name", TASKS)
def test_a_short_instance_fits_256_tokens(name: str) -> None:
    tokenizer = smollm2()
    source, build = made(name, tokenizer), builder(tokenizer)
    for index in range(6):
        instance = source.instance(1, index, **source.short)
        assert build.needed(instance) <= 256
        assert source.score(Oracle().answer(build.build(instance, 320).ids, tokenizer), instance, continues=True).right


@pytest.mark.parametrize("filler", ["prose", "records", "generated"])
@pytest.mark.parametrize("name", TASKS)
def test_the_oracle_is_right_at_every_length_place_and_filler(name: str, filler: str) -> None:
    source = made(name)
    for index, (length, places) in enumerate([(2048, "start"), (3000, "middle"), (4096, "end"), (6000, "spread")]):
        instance = source.instance(4, index)
        prompt = builder(BYTES, filler).build(instance, length, places=places)
        assert source.score(Oracle().answer(prompt.ids, BYTES), instance, continues=True).right
