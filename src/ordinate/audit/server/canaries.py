"""A long prompt with canaries, and which parts of it an answer depends on.

A model that cannot repeat a canary still depends on it: changing a part that was read changes the probabilities of
what comes next, if only a little; changing a part that was cut away changes nothing at all. So each part is changed
in turn, and nothing is asked of the model's wit; a model that can repeat canaries says it at less cost.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ordinate.audit.server.comparison import Gap, gap
from ordinate.audit.server.prompts import CANARIES, Prompt, Writer
from ordinate.audit.server.replies import Refused, Reply
from ordinate.audit.server.server import Endpoint, Server

HEAD, MIDDLE, TAIL = 0, CANARIES // 2, CANARIES - 1
_SHORT = 8

# How far above the noise a change must be to come from the part that was changed.
_ABOVE = 4.0

MANY = 3
"""So many canaries repeated say that those which are not were not read."""

# A count that lacks more than this part of what was sent admits a cut.
_PART = 16


def told(number: int, code: str) -> str:
    """The sentence of one canary."""
    return f"The code of note {number} is {code}."


def begun(number: int, last: str = "is") -> str:
    """The beginning of that sentence, which asks for its end."""
    return f"The code of note {number} {last}"


def longest_run(missing: Sequence[int]) -> list[int]:
    """The longest run of neighbours: among noise, a single part may look unread by chance.

    >>> longest_run([0, 3, 4, 8])
    [3, 4]
    """
    runs: list[list[int]] = []
    for part in missing:
        if runs and runs[-1][-1] == part - 1:
            runs[-1].append(part)
        else:
            runs.append([part])
    return max(runs, key=len, default=[])


def cut(missing: Sequence[int]) -> str:
    """The kind of fault, by the parts that were not read.

    >>> cut([0, 1]), cut([3, 4]), cut([8])
    ('truncation_head', 'truncation_middle', 'truncation_tail')
    """
    if HEAD in missing and TAIL in missing:
        return "truncation"
    if HEAD in missing:
        return "truncation_head"
    return "truncation_tail" if TAIL in missing else "truncation_middle"


@dataclass(frozen=True)
class Canaried:
    """A prompt with nine canaries, at its head, at every eighth and at its tail.

    Args:
        opening: what makes its beginning its own
        codes: the canaries' numbers
        proses: what stands between them
        asked: which canary the last sentence asks for
        last: the last word
    """

    opening: str
    codes: tuple[str, ...]
    proses: tuple[Prompt, ...]
    asked: int = HEAD
    last: str = "is"

    def write(self, writer: Writer) -> Prompt:
        """The prompt."""
        parts = [writer.text(self.opening)]
        for index, code in enumerate(self.codes):
            parts.append(writer.text(f" {told(index, code)}"))
            parts += self.proses[index : index + 1]
        parts.append(writer.text(f" {begun(self.asked, self.last)}"))
        return writer.joined(*parts)

    def change(self, part: int, writer: Writer, *, whole: bool) -> "Canaried":
        """The same with one part changed: its smallest piece, or all of it.

        The smallest piece of the head is the opening, that of the tail the last word, that of another its canary:
        nothing can be cut from an end without it.
        """
        if not whole and part == HEAD:
            return replace(self, opening=f"{writer.code()}{writer.code()[:3]}:")
        if not whole and part == TAIL:
            return replace(self, last="was")
        codes = tuple(writer.code() if index == part else code for index, code in enumerate(self.codes))
        if not whole:
            return replace(self, codes=codes)
        proses = tuple(
            writer.cut(writer.text(f" {writer.prose(prose.tokens)}"), prose.tokens) if index == part else prose
            for index, prose in enumerate(self.proses)
        )
        opening = f"{writer.code()}{writer.code()[:3]}:" if part == HEAD else self.opening
        last = "was" if part == TAIL else self.last
        return replace(self, codes=codes, proses=proses, opening=opening, last=last)


def place(tokens: int, writer: Writer) -> Canaried:
    """A prompt of about `tokens` tokens with its canaries."""
    codes = tuple(writer.code() for _ in range(CANARIES))
    empty = Canaried(f"{writer.code()}{writer.code()[:3]}:", codes, ())
    own = empty.write(writer).tokens
    each = max((tokens - own) // (CANARIES - 1), 0)
    proses = tuple(
        writer.cut(writer.text(f" {writer.prose(each)}"), each) if each else Prompt("", (), 0)
        for _ in range(CANARIES - 1)
    )
    return replace(empty, proses=proses if each else ())


def shortest(writer: Writer) -> int:
    """The length of the shortest prompt that holds all canaries, [token]."""
    return place(0, writer).write(writer).tokens


@dataclass
class Reading:
    """What is known of which parts of a prompt reached the model.

    Args:
        parts: by their number: True, False, or None where nothing can tell
        sent: the length of the prompt, [token]
        counted: what the server counted, [token]
        expected: what it should have counted, [token]; None where that is not known
        recalled: the canaries that the model repeated; None where it was not asked, since it cannot repeat any
        text: what it answered
        noise: how much repeating the request changes, [nat]; None without log-probabilities
    """

    parts: dict[int, bool | None]
    sent: int
    counted: int | None
    expected: int | None
    recalled: tuple[int, ...] | None
    text: str
    noise: float | None

    @property
    def fewer(self) -> int:
        """How many tokens fewer the server counted than were sent; 0 where that is not known."""
        if self.counted is None or self.expected is None:
            return 0
        return max(self.expected - self.counted, 0)


def recalls(server: Server, endpoint: Endpoint) -> bool:
    """Whether the model repeats canaries from a short prompt: most of three of them."""
    key = f"recalls {endpoint}"
    if key not in server.measured:
        short = place(0, server.writer)
        server.measured[key] = len(_recalled(server, endpoint, short, (HEAD, MIDDLE, TAIL))) >= 2
    return server.measured[key]


def read(server: Server, endpoint: Endpoint, tokens: int) -> Reading | Refused:
    """Send a long prompt, and find out which of its parts were read.

    Args:
        server: asked
        endpoint: of the prompt
        tokens: its length, about

    Raises:
        ServerFault: no answer that can be used
        Spent: the budget does not allow it
    """
    canaried = place(tokens, server.writer)
    prompt = canaried.write(server.writer)
    uncached = server.offers.uncached is not None
    base = server.ask(prompt, _SHORT, endpoint=endpoint, uncached=uncached)
    if isinstance(base, Refused):
        return base
    recalled: tuple[int, ...] | None = None
    if recalls(server, endpoint):
        recalled = _recalled(server, endpoint, canaried, tuple(range(CANARIES)))
    expected = server.expected_tokens(prompt, endpoint)
    reading = Reading({}, prompt.tokens, base.prompt_tokens, expected, recalled, base.text, None)
    again = server.ask(prompt, _SHORT, endpoint=endpoint, uncached=uncached)
    if isinstance(again, Refused):
        return again
    same = gap(base, again)
    reading.noise = same.rms
    for part in (HEAD, MIDDLE, TAIL):
        reading.parts[part] = _part(server, endpoint, canaried, part, [base, again], same, recalled)
    # A count that lacks tokens says that some part is not there, wherever it stands.
    if reading.fewer > reading.sent // _PART or not all(reading.parts.values()):
        for part in range(CANARIES):
            if part not in reading.parts:
                reading.parts[part] = _part(server, endpoint, canaried, part, [base, again], same, recalled)
    return reading


def _recalled(server: Server, endpoint: Endpoint, canaried: Canaried, asked: tuple[int, ...]) -> tuple[int, ...]:
    found = []
    for part in asked:
        reply = server.ask(replace(canaried, asked=part).write(server.writer), _SHORT, endpoint=endpoint)
        if isinstance(reply, Reply) and canaried.codes[part] in reply.text:
            found.append(part)
    return tuple(found)


def _part(
    server: Server,
    endpoint: Endpoint,
    canaried: Canaried,
    part: int,
    bases: list[Reply],
    same: Gap,
    recalled: tuple[int, ...] | None,
) -> bool | None:
    """Whether a part was read; None where nothing can tell."""
    # The ends are looked at however well the model repeats: a few tokens may be missing beyond the canary.
    if recalled is not None and part in recalled and part not in (HEAD, TAIL):
        return True
    counted = bases[0].prompt_tokens
    for whole in (False, True):
        changed = canaried.change(part, server.writer, whole=whole).write(server.writer)
        reply = server.ask(changed, _SHORT, endpoint=endpoint, uncached=server.offers.uncached is not None)
        if isinstance(reply, Refused):
            return None
        # Equal to any of the answers before the change is equal.
        apart = min((gap(base, reply) for base in bases), key=lambda each: (not each.same, each.rms or 0.0))
        found = _depends(apart, same)
        if found is not None:
            return found
    if recalled is not None and part in recalled:
        return True
    if recalled is not None and len(recalled) >= MANY:
        return False
    expected = server.expected_tokens(canaried.write(server.writer), endpoint)
    admitted = counted is not None and expected is not None and counted < expected - expected // _PART
    return False if admitted and apart.rms is not None and apart.rms <= 2 * (same.rms or 0.0) else None


def _depends(apart: Gap, same: Gap) -> bool | None:
    """Whether an answer depends on what was changed, given how far apart equal requests are."""
    if apart.rms is None or same.rms is None:
        # Without log-probabilities an equal text says nothing, and another one only where repeats do not change it.
        return True if apart.differs is not None and same.differs is None else None
    if same.same:
        return not apart.same
    # What chance changes may hide a small effect, but not pass for a large one.
    return True if apart.rms > _ABOVE * same.rms else None
