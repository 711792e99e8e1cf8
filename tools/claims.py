"""Thirteen things that are said of position, and the numbers that settle each, computed here."""

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ordinate.describe.words import raised
from ordinate.dialects import read
from ordinate.errors import InputError
from ordinate.ops import attend, rotate
from ordinate.plots.attention_decay import score
from ordinate.scaling.linear import Linear
from ordinate.scaling.ntk import Ntk
from ordinate.schemes.alibi import Alibi
from ordinate.schemes.learned import LearnedPositions
from ordinate.schemes.rope import Rope
from ordinate.schemes.sinusoidal import Sinusoidal

Numbers = dict[str, float]


@dataclass(frozen=True)
class Claim:
    """Something that is said.

    Args:
        said: the claim
        answer: in a few words
        why: in a sentence or more, with the numbers by name
        numbers: computes them
        see: a command or a picture that shows it, as Markdown
    """

    said: str
    answer: str
    why: str
    numbers: Callable[[], Numbers]
    see: str

    def text(self) -> str:
        """Why, with the numbers in it, powers of ten as they are printed."""
        return re.sub(r"\d[\d.]*e[+-]\d+", lambda found: raised(found[0]), self.why.format(**self.numbers()))


def within(error: float, bound: float) -> float:
    """The bound that an error of rounding keeps, which is the same on every machine; a fault where it does not."""
    if not error <= bound:
        raise ArithmeticError(f"an error of {error:g} is more than rounding, {bound:g}")
    return bound


def permuted() -> Numbers:
    """Attention of the same tokens in another order, without position and with RoPE."""
    generator = np.random.default_rng(0)
    q, k, v = (generator.standard_normal((1, 8, 1, 64)) for _ in range(3))
    order = generator.permutation(8)
    plain, moved = attend(q, k, v), attend(q[:, order], k[:, order], v[:, order])
    angles = Rope(head_dim=64).angles(np.arange(8))
    cos, sin = np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)
    turned = attend(q, k, v, cos=cos, sin=sin)
    turned_moved = attend(q[:, order], k[:, order], v[:, order], cos=cos, sin=sin)
    return {
        "apart": float(np.abs(moved - plain).max()),
        "permuted": within(float(np.abs(moved - plain[:, order]).max()), 1e-12),
        "with_rope": float(np.abs(turned_moved - turned[:, order]).max()),
    }


def raw_index() -> Numbers:
    """What is left of a word where its position's number is added to each of its 768 channels."""
    words = 0.02 * np.random.default_rng(0).standard_normal((2, 768))

    def alike(vectors: np.ndarray) -> float:
        return float(vectors[0] @ vectors[1] / np.prod(np.linalg.norm(vectors, axis=1)))

    index = np.full(768, 511.0)
    size = float(np.linalg.norm(words[0]))
    return {
        "word": size,
        "index": float(np.linalg.norm(index)),
        "ratio": float(np.linalg.norm(index)) / (0.02 * math.sqrt(768)),
        "alike_before": alike(words),
        "unlike_after": 1 - alike(words + index),
        "sinusoid": float(np.linalg.norm(Sinusoidal(dim=768).table([511]))),
    }


def slowest() -> Numbers:
    """The slowest of 256 sinusoids, in the paper's layout and in Tensor2Tensor's."""
    return {
        "frequency": float(Sinusoidal(dim=512).frequencies[-1]),
        "other_layout": float(Sinusoidal(dim=512, layout="tensor2tensor").frequencies[-1]),
    }


def fastest() -> Numbers:
    """Turns a position of the fastest pair, and positions a turn."""
    turn = float(Rope(head_dim=128).plain()[0]) / (2 * math.pi)
    return {"turns": turn, "positions": 1 / turn}


def relative() -> Numbers:
    """How far one matrix is from moving every position's sinusoid by 7 tokens."""
    scheme, positions = Sinusoidal(dim=128), np.arange(10_000)
    moved = scheme.table(positions) @ scheme.matrix(7).T
    error = float(np.abs(moved - scheme.table(positions + 7)).max())
    return {"error": within(error, 1e-10), "shift": 7.0, "positions": 10_000.0}


def decay() -> Numbers:
    """How often a step away raises the score of an equal query and key, in Llama 2."""
    values = score(read("llama-2-7b").group, 4096)
    low = int(values[:200].argmin())
    high = low + int(values[low:].argmax())
    return {
        "rises": float((np.diff(values) > 0).sum()),
        "steps": 4096.0,
        "near": float(low),
        "near_score": float(values[low]),
        "far": float(high),
        "far_score": float(values[high]),
    }


