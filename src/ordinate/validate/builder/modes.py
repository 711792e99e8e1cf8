"""Response modes: what is written around the context, for a base model, a chat model, and one that reasons."""

from ordinate.errors import InputError, one_of
from ordinate.validate.builder.pieces import Piece, Seams
from ordinate.validate.builder.templates import Template
from ordinate.validate.instances import Instance
from ordinate.validate.tokenizers import Tokenizer

MODES = ("base", "chat", "reasoning")
"""base: a text that the answer continues; chat: a message that asks for one line; reasoning: one that lets think
first."""

TASK = "Read the text and answer the question about it."
REPLY = {
    "chat": 'Reply with one line: "{lead}" and then the answer alone.',
    "reasoning": 'Think first, as long as you need. End with one line: "{lead}" and then the answer alone.',
}


class Frame:
    """All that is not context, in tokens.

    Args:
        start: everything up to the context: template, nonce, demonstrations
        end: everything behind it: question, lead, template
        head, tail: how many of the tokens, at the very beginning and end, are the template's or the tokenizer's own
    """

    def __init__(self, start: Piece, end: Piece, head: int, tail: int) -> None:
        self.start, self.end, self.head, self.tail = start, end, head, tail
        self.fixed = start.count + end.count


def frame(
    instance: Instance, mode: str, nonce: str | None, template: Template | None, tokenizer: Tokenizer, seams: Seams
) -> Frame:
    """Write and encode what stands around an instance's context.

    `Piece.text` holds the message alone: what the template or the tokenizer adds has ids and no text there.

    Raises:
        InputError: an unknown mode, a chat mode without a template, a template whose seams with the message do not
            hold, more than one beginning-of-text token, or special tokens in the instance's texts
    """
    one_of("mode", mode, MODES)
    opening, closing = words_around(instance, mode, nonce)
    if mode == "base":
        if template is not None:
            raise InputError("mode 'base' takes no chat template")
        head, tail = tokenizer.bos, ()
        begun, ended = tuple(tokenizer.encode(opening)), seams.continued(closing)
    elif template is None:
        hint = "the tokenizer has none; mode 'base' needs none"
        raise InputError(f"mode {mode!r} needs the model's chat template: {hint}")
    else:
        head, tail = template.head, template.tail
        begun, ended = _inside(opening, closing, template, tokenizer, seams)
    if tokenizer.specials.intersection(begun) or tokenizer.specials.intersection(ended):
        raise InputError(f"instance {instance.index} of {instance.task!r} holds a special token in its texts")
    if tokenizer.bos and sum(number == tokenizer.bos[0] for number in head) > 1:
        raise InputError("the chat template must hold the beginning-of-text token at most once, got it twice")
    spoken = opening if template is None or template.text is None else template.text[0] + opening
    start, end = Piece(opening, head + begun, spoken), Piece(closing, ended + tail)
    return Frame(start, end, len(head), len(tail))


def words_around(instance: Instance, mode: str, nonce: str | None) -> tuple[str, str]:
    """What is written before and behind the context: nonce line, task, demonstrations; question, reply form, lead."""
    opening = "" if nonce is None else f"{nonce}\n\n"
    if mode != "base":
        opening += f"{TASK}\n\n"
    for shown in instance.demonstrations:
        text = "".join(f" {record}" for record in shown.records)
        opening += f"Text:{text}\n\nQuestion: {shown.question}\n{instance.lead} {shown.answer}\n\n"
    closing = f"\n\nQuestion: {instance.question}\n"
    closing += instance.lead if mode == "base" else REPLY[mode].format(lead=instance.lead)
    return opening + "Text:", closing


def _inside(
    opening: str, closing: str, template: Template, tokenizer: Tokenizer, seams: Seams
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    if template.text is None:
        return tuple(tokenizer.encode(opening)), seams.continued(closing)
    head, tail = len(template.head), len(template.tail)
    begun = tuple(tokenizer.encode(template.text[0] + opening))
    ended = seams.continued(closing + template.text[1])
    if begun[:head] != template.head or ended[len(ended) - tail :] != template.tail:
        raise InputError("the chat template's tokens must stay what they are beside a message, got others")
    return begun[head:], ended[: len(ended) - tail]
