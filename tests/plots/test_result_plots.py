"""What is drawn of a result are its numbers."""

import json
from pathlib import Path

import numpy as np
import pytest

from ordinate.errors import InputError
from ordinate.plots import caption, plot

close = pytest.approx


def bars(ax):
    """Each set of error bars by its name: x, y, and the ends of its bars up and down."""
    found = {}
    for container in ax.containers:
        line, _, collections = container.lines
        ends = np.array([segment[:, 1] for segment in collections[-1].get_segments()])
        found[str(container.get_label())] = (np.array(line.get_xdata()), np.array(line.get_ydata()), ends)
    return found


def test_losses_of_a_proof_are_drawn_with_two_standard_errors(proof):
    ax = plot("loss_by_position")(proof).axes[0]
    drawn = bars(ax)
    assert list(drawn) == ["original: smollm2", "extended: smollm2-16k"]
    for role, (x, y, ends) in zip(("original", "extended"), drawn.values(), strict=True):
        ranges = proof["loss_by_position"]["ranges"]
        assert x == close([(one["start"] + one["stop"]) / 2 for one in ranges])
        assert y == close([one["loss"][role]["mean"] for one in ranges])
        assert ends[:, 1] - ends[:, 0] == close([4 * one["loss"][role]["standard_error"] for one in ranges])
    fine = next(line for line in ax.get_lines() if line.get_label() == "_extended fine")
    assert fine.get_ydata() == close([one["loss"]["extended"]["mean"] for one in proof["loss_by_position"]["fine"]])


def test_the_window_of_the_original_is_a_line_and_its_losses_are_said(proof):
    figure = plot("loss_by_position")(proof)
    assert "original's window 8,192" in {text.get_text() for text in figure.axes[0].texts}
    said = caption(figure)
    for part in ("inside", "past"):
        for role in ("original", "extended"):
            assert f"{proof['loss_by_position'][part]['loss'][role]['mean']:.2f}" in said


def test_losses_of_a_validation_are_drawn_with_their_interval(results):
    card = json.loads(Path(results["losses"]).read_text())
    ax = plot("loss_by_position")(card).axes[0]
    drawn = bars(ax)
    assert list(drawn) == ["context: real", "context: shuffled", "context: foreign"]
    for name, (x, y, ends) in drawn.items():
        rows = [row for row in card["rows"] if f"context: {row['places']}" == name]
        assert x.tolist() == [row["length"] for row in rows] == [512, 1024, 2048]
        assert y == close([row["value"] for row in rows])
        assert ends == close(np.array([[row["low"], row["high"]] for row in rows]))
    assert "Behind real context of 512 tokens the loss is 5.638 nats a token, of 2,048 it is 4.810" in caption(ax)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"kind": "bench"}, "prove or validate, got kind 'bench'"),
        ({"schema_version": 7}, "has schema version 7, and this version of Ordinate reads 1"),
        ({"loss_by_position": None}, "this is not a result of kind 'prove'"),
    ],
)
def test_another_result_has_no_loss_by_position(proof, change, words):
    with pytest.raises(InputError, match=words):
        plot("loss_by_position")(proof | change)


def test_a_card_without_losses_says_which_task_makes_them(card):
    with pytest.raises(InputError, match="did not ask for language_modelling"):
        plot("loss_by_position")(card)


def test_cells_have_their_share_and_undecided_ones_are_hatched(card):
    ax = plot("depth_by_length")(card).axes[0]
    rows = {(r["places"], r["length"]): r for r in card["rows"] if r["measure"] == "answer"}
    places, lengths = ["start", "middle", "end", "reversed", "spread"], [1024, 1536, 2048, 3072, 4096, 6144]
    assert [tick.get_text().split()[0] for tick in ax.get_yticklabels()] == places
    assert [tick.get_text() for tick in ax.get_xticklabels()] == [f"{length:,}" for length in lengths]
    drawn = np.asarray(ax.images[0].get_array())
    assert drawn == close(np.array([[rows[p, n]["value"] for n in lengths] for p in places]))
    hatched = {patch.get_gid() for patch in ax.patches if patch.get_hatch()}
    undecided = {key for key, row in rows.items() if row["verdict"] == "inconclusive"}
    assert hatched == {f"undecided {place} {length}" for place, length in undecided}
    assert len(undecided) == 7
    for patch in ax.patches:
        _, place, length = patch.get_gid().split()
        assert (patch.get_x() + 0.5, patch.get_y() + 0.5) == (lengths.index(int(length)), places.index(place))