def norms() -> Numbers:
    """The largest change of a vector's length by rotation, at positions up to 2^20."""
    positions = np.array([0, 1, 4095, 131_071, 2**20])
    q = np.random.default_rng(0).standard_normal((1, 5, 1, 128))
    angles = Rope(head_dim=128).angles(positions)
    tables = (np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32))
    turned, _ = rotate(q, None, *tables, np.arange(5)[None])
    before, after = (np.linalg.norm(x, axis=-1) for x in (q, turned))
    return {"change": within(float(np.abs(after / before - 1).max()), 1e-7)}


def unseen() -> Numbers:
    """Pairs of Llama 2 that meet new angles past 4,096 tokens, and turns of the fastest within them."""
    turns = 4096 * read("llama-2-7b").group.frequencies() / (2 * math.pi)
    new = np.flatnonzero(turns < 1)
    return {
        "pairs": float(len(turns)),
        "unseen": float(len(new)),
        "first": float(new[0]),
        "fastest_turns": float(turns[0]),
        "slowest_turns": float(turns[-1]),
    }


def interpolated() -> Numbers:
    """What PI from 4,096 to 16,384 tokens makes of each frequency."""
    rope = Rope(head_dim=128)
    share = Linear(16384 / 4096).frequencies(rope) / rope.plain()
    return {"least": float(share.min()), "most": float(share.max())}


def ntk() -> Numbers:
    """What NTK by 4 does to the fastest and the slowest pair, and what a base 4 times as large would do."""
    rope = Rope(head_dim=128)
    slowed = rope.plain() / Ntk(4.0).frequencies(rope)
    return {
        "fastest": float(slowed[0]),
        "slowest": float(slowed[-1]),
        "base": 10000.0 * 4 ** (128 / 126),
        "by_base_times_4": float(rope.plain()[-1] / rope.plain(40000.0)[-1]),
    }


def pairings() -> Numbers:
    """Scores of the two pairings on the same channels, and on channels that are renamed to fit."""
    generator = np.random.default_rng(0)
    q, k = generator.standard_normal((2, 1, 16, 1, 64))
    angles = Rope(head_dim=64).angles(np.arange(16))
    cos, sin, row = np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32), np.arange(16)[None]
    renamed = np.arange(64).reshape(2, 32).T.ravel()  # channel 2i from i, 2i + 1 from i + 32

    def scores(a: np.ndarray, b: np.ndarray, pairing: Literal["half", "interleaved"]) -> np.ndarray:
        a, b = rotate(a, b, cos, sin, row, pairing)
        return np.einsum("bqhd,bkhd->bqk", a, b) / 8

    half = scores(q, k, "half")
    renamed_scores = scores(q[..., renamed], k[..., renamed], "interleaved")
    return {
        "same_weights": float(np.abs(scores(q, k, "interleaved") - half).max()),
        "permuted_weights": within(float(np.abs(renamed_scores - half).max()), 1e-12),
    }


def stretched() -> Numbers:
    """A learned table of 512 positions served to 1,024: how far apart neighbours stand; it is refused unasked."""
    rows = {"table": np.arange(512.0)[:, None]}  # each row holds its number: what comes out is where a position reads
    table = LearnedPositions(length=512, dim=1)
    long = LearnedPositions(length=512, dim=1, beyond="interpolate", target=1024)
    try:
        table.table([512], rows)
        refused = 0.0
    except InputError:
        refused = 1.0
    wide = LearnedPositions(length=1024, dim=768).cost(1).parameters - LearnedPositions(512, dim=768).cost(1).parameters
    return {
        "refused": refused,
        "step": float(np.diff(long.table(np.arange(1024), rows)[:, 0]).mean()),
        "parameters": float(wide),
    }


def far() -> Numbers:
    """ALiBi's weight at 4,096 tokens, in the gentlest and the steepest of 8 heads."""
    penalty = Alibi(heads=8).by_distance(np.array([4096, 64]))
    return {
        "gentlest": -float(penalty[-1, 0]),
        "weight": float(np.exp(penalty[-1, 0])),
        "nearer": float(np.exp(penalty[-1, 1])),
        "steepest": -float(penalty[0, 0]),
    }


