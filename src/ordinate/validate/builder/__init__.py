"""Prompts that are exact in tokens: so many in all, and every record where it is said to be."""

from ordinate.validate.builder.builder import Builder, build
from ordinate.validate.builder.modes import MODES
from ordinate.validate.builder.placing import PLACES
from ordinate.validate.builder.prompt import Placed, Prompt
from ordinate.validate.builder.templates import Template, read_template
from ordinate.validate.builder.verification import verify

__all__ = ["MODES", "PLACES", "Builder", "Placed", "Prompt", "Template", "build", "read_template", "verify"]
