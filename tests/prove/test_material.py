import pytest

from ordinate.errors import InputError
from ordinate.prove.material import places_between, prepare, special_prefix, tokens_of
from ordinate.prove.plan import Plan

TEXT = "".join(f"Line {number} of the text.\n" + "\n" * (number % 2) for number in range(400))


@pytest.fixture
def chosen():
    return Plan(
        window=512,
        target=2048,
        length=1600,
        edges=(0, 512, 1600),
        asked_at=(400, 1600),
        keys=6,
        contexts=(64, 512),
        scored=32,
        passage=256,
        passages=3,
        distances=(128, 512),
    )


@pytest.mark.parametrize("bos", [False, True])
def test_the_pieces_follow_each_other_in_the_text(byte_tokenizer, chosen, bos):
    tokenizer = byte_tokenizer(bos=bos)
    material = prepare(TEXT, tokenizer, chosen, seed=0)
    ids = tokenizer(TEXT, add_special_tokens=False)["input_ids"]
    assert material.prefix == ((256,) if bos else ())
    (start, stop), context, *passages = material.places
    sentences = [i for a, b in material.long_text.spans for i in range(a, b)]
    real = [token for i, token in enumerate(material.long_text.ids) if i not in sentences][len(material.prefix) :]
    assert (start, real) == (0, ids[:stop])
    assert material.growing_context == tuple(ids[slice(*context)])
    assert [list(passage) for passage in material.passages] == [ids[slice(*place)] for place in passages]
    ends = [stop, *[place[1] for place in (context, *passages)]]
    assert all(end <= place[0] for end, place in zip(ends, (context, *passages), strict=False))


def test_the_long_text_is_of_the_planned_length_and_holds_the_keys(tokenizer, chosen):
    material = prepare(TEXT, tokenizer, chosen, seed=0)
    assert len(material.long_text.ids) == 1600
    written = tokenizer.decode(material.long_text.ids)
    for key in material.keys:
        sentence = f"\n\nRemember the pass key {key.name}-{key.key}. The pass key is {key.name}-{key.key}.\n\n"
        assert written.count(sentence) == 1


def test_only_the_digits_depend_on_the_seed(tokenizer, chosen):
    first, same, other = (prepare(TEXT, tokenizer, chosen, seed=seed) for seed in (0, 0, 1))
    assert first == same
    assert first.long_text.ids != other.long_text.ids
    assert (first.long_text.spans, first.passages) == (other.long_text.spans, other.passages)


def test_a_short_text_is_refused_with_what_it_has(tokenizer, chosen):
    with pytest.raises(InputError, match="at least 2880 tokens, got 100"):
        prepare("a b\n\nc d\n\n" * 10, tokenizer, chosen, seed=0)


def test_tokens_know_where_they_begin(tokenizer):
    ids, offsets = tokens_of("aé\n\nb", tokenizer)
    # Two bytes of one letter are two tokens that begin at the same character.
    assert (len(ids), offsets) == (6, [0, 1, 1, 2, 3, 4])


def test_paragraphs_are_preferred_to_lines():
    text = "a\nb\n\nc\n \nd\ne"
    assert places_between(text, range(len(text)), least=2) == [5, 9]
    assert places_between(text, range(len(text)), least=3) == [2, 5, 9, 11]


def test_a_token_that_begins_before_the_paragraph_is_no_place():
    # Offsets of a tokenizer that joins the line break with the word behind it.
    assert places_between("a\n\nb\n\nc", [0, 1, 4, 6], least=1) == [3]


def test_the_special_prefix_is_what_stands_before_a_text(byte_tokenizer):
    assert special_prefix(byte_tokenizer()) == []
    assert special_prefix(byte_tokenizer(bos=True)) == [256]


def test_a_tokenizer_without_offsets_is_refused():
    class Slow:
        is_fast = False

    with pytest.raises(InputError, match="Slow does not say where tokens stand"):
        tokens_of("a", Slow())
