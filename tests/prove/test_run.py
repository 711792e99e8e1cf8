import json
from itertools import pairwise

import jsonschema
import msgspec
import pytest
import torch

from ordinate.errors import InputError
from ordinate.prove import prove
from ordinate.prove.result import Proof
from ordinate.results import read, schema
from ordinate.texts import Provenance, Text

YARN = {"rope_type": "yarn", "factor": 2.0, "original_max_position_embeddings": 1024}


def text(body):
    provenance = Provenance(source="a test", licence="none")
    return Text("lines", "Lines", None, None, body, "0" * 64, provenance, (0, len(body)))


@pytest.fixture(scope="module")
def saved(tmp_path_factory, tiny_model, byte_tokenizer):
    def save(name, *, order=1, bos=False, **options):
        directory = tmp_path_factory.mktemp("models") / name
        tiny_model(**options).save_pretrained(directory)
        byte_tokenizer(order=order, bos=bos).save_pretrained(directory)
        return directory

    return save


@pytest.fixture(scope="module")
def original(saved):
    return saved("small")


@pytest.fixture(scope="module")
def extended(saved):
    return saved("stretched", window=2048, rope=YARN)


@pytest.fixture(scope="module")
def told():
    return []


@pytest.fixture(scope="module")
def proof(original, extended, told):
    threads = torch.get_num_threads()
    found = prove(original, extended, threads=1, progress=lambda *call: told.append(call))
    assert torch.get_num_threads() == threads
    return found


def test_a_proof_survives_json_and_has_its_declared_form(proof):
    again = json.loads(json.dumps(proof, allow_nan=False))
    assert msgspec.to_builtins(msgspec.convert(again, Proof)) == proof
    assert (proof["kind"], proof["schema_version"]) == ("prove", 1)
    jsonschema.Draft202012Validator(schema()).validate(again)
    assert read(again) == again


def test_it_says_what_was_run(proof, original, extended):
    assert proof["command"] == f"ordinate prove {original} {extended} --seed 0 --text emma --threads 1"
    assert proof["versions"]["torch"] == torch.__version__
    assert set(proof["versions"]) == {"ordinate", "torch", "transformers", "python"}
    assert (proof["text"]["title"], proof["text"]["author"], proof["text"]["year"]) == ("Emma", "Jane Austen", 1815)


def test_models_are_named_without_their_paths(proof, original):
    assert (proof["original"]["name"], proof["extended"]["name"]) == ("small", "stretched")
    assert str(original.parent) not in json.dumps({key: value for key, value in proof.items() if key != "command"})
    assert proof["original"]["scaling"] == {"full_attention": None}
    assert proof["extended"]["scaling"] == {"full_attention": "yarn"}
    assert (proof["original"]["window"], proof["extended"]["window"], proof["extended"]["trained"]) == (
        1024,
        2048,
        1024,
    )
    assert proof["original"]["fingerprint"] != proof["extended"]["fingerprint"]


def test_both_models_read_to_seven_quarters_of_the_window(proof):
    losses = proof["loss_by_position"]
    assert losses["length"] == losses["ranges"][-1]["stop"] == 1792
    scored = sum(one["loss"]["original"]["tokens"] for one in losses["ranges"])
    inside, past = (losses[part]["loss"]["original"]["tokens"] for part in ("inside", "past"))
    assert scored == inside + past == sum(one["loss"]["original"]["tokens"] for one in losses["fine"])
    assert [one["asked_at"] for one in proof["passkeys"]["counts"]] == [256, 512, 960, 1536, 1792]
    assert proof["passkeys"]["counts"][-1]["original"]["asked"] == 6
    assert [row["length"] for row in proof["growing_context"]["rows"]] == [256, 512, 1024]
    assert [row["distance"] for row in proof["position_gap"]["rows"]] == [384, 512, 1024, 1536, 2048, 4096]


def test_a_stretched_model_differs_from_its_original(proof):
    assert all(one["loss"]["difference"]["mean"] != 0 for one in proof["loss_by_position"]["ranges"])


