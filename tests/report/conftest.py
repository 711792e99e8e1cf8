"""A proof made by hand: numbers that no other part of the package computed, each easy to find on a page."""

import msgspec
import pytest

from ordinate.prove import result as r


def compared(original, extended):
    return r.Compared(
        r.Estimate(original, 0.051, 1000),
        r.Estimate(extended, 0.052, 1000),
        r.Estimate(extended - original, 0.011, 1000),
    )


def make_proof():
    edges = [0, 256, 1024, 2048, 4096, 6144, 8192, 10240, 12288, 14336]
    originals = [3.909, 3.2, 3.1, 3.059, 3.3, 3.508, 3.345, 3.602, 4.934]
    extendeds = [3.929, 3.22, 3.12, 3.082, 3.32, 3.537, 3.362, 3.134, 3.217]
    ranges = [
        r.Range(start, stop, compared(a, b))
        for start, stop, a, b in zip(edges, edges[1:], originals, extendeds, strict=False)
    ]
    fine = [r.Range(s, s + 256, compared(3.3 + (s > 11000) * s / 9000, 3.3 - s / 90000)) for s in range(0, 14336, 256)]
    names = ["Lighthouse", "Aquarium", "Submarine"]
    questions = [
        r.Question(
            name,
            f"48291{i}",
            2000 + 4000 * i,
            2027 + 4000 * i,
            asked,
            r.Answer(f"48291{i}" if asked == 8128 else "77 the", asked == 8128, 0.2 if asked == 8128 else 6.2),
            r.Answer(f"48291{i}", True, 0.256),
        )
        for asked in (8128, 14336)
        for i, name in enumerate(names)
        if 2027 + 4000 * i <= asked
    ]
    counts = [
        r.Counts(8128, r.Count(2, 2, (0.342, 1.0)), r.Count(2, 2, (0.342, 1.0))),
        r.Counts(14336, r.Count(0, 3, (0.0, 0.561)), r.Count(3, 3, (0.439, 1.0))),
    ]
    nothing = r.Change(r.Estimate(0.0, 0.0, 256), r.Estimate(0.0, 0.0, 256))
    lengths = [512, 1024, 2048, 4096, 8192]
    contexts = [r.Context(n, n - 256, compared(3.6 - i / 10, 3.65 - i / 10)) for i, n in enumerate(lengths)]
    gained = [
        nothing,
        *[r.Change(r.Estimate(-i / 10, 0.02, 256), r.Estimate(-i / 20, 0.02, 256)) for i in range(1, 5)],
    ]
    distances = [384, 4096, 8192, 12288, 16384, 32768]
    gaps = [r.Gap(d, i == 0, compared(3.289 + 0.5 * i, 3.304 + 0.1 * i)) for i, d in enumerate(distances)]
    lost = [nothing, *[r.Change(r.Estimate(0.5 * i, 0.06, 1149), r.Estimate(0.1 * i, 0.03, 1149)) for i in range(1, 6)]]
    facts = {
        "architecture": "llama",
        "scheme": {"full_attention": "rope"},
        "trained": 8192,
        "parameters": 134515008,
    }
    return r.Proof(
        kind="prove",
        schema_version=1,
        command="ordinate prove smollm2 stretched --seed 0 --text emma --threads 2",
        started="2026-11-29T20:00:00+00:00",
        versions={"ordinate": "0.1.0", "torch": "2.13.0"},
        threads=2,
        seed=0,
        dtype="float32",
        float32_angles=False,
        original=r.ModelFacts(
            name="smollm2", window=8192, scaling={"full_attention": None}, fingerprint="a" * 64, **facts
        ),
        extended=r.ModelFacts(
            name="stretched", window=16384, scaling={"full_attention": "yarn"}, fingerprint="b" * 64, **facts
        ),
        text=r.TextFacts(
            "emma",
            "Emma",
            "Jane Austen",
            1815,
            "c" * 64,
            "a source",
            "public domain",
            (0, 14200),
            (14336, 22528),
            [(22528, 23296)],
        ),
        verdict=r.Verdict("better", "The headline of this proof.", ["The first finding.", "The second finding."]),
        loss_by_position=r.LossByPosition(
            14336, 64, ranges, fine, r.Range(0, 8192, compared(3.31, 3.34)), r.Range(8192, 14336, compared(3.96, 3.238))
        ),
        passkeys=r.Passkeys("Key {name}-{key}.\n\n", "\n\nKey {name}-", questions, counts),
        growing_context=r.GrowingContext(256, 32, contexts, gained),
        position_gap=r.PositionGap(3, 768, 64, gaps, lost),
        costs=[
            r.Cost("original", "loading", 1.5, 2.5, 2**30),
            r.Cost("extended", "loading", 100.25, 200.5, 3 * 2**30),
        ],
    )


@pytest.fixture
def proof():
    return make_proof()


@pytest.fixture
def result(proof):
    return msgspec.to_builtins(proof)
