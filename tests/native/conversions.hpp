// The 16-bit formats, number by number, through the kernels that read and write them.
#pragma once

#include "../../src/ordinate/ops/attend/attend.hpp"
#include "../../src/ordinate/ops/rotate/arguments.hpp"
#include "arrays.hpp"
#include "isa.hpp"

namespace ordinate {

ORDINATE_DECLARE_TILES(void attend_forward(const Attention &))
ORDINATE_DECLARE(void attend_decode(const Attention &))

inline RotateArguments rotation(const Array &x, const Array &cos, const Array &sin, const std::vector<int64_t> &positions) {
    RotateArguments given;
    given.from[0] = given.to[0] = x.view;
    given.cos = cos.view, given.sin = sin.view;
    given.positions.data = const_cast<int64_t *>(positions.data());
    given.positions.dtype = Dtype::i64, given.positions.ndim = 1;
    given.positions.shape[0] = int64_t(positions.size()), given.positions.stride[0] = 1;
    return given;
}

inline void run_rotation(const RotateArguments &given, int threads) {
    RotateCall call;
    if (const char *wrong = describe(given, call)) {
        ++failures;
        std::printf("rotate was refused: %s\n", wrong);
        return;
    }
    call.threads = threads;
    run(call);
}

// Every number of 16 bits is read and written as it is: turned by no angle, and as the value of the only key.
inline void every_number(Dtype dtype, int pairs, Layout layout) {
    const int count = 65536, tokens = (count + pairs - 1) / pairs;
    Array x(dtype, {tokens, 1, 2 * pairs}), cos(Dtype::f32, {1, pairs}), sin(Dtype::f32, {1, pairs});
    for (int i = 0; i < pairs; ++i) cos.set(i, 1), sin.set(i, 0);
    const bool half = layout == Layout::half;
    auto place = [&](int i) { return i / pairs * 2 * pairs + (half ? i % pairs : i % pairs * 2); };
    for (int i = 0; i < tokens * pairs; ++i)
        x.set_pattern(place(i), uint16_t(i)), x.set_pattern(place(i) + (half ? pairs : 1), 0);
    const std::vector<int64_t> positions(static_cast<size_t>(tokens));
    RotateArguments given = rotation(x, cos, sin, positions);
    given.read = given.write = layout;
    run_rotation(given, 1);
    for (int i = 0; i < count; ++i) compare("a number turned by 0", x[place(i)], decode(dtype, uint16_t(i)), 0, "rotate");
}

inline void every_value(Dtype dtype) {
    const int width = 64, heads = 65536 / width;
    Array q(dtype, {1, 1, heads, 1}), k(dtype, {1, 1, heads, 1}), v(dtype, {1, 1, heads, width}),
        out(dtype, {1, 1, heads, width});
    for (int i = 0; i < heads * width; ++i) v.set_pattern(i, uint16_t(i));
    Sequence s{};
    s.queries = s.keys = 1;
    Attention a;
    a.q = q.view, a.k = k.view, a.v = v.view, a.out = out.view;
    a.heads = a.kv_heads = heads, a.dim = 1, a.value_dim = width;
    a.sequences = &s, a.sequence_count = 1;
    for (int kernel = 0; kernel < 2; ++kernel) {
        if (kernel) ORDINATE_CALL(attend_decode(a));
        else ORDINATE_CALL_TILES(attend_forward(a));
        for (int i = 0; i < heads * width; ++i) {
            const double value = decode(dtype, uint16_t(i));
            // The matrix registers take numbers too small for a whole significand as 0.
            const bool flushed = !kernel && instruction_set() == Isa::amx && dtype == Dtype::bf16 && std::abs(value) < 1.2e-38;
            if (!flushed || out[i] != 0) compare("the only value", out[i], value, 0, "attend");
        }
    }
}

// float32 is rounded to the nearest: numbers of 16 bits, what lies halfway between two, and their neighbours in float32.
inline void every_rounding(Dtype dtype, int pairs, Layout layout) {
    std::vector<float> numbers;
    for (int pattern = 0; pattern < 0x7FFF; ++pattern) {
        const double low = decode(dtype, uint16_t(pattern)), high = decode(dtype, uint16_t(pattern + 1));
        if (!std::isfinite(high)) continue;
        const float middle = float((low + high) / 2);
        for (float x : {float(low), std::nextafter(middle, 0.0f), middle, std::nextafter(middle, INFINITY)})
            numbers.push_back(pattern & 1 ? -x : x);
    }
    for (float x : {65519.996f, 65520.0f, 1e30f, 3.3961775e38f, 3.4028235e38f, INFINITY, NAN}) numbers.push_back(x);
    const int tokens = (int(numbers.size()) + pairs - 1) / pairs;
    numbers.resize(size_t(tokens) * pairs);
    Array x(dtype, {tokens, 1, 2 * pairs}), cos(Dtype::f32, {tokens, pairs}), sin(Dtype::f32, {tokens, pairs});
    const bool half = layout == Layout::half;
    std::vector<int64_t> positions;
    for (int t = 0; t < tokens; ++t) positions.push_back(t);
    auto place = [&](int i) { return i / pairs * 2 * pairs + (half ? i % pairs : i % pairs * 2); };
    for (int i = 0; i < tokens * pairs; ++i) {
        cos.set(i, numbers[size_t(i)]), sin.set(i, 0);
        x.set(place(i), 1), x.set(place(i) + (half ? pairs : 1), 0);
    }
    RotateArguments given = rotation(x, cos, sin, positions);
    given.read = given.write = layout;
    run_rotation(given, 1);
    for (int i = 0; i < tokens * pairs; ++i)
        compare("a rounded number", x[place(i)], round_to(dtype, numbers[size_t(i)]), 0, "rotate");
}

// Of the instruction set in use.
inline void every_conversion() {
    for (Dtype dtype : {Dtype::bf16, Dtype::f16}) {
        every_value(dtype);
        // Whole vectors, and what is left of them.
        for (int pairs : {64, 39})
            for (Layout layout : {Layout::half, Layout::interleaved}) {
                every_number(dtype, pairs, layout);
                every_rounding(dtype, pairs, layout);
            }
    }
}

}  // namespace ordinate
