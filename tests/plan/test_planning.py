"""What fits, what is refused, and what a plan says of itself."""

import contextlib
import itertools
import json
import math

import pytest

from ordinate import models
from ordinate.errors import InputError
from ordinate.plan import Ranks, Request, plan
from ordinate.plan.fitting import largest
from ordinate.plan.ranks import rank_heads, stages
from ordinate.plan.text import to_text

LLAMA = models.published("llama-3-8b").config
GEMMA = models.published("gemma-2-9b").config


@pytest.mark.parametrize(
    "config",
    [
        # an MLA of a type that is in no list; a type that only looks like another; none at all
        {**models.published("deepseek-v3").config, "model_type": "deepseek_v9"},
        {**LLAMA, "model_type": "llamma"},
        {key: value for key, value in LLAMA.items() if key != "model_type"},
        # two attentions a layer, and compressed keys: in the table of positions, not in that of caches
        {"model_type": "longcat_flash"},
        {"model_type": "deepseek_v4"},
    ],
)
def test_an_unknown_architecture_is_refused_and_not_guessed(config):
    """KVM-04: a variant that was not recognised was planned five times too large."""
    with pytest.raises(InputError, match="is not known here, and is not guessed"):
        plan(config, Request(contexts=(1024,)))


@pytest.mark.parametrize("name", ["llama-3-8b", "gemma-2-9b", "qwen3-next-80b-a3b", "gpt-oss-20b", "deepseek-v3"])
def test_a_cache_is_a_fixed_part_and_a_slope(name):
    """KVM-06: bytes a token are a slope; what one sequence takes at one length, over its length, is no such number."""
    contexts = (32768, 65536, 131072)
    found = plan(name, Request(contexts=contexts, batches=(1, 7)))
    for cell in found.cells:
        assert cell.cache_bytes == cell.batch * (found.sequence_bytes + found.token_bytes * cell.context)
    sizes = [cell.cache_bytes for cell in found.cells if cell.batch == 1]
    assert (sizes[2] - sizes[1]) / (contexts[2] - contexts[1]) == found.token_bytes


def test_ranks_that_differ_fit_what_the_fullest_does():
    """KVM-07: of 5 pipeline ranks two have 7 of 32 layers; one of 6 would fit longer texts."""
    ranks = Ranks(pipeline=5)
    assert sorted(map(len, stages(32, 5))) == [6, 6, 6, 7, 7]
    found = plan("llama-3-8b", Request(contexts=(8192,), ranks=ranks, memory=8 * 2**30, weights=5 * 2**30))
    # Weights are cut evenly where they are given: what is left is for 7 layers of 4,096 B a token and a row of a table.
    assert found.largest.contexts[0].context == 7 * 2**30 // (7 * 4096 + 512)
    cell = found.cells[0]
    assert cell.cache_bytes == 7 * 4096 * 8192
    assert cell.ranks_cache_bytes == 32 * 4096 * 8192


@pytest.mark.parametrize("tensor, said", [(3, "divide the 32 query heads"), (64, "divide the 32 query heads")])
def test_ranks_that_do_not_divide_are_refused(tensor, said):
    with pytest.raises(InputError, match=said):
        plan("llama-3-8b", Request(contexts=(1024,), ranks=Ranks(tensor)))


def test_heads_that_no_rank_can_have_alone_are_refused():
    config = {**LLAMA, "num_attention_heads": 24, "num_key_value_heads": 6, "hidden_size": 3072}
    with pytest.raises(InputError, match="6 key-value heads cannot be cut"):
        plan(config, Request(contexts=(1024,), ranks=Ranks(4)))


@pytest.mark.parametrize("tensor", [1, 2, 8, 16])
def test_a_latent_is_whole_on_every_rank(tensor):
    found = plan("deepseek-v3", Request(contexts=(4096,), ranks=Ranks(tensor)))
    assert found.cells[0].cache_bytes == 70_272 * 4096
    assert found.cells[0].ranks_cache_bytes == tensor * 70_272 * 4096
    assert found.layers[0].copies == tensor


