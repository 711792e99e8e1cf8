"""The card: its headline, its figures, and that nothing a server says can be markup or a command in it."""

import json
import re
from dataclasses import replace

import msgspec
import pytest
from validate_runs import drawn, run, sampled, trial

from ordinate.errors import InputError
from ordinate.report.card import to_html
from ordinate.validate.cards import make
from ordinate.validate.claims import MARGIN, STABILITY, Card, Claim, Row, card, profile
from ordinate.validate.compatibility import figures
from ordinate.validate.store import Manifest
from ordinate.validate.written import headline, to_markdown, to_text

EVIL = "<script>alert('x')</script> | `code` [a](http://example.org) \x1b[31mred\x07 \u202eback"


def claim(subject, length, verdict, ability="retrieve"):
    return Claim("L3", subject, ability, length, verdict)


def of(*claims):
    return Card({"model": "m"}, "smoke", tuple(claims))


def manifest(*trials):
    return Manifest("smoke", {"model": EVIL, "tokenizer": "t"}, 0, trials, notes=(EVIL,))


def test_the_headline_is_the_least_of_the_tasks_above_their_floor_and_no_mean():
    found = of(
        claim("far", 1024, "supported"),
        claim("far", 8192, "supported"),
        claim("near", 1024, "supported"),
        claim("near", 8192, "refuted"),
        claim("floor", 1024, "not applicable"),
        claim("near", 1024, "refuted", STABILITY),
        claim("near", 1024, "inconclusive", MARGIN),
    )
    assert found.headline.subject == "near"
    assert found.headline.effective == 1024
    assert {reach.subject: reach.effective for reach in found.profile if reach.counts} == {
        "far": 8192,
        "near": 1024,
        "floor": None,
    }
    assert "1,024 tokens, the least of 2 tasks above their floor: near" in headline(found)


def test_a_task_that_reaches_nothing_takes_the_headline_with_it():
    found = of(claim("far", 1024, "supported"), claim("lost", 1024, "refuted"))
    assert found.headline.subject == "lost"
    assert "below every tested length, the least of 2 tasks" in headline(found)


def test_what_is_not_proved_is_not_said_to_be_below_a_length():
    found = of(claim("far", 1024, "supported"), claim("open", 1024, "inconclusive"))
    assert headline(found).startswith("Effective length: proved at no tested length, the least of 2 tasks not at")


def test_a_task_that_was_asked_alone_is_not_said_to_be_alone_above_its_floor():
    alone, margin = claim("passkey", 1024, "supported"), claim("passkey", 1024, "supported", MARGIN)
    assert headline(of(alone, margin)).endswith("by passkey (retrieve) alone, which alone was asked")
    other = claim("near_key", 1024, "not applicable")
    assert headline(of(alone, other)).endswith("by passkey (retrieve) alone: no other task is above its floor")


@pytest.mark.parametrize("claims", [(), (claim("a", 512, "not applicable"),), (claim("a", 512, "supported", MARGIN),)])
def test_without_a_task_above_its_floor_there_is_no_headline(claims):
    assert of(*claims).headline is None
    assert headline(of(*claims)).startswith("Effective length: none")


def test_a_length_behind_one_that_is_not_supported_does_not_count():
    claims = [claim("a", 512, "supported"), claim("a", 1024, "inconclusive"), claim("a", 2048, "supported")]
    assert profile(claims)[0].effective == 512


def test_a_card_comes_back_from_its_json_and_says_its_version():
    one = trial(units=24)
    found = make(manifest(one), drawn(one, lambda *_: 1.0))
    document = json.loads(found.to_json())
    assert document["schema_version"] == 1
    assert card(document) == msgspec.convert(msgspec.to_builtins(found), Card)
    assert document["headline"]["effective"] == 512
    assert card(document).to_json() == found.to_json()


@pytest.mark.parametrize("change", [{"schema_version": 2}, {"kind": "prove"}, {"claims": [{"level": "L9"}]}])
def test_what_is_no_card_is_refused(change):
    with pytest.raises(InputError):
        card({**of().to_dict(), **change})


