"""Shards of a run, put together, are the run."""

import pytest
from scripted_backend import Scripted, folder, right, sampler, trial

from ordinate.errors import InputError
from ordinate.validate.backends import Reply
from ordinate.validate.running import run
from ordinate.validate.shards import merge, shard
from ordinate.validate.store import read_samples
from ordinate.validate.validating import judge

PAIRS = trial(task="absence", short=1200, lengths=(1400,), difficulty=())
TRIALS = (trial(controls=("no_context",), control_units=5), PAIRS)


def taken(path, *trials, part=None, backend=None):
    found = folder(path, *(trials or TRIALS), shard=part)
    course = run(sampler(backend or Scripted()), found)
    found.close()
    return course


@pytest.fixture(scope="module")
def parts(tmp_path_factory):
    root = tmp_path_factory.mktemp("shards")
    for i in range(3):
        assert taken(root / str(i), part=(i, 3)).ended == "complete"
    return root


def test_a_shard_takes_its_own_units_whole_and_every_look_of_them(parts):
    samples = read_samples(parts / "1")
    pairs = [sample.index for sample in samples if sample.cell == PAIRS.cell(1400, "start")]
    assert pairs == [i for unit in range(1, 24, 3) for i in (2 * unit, 2 * unit + 1)]
    controls = [sample.index for sample in samples if sample.cell.control]
    assert controls == [1, 4]


def test_together_they_are_the_run_and_doing_it_again_changes_nothing(parts, tmp_path):
    taken(tmp_path / "whole")
    folders = [parts / str(i) for i in range(3)]
    found, missing = merge(folders, tmp_path / "all")
    assert missing == 0
    assert judge(found).state == "open"  # all right, and 24 of 24 prove nothing
    whole = (tmp_path / "whole" / "samples.jsonl").read_bytes()
    assert (tmp_path / "all" / "samples.jsonl").read_bytes() == whole
    for again in (folders[::-1], [*folders, tmp_path / "all"], [tmp_path / "all"], [tmp_path / "whole", folders[1]]):
        merge(again, tmp_path / "all")
        assert (tmp_path / "all" / "samples.jsonl").read_bytes() == whole


def test_what_is_missing_is_counted_and_can_be_taken_later(parts, tmp_path):
    _, missing = merge([parts / "0", parts / "2"], tmp_path / "all")
    assert missing == len(read_samples(parts / "1"))
    course = taken(tmp_path / "all")
    assert (course.ended, course.taken) == ("complete", missing)


def test_runs_that_differ_are_refused_and_it_is_said_in_what(parts, tmp_path):
    taken(tmp_path / "other", trial(), part=(1, 3))
    with pytest.raises(InputError, match="are not parts of one run: trials: 2 and 1 of them"):
        merge([parts / "0", tmp_path / "other"], tmp_path / "all")
    assert not (tmp_path / "all").exists()
    with pytest.raises(InputError, match="at least one run folder"):
        merge([], tmp_path / "all")


def test_two_answers_to_one_request_are_refused(parts, tmp_path):
    def otherwise(number, prompt, answer):
        found = right(number, prompt, answer)
        return Reply(" 1", "stop", prompt_tokens=len(prompt.ids)) if number == 4 else found

    taken(tmp_path / "again", part=(0, 3), backend=Scripted(otherwise))
    with pytest.raises(InputError, match=r"another part answer passkey 12 at 700 tokens differently"):
        merge([parts / "0", tmp_path / "again"], tmp_path / "all")


@pytest.mark.parametrize("text", ["4/4", "1", "a/b", "-1/3", "1/2/3", "0/0", "²/4", "0/" + "9" * 5000])
def test_shards_are_written_as_i_of_n(text):
    with pytest.raises(InputError, match="0 <= i < n"):
        shard(text)
