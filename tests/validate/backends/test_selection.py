"""Which backend is opened by what is given, and what does not go together."""

import subprocess
import sys

import pytest
from fake_server import Features, serving

from ordinate.errors import InputError, Unavailable
from ordinate.validate.backends import open_backend, read_tokenizer
from ordinate.validate.tokenizers import ByteTokenizer


@pytest.mark.parametrize(
    "source, given, message",
    [
        (None, {}, "needs a model: none is given"),
        (None, {"backend": "llama_cpp"}, "'llama_cpp' needs a model"),
        ("smollm2", {"backend": "vllm"}, "backend must be one of transformers, llama_cpp, server"),
        ("smollm2", {"url": "http://127.0.0.1:1/v1", "backend": "transformers"}, "no url"),
        ("smollm2", {"url": "http://127.0.0.1:1/v1"}, "takes no source"),
        (None, {"backend": "server"}, "'server' needs url"),
        (None, {"url": "http://127.0.0.1:1/v1"}, "'server' needs model"),
        (None, {"url": "http://127.0.0.1:1/v1", "model": "tiny"}, "'server' needs tokenizer"),
        (None, {"url": "http://127.0.0.1:1/v1", "dtype": "float32"}, "'server' takes no dtype"),
        ("smollm2", {"concurrency": 3}, "'transformers' takes no concurrency"),
        ("smollm2", {"key_file": "key"}, "'transformers' takes no key_file"),
        ("smollm2", {"backend": "llama_cpp", "device": "cpu"}, "'llama_cpp' takes no device"),
        ("smollm2", {"backend": "llama_cpp", "wait": 0.0}, "wait must be > 0"),
        (
            None,
            {
                "url": "http://127.0.0.1:1/v1",
                "model": "tiny",
                "tokenizer": "bytes",
                "key_file": "a",
                "key_variable": "b",
            },
            "got both",
        ),
    ],
)
def test_what_does_not_go_together_is_refused(source, given, message):
    with pytest.raises(InputError, match=message):
        open_backend(source, **given)


def test_a_url_opens_a_server(monkeypatch):
    monkeypatch.setenv("SECRET_OF_TINY", "right")
    with serving(features=Features(key="right", ids=False)) as fake:
        given = {"url": fake.url, "model": "tiny", "tokenizer": "bytes", "concurrency": 2, "wait": 5.0}
        with open_backend(**given, key_variable="SECRET_OF_TINY") as used:
            assert (used.name, used.concurrency) == ("server", 2)
        with pytest.raises(Unavailable, match="401"):
            open_backend(**given)


def test_tokenizers_are_found_by_name():
    assert read_tokenizer("bytes") == ByteTokenizer()
    with pytest.raises(InputError, match="unknown model 'smollm'"):
        read_tokenizer("smollm")


def test_the_package_of_backends_needs_neither_torch_nor_a_client():
    program = "import sys, ordinate.validate.backends; print({'torch', 'transformers', 'httpx2'} & set(sys.modules))"
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert said.stdout.strip() == "set()"
