"""A run folder keeps whole lines, says who holds it, and can be made anew from its samples."""

import json
import os
import sqlite3

import pytest
from scripted_backend import Scripted, folder, manifest, sampler, trial

from ordinate.errors import InputError, Unavailable
from ordinate.validate.cells import Cell, Sample
from ordinate.validate.running import run
from ordinate.validate.store import read_manifest, read_samples
from ordinate.validate.store.cells import read_cells
from ordinate.validate.store.samples import compact


def sample(number, **given):
    return Sample(f"key {number}", trial().cell(700, "start"), 0, number, outcome="right", **given)


def kept(path, *samples):
    found = folder(path)
    for one in samples:
        found.add(one, 0.5)
    found.close()


def test_a_sample_is_read_as_it_was_written(tmp_path):
    one = sample(
        0,
        prompt="0",
        response="a\nb\u2028",
        parsed=("a", "b"),
        answer=("a",),
        counted=700,
        numbers={"margin": 0.1 + 0.2},
        facts={"distance": [1, 2], "chain": ["x"]},
    )
    kept(tmp_path, one)
    assert read_samples(tmp_path) == [one]
    assert compact(read_samples(tmp_path)) == (tmp_path / "samples.jsonl").read_bytes()
    assert b"0.5" not in compact([one]).replace(b"0.30000000000000004", b"")


@pytest.mark.parametrize("left", [0, 1, 100])
def test_a_torn_line_is_taken_off_before_more_is_written(tmp_path, left):
    kept(tmp_path, sample(0), sample(1))
    file = tmp_path / "samples.jsonl"
    whole = file.read_bytes()
    first = whole.index(b"\n") + 1
    os.truncate(file, first + left)
    assert read_samples(tmp_path) == [sample(0)]
    kept(tmp_path, sample(1))
    assert file.read_bytes() == whole


def test_a_damaged_line_inside_is_named_and_nothing_is_written(tmp_path):
    kept(tmp_path, sample(0), sample(1))
    file = tmp_path / "samples.jsonl"
    damaged = file.read_bytes().replace(b'"key 0"', b'"key 0', 1)
    file.write_bytes(damaged)
    with pytest.raises(InputError, match=r"samples.jsonl: line 1 is damaged"):
        folder(tmp_path)
    assert file.read_bytes() == damaged


def test_a_sample_that_is_there_stays_as_it_is(tmp_path):
    kept(tmp_path, sample(0), sample(0, response="other"))
    assert read_samples(tmp_path) == [sample(0)]


def test_one_process_holds_a_folder(tmp_path):
    first = folder(tmp_path)
    with pytest.raises(Unavailable, match="in use by another process"):
        folder(tmp_path)
    first.close()
    folder(tmp_path).close()


def test_cells_count_what_was_sampled_and_how_long_it_took(tmp_path):
    found = folder(tmp_path, trial(lengths=()), trial(short=800, lengths=()))
    run(sampler(Scripted()), found)
    found.close()
    rows = read_cells(tmp_path)
    assert [(row["trial"], row["length"], row["planned"], row["done"], row["good"]) for row in rows] == [
        (0, 700, 24, 24, 24),
        (1, 800, 24, 24, 24),
    ]
    assert all(row["seconds"] > 0 for row in rows)


@pytest.mark.parametrize("damage", ["gone", "torn", "behind"])
def test_cells_are_made_anew_from_the_samples(tmp_path, damage):
    kept(tmp_path, sample(0), sample(1))
    file = tmp_path / "cells.sqlite"
    if damage == "gone":
        file.unlink()
    elif damage == "torn":
        file.write_bytes(file.read_bytes()[:5000])
    else:
        database = sqlite3.connect(file)
        with database:
            database.execute("delete from samples where key = 'key 0'")
        database.close()
    kept(tmp_path, sample(2))
    (row, _) = read_cells(tmp_path)
    assert (row["done"], row["good"], row["failed"]) == (3, 3, 0)
    # times are kept where they can still be read
    assert row["seconds"] == pytest.approx({"gone": 0.5, "torn": 0.5, "behind": 1.0}[damage])


def test_a_manifest_is_read_as_it_was_written(tmp_path):
    found = manifest(trial(), trial(task="multi_hop", difficulty=(("chains", 2),)), shard=(1, 3), notes=("a",))
    folder(tmp_path, *found.trials, shard=(1, 3), notes=("a",)).close()
    again = read_manifest(tmp_path)
    assert again == found
    assert again.differences(found) == ()
    assert isinstance(again.trials[1].cells[0], Cell)


def test_a_run_that_is_opened_otherwise_goes_on_as_it_was_opened_last(tmp_path):
    for url in ("http://127.0.0.1:1/v1", "http://127.0.0.1:2/v1"):
        folder(tmp_path, opening={"url": url}).close()
        assert read_manifest(tmp_path).opening == {"url": url}


def test_other_folders_are_refused(tmp_path):
    with pytest.raises(InputError, match=r"must be a run folder: it has no run\.json"):
        read_manifest(tmp_path)
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(InputError, match=r"must be a run folder or empty, got a folder with 'notes\.txt'"):
        folder(tmp_path)
    (tmp_path / "run.json").write_text(json.dumps({"format": 99}))
    with pytest.raises(InputError, match="must be of format 1, got 99"):
        read_manifest(tmp_path)
    (tmp_path / "run.json").write_text("[" * 100_000)
    with pytest.raises(InputError, match="cannot be read"):
        read_manifest(tmp_path)
    (tmp_path / "run.json").write_bytes(manifest(trial()).encode().replace(b'"shard": null', b'"shard": [0, 0]'))
    with pytest.raises(InputError, match="is damaged: a shard must be i/n"):
        read_manifest(tmp_path)
    (tmp_path / "run.json").write_text("{")
    with pytest.raises(InputError, match="cannot be read"):
        read_manifest(tmp_path)