def test_each_part_says_what_it_took(proof):
    parts = ["loading", "loss by position and passkeys", "growing context", "position gaps"]
    assert [(cost["model"], cost["part"]) for cost in proof["costs"]] == [
        (model, part) for model in ("original", "extended") for part in parts
    ]
    assert all(cost["seconds"] > 0 and cost["cpu_seconds"] >= 0 for cost in proof["costs"])
    peaks = [cost["peak_memory"] for cost in proof["costs"]]
    assert all(later > 0.99 * earlier for earlier, later in pairwise(peaks))
    assert peaks[0] > 2**20


def test_progress_names_the_model_and_the_part(proof, told):
    assert ("original: the long text", 1792, 1792) in told
    assert ("original: passkeys", 16, 16) in told
    assert ("extended: growing context", 1792, 1792) in told
    assert ("extended: position gaps", 18, 18) in told


def test_a_model_against_itself_shows_no_difference(original):
    found = prove(original, original, length=900, threads=1)
    assert found["verdict"]["outcome"] == "not tested"
    for section in ("loss_by_position", "growing_context", "position_gap"):
        for one in found[section].get("ranges", found[section].get("rows")):
            assert one["loss"]["difference"]["mean"] == 0.0
    assert all(one["original"] == one["extended"] for one in found["passkeys"]["questions"])


def test_the_same_seed_gives_the_same_numbers_and_another_seed_other_keys(proof, original, extended):
    again, other = (prove(original, extended, threads=1, seed=seed) for seed in (0, 1))
    for part in ("loss_by_position", "passkeys", "growing_context", "position_gap", "verdict"):
        assert again[part] == proof[part]
    assert {one["key"] for one in other["passkeys"]["questions"]}.isdisjoint(
        one["key"] for one in proof["passkeys"]["questions"]
    )


def test_a_beginning_of_text_token_is_put_before_every_piece(saved):
    model = saved("with_bos", bos=True)
    found = prove(model, model, length=900, threads=1)
    # 900 tokens less six sentences, the tokens after them, and the special token before everything.
    sentences = sum({(one["start"], one["stop"]) for one in found["passkeys"]["questions"]}, ())
    taken = sum(stop - start + 1 for start, stop in zip(sentences[::2], sentences[1::2], strict=True))
    assert found["loss_by_position"]["inside"]["loss"]["original"]["tokens"] == 900 - 1 - taken


def test_models_must_share_a_tokenizer(original, saved):
    other = saved("backwards", window=2048, rope=YARN, order=-1)
    with pytest.raises(InputError, match="must share a tokenizer"):
        prove(original, other, threads=1)


@pytest.mark.parametrize(
    "options, words",
    [
        ({"threads": 0}, "threads must be an integer >= 1, got 0"),
        ({"threads": 100_000}, r"threads must be at most the \d+ cores at hand, got 100000"),
        ({"seed": -1}, "seed must be an integer >= 0, got -1"),
        ({"seed": True}, "seed must be an integer >= 0, got True"),
        ({"text": "ema"}, "did you mean 'emma'"),
        ({"text": text("a b\n\n" * 20)}, "needs a text of at least 5120 tokens, got 100"),
        ({"text": text("a" * 9000)}, "a place between two paragraphs or lines for each of 6 passkeys, got 0"),
        ({"length": 2048}, "length must be between 64 and 1984"),
    ],
)
def test_what_cannot_be_run_is_refused_in_one_line(original, extended, options, words):
    with pytest.raises(InputError, match=words) as raised:
        prove(original, extended, **options)
    assert "\n" not in str(raised.value)


def test_a_target_shorter_than_the_window_is_refused(original, extended):
    with pytest.raises(InputError, match="at least the original's 2048 tokens, got 1024"):
        prove(extended, original)


def test_a_users_own_file_is_read(original, extended, tmp_path):
    file = tmp_path / "own.txt"
    file.write_text("".join(f"Line {number} of it.\n\n" for number in range(400)))
    found = prove(original, extended, text=file, threads=1)
    assert (found["text"]["name"], found["text"]["licence"]) == ("own", "not stated")
    assert f"--text {file}" in found["command"]
