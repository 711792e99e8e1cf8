"""What every storage keeps: bounds held and reached, bytes exact, nothing infinite let in."""

import itertools

import numpy as np
import pytest
import torch

from ordinate.caches.storage import storage, storages
from ordinate.errors import InputError

# The settings under which each storage is tried; by name where it has none.
EVERY = [
    *(pytest.param(storage(name), id=name) for name in storages()),
    *(
        pytest.param(storage(name, block=block, scales=scales), id=f"{name}-{block}-{scales}")
        for name, block, scales in itertools.product(("int8", "fp8", "int4"), (1, 5, 64), ("float32", "bfloat16"))
    ),
]
QUANTISED = [parameter for parameter in EVERY if "int" in parameter.id or "fp8" in parameter.id]

# The largest error that the docstrings state, next to the largest number of a block (floats: next to the number).
RELATIVE = {
    "float32": 1 / (2**24 + 1),
    "bfloat16": 1 / 257,
    "float16": 1 / 2049,
    "int8": 1 / 254,
    "fp8": 1 / 17,
    "int4": 1 / 14,
}


@pytest.fixture(autouse=True)
def _seeded():
    torch.manual_seed(0)


def adversarial(dim: int) -> torch.Tensor:
    """Rows that storages go wrong on: [rows, 2 heads, dim], float32."""
    generator = torch.Generator().manual_seed(dim)
    noise = torch.randn(2, dim, generator=generator)
    outlier = 1e-3 * noise.clone()
    outlier[:, dim // 2] = 6e4
    small = torch.linspace(0, 1, dim).repeat(2, 1)
    return torch.stack(
        [
            noise,
            torch.zeros(2, dim),
            -torch.zeros(2, dim),
            torch.full((2, dim), -3.25),
            outlier,
            -outlier,
            noise * 1e-40,  # denormal
            torch.full((2, dim), 2.0**-149),  # the smallest number of float32
            noise * 2.0**-127,  # about the smallest normal number
            noise * 2.0**-15,  # about the smallest normal number of float16
            small,
            noise.exp() * noise.sign(),
            10.0 ** torch.linspace(-30, 4, dim).repeat(2, 1),  # each block has its own size
            torch.full((2, dim), 65504.0),
            (torch.arange(2 * dim).view(2, dim) % 255 - 127) / 127.0,
            (torch.arange(2 * dim).view(2, dim) % 2 - 0.5) * 2,
        ]
    )


def error(kept, x: torch.Tensor) -> torch.Tensor:
    return (kept.decode(kept.encode(x)).double() - x.double()).abs()


@pytest.mark.parametrize("kept", EVERY)
@pytest.mark.parametrize("dim", [1, 2, 5, 31, 64, 65, 128])
def test_no_number_errs_by_more_than_its_bound(kept, dim):
    generator = torch.Generator().manual_seed(7)
    random = torch.randn(100, 2, dim, generator=generator) * torch.randn(100, 2, 1, generator=generator).exp()
    for x in (random, adversarial(dim), adversarial(dim).double() * (1 + 1e-9)):
        x = x.clamp(-65504, 65504)
        assert (error(kept, x) <= kept.bound(x)).all()


@pytest.mark.parametrize("name", storages())
def test_the_bound_is_what_the_largest_number_says(name):
    # Above the floor of scales and of float16, so that the relative figure is all there is.
    kept, x = storage(name, **({"block": 64} if name in ("int8", "fp8", "int4") else {})), torch.randn(50, 2, 64)
    largest = x.double().abs()
    if name in ("int8", "fp8", "int4"):
        largest = largest.amax(-1, keepdim=True)
    assert kept.worst == RELATIVE[name]
    assert (kept.bound(x) <= RELATIVE[name] * (1 + 1e-3) * largest.clamp(min=2.0**-14)).all()


@pytest.mark.parametrize(
    "name, row, reached",
    [
        ("int8", [1.0, 0.5 / 127], 0.5 / 127),
        ("int4", [1.0, 0.5 / 7], 0.5 / 7),
        ("fp8", [448.0, 256 + 16.0], 16.0),  # half way from 256 to 288
        ("fp8", [448.0, 2.0**-10], 2.0**-10),  # half way from 0 to the smallest
        ("bfloat16", [1.0, 1 + 2.0**-8], 2.0**-8),
        ("float16", [1.0, 1 + 2.0**-11], 2.0**-11),
    ],
)
def test_a_number_half_way_between_two_codes_errs_by_the_bound(name, row, reached):
    kept, x = storage(name), torch.tensor([[row]])
    assert error(kept, x)[0, 0, 1] == pytest.approx(reached, rel=1e-5)
    assert kept.bound(x)[0, 0, 1] == pytest.approx(reached, rel=1e-4)


@pytest.mark.parametrize("kept", EVERY)
def test_zeros_come_back_as_zeros(kept):
    x = torch.zeros(3, 2, 7)
    x[1, 0, 3] = 5.0
    decoded = kept.decode(kept.encode(x))
    assert (decoded[x == 0] == 0).all()


def test_int8_is_the_nearest_whole_number_times_its_scale():
    x = adversarial(33)
    parts = storage("int8", block=8).encode(x)
    codes, scales = parts.values.numpy().astype(np.float64), parts.scales.numpy().astype(np.float64)
    each = np.repeat(scales, 8, -1)[..., :33]
    np.testing.assert_array_equal(np.rint(np.clip(x.numpy() / each.astype(np.float32), -127, 127)), codes)
    decoded = storage("int8", block=8).decode(parts)
    np.testing.assert_array_equal(decoded.numpy(), (codes * each).astype(np.float32))
    assert np.abs(codes).max() == 127


def test_fp8_is_the_nearest_float_that_has_3_digits():
    # The table of e4m3 by its definition: sign, 4 bits of exponent of bias 7, 3 bits after the point; 127 is NaN.
    pattern = np.arange(127)
    exponent, digits = pattern >> 3, pattern & 7
    table = np.where(exponent == 0, digits / 8 * 2.0**-6, (1 + digits / 8) * 2.0 ** (exponent - 7.0))
    assert table.max() == 448
    table = np.concatenate([table, -table])
    x = adversarial(33)
    kept = storage("fp8", block=8)
    parts = kept.encode(x)
    quotients = x.numpy() / np.repeat(parts.scales.numpy(), 8, -1)[..., :33]
    chosen = kept.numbers(parts.values, 33).numpy()
    assert np.isin(chosen, table).all()
    nearest = np.abs(quotients[..., None] - table).min(-1)
    np.testing.assert_array_equal(np.abs(quotients - chosen), nearest.astype(np.float32))


def test_int4_has_two_channels_a_byte_the_even_one_below():
    parts = storage("int4").encode(torch.tensor([[[7.0, -7.0, 1.0, 0.0, -3.0]]]))
    assert parts.values.flatten().tolist() == [15 | 1 << 4, 9 | 8 << 4, 5 | 8 << 4]
    assert parts.scales.flatten().tolist() == [1.0]


@pytest.mark.parametrize("kept", QUANTISED)
def test_a_scale_of_bfloat16_is_never_below_that_of_float32(kept):
    x = adversarial(65).clamp(-65504, 65504)
    full = type(kept)(block=kept.block).encode(x).scales.double()
    own = kept.encode(x).scales.double()
    assert (own >= full).all()
    assert (own <= full * (1 + 2.0**-7)).all()


@pytest.mark.parametrize("kept", EVERY)
@pytest.mark.parametrize("dim", [1, 6, 33, 128])
def test_bytes_are_what_memory_holds(kept, dim):
    parts = kept.allocate((3, 4), 2, dim)
    assert parts.bytes == 3 * 4 * 2 * kept.bytes_per_head(dim)
    encoded = kept.encode(torch.ones(3, 4, 2, dim))
    assert encoded.bytes == parts.bytes
    assert encoded.values.shape == parts.values.shape
    assert encoded.values.dtype == parts.values.dtype


def test_bytes_of_usual_heads():
    counted = {name: storage(name).bytes_per_head(128) for name in storages()}
    assert counted == {"float32": 512, "bfloat16": 256, "float16": 256, "int8": 144, "fp8": 144, "int4": 80}
    assert storage("int4", scales="bfloat16").bytes_per_head(128) == 72


@pytest.mark.parametrize("kept", EVERY)
@pytest.mark.parametrize("slots", [(2, 9), (4, 3), (12,)], ids=["dense", "paged", "flat"])
def test_slots_hold_what_was_written_and_no_other_changes(kept, slots):
    parts = kept.allocate(slots, 2, 7)
    first, second = torch.randn(*slots, 2, 7), torch.randn(3, 2, 7)
    kept.write(parts, (), first)
    # Slots in no order, as a ring or a block table name them.
    flat = torch.randperm(torch.Size(slots).numel())[:3]
    index = torch.unravel_index(flat, slots)
    kept.write(parts, index, second)
    expected = kept.decode(kept.encode(first))
    expected[index] = kept.decode(kept.encode(second))
    torch.testing.assert_close(kept.read(parts), expected, rtol=0, atol=0)
    torch.testing.assert_close(kept.read(parts, index), expected[index], rtol=0, atol=0)


@pytest.mark.parametrize("kept", EVERY)
def test_what_is_read_is_not_the_cache_itself(kept):
    parts = kept.allocate((2, 3), 1, 4)
    kept.read(parts, (0,)).fill_(9)
    kept.read(parts, (slice(0, 1),)).fill_(9)
    assert (kept.read(parts) == 0).all()


@pytest.mark.parametrize("kept", EVERY)
def test_parts_are_copied_without_a_rounding(kept):
    parts = kept.encode(torch.randn(3, 4, 2, 33))
    before = kept.decode(parts)
    order = torch.tensor([2, 0, 0])
    again = parts.map(lambda part: part[order])
    again.put((slice(None), 0), parts.map(lambda part: part[:, 3]))
    expected = before[order]
    expected[:, 0] = before[:, 3]
    torch.testing.assert_close(kept.decode(again), expected, rtol=0, atol=0)


@pytest.mark.parametrize("name", storages())
def test_what_was_stored_is_stored_again_as_it_was(name):
    kept = storage(name)
    parts = kept.encode(torch.randn(200, 2, 64))
    again = kept.encode(kept.decode(parts))
    assert torch.equal(parts.values, again.values)


@pytest.mark.parametrize("kept", EVERY)
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_every_type_of_floats_goes_in_and_out(kept, dtype):
    x = torch.randn(4, 5, 2, 33).to(dtype).transpose(0, 1)  # not contiguous
    decoded = kept.decode(kept.encode(x), dtype)
    assert decoded.dtype == dtype
    assert decoded.shape == x.shape
    rounded = (x.double().abs() + kept.bound(x)) * torch.finfo(dtype).eps
    assert ((decoded.double() - x.double()).abs() <= kept.bound(x) + rounded + 2.0**-24).all()


@pytest.mark.parametrize("kept", EVERY)
def test_no_tokens_are_no_parts(kept):
    assert kept.decode(kept.encode(torch.empty(2, 0, 3, 8))).shape == (2, 0, 3, 8)


@pytest.mark.parametrize("kept", EVERY)
@pytest.mark.parametrize("bad", [float("inf"), -float("inf"), float("nan")])
def test_what_is_not_finite_is_refused_by_its_place_and_nothing_is_written(kept, bad):
    parts = kept.allocate((2, 3), 2, 5)
    x = torch.ones(2, 3, 2, 5)
    x[1, 2, 0, 3] = bad
    with pytest.raises(InputError, match=rf"{kept.name} stores finite numbers, got {bad} at \[1, 2, 0, 3\]"):
        kept.write(parts, (), x)
    assert (kept.read(parts) == 0).all()


@pytest.mark.parametrize(
    "name, held, refused",
    [
        ("float16", 65504.0, 65536.0),
        ("bfloat16", 3.3895313892515355e38, 3.4e38),
        ("float32", 3.4028234663852886e38, 3.5e38),
        ("int8", 2.0**127, 3e38),
        ("fp8", 2.0**127, 3e38),
        ("int4", 2.0**127, 3e38),
    ],
)
def test_what_a_storage_cannot_hold_is_refused(name, held, refused):
    x = torch.full((1, 1, 2), held, dtype=torch.float64)
    assert (error(storage(name), x) <= storage(name).bound(x)).all()
    storage(name).check(x)
    for call in (storage(name).encode, storage(name).check):
        with pytest.raises(InputError, match=f"{name} holds numbers up to"):
            call(torch.full((1, 1, 2), refused, dtype=torch.float64))


@pytest.mark.parametrize(
    "index, message",
    [
        ((2, 0), "slots of axis 0 must be from 0 to 1, got 2 to 2"),
        ((torch.tensor([0]), torch.tensor([-1])), "slots of axis 1 must be from 0 to 2, got -1 to -1"),
        ((0, 0, 0), "at most 2 entries"),
        (torch.tensor([0]), "index must be a tuple"),
        ((torch.tensor([True, False]),), "slots must be integers"),
    ],
)
def test_a_slot_that_is_not_there_is_refused(index, message):
    kept = storage("int8")
    parts = kept.allocate((2, 3), 2, 5)
    for call in (lambda: kept.read(parts, index), lambda: kept.write(parts, index, torch.ones(2, 5))):
        with pytest.raises(InputError, match=message):
            call()


def test_numbers_of_another_shape_are_refused():
    kept = storage("int4")
    parts = kept.allocate((2, 3), 2, 5)
    for shape in ((2, 3, 2, 6), (2, 3, 1, 5), (1, 3, 2, 5), (3, 2, 5)):
        with pytest.raises(InputError, match=r"x must be \[2, 3, 2, 5\] as the slots are, got"):
            kept.write(parts, (), torch.ones(shape))


def test_settings_and_names_are_checked():
    with pytest.raises(InputError, match="did you mean 'int8'"):
        storage("int9")
    with pytest.raises(InputError, match="storage 'float16' has no settings, got block"):
        storage("float16", block=8)
    with pytest.raises(InputError, match="storage 'int8' has block, scales, got size"):
        storage("int8", size=8)
    with pytest.raises(InputError, match="block must be an integer >= 1, got 0"):
        storage("int8", block=0)
    with pytest.raises(InputError, match="scales must be one of float32, bfloat16, got 'float16'"):
        storage("fp8", scales="float16")
    for bad in (torch.ones(2, 2, dtype=torch.int64), torch.ones(2), [1.0]):
        with pytest.raises(InputError, match="int8 stores floats"):
            storage("int8").encode(bad)


@pytest.mark.parametrize("kept", EVERY)
def test_only_floats_are_read_as_they_lie(kept):
    parts = kept.allocate((2, 3), 1, 4)
    view = kept.view(parts)
    assert (view is not None) == (kept.name in ("float32", "float16", "bfloat16"))
    if view is not None:
        kept.write(parts, (1, 2), torch.ones(1, 4))
        assert (view[1, 2] == 1).all()
