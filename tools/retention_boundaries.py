"""Search for the largest error rates of `ordinate.validate.statistics.retention`'s boundaries.

Short scores from the floor's margin above chance to 1, the dependence between a pair's answers from the most opposed
to the most equal, chance from 0 to 1/2: for each, runs are drawn whose true retention is exactly what is asked, and
how often any look calls them supported, and refuted, is counted. The largest of each must be below 0.05; of refuted,
0.05 over the number of places. `--last` plans fewer looks.
"""

import argparse

import numpy as np

from ordinate.validate.statistics.retention import LOOKS, RETAINED, Pairs, retention


def decisions(look: int, chance: float, places: int, last: int) -> np.ndarray:
    """The verdict for every table of counts at a look: [both, lost, gained], 1 supported, -1 refuted, 0 neither."""
    words = {"supported": 1, "refuted": -1, "inconclusive": 0}
    table = np.zeros((look + 1,) * 3, dtype=np.int8)
    for both in range(look + 1):
        for lost in range(look + 1 - both):
            for gained in range(look + 1 - both - lost):
                pairs = Pairs(both, lost, gained, look - both - lost - gained)
                table[both, lost, gained] = words[retention(pairs, chance=chance, places=places, last=last).verdict]
    return table


def rates(tables: list[np.ndarray], cells: np.ndarray, runs: int, random: np.random.Generator) -> tuple[float, float]:
    """How often a run is called supported, and refuted, at any look."""
    total, supported, refuted = np.zeros((runs, 4), dtype=np.int64), np.zeros(runs, bool), np.zeros(runs, bool)
    for table, look, before in zip(tables, LOOKS, (0, *LOOKS), strict=False):
        total += random.multinomial(look - before, cells, runs)
        said = table[total[:, 0], total[:, 1], total[:, 2]]
        supported |= said == 1
        refuted |= said == -1
    return float(supported.mean()), float(refuted.mean())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=40000, help="simulated runs at each point")
    parser.add_argument("--chance", type=float, nargs="*", default=[0.0, 0.1, 0.25, 0.33, 0.5])
    parser.add_argument("--places", type=int, default=1, help="of how many places each is tested")
    parser.add_argument("--last", type=int, default=LOOKS[-1], choices=LOOKS, help="the last look that is planned")
    options = parser.parse_args()
    looks = [look for look in LOOKS if look <= options.last]
    random, worst = np.random.default_rng(1), [0.0, 0.0]
    for chance in options.chance:
        tables = [decisions(look, chance, options.places, options.last) for look in looks]
        here = [0.0, 0.0]
        for short in np.linspace(chance + 0.1, 1, 8):
            long = RETAINED * short + (1 - RETAINED) * chance
            least, most = max(0.0, short + long - 1), min(short, long)
            for dependence in (0, 0.25, 0.5, 0.75, 1):
                both = least + dependence * (most - least)
                cells = np.clip([both, short - both, long - both, 1 - short - long + both], 0, 1)
                here = [
                    max(a, b)
                    for a, b in zip(here, rates(tables, cells / cells.sum(), options.runs, random), strict=True)
                ]
        print(f"chance {chance}: supported at most {here[0]:.4f}, refuted at most {here[1]:.4f}", flush=True)
        worst = [max(a, b) for a, b in zip(worst, here, strict=True)]
    print(f"worst: supported {worst[0]:.4f}, refuted {worst[1]:.4f}")


if __name__ == "__main__":
    main()