def test_a_sign_and_the_units_stand_in_every_cell(card):
    ax = plot("depth_by_length")(card).axes[0]
    said = sorted(text.get_text() for text in ax.texts)
    signs = {"supported": " ✓", "refuted": " ✗", "inconclusive": " ?", "": ""}
    rows = [r for r in card["rows"] if r["measure"] == "answer"]
    assert said == sorted(f"{r['value']:.0%}{signs[r['verdict']]}\nof {r['units']}" for r in rows)
    assert "15 supported, 3 refuted, 7 inconclusive" in caption(ax)
    assert "supported up to 3,072 tokens" in caption(ax)


def test_places_that_are_numbers_stand_in_the_order_of_their_depth(card):
    rows = [
        row | {"places": {"start": "(0.3,)", "middle": "(0.05,)", "end": "end"}[row["places"]]}
        for row in card["rows"]
        if row["places"] in ("start", "middle", "end")
    ]
    ax = plot("depth_by_length")(card | {"rows": rows}).axes[0]
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["(0.05,)", "(0.3,)", "end (100%)"]


def test_a_cell_that_was_not_tested_is_empty(card):
    rows = [row for row in card["rows"] if not (row["places"] == "start" and row["length"] == 6144)]
    ax = plot("depth_by_length")(card | {"rows": rows}).axes[0]
    assert np.asarray(ax.images[0].get_array().mask).sum() == 1
    assert len(ax.texts) == 29


def test_an_unknown_task_is_refused(card):
    with pytest.raises(InputError, match=r"unknown task 'near_kye' of this card; did you mean 'near_key'\?"):
        plot("depth_by_length")(card, "near_kye")


@pytest.fixture(scope="module")
def plan():
    """What `ordinate plan llama-2-7b --memory 80GiB` prints as JSON."""
    from ordinate.plan import Request
    from ordinate.plan import plan as planned

    asked = Request(contexts=(4096, 32768, 131072), batches=(1, 16), memory=80 * 2**30)
    return json.loads(json.dumps(planned("llama-2-7b", asked).to_dict()))


def test_memory_is_that_of_llama_2(plan, lines):
    drawn = lines(plot("memory")(plan).axes[0])
    x, y = drawn["1 sequence"]
    assert x.tolist() == [4096, 32768, 131072]
    # 2 * 32 layers * 32 heads * 128 channels * 2 bytes a token.
    assert y.tolist() == [2.0, 16.0, 64.0]
    assert drawn["16 sequences"][1].tolist() == [32.0, 256.0, 1024.0]


def test_what_does_not_fit_is_hollow(plan, lines):
    ax = plot("memory")(plan).axes[0]
    hollow = {name: values for name, values in lines(ax).items() if "does not fit" in name}
    drawn = {(name.split()[0], int(x)) for name, (xs, _) in hollow.items() for x in xs}
    assert drawn == {(str(c["batch"]), c["context"]) for c in plan["cells"] if not c["fits"]}
    assert ("16", 131072) in drawn
    assert 80.0 in {float(line.get_ydata()[0]) for line in ax.get_lines() if line.get_label().startswith("_")}
    assert "one more token takes 524,288 bytes" in caption(ax)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"kind": "prove"}, "a result of plan, got kind 'prove'"),
        ({"schema_version": 2}, "has schema version 2, and this version of Ordinate reads 1"),
        ({"cells": 3}, "this is not a result of kind 'plan'"),
        ({"cells": []}, "at least one context and batch"),
    ],
)
def test_another_result_is_no_plan(plan, change, words):
    with pytest.raises(InputError, match=words):
        plot("memory")(plan | change)


def changed(plan, **values):
    """A plan whose last cell has other values."""
    return plan | {"cells": [*plan["cells"][:-1], plan["cells"][-1] | values]}


@pytest.mark.parametrize("power", [53, 63, 64, 100, 498])
def test_numbers_beyond_what_a_machine_word_holds_are_drawn_without_a_warning(plan, power, lines, recwarn):
    figure = plot("memory")(changed(plan, context=2**power + 1, cache_bytes=2**power + 1))
    figure.canvas.draw()
    assert not list(recwarn)
    x, y = lines(figure.axes[0])["16 sequences"]
    assert (x[-1], y[-1]) == (2.0**power, 2.0 ** (power - 30))
    labels = [label.get_text() for label in figure.axes[0].get_xticklabels()]
    assert not any("e+" in label for label in labels)


def test_a_model_that_keeps_nothing_has_no_memory_to_draw(plan):
    nothing = plan | {"cells": [cell | {"cache_bytes": 0} for cell in plan["cells"]]}
    with pytest.raises(InputError, match="llama-2-7b keeps no keys and values"):
        plot("memory")(nothing)


@pytest.mark.parametrize("key", ["context", "cache_bytes"])
def test_a_number_beyond_what_axes_show_is_refused(plan, key):
    with pytest.raises(InputError, match=r"must be at most 1e\+150 to be drawn"):
        plot("memory")(changed(plan, **{key: 10**151}))
