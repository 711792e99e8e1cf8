"""Chat templates: what stands before and after a user's message."""

from dataclasses import dataclass
from typing import NoReturn

from ordinate.errors import InputError, got
from ordinate.extras import need
from ordinate.validate.tokenizers import Tokenizer

MARKER = "(the message stands here)"


@dataclass(frozen=True)
class Template:
    """The tokens around a user's message, beginning-of-text and generation prompt included.

    Args:
        head, tail: token ids
        text: the same as text, where it is known; seams with the message are then checked as text
    """

    head: tuple[int, ...]
    tail: tuple[int, ...]
    text: tuple[str, str] | None = None


def read_template(template: str, tokenizer: Tokenizer, *, system: str | None = None) -> Template:
    """The tokens that a Jinja chat template puts around one user message, with the prompt for the answer.

    The template is rendered around a marker, in Jinja's sandbox. It alone decides about a beginning-of-text token, as
    in `apply_chat_template`.

    Args:
        template: of the model, such as `tokenizer.chat_template`
        tokenizer: the model's
        system: a system message; None leaves it to the template

    Raises:
        Unavailable: jinja2 is not installed
        InputError: the template fails, or does not render the message exactly once
    """
    need("transformers", "jinja2")
    from jinja2 import TemplateError
    from jinja2.ext import loopcontrols
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    def refuse(message: str) -> NoReturn:
        raise TemplateError(message)

    messages = [] if system is None else [{"role": "system", "content": system}]
    environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[loopcontrols])
    environment.globals["raise_exception"] = refuse
    beginning = tokenizer.decode(tokenizer.bos) if tokenizer.bos else ""
    try:
        rendered = environment.from_string(template).render(
            messages=[*messages, {"role": "user", "content": MARKER}],
            add_generation_prompt=True,
            bos_token=beginning,
            eos_token="",
        )
    except (TemplateError, TypeError, ValueError, LookupError, ArithmeticError) as error:
        raise InputError(f"the chat template cannot be rendered: {error}") from error
    parts = rendered.split(MARKER)
    if len(parts) != 2:
        raise InputError(f"the chat template must render a message once, got {len(parts) - 1} times: {got(rendered)}")
    head, tail = parts
    return Template(tuple(tokenizer.encode(head)), tuple(tokenizer.encode(tail)), (head, tail))
