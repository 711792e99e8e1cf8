"""The whole suite without a model: readers of known ability, through the runner and a run folder, get their verdicts.

Prompts are of bytes, so that lengths of some thousand tokens are quickly built. Places, floor gates, looks and verdicts
are those of every run.
"""

from collections.abc import Sequence
from functools import cache
from pathlib import Path

import pytest
from validate_prompts import BYTES, made

from ordinate.validate.backends.simulated import Simulated
from ordinate.validate.claims import STABILITY, Claim
from ordinate.validate.fillers import find
from ordinate.validate.readers import LostInTheMiddle, Noisy, Oracle, Reader, RetrievalOnly, Window
from ordinate.validate.readers.base import Decoder
from ordinate.validate.running import run
from ordinate.validate.sampling import Material, Sampler
from ordinate.validate.store import Manifest
from ordinate.validate.store.folder import open_run
from ordinate.validate.tasks import task_names
from ordinate.validate.trials import Trial
from ordinate.validate.uses.answers import kept
from ordinate.validate.uses.lengths import by_length, reached
from ordinate.validate.uses.statements import claims
from ordinate.validate.uses.tallies import Tally, tally

TASKS = task_names()
FILLER = find("generated").identity
SHORT = 1024
FACTOR = ("near_key", "multi_hop", "contradiction", "citation")
"""Tasks with position stability as a factor."""


@cache
def material() -> Material:
    return Material(BYTES)


def trial(task: str, lengths: Sequence[int] = (), places: tuple[str, ...] = ("start",), units: int = 24) -> Trial:
    """A task from 1024 bytes on."""
    return Trial(
        task, SHORT, tuple(lengths), places, difficulty=(("demonstrations", 0),), filler=FILLER, units=units, reserve=64
    )


def ran(path: Path, reader: Reader, asked: Trial) -> Tally:
    """What a run folder holds when a reader has been asked everything."""
    sampler = Sampler(Simulated(reader, BYTES), material())
    manifest = Manifest("self test", dict(sampler.subject), 0, (asked,))
    with open_run(path, manifest) as folder:
        assert run(sampler, folder).ended == "complete"
    with open_run(path, manifest) as folder:  # read anew
        return tally(asked, folder.samples.values())


def said(asked: Trial, found: Tally, ability: str) -> dict[int | None, Claim]:
    """The claims of one ability by length."""
    return {claim.length: claim for claim in claims(asked, found) if claim.ability == ability}


@pytest.mark.parametrize("name", TASKS)
def test_an_oracle_is_supported_everywhere(name: str, tmp_path: Path) -> None:
    """24 units are enough where chance is at most 1/6, and 50 everywhere."""
    asked = trial(name, (1536,), ("spread",), units=24 if made(name).chance() < 0.17 else 50)
    found = ran(tmp_path, Oracle(), asked)
    assert by_length(asked, found) == {SHORT: "supported", 1536: "supported"}
    assert reached(asked, found) == 1536


@pytest.mark.parametrize("name", TASKS)
def test_a_window_reaches_no_further_than_its_length(name: str, tmp_path: Path) -> None:
    """With the evidence at the start, where it is lost first."""
    asked = trial(name, (2048,))
    found = ran(tmp_path, Window(1024), asked)
    assert by_length(asked, found) == {SHORT: "supported", 2048: "refuted"}
    assert reached(asked, found) == 1024


@pytest.mark.slow
@pytest.mark.parametrize("window", [1024, 2048, 4096, 8192])
@pytest.mark.parametrize("name", TASKS)
def test_a_window_reaches_exactly_its_length_on_a_grid_of_octaves(name: str, window: int, tmp_path: Path) -> None:
    asked = trial(name, (2048, 4096, 8192), units=50)
    found = ran(tmp_path, Window(window), asked)
    assert by_length(asked, found) == {
        length: "supported" if length <= window else "refuted" for length in (SHORT, 2048, 4096, 8192)
    }
    assert reached(asked, found) == window


@pytest.mark.parametrize("name", FACTOR)
def test_what_is_lost_in_the_middle_is_flagged_by_the_stability_factor(name: str, tmp_path: Path) -> None:
    asked = trial(name, (4096,), ("start", "middle", "end"))
    lost = ran(tmp_path / "lost", LostInTheMiddle(0.3, 0.35, whole=SHORT), asked)
    claim = said(asked, lost, STABILITY)[4096]
    assert claim.verdict == "refuted"
    assert (claim.evidence["worst"], claim.evidence["gap"]) == ("middle", 1.0)
    assert claim.evidence["shares"] == {"start": 1.0, "middle": 0.0, "end": 1.0}
    assert kept(asked, lost, 4096, "middle").verdict == "refuted"
    assert by_length(asked, lost)[4096] == "refuted"
    assert said(asked, lost, STABILITY)[SHORT].verdict != "refuted"


def test_a_reader_to_whom_the_place_is_nothing_is_not_flagged(tmp_path: Path) -> None:
    asked = trial("near_key", (1536,), ("start", "middle", "end"))
    for number, reader in enumerate((Oracle(), Noisy(0.9, seed=3))):
        found = said(asked, ran(tmp_path / str(number), reader, asked), STABILITY)
        assert {claim.verdict for claim in found.values()} <= {"supported", "inconclusive"}


@pytest.mark.parametrize("name", TASKS)
def test_retrieval_alone_passes_lookups_and_is_at_the_floor_of_all_that_combines(name: str, tmp_path: Path) -> None:
    lookup = name in ("passkey", "near_key")
    asked = trial(name, (2048,), ("spread",), units=50 if lookup else 24)
    found = ran(tmp_path, RetrievalOnly(), asked)
    assert set(by_length(asked, found).values()) == {"supported" if lookup else "not applicable"}
    assert reached(asked, found) == (2048 if lookup else None)


class Fading(Noisy):
    """Right less often in longer prompts."""

    def __init__(self, shares: dict[int, float], seed: int = 0) -> None:
        super().__init__(1.0, seed)
        self.shares = shares

    def answer(self, ids: Sequence[int], tokenizer: Decoder) -> str:
        self.right = self.shares[len(ids)]
        return super().answer(ids, tokenizer)


def test_a_reader_that_fades_is_refuted_where_it_does_and_one_that_errs_everywhere_is_not(tmp_path: Path) -> None:
    """50 units, with a look at 24."""
    asked = trial("multi_hop", (1536, 2048), ("spread",), units=50)
    fades = ran(tmp_path / "fades", Fading({SHORT: 0.95, 1536: 0.95, 2048: 0.4}, seed=1), asked)
    assert by_length(asked, fades) == {SHORT: "supported", 1536: "supported", 2048: "refuted"}
    errs = by_length(asked, ran(tmp_path / "errs", Noisy(0.8, seed=2), asked))
    assert errs[SHORT] == "supported"
    assert "refuted" not in errs.values()


def test_what_stays_at_chance_is_said_not_to_apply(tmp_path: Path) -> None:
    asked = trial("multi_hop", (2048,))
    found = ran(tmp_path, Noisy(0.25, seed=4), asked)
    assert set(by_length(asked, found).values()) == {"not applicable"}
    assert not found.units(2048, "start")  # and costs no long prompt
