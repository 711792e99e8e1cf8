"""The schema as it is published: JSON Schema made from the forms, with what each key means and its unit."""

import inspect
import re
from typing import Any

import msgspec

from ordinate.results.kinds import find, kinds
from ordinate.schema import SCHEMA_VERSION

DIALECT = "https://json-schema.org/draft/2020-12/schema"
ADDRESS = f"urn:ordinate:results:{SCHEMA_VERSION}"


def schema() -> dict[str, Any]:
    """JSON Schema of every result: one of the kinds, each with its keys, their types, meanings and units."""
    found = {one.form: one.name for one in map(find, kinds())}
    _, parts = msgspec.json.schema_components(found, ref_template="#/$defs/{name}")
    called = {}
    for form in reachable(list(found)):
        full = f"{form.__module__}.{form.__qualname__}"
        name = form.__name__ if form.__name__ in parts else full
        _describe(parts[name], form)
        called[name] = found.get(form) or name.removeprefix("ordinate.").removeprefix("results.")
    return {
        "$schema": DIALECT,
        "$id": ADDRESS,
        "title": f"Results of ordinate, version {SCHEMA_VERSION}",
        "oneOf": [{"$ref": f"#/$defs/{name}"} for name in found.values()],
        "$defs": {called[name]: _renamed(part, called) for name, part in parts.items()},
    }


def _renamed(part: Any, called: dict[str, str]) -> Any:
    """A part of the schema that points to other parts by their new names."""
    if isinstance(part, dict):
        pointed = part.get("$ref")
        if isinstance(pointed, str):
            return part | {"$ref": f"#/$defs/{called[pointed.removeprefix('#/$defs/')]}"}
        return {key: _renamed(value, called) for key, value in part.items()}
    return [_renamed(one, called) for one in part] if isinstance(part, list) else part


def meanings(form: type) -> dict[str, str]:
    """What each key of a form means, from the "Args:" of its docstring.

    >>> from ordinate.results.diff import Diff
    >>> meanings(Diff)["same"]
    'whether they are the same in every number that has to do with position'
    """
    match = re.search(r"^Args:\n((?:[ \t]+.*\n?|\n)*)", inspect.getdoc(form) or "", flags=re.MULTILINE)
    found: dict[str, str] = {}
    names: list[str] = []
    for line in match[1].splitlines() if match else ():
        entry = re.match(r" {4}(\w+(?:, \w+)*): (.*)", line)
        if entry:
            names = entry[1].split(", ")
            found |= dict.fromkeys(names, entry[2].strip())
        else:
            found |= {name: f"{found[name]} {line.strip()}".strip() for name in names}
    return found


def keys(form: type) -> dict[str, str]:
    """The keys of a form in JSON, by the names of its fields."""
    if issubclass(form, msgspec.Struct):
        return dict(zip(form.__struct_fields__, form.__struct_encode_fields__, strict=True))
    return {name: name for name in getattr(form, "__dataclass_fields__", {})}


def reachable(forms: list[type]) -> list[type]:
    """The forms, and those of their parts, each once."""
    found: list[type] = []

    def visit(one: Any) -> None:
        if isinstance(one, msgspec.inspect.StructType | msgspec.inspect.DataclassType):
            if one.cls not in found:
                found.append(one.cls)
                for field in one.fields:
                    visit(field.type)
            return
        for name in ("item_type", "key_type", "value_type", "type"):
            if isinstance(part := getattr(one, name, None), msgspec.inspect.Type):
                visit(part)
        for name in ("types", "item_types"):
            for part in getattr(one, name, ()):
                visit(part)

    for one in msgspec.inspect.multi_type_info(forms):
        visit(one)
    return found


def _describe(part: dict[str, Any], form: type) -> None:
    # Readers refuse keys that they do not know, whatever msgspec says of a dataclass.
    part["additionalProperties"] = False
    part["description"] = (inspect.getdoc(form) or "").split("\n\n")[0].replace("\n", " ")
    said = meanings(form)
    for field, key in keys(form).items():
        if field in said:
            held = part["properties"][key]
            part["properties"][key] = {"description": said[field], **held}