CLAIMS = (
    Claim(
        "Permuted sentences give identical attention",
        "no: permuted attention",
        "Without position, the outputs of permuted tokens are those of the tokens, permuted: moved back, they agree "
        "to within {permuted:.0e}. They are not the same place by place, where they differ by up to {apart:.2f}. "
        "With RoPE they are no permutation either: moved back they are {with_rope:.2f} apart.",
        permuted,
        "`ordinate list schemes`: what breaks the tie, at three places",
    ),
    Claim(
        "Addition of a raw position index is impossible",
        "no: possible, and unsuitable",
        "Position 511, added to each of 768 channels, has a length of {index:,.0f}, {ratio:,.0f} times that of a "
        "word's embedding ({word:.2f}). Two words whose cosine was {alike_before:.2f} then have one of 1 - "
        "{unlike_after:.1e}: what they mean is gone. A sinusoid has length {sinusoid:.1f} at every position.",
        raw_index,
        "[the sinusoid matrix](pictures/sinusoid_matrix.svg)",
    ),
    Claim(
        "The slowest sinusoid has frequency 1/base",
        "no: base^(−(d−2)/d)",
        "With base 10,000 and d = 512 it is {frequency:.6e} rad a token, not 1e-04. Tensor2Tensor's layout spreads its "
        "frequencies up to the end, and its slowest is {other_layout:.0e}.",
        slowest,
        "[chosen channels](pictures/sinusoid_curves.svg)",
    ),
    Claim(
        "The fastest hand makes almost a full turn a position",
        "no: 0.159 turns",
        "It turns by 1 rad a position, which is {turns:.4f} turns: a full turn takes {positions:.3f} positions.",
        fastest,
        "[the turn of each pair](pictures/rotation.svg)",
    ),
    Claim(
        "Sinusoids give no relative information",
        "no: one matrix M_k shifts them all",
        "table(p + {shift:.0f}) = M table(p) with one M for every p: over {positions:,.0f} positions the two sides "
        "differ by less than {error:.0e}.",
        relative,
        "[similarity of positions](pictures/similarity.svg), which depends on distance alone",
    ),
    Claim(
        "RoPE scores always decay with distance",
        "no",
        "For an equal query and key, all pairs alike, in Llama 2's frequencies {rises:,.0f} of {steps:,.0f} steps "
        "away raise the score: it is {near_score:.3f} at {near:.0f} tokens and {far_score:.3f} at {far:.0f}. Its "
        "trend falls; real queries and keys weigh pairs as they like.",
        decay,
        "[decay with distance](pictures/attention_decay.svg)",
    ),
    Claim(
        "Rotation changes norms",
        "no",
        "Up to position 2^20 no vector's length changes by more than {change:.0e} of itself, the rounding of cos and "
        "sin to float32. What multiplies cos and sin in YaRN and LongRoPE is a magnitude put on top, and xPos scales "
        "q and k apart.",
        norms,
        "[the turn of each pair](pictures/rotation.svg)",
    ),
    Claim(
        "The high frequencies leave their trained range when a window is extended",
        "no: the low ones",
        "In 4,096 tokens the fastest pair of Llama 2 turns {fastest_turns:.0f} times and has met every angle. The "
        "{unseen:.0f} slowest of {pairs:.0f} pairs, from pair {first:.0f} on, have not finished a turn (the last made "
        "{slowest_turns:.3f} of one): past the window they meet new angles.",
        unseen,
        "[wavelengths against windows](pictures/wavelengths.svg)",
    ),
    Claim(
        "Position Interpolation from 4,096 to 16,384 scales by 1/4",
        "yes",
        "The 64 frequencies are multiplied by {least:.4g} at the least and by {most:.4g} at the most.",
        interpolated,
        "[what scaling does to each band](pictures/scaling_bands.svg)",
    ),
    Claim(
        "NTK keeps the fastest pair and stretches the slowest by about s",
        "yes, by s exactly",
        "With s = 4 and d = 128 the base becomes {base:,.0f}: the fastest pair is slowed by {fastest:.0f}, the "
        "slowest by {slowest:.4f}. A base of merely 40,000 would slow it by {by_base_times_4:.3f}.",
        ntk,
        "[what scaling does to each band](pictures/scaling_bands.svg)",
    ),
    Claim(
        "The two pairings are equivalent",
        "only with permuted weights",
        "On the same q and k their scores differ by up to {same_weights:.2f} logits. With the channels of q and k "
        "renamed to fit they agree to within {permuted_weights:.0e}.",
        pairings,
        "`ordinate convert --detect MODEL`, and [converting weights](converting.md)",
    ),
    Claim(
        "Learned tables cannot be extended",
        "they can, at a cost",
        "A table is undefined past its end, and refused there unless asked otherwise. Interpolated from 512 to 1,024 "
        "positions, neighbours stand {step:.4f} of a learned step apart; a longer table that is trained on instead has "
        "{parameters:,.0f} more parameters at width 768.",
        stretched,
        "`learned` in [the schemes](schemes.md)",
    ),
    Claim(
        "ALiBi forbids distant attention",
        "no",
        "At 4,096 tokens the gentlest of 8 heads takes {gentlest:.0f} logits: a weight of {weight:.1e}, which is small "
        "and not 0; at 64 tokens it leaves {nearer:.2f}. The steepest takes {steepest:,.0f}. A key that scores as much "
        "more outweighs it.",
        far,
        "[penalties](pictures/alibi_penalties.svg) and [slopes](pictures/alibi_slopes.svg)",
    ),
)
