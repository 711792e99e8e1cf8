"""The registries, through the public names."""

import re
import types

import pytest

import ordinate
from ordinate import registry
from ordinate.errors import InputError


def test_every_scheme_of_the_issue_is_registered():
    assert set(ordinate.schemes()) == {
        "alibi", "axial", "cope", "deberta", "fire", "kerple", "learned", "multimodal", "none", "rope", "sandwich",
        "shaw", "sinusoidal", "t5", "transformer_xl", "xpos",
    }  # fmt: skip


def test_every_scaling_of_the_issue_is_registered():
    expected = {"abf", "dynamic_ntk", "linear", "llama3", "longrope", "ntk", "proportional", "yarn"}
    assert set(ordinate.scalings()) == expected


def test_names_are_sorted_and_leave_out_the_base():
    assert ordinate.schemes() == sorted(ordinate.schemes())
    assert "base" not in ordinate.schemes()


@pytest.mark.parametrize("name", ordinate.schemes())
def test_a_class_is_named_as_its_file(name):
    cls = ordinate.scheme(name)
    assert cls.name == name
    assert cls.__module__ == f"ordinate.schemes.{name}"


def test_an_unknown_name_suggests_the_nearest():
    with pytest.raises(InputError, match=re.escape("unknown scheme 'alibbi'; did you mean 'alibi'?")):
        ordinate.scheme("alibbi")


def test_an_unknown_name_without_a_neighbour_lists_the_choices():
    with pytest.raises(InputError, match=r"unknown scheme 'zzz' \(choices: alibi, axial"):
        ordinate.scheme("zzz")


def test_the_package_is_not_shadowed_by_a_function():
    assert isinstance(registry, types.ModuleType)


def test_a_module_without_its_class_is_a_fault_of_the_package(tmp_path, monkeypatch):
    package = tmp_path / "made_up_registry"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "one.py").write_text("class One:\n    name = 'another'\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(LookupError, match="must define one class with name = 'one', found 0"):
        registry.lookup("made_up_registry", "one", "thing")
