"""The page of claims: what is said of position, what settles it, and ten questions with their answers."""

import contextlib
import io
import shlex
from dataclasses import dataclass

from claims import CLAIMS

from ordinate.cli import run

INTRODUCTION = """# What is said of position, and what settles it

Thirteen claims, each with the number that settles it. The numbers are computed by the package's own code when this page
is made (tools/claims.py), and a test holds them to values that are worked out otherwise.

"""

QUESTIONS_INTRODUCTION = """## Ten questions to ask oneself

Each is answered by a command, whose words below are what it printed when this page was made, or by a picture, which has
its own command on the page of [pictures](plots.md).

"""


@dataclass(frozen=True)
class Question:
    """A question of a self-check.

    Args:
        asked: the question
        answer: in words; for a picture what to look for
        command: what prints the answer, or None
        lines: which of its lines are shown: those that hold one of these words
        picture: or the picture that shows it: its kind
    """

    asked: str
    answer: str
    command: str | None = None
    lines: tuple[str, ...] = ()
    picture: str | None = None


QUESTIONS = (
    Question(
        "At which three places can a Transformer learn where a token stands?",
        "In the embedding (additive), in a turn of q and k (rotary), or on the logits (bias): the kinds of all "
        "schemes.",
        "list schemes",
        ("sinusoidal", "rope", "alibi"),
    ),
    Question(
        "Why so many wavelengths?",
        "A fast channel tells neighbours apart and repeats itself; a slow one never repeats and hardly moves. Together "
        "they name a position, as the digits of a number do.",
        picture="sinusoid_curves",
    ),
    Question(
        "What of two positions reaches the score of a query and a key?",
        "Their difference: both hands of a dial may start anywhere.",
        picture="rotation",
    ),
    Question(
        "How many pairs of this model never finish a turn in training?",
        "`describe` counts them.",
        "describe llama-2-7b",
        ("slow pairs", "wavelengths"),
    ),
    Question(
        "Which of them meet new angles when the window grows?",
        "The hollow points: those whose wavelength is longer than the trained length.",
        picture="wavelengths",
    ),
    Question(
        "What do PI, NTK, YaRN and Llama 3's method do to fast and to slow pairs?",
        "PI slows all alike, NTK the more the slower, YaRN and Llama 3 keep fast ones and divide slow ones.",
        picture="scaling_bands",
    ),
    Question(
        "Does the engine compute what the files say?",
        "Not every engine does. `diff` asks any of them, or all; here a model with YaRN.",
        "diff gpt-oss-20b --engines vllm,exllamav2,torchtitan",
    ),
    Question(
        "Can this model be said in another engine's words?",
        "`translate` says what is lost, proves the rest, and withholds words that would change the model.",
        "translate gpt-oss-20b --to llama_cpp",
    ),
    Question(
        "What becomes of keys that were cached before the base changed?",
        "They are wrong, and nothing fails.",
        picture="stale_keys",
    ),
    Question(
        "What does the window cost, and does the model use it?",
        "`plan` says the first before anything runs. The second needs a run of `ordinate validate`, whose picture "
        "shows where it holds, where it fails, and what is undecided.",
        "plan llama-2-7b --context 4k,32k,128k --batch 1,16",
        ("context ", "4,096  ", "32,768  ", "131,072  "),
        picture="depth_by_length",
    ),
)


def page() -> str:
    """The page, where the root is the working directory."""
    rows = [f"| {number}. {claim.said} | {claim.answer} |" for number, claim in enumerate(CLAIMS, 1)]
    text = INTRODUCTION + "| what is said | what is so |\n| --- | --- |\n" + "\n".join(rows) + "\n"
    for number, claim in enumerate(CLAIMS, 1):
        answer = f"{claim.answer[0].upper()}{claim.answer[1:]}"
        text += f"\n## {number}. {claim.said}\n\n**{answer}.** {claim.text()}\n\nTo see it: {claim.see}.\n"
    text += "\n" + QUESTIONS_INTRODUCTION
    for number, question in enumerate(QUESTIONS, 1):
        text += f"### {number}. {question.asked}\n\n{question.answer}\n\n"
        if question.command:
            text += f"```\nordinate {question.command}\n\n{_said(question)}\n```\n\n"
        if question.picture:
            text += f"![{question.answer}](pictures/{question.picture}.svg)\n\n"
    return text.rstrip() + "\n"


def _said(question: Question) -> str:
    """The lines of what a command prints that answer the question."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        code = run(shlex.split(question.command or ""))
    if code not in (0, 1):
        raise RuntimeError(f"ordinate {question.command} ended with {code}")
    lines = out.getvalue().rstrip().splitlines()
    if question.lines:
        lines = [line for line in lines if any(word in line for word in question.lines)]
    if not lines:
        raise LookupError(f"ordinate {question.command} printed nothing of {', '.join(question.lines)}")
    return "\n".join(line.rstrip() for line in lines)
