"""k and v on their way into a cache: rotated, at their slots, and nowhere else."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from reference_rotate import PAIRINGS

from ordinate.errors import InputError, Unavailable
from ordinate.ops import rotate, rotate_into_cache_
from ordinate.ops.backends import compiled

BACKENDS = ("eager", "cpu") if compiled is not None else ("eager",)
DTYPES = (torch.float32, torch.bfloat16, torch.float16)
LAYOUTS = ("plain", "heads first", "one array", "channels apart")


def caches(layout, pages, size, heads, dims, dtypes):
    """Caches of k and v full of 7, [pages, size, heads, dim], in one of the layouts that engines have."""
    if layout == "one array" and dims[0] == dims[1] and dtypes[0] == dtypes[1]:  # FlashAttention's of vLLM
        return torch.full((pages, 2, size, heads, dims[0]), 7.0).to(dtypes[0]).unbind(1)
    made = []
    for dim, dtype in zip(dims, dtypes, strict=True):
        if layout == "heads first":
            made.append(torch.full((pages, heads, size, dim), 7.0).to(dtype).transpose(1, 2))
        elif layout == "channels apart":
            made.append(torch.full((pages, size, heads, 2 * dim + 1), 7.0).to(dtype)[..., 1::2])
        else:
            made.append(torch.full((pages, size, heads, dim), 7.0).to(dtype))
    return made


@st.composite
def calls(draw):
    """A call with its caches, made anew each time it is asked for, and what k becomes."""
    pairs, rest, heads = draw(st.sampled_from([1, 3, 8, 20])), draw(st.sampled_from([0, 3])), draw(st.integers(1, 3))
    tokens = draw(st.integers(0, 9))
    lead = draw(st.sampled_from([(tokens,), (draw(st.integers(0, 3)), tokens)]))
    count, size = int(np.prod(lead)), draw(st.integers(1, 5))
    pages = -(-count // size) + draw(st.integers(0, 3))
    seed = draw(st.integers(0, 2**31 - 1))
    random = np.random.default_rng(seed)
    slots = random.permutation(pages * size)[:count]
    if draw(st.booleans()):
        slots.sort()
    slots = np.where(random.random(count) < draw(st.sampled_from([0.0, 0.3])), -random.integers(1, 9, count), slots)
    width, values = 2 * pairs + rest, draw(st.sampled_from([2 * pairs + rest, 5]))
    dtypes = [draw(st.sampled_from(DTYPES)) for _ in range(2)]
    layout = draw(st.sampled_from(LAYOUTS))
    integer = draw(st.sampled_from([np.int32, np.int64]))
    angles = torch.from_numpy(random.uniform(-3, 3, (20, pairs))).float()
    options = {
        "cos": angles.cos(),
        "sin": angles.sin(),
        "positions": torch.from_numpy(random.integers(0, 20, lead)),
        "pairing": draw(st.sampled_from(PAIRINGS)),
        "part": draw(st.sampled_from(["first", "last"])),
        "k_norm": torch.rand(width) if draw(st.booleans()) else None,
    }
    with_q, with_v, heads_first = draw(st.booleans()), draw(st.booleans()), draw(st.booleans())

    def make():
        generator = torch.Generator().manual_seed(seed)
        k = torch.randn(*lead, heads, width, generator=generator).to(dtypes[0])
        v = torch.randn(*lead, heads, values, generator=generator).to(dtypes[1])
        if heads_first:
            k, v = (x.transpose(-3, -2).contiguous().transpose(-3, -2) for x in (k, v))
        q = torch.randn(*lead, 4, width, generator=generator).to(dtypes[0])
        k_cache, v_cache = caches(layout, pages, size, heads, (width, values), dtypes)
        call = {"q": q if with_q else None, "k": k, "v": v, "k_cache": k_cache, "v_cache": v_cache}
        if not with_v:
            call |= {"v": None, "v_cache": None}
        return call | {"slots": torch.from_numpy(slots.reshape(lead).astype(integer))} | options

    return make


@given(make=calls())
@settings(max_examples=150)
def test_each_token_is_in_its_slot_and_nothing_else_has_changed(make):
    for backend in ("auto", *BACKENDS):
        call = make()
        options = {name: call[name] for name in ("cos", "sin", "positions", "pairing", "part")}
        named = "eager" if backend == "auto" else backend
        turned = [rotate(call["q"], None, **options, backend=named)[0] if call["q"] is not None else None]
        turned.append(rotate(None, call["k"], **options, k_norm=call["k_norm"], backend=named)[1])
        if backend == "auto" and call["k_norm"] is not None:
            continue  # no bits to compare with
        before = call["k"].clone()
        assert rotate_into_cache_(**call, backend=backend) is call["q"]
        assert torch.equal(call["k"], before)
        if call["q"] is not None:
            assert torch.equal(call["q"], turned[0])
        for cache, tokens in ((call["k_cache"], turned[1]), (call["v_cache"], call["v"])):
            if cache is None:
                continue
            wanted = torch.full(cache.shape, 7.0).to(cache.dtype).flatten(0, 1)
            for slot, token in zip(call["slots"].flatten().tolist(), tokens.flatten(0, -3), strict=True):
                if slot >= 0:
                    wanted[slot] = token
            assert torch.equal(cache.flatten(0, 1), wanted)


@given(make=calls())
def test_numpy_has_it_too(make):
    call, torchs = make(), make()
    names = [name for name, value in call.items() if isinstance(value, torch.Tensor)]
    for given_call in (call, torchs):
        for name in ("q", "k", "v", "k_cache", "v_cache"):
            if given_call[name] is not None:
                given_call[name] = given_call[name].float()
    arrays = call | {name: call[name].numpy() for name in names}
    rotate_into_cache_(**arrays)
    rotate_into_cache_(**torchs)
    for name in ("q", "k_cache", "v_cache"):
        if call[name] is not None:
            assert np.allclose(arrays[name], torchs[name], atol=2e-6)


def test_the_memory_around_a_view_of_a_cache_is_left_alone():
    around = torch.full((4, 6, 5, 12), 7.0)
    k, angles = torch.randn(3, 2, 8), torch.rand(9, 4)
    for backend in BACKENDS:
        cache = around.clone()
        rotate_into_cache_(
            None,
            k,
            None,
            cache[1:3, 1:5, 1:3, 2:10],
            None,
            torch.tensor([7, 0, 5]),
            angles.cos(),
            angles.sin(),
            backend=backend,
        )
        inside = torch.zeros(around.shape, dtype=torch.bool)
        for page, offset in ((2, 4), (1, 1), (2, 2)):
            inside[page, offset, 1:3, 2:10] = True
        assert torch.equal(cache[~inside], around[~inside])
        assert (cache[inside] != 7).all()


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_dense_cache_is_filled_token_by_token(backend):
    angles = torch.rand(9, 4)
    k, v = torch.randn(2, 9, 3, 8), torch.randn(2, 9, 3, 8)
    k_cache, v_cache = torch.zeros(2, 12, 3, 8), torch.zeros(2, 12, 3, 8)
    for token in range(9):
        one = slice(token, token + 1)
        slots = torch.arange(2)[:, None] * 12 + token
        positions = torch.tensor([token])
        rotate_into_cache_(
            None, k[:, one], v[:, one], k_cache, v_cache, slots, angles.cos(), angles.sin(), positions, backend=backend
        )
    assert torch.equal(k_cache[:, :9], rotate(None, k, angles.cos(), angles.sin())[1])
    assert torch.equal(v_cache[:, :9], v)
    assert not k_cache[:, 9:].any()


@pytest.mark.skipif(compiled is None, reason="the compiled kernels are not part of this installation")
@pytest.mark.parametrize("dtype", DTYPES)
def test_a_large_call_on_two_threads_changes_nothing(dtype, instruction_set):
    angles, slots = torch.rand(1500, 32), torch.randperm(2048)[:1500]
    k, v = torch.randn(1500, 9, 64).to(dtype), torch.randn(1500, 9, 72).to(dtype)
    k_cache, v_cache = (torch.zeros(32, 64, 9, dim).to(dtype) for dim in (64, 72))
    threads = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        rotate_into_cache_(None, k, v, k_cache, v_cache, slots, angles.cos(), angles.sin(), backend="cpu")
    finally:
        torch.set_num_threads(threads)
    assert torch.equal(k_cache.flatten(0, 1)[slots], rotate(None, k, angles.cos(), angles.sin(), backend="eager")[1])
    assert torch.equal(v_cache.flatten(0, 1)[slots], v)


def test_axes_frequencies_and_packed_sequences_go_through():
    k, cache, axis = torch.randn(5, 2, 8), torch.zeros(2, 4, 2, 8), torch.tensor([0, 1, 1, 0])
    frequencies, slots = torch.rand(4, dtype=torch.float64), torch.tensor([0, 3, 4, 6, 7])
    for options in (
        {"positions": torch.randint(50, (2, 5)), "axis_of_pair": axis},
        {"cu_seqlens": torch.tensor([0, 2, 5]), "magnitude": 1.25},
    ):
        rotate_into_cache_(None, k, None, cache, None, slots, frequencies=frequencies, **options)
        assert torch.equal(cache.flatten(0, 1)[slots], rotate(None, k, frequencies=frequencies, **options)[1])


def test_writing_is_told_to_autograd_and_a_gradient_is_refused():
    k, cache, angles = torch.randn(5, 2, 8), torch.zeros(2, 4, 2, 8), torch.rand(5, 4)
    rest = (torch.arange(5), angles.cos(), angles.sin())
    for backend in ("auto", *BACKENDS):
        q, before = torch.randn(5, 2, 8), cache._version
        versions = q._version
        rotate_into_cache_(q, k, k, cache, cache.clone(), *rest, backend=backend)
        assert cache._version > before
        assert q._version > versions
        wanting = k.clone().requires_grad_()
        for call in ((None, wanting, None, cache, None), (None, k, wanting, cache, cache.clone())):
            with pytest.raises(InputError, match="a cache keeps no gradient"):
                rotate_into_cache_(*call, *rest, backend=backend)
            with torch.no_grad():
                rotate_into_cache_(*call, *rest, backend=backend)
    assert not cache.requires_grad


def test_meta_tensors_are_written_in_shape_only():
    q, cache, table = (torch.empty(shape, device="meta") for shape in ((5, 2, 8), (2, 4, 2, 8), (5, 4)))
    slots = torch.empty(5, dtype=torch.int64, device="meta")
    assert rotate_into_cache_(q, q.clone(), None, cache, None, slots, table, table) is q


def test_a_compiled_graph_writes_the_cache():
    torch._dynamo.reset()
    angles = torch.rand(16, 4)

    def write(q, k, v, k_cache, v_cache, slots):
        rotate_into_cache_(q, k + 1, v, k_cache, v_cache, slots, angles.cos(), angles.sin())
        return k_cache.sum() + q.sum()

    run = torch.compile(write, fullgraph=True, dynamic=True, backend="aot_eager")
    for tokens in (3, 6):
        q, k, v = torch.randn(tokens, 3, 8), torch.randn(tokens, 2, 8), torch.randn(tokens, 2, 8)
        results = []
        for function in (run, write):
            arrays = q.clone(), k, v, torch.zeros(4, 4, 2, 8), torch.zeros(4, 4, 2, 8)
            results.append((function(*arrays, torch.arange(tokens) * 2), *arrays))
        for made, wanted in zip(*results, strict=True):
            assert torch.equal(made, wanted)
    with pytest.raises(Exception, match="slots must lie in the cache, below 16"):
        run(*arrays, torch.arange(tokens) + 14)


def test_an_exported_graph_says_that_it_cannot():
    class Layer(torch.nn.Module):
        def forward(self, k, cache, slots, table):
            rotate_into_cache_(None, k, None, cache, None, slots, table, table)
            return cache

    arrays = torch.randn(5, 2, 8), torch.zeros(2, 4, 2, 8), torch.arange(5), torch.rand(5, 4)
    with pytest.raises(Exception, match="standard operators only") as caught:
        torch.export.export(Layer(), arrays)
    assert isinstance(caught.value, Unavailable) or "Unavailable" in str(caught.value)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_operator_passes_opcheck(dtype):
    import ordinate.ops.rotate.operators  # noqa: F401 - it defines them

    q, k, cache, angles = (
        torch.randn(5, 3, 8).to(dtype),
        torch.randn(5, 2, 8).to(dtype),
        torch.zeros(2, 4, 2, 8),
        torch.rand(5, 4),
    )
    arrays = (q, k, k.clone(), cache.to(dtype), cache.to(dtype).clone(), torch.arange(5), angles.cos(), angles.sin())
    rest = (None, "half", "first", None, None, 1.0, None, torch.rand(8), None, 1e-6, "auto")
    torch.library.opcheck(torch.ops.ordinate.rotate_into_cache_.default, (*arrays, *rest))


K, V, COS, SLOTS = torch.ones(5, 2, 8), torch.ones(5, 2, 6), torch.ones(6, 4), torch.tensor([3, 0, -1, 7, 5])
CACHE, VALUES = torch.full((2, 4, 2, 8), 7.0), torch.full((2, 4, 2, 6), 7.0)
WRONG = {
    "no k": ({"k": None}, "needs k, got None"),
    "no cache": ({"k_cache": None}, "needs k_cache and slots, got None"),
    "no slots": ({"slots": None}, "needs k_cache and slots, got None"),
    "no v": ({"v": None}, "needs both v and v_cache or neither, got one"),
    "no v_cache": ({"v_cache": None}, "needs both v and v_cache or neither, got one"),
    "heads": ({"k_cache": CACHE[:, :, :1]}, r"k_cache must have shape \[pages, page_size, 2, 8\], got \[2, 4, 1, 8\]"),
    "axes": ({"k_cache": CACHE[0]}, r"k_cache must have shape \[pages, page_size, 2, 8\], got \[4, 2, 8\]"),
    "dim": ({"v_cache": VALUES[..., :5]}, r"v_cache must have shape \[pages, page_size, 2, 6\], got \[2, 4, 2, 5\]"),
    "pages": ({"v_cache": VALUES[:1]}, r"the same pages, got \[2, 4, 2, 8\] and \[1, 4, 2, 6\]"),
    "tokens": ({"v": V[:4]}, r"v must have the batch and tokens of k, \[5\], got \[4, 2, 6\]"),
    "dtype": ({"k_cache": CACHE.half()}, "k_cache must be float32 as k is, got float16"),
    "values' dtype": ({"v_cache": VALUES.bfloat16()}, "v_cache must be float32 as v is, got bfloat16"),
    "floats": ({"slots": SLOTS.float()}, "slots must be int32 or int64, got float32"),
    "few": ({"slots": SLOTS[:4]}, r"slots must have shape \[5\], got \[4\]"),
    "square": ({"slots": SLOTS[None]}, r"slots must have shape \[5\], got \[1, 5\]"),
    "past": ({"slots": SLOTS + 1}, "slots must lie in the cache, below 8, or be negative, got 8"),
    "twice": ({"slots": torch.tensor([3, 0, -1, 3, -1])}, "slots must each be written once, got 3 twice"),
    "empty": ({"k_cache": CACHE[:0], "v_cache": VALUES[:0]}, "slots must lie in the cache, below 0"),
    "kinds": ({"slots": SLOTS.numpy()}, "NumPy arrays only or torch tensors only"),
    "expanded": ({"k_cache": CACHE[:1].expand(2, 4, 2, 8)}, "k_cache cannot be written: it is expanded"),
    "position": ({"positions": torch.arange(5) + 2}, "positions must lie in the table, 0 to 5, got 6"),
}


@pytest.mark.parametrize("change, message", WRONG.values(), ids=WRONG)
@pytest.mark.parametrize("backend", ["auto", *BACKENDS])
def test_nothing_is_written_where_something_does_not_fit(change, message, backend):
    q, cache, values = torch.ones(5, 3, 8), CACHE.clone(), VALUES.clone()
    call = {"q": q, "k": K, "v": V, "k_cache": cache, "v_cache": values, "slots": SLOTS, "cos": COS, "sin": COS}
    with pytest.raises(InputError, match=message) as caught:
        rotate_into_cache_(**call | change, backend=backend)
    assert "\n" not in str(caught.value)
    assert torch.equal(q, torch.ones(5, 3, 8))
    assert torch.equal(cache, CACHE)
    assert torch.equal(values, VALUES)


def test_a_cache_is_not_read_while_it_is_written():
    fused = torch.randn(2, 4, 2, 8)
    slots = torch.arange(4)
    for call, message in (
        ((None, fused[1], None, fused, None), "k_cache cannot be written: it shares memory with k"),
        ((fused[0], K[:4], None, fused, None), "q cannot be written: it shares memory with k_cache"),
        ((None, K[:4], K[:4], fused, fused), "k_cache cannot be written: it shares memory with v_cache"),
        (
            (K[:4].clone().expand(4, 2, 8), K[:4], fused[0], CACHE.clone(), fused),
            "v_cache cannot be written: .* with v",
        ),
    ):
        before = fused.clone()
        for backend in ("auto", *BACKENDS):
            with pytest.raises(InputError, match=message):
                rotate_into_cache_(*call, slots, COS, COS, backend=backend)
        assert torch.equal(fused, before)
    read_only = fused.numpy().copy()
    read_only.flags.writeable = False
    with pytest.raises(InputError, match="k_cache cannot be written: it is read-only"):
        rotate_into_cache_(None, K[:4].numpy(), None, read_only, None, slots.numpy(), COS.numpy(), COS.numpy())


@pytest.mark.skipif(compiled is None, reason="the compiled kernels are not part of this installation")
def test_raw_kernels_refuse_slots_that_do_not_fit():
    cache, values = CACHE.clone(), VALUES.clone()
    turn = (None, None, 1.0, "half", "first", False, None, None, None, 0.0)

    def write(k=K, k_cache=cache, slots=SLOTS, v=V, v_cache=values):
        compiled.rotate_into(None, k, None, k_cache, COS, COS, *turn, slots, v, v_cache)

    for wrong in (
        {"slots": SLOTS + 1},
        {"slots": torch.tensor([3, 0, -1, 3, -1])},
        {"slots": SLOTS.float()},
        {"slots": SLOTS[:4]},
        {"slots": SLOTS[None].expand(2, 5)},
        {"slots": None},
        {"v": None},
        {"v_cache": None},
        {"v": V[:4]},
        {"v": V[..., :5]},
        {"v": V.half()},
        {"v_cache": values[:1]},
        {"k_cache": cache[0]},
        {"k_cache": cache[:, :, :1]},
        {"k": K.half()},
    ):
        with pytest.raises(ValueError):  # noqa: PT011 - what each says is for developers
            write(**wrong)
    assert torch.equal(cache, CACHE)
    write()
    assert not torch.equal(cache, CACHE)
