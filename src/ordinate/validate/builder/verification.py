"""A prompt read once more, whole: as many tokens as it should have, the same when sent as text, records in place."""

from ordinate.errors import InputError
from ordinate.validate.builder.pieces import Seams
from ordinate.validate.builder.prompt import Prompt
from ordinate.validate.builder.templates import Template
from ordinate.validate.instances import Instance
from ordinate.validate.tokenizers import Tokenizer


def verify(prompt: Prompt, tokenizer: Tokenizer, instance: Instance, template: Template | None = None) -> None:
    """Encode a prompt's text anew, decode its ids and encode these anew, and find every record where it is said to be.

    Args:
        prompt: of a builder
        tokenizer: the one it was built for
        instance: the one it was built from
        template: the one it was built with

    Raises:
        InputError: the prompt is not what it says; the message names what differs
    """
    what = f"prompt {prompt.index} of {prompt.task!r}"
    ids = list(prompt.ids)
    if len(ids) != prompt.length:
        raise InputError(f"{what} must have {prompt.length} tokens, got {len(ids)}")
    middle = ids[prompt.head : len(ids) - prompt.tail]
    if template is not None and template.text is not None:
        written = tokenizer.encode(template.text[0] + prompt.text + template.text[1])
    else:
        written = [*ids[: prompt.head], *tokenizer.encode(prompt.text), *ids[len(ids) - prompt.tail :]]
    _same(what, "its text", written, ids)
    if template is None or template.text is not None:
        _same(what, "its decoded ids", tokenizer.encode(tokenizer.decode(ids)), ids)
    else:
        _same(what, "its decoded message", tokenizer.encode(tokenizer.decode(middle)), middle)
    if tokenizer.specials.intersection(middle):
        raise InputError(f"{what} must hold special tokens in its template alone")
    seams = Seams(tokenizer)
    if {record.name for record in instance.records} != set(prompt.placed):
        raise InputError(f"{what} must hold the records of its instance")
    for record in instance.records:
        start, stop = prompt.spans[record.name]
        _same(what, f"record {record.name!r}", ids[start:stop], list(seams.continued(" " + record.text)))


def _same(what: str, part: str, got: list[int], wanted: list[int]) -> None:
    if got != wanted:
        at = next((i for i, pair in enumerate(zip(got, wanted, strict=False)) if pair[0] != pair[1]), len(wanted))
        raise InputError(f"{what}: {part} encodes to other tokens from token {at} on")