def test_what_ranks_keep_adds_up_to_the_whole():
    whole = plan("llama-3-8b", Request(contexts=(8192,), batches=(4,))).cells[0].cache_bytes
    for ranks in (Ranks(8), Ranks(1, 4), Ranks(1, 1, 8), Ranks(2, 2, 2)):
        cell = plan("llama-3-8b", Request(contexts=(8192,), batches=(4,), ranks=ranks)).cells[0]
        assert cell.cache_bytes * ranks.count == cell.ranks_cache_bytes == whole


def test_both_allocators_of_a_hybrid():
    window, full = (
        plan("gemma-2-9b", Request(contexts=(32768,), allocator=allocator)) for allocator in ("window", "full")
    )
    layer = 2 * 8 * 256 * 2
    assert window.cells[0].cache_bytes == 21 * layer * (32768 + 4096)
    assert full.cells[0].cache_bytes == 42 * layer * 32768
    assert full.token_bytes == 42 * layer


def test_pages_waste_what_is_left_of_the_last():
    found = plan("llama-3-8b", Request(contexts=(1000,), batches=(1, 10), page_size=64)).cells
    assert [cell.cache_bytes for cell in found] == [131_072 * 1024, 131_072 * 10240]
    assert [cell.waste_bytes for cell in found] == [131_072 * 24, 131_072 * 240]


def test_a_shared_prefix_and_eviction():
    shared = plan("llama-3-8b", Request(contexts=(8192,), batches=(16,), shared_prefix=4096, page_size=16)).cells[0]
    assert shared.cache_bytes == 131_072 * (4096 + 16 * 4096)
    evicted = plan("llama-3-8b", Request(contexts=(8192, 10**6), sinks=4, recent=1020))
    assert [cell.cache_bytes for cell in evicted.cells] == [131_072 * 1024] * 2
    assert evicted.token_bytes == 0
    assert evicted.sequence_bytes == 131_072 * 1024


@pytest.mark.parametrize("limit", [1, 2, 3, 7, 1000, 1023, 1024, 1025])
@pytest.mark.parametrize("most", [1, 5, 1024, 2**40])
def test_the_largest_number_that_fits_is_found(limit, most):
    expected = min(limit, most)
    assert largest(lambda number: number <= limit, most) == (expected, limit >= most)
    assert largest(lambda _: False, most) == (None, False)


def test_the_largest_are_the_last_that_fit():
    memory = 40 * 10**9
    found = plan("llama-3-8b", Request(contexts=(8192, 32768), batches=(1, 8), memory=memory, reserve=10**9))
    weights = 2 * 8_030_261_248
    for one in found.largest.contexts:
        table = 2 * 4 * 64  # a row of cos and sin
        expected = (memory - 10**9 - weights) // (131_072 * one.batch + table)
        assert one.context == expected
    for one in found.largest.batches:
        assert one.batch == (memory - 10**9 - weights - one.context * 512) // (131_072 * one.context)
    assert [cell.fits for cell in found.cells] == [True, True, True, False]
    assert found.fits is False


def test_nothing_fits_where_the_weights_do_not():
    found = plan("llama-3-8b", Request(contexts=(1024,), memory=10**9))
    assert found.largest.contexts[0].context is None
    assert found.largest.batches[0].batch is None


def test_what_does_not_grow_fits_any_length():
    config = {"model_type": "mamba", "hidden_size": 64, "num_hidden_layers": 2, "vocab_size": 100}
    found = plan(config, Request(contexts=(1024,), memory=10**9, weights=10**6))
    assert found.largest.contexts[0].unbounded
    assert found.largest.batches[0].batch


def test_a_learned_table_ends_the_longest_context():
    found = plan("gpt2", Request(contexts=(512,), memory=80 * 2**30))
    assert found.largest.contexts[0].context == 1024
    assert not found.largest.contexts[0].unbounded
    assert plan("bert-base", Request(memory=80 * 2**30)).largest.contexts[0].context == 512
    past = plan("gpt2", Request(contexts=(1024, 1025), memory=80 * 2**30))
    assert [cell.fits for cell in past.cells] == [True, False]
    assert [found.batch is None for found in past.largest.batches] == [False, True]
    assert not past.largest.batches[1].unbounded
    assert [cell.fits for cell in plan("gpt2", Request(contexts=(1025,))).cells] == [None]