def row(length, value, subject="passkey", units=20):
    return Row(subject, "retrieve", "answer", length, "start", units, value, 0.0, 1.0)


def test_compatibility_figures_are_what_their_rules_say():
    rows = [row(256, 1.0), row(512, 0.9), row(1024, 0.84), row(2048, 0.15), row(4096, 0.2)]
    found = {one.name: one for one in figures([*rows, *(row(n, 0.9, "near_key") for n in (256, 512, 1024, 4096))])}
    # Means over the two tasks: 0.95, 0.9, 0.87 and 0.55 at the lengths that both have.
    assert found["RULER 85.6"].value == 1024
    assert [one.value for one in figures(rows) if one.name == "NoLiMa 85 %"] == [512]
    assert [one.value for one in figures([row(256, 0.0)]) if one.name == "NoLiMa 85 %"] == [None]
    assert found["passkey k-max"].value == 1024  # 4096 has 20 %, but 2048 has not
    assert found["ten of ten"].value == pytest.approx(0.6915, abs=1e-4)
    assert found["ten of ten"].unit == "share"
    assert "point rule" in found["RULER 85.6"].rule


def evil_card():
    one = trial(units=24)

    def answer(request):
        return sampled(request, ("right", "unparsed", "error", "refused")[request.index % 4], response=EVIL, why=EVIL)

    return make(manifest(one), run(one, answer))


def test_failures_are_counted_and_the_first_few_of_each_are_listed():
    found = evil_card()
    assert found.outcomes == {"error": 6, "refused": 6, "right": 6, "unparsed": 6}
    kinds = [one.outcome for one in found.failures]
    assert {kind: kinds.count(kind) for kind in set(kinds)} == {"error": 5, "refused": 5, "unparsed": 5}


def test_controls_are_counted_apart_and_unread_ones_are_no_failures():
    one = trial(units=24, controls=("no_context",), measure="answer")
    samples = run(one, lambda request: sampled(request, "unparsed" if request.cell.control else "right"))
    found = make(manifest(one), samples)
    own = sum(not sample.cell.control for sample in samples)
    assert found.controls == {"unparsed": len(samples) - own}
    assert found.outcomes == {"right": own, "unparsed": len(samples) - own}
    assert 0 < own < len(samples)
    assert found.failures == ()
    for text in (to_text(found), to_markdown(found), to_html(found)):
        said = re.sub(r"<[^>]+>", "", text)
        assert re.search(rf"[Ss]amples: {own} right\W", said)
        assert re.search(rf"which count for no task: {len(samples) - own} unparsed\W", said)
    assert card(found.to_dict()).controls == found.controls


@pytest.mark.parametrize(
    ("facts", "name"),
    [
        ({"model": "smollm2", "engine": "transformers 5"}, "smollm2"),
        ({"reader": "noisy", "engine": "simulated", "sure": "0.9", "cut": "None"}, "the simulated reader noisy"),
        ({}, "a model"),
    ],
)
def test_the_card_says_of_what_it_is(facts, name):
    found = Card(facts, "smoke", (claim("near", 1024, "refuted"),))
    assert f"# Long context of {name}: what is claimed" in to_markdown(found)
    assert f"Long context of {name}" in re.sub(r"<[^>]+>", "", to_html(found))


def test_facts_of_a_run_are_said_in_words_and_what_is_not_set_is_left_out():
    found = Card({"reader": "noisy", "sure": "0.9", "cut": "None", "limit": "None", "complete": True}, "smoke")
    for text in (to_markdown(found), re.sub(r"<script.*?</script>", "", to_html(found), flags=re.DOTALL)):
        assert "probability of what the reader says" in text
        assert "None" not in text
        assert "True" not in text
        assert not re.search(r"\bsure\b|\bcut\b", text)


def test_nothing_that_was_said_is_a_command_to_a_terminal():
    for text in (to_text(evil_card()), to_markdown(evil_card())):
        assert all(character.isprintable() or character == "\n" for character in text)
        assert "\\x1b" in text


