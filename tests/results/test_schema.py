"""The published schema: sound, complete, and read by version."""

import json
import math
from importlib import import_module
from pathlib import Path

import jsonschema
import msgspec
import pytest
from stored_results import NAMES, STORED, stored

from ordinate import __version__
from ordinate.errors import InputError
from ordinate.results import SCHEMA_VERSION, find, kinds, read, read_file, schema
from ordinate.results.publication import keys, meanings, reachable
from ordinate.results.reading import LARGEST

OLDER = sorted(file.stem for file in (STORED / "version_0").glob("*.json"))


@pytest.fixture(scope="module")
def validator():
    jsonschema.Draft202012Validator.check_schema(schema())
    return jsonschema.Draft202012Validator(schema())


def test_every_kind_is_in_the_schema_under_its_name():
    found = schema()
    assert [part["$ref"] for part in found["oneOf"]] == [f"#/$defs/{kind}" for kind in kinds()]
    for kind in kinds():
        part = found["$defs"][kind]
        assert part["properties"]["kind"]["enum"] == [kind]
        assert {"kind", "schema_version"} <= set(part["required"])
        assert part["additionalProperties"] is False


def test_every_part_that_the_schema_points_to_is_there():
    text = json.dumps(schema())
    pointed = {part.split('"')[0] for part in text.split('"#/$defs/')[1:]}
    assert pointed == set(schema()["$defs"])


@pytest.mark.parametrize("kind", kinds())
def test_every_key_of_a_result_has_a_meaning(kind):
    form = find(kind).form
    own = [one for one in reachable([form]) if one.__module__.startswith(("ordinate.results", "ordinate.audit.report"))]
    assert own or kind in ("prove",)
    for one in own:
        said = meanings(one)
        bases = [base for base in one.__mro__[1:] if base is not msgspec.Struct and issubclass(base, msgspec.Struct)]
        inherited = {name for base in bases for name in base.__struct_fields__}
        assert {name for name in keys(one) if name not in inherited and not said.get(name)} == set(), one


def test_every_kind_but_that_of_several_results_has_a_page():
    for kind in kinds():
        if kind != "report":
            assert callable(import_module(f"ordinate.report.pages.{find(kind).module}").page)


def test_every_kind_is_stored_as_this_version_writes_it():
    assert {stored(name)["kind"] for name in NAMES} == set(kinds()) - {"report"}


@pytest.mark.parametrize("name", NAMES)
def test_a_stored_result_is_valid_and_loses_no_key_in_its_form(name, validator):
    given = stored(name)
    validator.validate(given)
    assert read(given) == given
    again = json.loads(msgspec.json.encode(msgspec.convert(given, find(given["kind"]).form)))
    assert again == given


@pytest.mark.parametrize("name", OLDER)
def test_a_result_from_before_the_schema_is_read_as_its_kind(name, validator):
    given = stored(name, version=0)
    assert "kind" not in given
    found = read(given)
    assert (found["kind"], found["schema_version"]) == (name, SCHEMA_VERSION)
    validator.validate(found)
    for key, value in given.items():
        if key != "version" or name != "audit":
            assert found[key] == value


def test_what_was_written_before_the_schema_is_stored_for_every_kind_that_knows_it():
    assert {kind for kind in kinds() if find(kind).before} == set(OLDER)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("version", [0, 2, 17, None, True, "1"])
def test_another_version_is_refused_by_name_with_the_command_that_writes_it_anew(name, version):
    given = stored(name) | {"schema_version": version}
    with pytest.raises(InputError) as raised:
        read(given)
    assert f"has schema version {version!r}" in str(raised.value)
    assert f"this version of Ordinate reads {SCHEMA_VERSION}" in str(raised.value)
    assert find(given["kind"]).command in str(raised.value)


def test_the_command_that_is_named_is_one():
    from ordinate.cli.index import COMMANDS

    for kind in kinds():
        program, name, *_ = find(kind).command.split()
        assert (program, name in COMMANDS) == ("ordinate", True)


@pytest.mark.parametrize("given", [[], None, "describe", 3, {}, {"schema_version": 1}, {"container": "x"}])
def test_what_is_no_result_is_refused(given):
    with pytest.raises(InputError, match="must be an object with a kind"):
        read(given)


@pytest.mark.parametrize(
    "kind, words", [("descrbe", "did you mean 'describe'"), ("__init__", "unknown kind"), ("base", "unknown kind")]
)
def test_an_unknown_kind_is_refused_with_the_nearest(kind, words):
    with pytest.raises(InputError, match=words):
        read({"kind": kind, "schema_version": 1})


@pytest.mark.parametrize("name", NAMES)
def test_a_key_that_is_not_in_the_schema_and_one_that_is_missing_are_named(name, validator):
    given = stored(name)
    needed = next(key for key in schema()["$defs"][given["kind"]]["required"] if key not in ("kind", "schema_version"))
    for changed, word in (
        (given | {"added": 1}, "added"),
        ({key: value for key, value in given.items() if key != needed}, needed),
    ):
        with pytest.raises(InputError, match=f"not a result of kind .*`{word}`"):
            read(changed)
        assert not validator.is_valid(changed)