@pytest.mark.parametrize("name, heads", [("bloom", 112), ("mpt-7b", 32), ("t5-large", 16)])
def test_a_dense_mask_of_biases_costs_heads_times_the_square(name, heads):
    context = 2048
    found = {
        attention: plan(name, Request(contexts=(context,), batches=(2,), attention=attention, kv="bfloat16"))
        for attention in ("attend", "dense", "eager")
    }
    square = heads * context * context
    assert found["attend"].cells[0].dense_bias_bytes == 2 * square
    assert found["attend"].cells[0].scratch_bytes == 0
    assert found["dense"].cells[0].scratch_bytes == 2 * square
    assert found["eager"].cells[0].scratch_bytes == 2 * square + 4 * 2 * square


def test_rotation_needs_no_mask_and_a_table_of_a_row_a_position():
    found = plan("llama-3-8b", Request(contexts=(4096,), attention="dense"))
    assert (found.cells[0].dense_bias_bytes, found.cells[0].scratch_bytes) == (0, 0)
    assert found.cells[0].tables_bytes == 2 * 4 * 4096 * 64
    assert found.tables[0].declared_bytes == 2 * 4 * 8192 * 64
    # two bases, two tables
    gemma = plan("gemma-3-27b", Request(contexts=(4096,)))
    assert gemma.cells[0].tables_bytes == 2 * 2 * 4 * 4096 * 64
    chunked = plan("llama-3-8b", Request(contexts=(4096,), attention="eager", queries=256)).cells[0]
    assert chunked.scratch_bytes == 4 * 32 * 256 * 4096


@pytest.mark.parametrize("name", ["llama-2-7b", "llama-3.1-8b", "bloom", "gpt2"])
def test_ways_for_positions_suit_the_model(name):
    declared = plan(name, Request(batches=(1,))).window.declared
    found = plan(name, Request(target=4 * declared, memory=80 * 2**30)).ways
    expected = {
        "llama-2-7b": {"abf", "dynamic_ntk", "linear", "llama3", "longrope", "ntk", "yarn"},
        "llama-3.1-8b": {"llama3"},
        "bloom": {"as it is"},
        "gpt2": {"longer table"},
    }
    assert {way.method for way in found.position} == expected[name]
    assert found.context == 4 * declared
    assert [way.changes for way in found.memory][:4] == ["nothing", "kv", "kv", "kv"]
    for way in found.memory[:4]:
        cell = plan(name, Request(contexts=(4 * declared,), kv=way.kv, memory=80 * 2**30)).cells[0]
        # GPT-2's table needs rows, each of 768 numbers in two bytes
        table = 2 * 768 * 3 * declared if name == "gpt2" else 0
        assert (way.cache_bytes, way.total_bytes) == (cell.cache_bytes, cell.total_bytes + table)
        assert way.fits == (way.total_bytes <= 80 * 2**30)


def test_a_stretched_model_goes_on_by_its_own_factor():
    # factor 8 serves 131,072: twice that length needs 16, not 262,144 / 8,192 = 32
    (way,) = plan("llama-3.1-8b", Request(target=2 * 131072)).ways.position
    assert (way.method, way.factor) == ("llama3", 16.0)


def test_a_method_that_files_serve_is_not_said_to_have_been_trained_on():
    config = models.published("llama-2-7b").config | {"rope_scaling": {"type": "dynamic", "factor": 2.0}}
    (way,) = plan(config, Request(target=16384)).ways.position
    assert (way.method, way.factor) == ("dynamic_ntk", 4.0)
    assert way.training.startswith("no; ")
    assert way.training.endswith("; the files serve 8,192 tokens with it")


def test_a_longer_table_says_what_it_adds():
    (way,) = plan("gpt2", Request(target=4096)).ways.position
    assert way.training.endswith("; 3,072 rows more of 768 numbers")


def test_within_the_declared_window_nothing_is_done():
    assert {way.method for way in plan("llama-3.1-8b", Request(target=65536)).ways.position} == {"as it is"}