def test_nothing_that_was_said_is_markup_in_markdown():
    text = to_markdown(evil_card())
    assert "<" not in text
    assert "](" not in text
    assert "://" not in text
    rows = [line for line in text.split("\n") if line.startswith("| error")]
    assert len(rows) == 5
    assert {line.replace("\\|", "").count("|") for line in rows} == {7}


def test_a_run_that_is_not_complete_and_a_part_of_one_say_so():
    one = trial(units=24)
    samples = drawn(one, lambda *_: 1.0)
    half = make(replace(manifest(one), shard=(0, 2)), samples[:30])
    assert half.model["complete"] is False
    assert any("not complete" in caveat for caveat in half.caveats)
    assert any("part 0 of 2" in caveat for caveat in half.caveats)
    assert make(manifest(one), samples).model["complete"] is True


def test_the_order_of_samples_does_not_change_a_card():
    one = trial(places=("start", "end"), units=50)
    samples = drawn(one, lambda length, *_: 0.9 if length == 256 else 0.7)
    assert make(manifest(one), samples[::-1]).to_json() == make(manifest(one), samples).to_json()


def caveats(one, answer):
    return " ".join(make(manifest(one), run(one, answer)).caveats)


def test_a_task_that_was_never_answered_is_not_called_one_that_a_small_model_fails():
    one = trial()
    found = caveats(one, lambda request: sampled(request, "error", why="the filler is too short"))
    assert "no answer that counts: near_key;" in found
    assert "at their floor" not in found
    found = caveats(one, lambda request: sampled(request, "wrong"))
    assert "at their floor and so not measured: near_key;" in found
    assert "no answer that counts" not in found


def test_a_margin_that_nothing_moves_does_not_say_that_the_task_is_at_its_floor():
    one = trial(measure="margin", places=("spread",))

    def measured(request):
        return replace(sampled(request), outcome=None, numbers={"margin": 0.0, "evidence": 0.0, "swapped": 0.0})

    found = make(manifest(one), run(one, measured))
    assert [claim.verdict for claim in found.claims] == ["not applicable"]
    assert "at their floor" not in " ".join(found.caveats)


def test_a_run_of_other_levels_alone_lacks_no_samples():
    for levels, said in ((["L1"], False), (["L1", "L3"], True)):
        asked = replace(manifest(trial()), opening={"levels": levels})
        assert any("the run is not complete" in caveat for caveat in make(asked, ()).caveats) is said


def test_an_effect_of_evidence_is_never_shown_as_support_of_its_task():
    task, margin = trial(units=24), trial(measure="margin", places=("spread",), units=24)
    samples = drawn(task, lambda length, *_: float(length == 256))

    def moved(request):
        value = 2 + request.index % 3
        return replace(sampled(request), outcome=None, numbers={"margin": value, "evidence": value, "swapped": 0.0})

    found = make(manifest(task, margin), [*samples, *run(margin, moved)])
    verdicts = {(one.ability, one.length): one for one in found.claims}
    assert verdicts["retrieve", 512].verdict == "refuted"
    effect = verdicts[MARGIN, 512]
    assert effect.verdict == "supported"
    assert effect.caveats == ("the task itself is refuted at this length",)
    assert "less than answering rightly" in effect.why
    assert verdicts[MARGIN, 256].caveats == ()
    assert [(reach.subject, reach.effective) for reach in found.profile if reach.counts] == [("near_key", 256)]
    assert [reach.effective for reach in found.profile if not reach.counts] == [None]
    assert found.headline.ability == "retrieve"
    for text in (to_text(found), to_markdown(found), to_html(found)):
        for line in re.split(r"\n|<tr\b", text.partition('<script type="application/json"')[0]):
            if MARGIN in line:
                assert "supported" not in line, line
                assert not re.search(r"\+ |✓|\|\s*\+", line), line
        assert "an effect" in text


def test_a_run_of_margins_alone_supports_nothing():
    margin = trial(measure="margin", places=("spread",), units=24)
    found = make(manifest(margin), run(margin, lambda r: replace(sampled(r), outcome=None, numbers={"margin": 3.0})))
    assert found.headline is None
    assert headline(found).startswith("Effective length: none")
