"""Runs of trials with drawn outcomes: no model, no prompt."""

import numpy as np

from ordinate.validate.cells import Sample
from ordinate.validate.trials import Trial
from ordinate.validate.uses import Tally, tally, undecided


def sampled(request, outcome="right", **more):
    more.setdefault("parsed", ("tova",) if outcome == "right" else ("merin",) if outcome == "wrong" else None)
    return Sample(request.key({}), request.cell, request.seed, request.index, outcome=outcome, **more)


def run(trial, answer, *, search=False, stop=None):
    """Everything that a run of one trial samples: `answer` makes a sample of a request."""
    samples = []
    while True:
        wanted = undecided(trial, tally(trial, samples), search=search)
        if not wanted or (stop is not None and len(samples) >= stop):
            return samples
        there = {(sample.cell, sample.index) for sample in samples}
        for one in wanted:
            for request in trial.requests(one.cell, one.first, one.last):
                if (request.cell, request.index) not in there:
                    samples.append(answer(request))


def drawn(trial, right, seed=0, *, search=False):
    """A run whose answers are right with the chance `right(length, places, control)`."""
    random = np.random.default_rng(seed)

    def answer(request):
        cell = request.cell
        return sampled(request, "right" if random.random() < right(cell.length, cell.places, cell.control) else "wrong")

    return run(trial, answer, search=search)


class Counts:
    """Tallies of drawn units: far quicker than samples, for thousands of runs."""

    def __init__(self, trial):
        request = trial.requests(trial.cell(trial.short, trial.places[0]), 0, 1)[0]
        self.trial, self.units = trial, ((sampled(request, "wrong"),), (sampled(request),))

    def tally(self, short, long, count):
        """Of outcomes bool [places, units] at the short and at the one longer length."""
        (length,) = self.trial.lengths
        cells = {}
        for i, place in enumerate(self.trial.places):
            for at, outcomes in ((self.trial.short, short), (length, long)):
                cells[at, place, ""] = {unit: self.units[int(outcomes[i, unit])] for unit in range(count)}
        return Tally(cells)


def correlated(random, short, long, places, count, dependence):
    """Outcomes at two lengths, bool [places, count] each, with the shares `short` and `long`.

    dependence: 1: whoever is right at the long length is right at the short one as far as can be; 0: independent
    """
    first = random.random((places, count)) < short
    both = short * long + dependence * (min(short, long) - short * long)
    after_right, after_wrong = both / short, 0.0 if short == 1 else (long - both) / (1 - short)
    second = random.random((places, count)) < np.where(first, after_right, after_wrong)
    return first, second


def trial(**changes):
    settings = {"task": "near_key", "short": 256, "lengths": (512,), "places": ("middle",), "units": 100, **changes}
    return Trial(**settings)