BROKEN = {
    "": "is empty",
    "{": "is not valid JSON",
    '{"schema_version": 1, "kind": "pl': "is not valid JSON",
    "[1]": "must hold a JSON object",
    '{"kind": "x"}': "unknown kind",
    '{"schema_version": 1, "kind": "plan", "kind": "diff"}': "has the duplicate key 'kind'",
    "[" * 100_000: "is nested 100000 levels deep",
    '{"a":' * 100 + "1" + "}" * 100: "is nested 100 levels deep",
    '{"kind": "\\ud800"}': "half a surrogate pair",
    b'{"kind": "\xff"}': "must be UTF-8, and byte 10 is not",
    '{"kind": "plan"}'.encode("utf-16"): "must be UTF-8",
}


@pytest.mark.parametrize("text", BROKEN, ids=lambda text: text[:20])
def test_a_file_is_named_where_it_cannot_be_read(text, tmp_path):
    file = tmp_path / "result.json"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(InputError) as raised:
        read_file(file)
    assert str(raised.value).startswith(str(file))
    assert BROKEN[text] in str(raised.value)


def test_a_file_of_more_bytes_than_a_result_has_is_not_read_to_its_end(tmp_path):
    with (tmp_path / "result.json").open("wb") as file:
        file.truncate(LARGEST + 1)
    for path in (tmp_path / "result.json", Path("/dev/zero")):
        with pytest.raises(InputError, match=f"{path} must be at most {LARGEST} bytes of JSON"):
            read_file(path)


def inner_objects(value, place="$"):
    """Every object within a result whose keys its form fixes, with its place."""
    if isinstance(value, dict):
        yield place, value
        for key, one in value.items():
            yield from inner_objects(one, f"{place}.{key}")
    elif isinstance(value, list):
        for index, one in enumerate(value[:1]):
            yield from inner_objects(one, f"{place}[{index}]")


@pytest.mark.parametrize("name", NAMES)
def test_a_key_too_many_is_refused_at_any_depth_by_the_reader_and_by_the_schema_alike(name, validator):
    refused, given = [], stored(name)
    for place, part in inner_objects(given):
        part["added"] = 1
        try:
            read(given)
        except InputError as error:
            refused.append((place, str(error)))
        # What may have any key, or names of its own, may have this one.
        assert validator.is_valid(given) == (place not in dict(refused)), place
        del part["added"]
    assert all("`added`" in said or "Expected" in said for _, said in refused)
    assert {"plan": "$.requested", "check": "$.reports[0].findings[0]", "validate": "$.claims[0]"}.get(
        name, "$"
    ) in dict(refused)


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_a_number_that_is_not_finite_is_refused_with_its_place(number, tmp_path):
    audit = stored("audit")
    audit["subject"]["noise_floor"] = number
    with pytest.raises(InputError, match=r"Expected a finite number, got `.*` - at `\$.subject.noise_floor`"):
        read(audit)
    (tmp_path / "result.json").write_text(json.dumps(audit))
    with pytest.raises(InputError, match=r"subject.noise_floor"):
        read_file(tmp_path / "result.json")


@pytest.mark.parametrize(
    "part, name",
    [
        *(("loss_by_position", name) for name in ("ranges", "fine")),
        *((part, name) for part in ("growing_context", "position_gap") for name in ("rows", "changes")),
    ],
)
def test_a_proof_without_measurements_is_refused_with_their_place(part, name, validator):
    proof = stored("prove")
    proof[part][name] = []
    with pytest.raises(InputError, match=rf"length >= 1 - at `\$.{part}.{name}`"):
        read(proof)
    assert not validator.is_valid(proof)


def test_of_several_results_the_wrong_one_is_named_with_its_file(tmp_path):
    file = tmp_path / "several.json"
    several = [stored("plan"), stored("check") | {"schema_version": 2}]
    file.write_text(json.dumps({"schema_version": 1, "kind": "report", "results": several}))
    with pytest.raises(InputError, match="result 2: this result of kind 'check' has schema version 2") as raised:
        read_file(file)
    assert str(raised.value).startswith(f"{file}: ")


def test_the_schema_has_no_version_of_the_package_in_it():
    """It changes with its own version, not with every release."""
    assert __version__ not in json.dumps(schema())


def test_a_file_that_is_not_there_or_cannot_be_read_is_named_with_what_is_needed(tmp_path):
    for path, words in (
        (tmp_path / "none.json", "none.json does not exist: a result must be a file that a command wrote"),
        (tmp_path, "cannot be read (Is a directory): a result must be"),
        (tmp_path / ("x" * 300), "cannot be read (File name too long): a result must be"),
    ):
        with pytest.raises(InputError) as caught:
            read_file(path)
        assert words in str(caught.value)
        assert "Errno" not in str(caught.value)


@pytest.mark.parametrize(("empty", "words"), [("cells", "Expected `cells`"), ("memory", "Expected `ways.memory`")])
def test_a_plan_of_nothing_is_refused(empty, words):
    from ordinate.plan import Request, plan

    document = plan("llama-2-7b", Request(target=8192)).to_dict()
    (document if empty == "cells" else document["ways"])[empty] = []
    with pytest.raises(InputError, match=words):
        read(document)