def test_what_does_not_fit_is_offered_what_does():
    """Llama-2-7B: 6,738,415,616 numbers, 524,288 B a token in float16, a table of 64 pairs of float32 a position."""
    sequence, table, weights = 524288 * 65536, 2 * 4 * 64 * 65536, 2 * 6738415616
    found = plan("llama-2-7b", Request(batches=(2,), target=65536, memory=48 * 2**30)).ways
    # fp8 and int8: 1 B and 4/32 of a scale for 2 B; int4: half a B and 4/32
    assert {way.what: (way.total_bytes, way.devices, way.fits) for way in found.memory} == {
        "as asked": (2 * sequence + table + weights, 1, False),
        "cache in fp8": (2 * sequence * 9 // 16 + table + weights, 1, False),
        "cache in int8": (2 * sequence * 9 // 16 + table + weights, 1, False),
        "cache in int4": (2 * sequence * 5 // 16 + table + weights, 1, True),
        "batch 1": (sequence + table + weights, 1, True),
        "weights in 8 bits": (2 * sequence + table + weights // 2, 1, False),
        "weights in 4 bits": (2 * sequence + table + weights // 4, 1, False),
        # the norms stand on both ranks: 65 of 4,096
        "2 tensor-parallel ranks": (sequence + table + weights // 2 + 65 * 4096, 2, True),
        "2 context-parallel ranks": (sequence + table + weights, 2, True),
    }


def two_changes(name, target, batch, memory):
    """Every pair of changes of different kinds that fits, by plans of their own: devices and sequences."""
    kinds = {
        "kv": [{"kv": kv} for kv in ("fp8", "int8", "int4")],
        "tensor": [{"tensor": 2**power} for power in range(1, 7)],
        "context": [{"context": 2**power} for power in range(1, 7)],
        "batch": [{"batch": number} for number in range(batch - 1, 0, -1)],
    }
    found = set()
    for first, second in itertools.combinations(kinds.values(), 2):
        for one, other in itertools.product(first, second):
            both = {"kv": "auto", "tensor": 1, "context": 1, "batch": batch} | one | other
            ranks = Ranks(both["tensor"], 1, both["context"])
            asked = Request(contexts=(target,), batches=(both["batch"],), kv=both["kv"], ranks=ranks, memory=memory)
            with contextlib.suppress(InputError):  # ranks that do not divide the heads
                if plan(name, asked).cells[0].fits:
                    found.add((ranks.count, -both["batch"]))
    return found


@pytest.mark.parametrize(("batch", "memory"), [(1, 80), (1, 40), (2, 80)])
def test_where_no_one_change_suffices_the_cheapest_two_are_listed(batch, memory):
    found = plan("bloom", Request(batches=(batch,), target=2**20, memory=memory * 2**30)).ways.memory
    pairs = [way for way in found if ", " in way.what]
    assert all(way.fits for way in pairs)
    assert not any(way.fits for way in found if way not in pairs)
    assert 1 <= len(pairs) <= 3
    costs = [(way.devices, -way.batch) for way in pairs]
    assert costs == sorted(costs)
    # Weights in fewer bits are no request of their own: without them nothing is cheaper than what is listed.
    assert costs[0] <= min(two_changes("bloom", 2**20, batch, memory * 2**30))


def test_what_two_changes_take_is_what_they_take_by_hand():
    """BLOOM, 112 heads of 128 in 70 layers: 2^20 tokens on 8 tensor-parallel ranks times 16 context-parallel ones."""
    found = plan("bloom", Request(target=2**20, memory=80 * 2**30)).ways.memory
    (way,) = [way for way in found if ", " in way.what]
    assert way.what == "8 tensor-parallel ranks, 16 context-parallel ranks"
    assert (way.changes, way.devices, way.batch, way.kv) == ("devices", 128, 1, "bfloat16")
    assert way.cache_bytes == 2 * 70 * 112 * 128 * 2 * 2**20 // (8 * 16)


def test_two_changes_of_different_kinds_are_named_both():
    found = plan("llama-3.1-70b", Request(batches=(8,), target=2**20, memory=80 * 2**30)).ways.memory
    assert [(way.changes, way.what) for way in found if ", " in way.what] == [
        ("devices and batch", "8 tensor-parallel ranks, batch 1"),
        ("weights and devices", "weights in 4 bits, 64 context-parallel ranks"),
        ("devices", "4 tensor-parallel ranks, 16 context-parallel ranks"),
    ]


def test_where_not_even_two_changes_suffice_that_is_said():
    found = plan("bloom", Request(target=2**20, memory=2**30))
    assert not any(", " in way.what for way in found.ways.memory)
    assert "none of them fits, and no two of them together do" in to_text(found)


def test_what_fits_is_offered_lighter_caches_alone():
    found = plan("llama-2-7b", Request(target=65536, memory=80 * 2**30)).ways
    assert {way.changes for way in found.memory} == {"nothing", "kv"}


def test_a_target_that_only_other_devices_hold_does_not_fit():
    asked = {"contexts": (4096,), "target": 2**20, "memory": 80 * 2**30}
    alone = plan("llama-2-7b", Request(**asked))
    assert any(way.fits for way in alone.ways.memory if way.changes == "devices")
    assert alone.fits is False
    assert plan("llama-2-7b", Request(**{**asked, "target": 65536})).fits is True


def test_the_window_line_joins_the_four_lengths(tmp_path):
    from ordinate.validate.claims import Card, Claim

    claims = tuple(
        Claim("L3", "near_key", "retrieval", length, verdict, {}, "")
        for length, verdict in ((4096, "supported"), (8192, "supported"), (16384, "refuted"))
    )
    (tmp_path / "card.json").write_text(Card({"name": "a model"}, "standard", claims).to_json())
    reach = plan("llama-3.1-8b", run=tmp_path).window
    assert (reach.trained, reach.declared, reach.extended, reach.extended_by) == (8192, 131072, 131072, "llama3")
    assert reach.effective == 8192
    assert "near_key" in (reach.effective_source or "")
    assert plan("llama-3-8b").window.extended is None


@pytest.mark.parametrize(
    "content, said",
    [
        (None, "must be a run folder with card.json"),
        ("{}", "must be of kind 'validate'"),
        ('{"kind": "validate", "schema_version": 2}', "must be of kind 'validate'"),
        ('{"kind": "validate", "schema_version": 1, "headline": 3}', "headline must be an object"),
        ('{"kind": "validate", "schema_version": 1, "headline": {"effective": -1}}', "a subject and an effective"),
    ],
)
def test_a_run_without_a_sound_card_is_refused(tmp_path, content, said):
    if content is not None:
        (tmp_path / "card.json").write_text(content)
    with pytest.raises(InputError, match=said):
        plan("llama-3-8b", run=tmp_path)


@pytest.mark.parametrize("name", models.published_names())
def test_a_plan_is_json_with_the_source_of_every_number(name):
    found = plan(name, Request(contexts=(256,), memory=10**13))
    text = json.dumps(found.to_dict(), allow_nan=False)
    said = json.loads(text)
    assert (said["schema_version"], said["kind"], said["name"]) == (1, "plan", name)
    cell = said["cells"][0]
    parts = ("cache_bytes", "tables_bytes", "scratch_bytes", "weights_bytes", "reserve_bytes")
    assert cell["total_bytes"] == sum(cell[part] for part in parts)
    for key in cell:
        assert key in ("context", "batch", "fits") or f"cells.{key}" in said["provenance"]
    assert all(source for source in said["provenance"].values())


def test_a_dict_of_a_params_json_is_planned():
    params = {"dim": 4096, "n_layers": 32, "n_heads": 32, "n_kv_heads": 8, "vocab_size": 128256}
    params |= {"multiple_of": 1024, "ffn_dim_multiplier": 1.3, "norm_eps": 1e-5, "rope_theta": 500000.0}
    found = plan(params, Request(contexts=(8192,)))
    assert found.token_bytes == 131_072
    assert found.weights.bytes is None


@pytest.mark.parametrize(
    "settings, said",
    [
        ({"encoder_tokens": 5}, "attends to no encoder's tokens"),
        ({"expand_latent": True}, "no latent to expand"),
        ({"kv": "int5"}, "unknown KV format"),
        ({"ranks": Ranks(1, 33)}, "at most the 32 layers"),
    ],
)
def test_what_a_model_has_not_is_refused(settings, said):
    with pytest.raises(InputError, match=said):
        plan("llama-3-8b", Request(contexts=(1024,), **settings))


@pytest.mark.parametrize(
    "settings, said",
    [
        ({"contexts": (0,)}, "context"),
        ({"batches": ()}, "batches"),
        ({"memory": 0}, "memory"),
        ({"reserve": 5}, "give the memory too"),
        ({"attention": "flash"}, "attend, dense, eager"),
        ({"dtype": "fp8"}, "dtype"),
        ({"sinks": 4}, "give the recent tokens too"),
        ({"ranks": (1, 1, 1)}, "ranks"),
    ],
)
def test_a_request_that_says_nothing_sound_is_refused(settings, said):
    with pytest.raises(InputError, match=said):
        Request(**settings)


@pytest.mark.parametrize("key", ["num_hidden_layers", "vocab_size", "intermediate_size"])
@pytest.mark.parametrize("value", [-1, 2**60, "x", [1], 1.5])
def test_sizes_that_are_none_are_refused(key, value):
    with pytest.raises(InputError):
        plan({**LLAMA, key: value}, Request(contexts=(1024,)))


def test_unrotated_keys_cost_nothing_more():
    """A cache of unrotated keys has the numbers of a rotated one; its turns are made when they are read."""
    assert any("unrotated" in note for note in plan("llama-3-8b").notes)


UNGROUPED = {
    "hidden_size": 4096,
    "num_attention_heads": 32,
    "num_hidden_layers": 4,
    "max_position_embeddings": 2048,
    "vocab_size": 50432,
    "ffn_dim": 16384,
    "intermediate_size": 16384,
    "torch_dtype": "float16",
}


@pytest.mark.parametrize("model_type", ["gpt_neox", "opt"])
@pytest.mark.parametrize("key", ["num_key_value_heads", "n_head_kv", "multi_query"])
def test_a_number_of_key_value_heads_is_not_heeded_where_the_architecture_has_none(model_type, key):
    config = UNGROUPED | {"model_type": model_type}
    found, own = plan(config | {key: 8}), plan(config)
    # 2 * 4 layers * 32 heads * 128 channels * 2 bytes.
    assert found.token_bytes == own.token_bytes == 65536
    assert found.layers[0].kind == "MHA"
    assert found.weights == own.weights
    said = f"{key} is 8, which the code of {model_type} does not read: each of its 32 query heads has a key"
    assert any(said in note for note in found.notes)
    assert not any(key in note for note in plan(config | {"num_key_value_heads": 32}).notes)


@pytest.mark.parametrize("model_type", ["falcon", "gpt_bigcode"])
def test_a_foreign_number_beside_multi_query_is_named(model_type):
    found = plan({**UNGROUPED, "model_type": model_type, "multi_query": True, "num_key_value_heads": 8})
    assert found.layers[0].kind == "MQA"
    said = f"num_key_value_heads is 8, which the code of {model_type} does not read: all query heads share one key"
    assert any(said in note for note in found.notes)


@pytest.mark.parametrize("heads", [3, 5, 64])
def test_key_value_heads_that_query_heads_cannot_share_are_refused(heads):
    with pytest.raises(
        InputError, match=f"key-value heads of full_attention must divide its 32 query heads, got {heads}"
    ):
        plan({**UNGROUPED, "model_type": "llama", "num_key_value_heads": heads})


def test_numbers_in_notes_have_their_thousands_apart():
    notes = plan("llama-2-7b", Request(contexts=(131072,))).notes
    assert "131,072 tokens are more than the 4,096 that the files declare" in notes


def test_rank_heads_of_one_rank_are_all():
    from ordinate.plan.layers import Cached

    assert rank_heads(Cached("full_attention", "attention", (0,), 8, 128, 128, query_heads=32), 1) == (8, 1)
    assert math.prod(rank_heads(Cached("a", "attention", (0,), 1, 64, 64, query_heads=16), 4)) == 4
