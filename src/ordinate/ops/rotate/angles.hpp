// cos and sin of one token: from a row of a table, or from its angles in float64.
#pragma once

#include <cmath>

#include "call.hpp"
#include "lanes.hpp"

namespace ordinate::ORDINATE_ISA {

constexpr int D = W / 2;
typedef double Doubles __attribute__((vector_size(8 * D)));
typedef int64_t Longs __attribute__((vector_size(8 * D)));
typedef float Narrow __attribute__((vector_size(4 * D)));

// An angle beyond this is reduced by the C library: n below would need more than 26 bits.
constexpr double largest_angle = 1e8;

// magnitude * cos and sin of angles below `largest_angle`, rounded to float32 once.
INLINE void cos_and_sin(Doubles angle, double magnitude, float *cos, float *sin) {
    // angle = n pi/2 + r, |r| <= pi/4. The first two parts of pi/2 have 27 bits each, so that n times them is exact.
    const double whole = 6755399441055744.0;  // 1.5 * 2^52: adding it rounds to an integer, in the lowest bits
    const Doubles shifted = apart(angle * 0.63661977236758134308) + whole;
    const Doubles n = shifted - whole;
    const Longs quadrant = bits_of<Longs>(shifted);
    Doubles r = angle - apart(n * 0x1.921fb54p+0);
    r = r - apart(n * 0x1.10b461p-30);
    r = r - apart(n * 0x1.a62633145c06ep-58);
    const Doubles r2 = r * r;
    // Taylor's series: what is left out is below 1e-13.
    Doubles s = r2 * (1 / 6227020800.0) - 1 / 39916800.0;
    s = s * r2 + 1 / 362880.0;
    s = s * r2 - 1 / 5040.0;
    s = s * r2 + 1 / 120.0;
    s = s * r2 - 1 / 6.0;
    s = s * r2 * r + r;
    Doubles c = r2 * (1 / 479001600.0) - 1 / 3628800.0;
    c = c * r2 + 1 / 40320.0;
    c = c * r2 - 1 / 720.0;
    c = c * r2 + 1 / 24.0;
    c = c * r2 - 1 / 2.0;
    c = c * r2 + 1.0;
    const Longs odd = -(quadrant & 1);
    const Longs sin_bits = (bits_of<Longs>(s) & ~odd) | (bits_of<Longs>(c) & odd);
    const Longs cos_bits = (bits_of<Longs>(c) & ~odd) | (bits_of<Longs>(s) & odd);
    const Doubles signed_sin = bits_of<Doubles>(sin_bits ^ ((quadrant & 2) << 62));
    const Doubles signed_cos = bits_of<Doubles>(cos_bits ^ (((quadrant + 1) & 2) << 62));
    const Narrow cos32 = __builtin_convertvector(signed_cos * magnitude, Narrow);
    const Narrow sin32 = __builtin_convertvector(signed_sin * magnitude, Narrow);
    std::memcpy(cos, &cos32, sizeof cos32);
    std::memcpy(sin, &sin32, sizeof sin32);
}

INLINE int64_t position_of(const Angles &a, int64_t batch, int64_t token, int64_t axis = 0) {
    if (!a.positions) return token;
    const int64_t at = axis * a.position_axis + batch * a.position_batch + token * a.position_token;
    return a.wide ? static_cast<const int64_t *>(a.positions)[at] : static_cast<const int32_t *>(a.positions)[at];
}

// Fill rows of `pairs` entries, with room for D - 1 more, from frequencies.
inline void compute_row(const Angles &a, int64_t batch, int64_t token, int64_t pairs, float *cos, float *sin) {
    const int64_t position = position_of(a, batch, token);
    for (int64_t i = 0; i < pairs; i += D) {
        Doubles angle = {};
        bool far = false;
        for (int lane = 0; lane < D && i + lane < pairs; ++lane) {
            const int64_t own = a.axis_of_pair ? position_of(a, batch, token, a.axis_of_pair[i + lane]) : position;
            angle[lane] = double(own) * a.frequencies[(i + lane) * a.frequency_stride];
            far |= !(angle[lane] < largest_angle && angle[lane] > -largest_angle);
        }
        cos_and_sin(angle, a.magnitude, cos + i, sin + i);
        if (far)
            for (int lane = 0; lane < D && i + lane < pairs; ++lane) {
                cos[i + lane] = float(a.magnitude * ::cos(angle[lane]));
                sin[i + lane] = float(a.magnitude * ::sin(angle[lane]));
            }
    }
}

// Fill rows from a table of several rows a token: each pair's entry is of the row of its own axis.
inline void gather_row(const Angles &a, int64_t batch, int64_t token, int64_t pairs, float *cos, float *sin) {
    for (int64_t axis = 0; axis < a.axes; ++axis) {
        const int64_t row = position_of(a, batch, token, axis);
        const float *from_cos = a.cos + row * a.cos_row, *from_sin = a.sin + row * a.sin_row;
        int64_t i = 0;
        if (a.cos_pair == 1 && a.sin_pair == 1) {
            for (; i + W <= pairs; i += W) {
                const I own = take<I>(a.axis_of_pair + i) == spread(int32_t(axis));
                store(cos + i, own ? load(from_cos + i) : load(cos + i));
                store(sin + i, own ? load(from_sin + i) : load(sin + i));
            }
        }
        for (; i < pairs; ++i) {
            if (a.axis_of_pair[i] != axis) continue;
            cos[i] = from_cos[i * a.cos_pair];
            sin[i] = from_sin[i * a.sin_pair];
        }
    }
}

enum class Arrangement : uint8_t { plain, split, doubled };

// What the kernel of a dtype and layouts reads (see rows.hpp).
INLINE Arrangement arrangement(Dtype dtype, Layout read, Layout write) {
    if (read != write) return Arrangement::plain;
    if (read == Layout::half) return dtype == Dtype::bf16 ? Arrangement::split : Arrangement::plain;
    return dtype == Dtype::bf16 ? Arrangement::plain : Arrangement::doubled;
}

// A NaN of the table keeps no payload: `packed` relies on it.
INLINE F quiet(F v) { return v == v ? v : spread(bits_of<float>(0x7FC00000u)); }
INLINE float quiet(float v) { return v == v ? v : bits_of<float>(0x7FC00000u); }

// Arrange a plain row of cos, or of sin times `sign`; `even_sign` is that of a doubled row's even entries.
INLINE void arrange(Arrangement how, float even_sign, float sign, int64_t pairs, const float *__restrict from,
                    float *__restrict to) {
    int64_t i = 0;
    if (how == Arrangement::plain) {
        for (; i + W <= pairs; i += W) store(to + i, quiet(load(from + i)) * sign);
        for (; i < pairs; ++i) to[i] = quiet(from[i]) * sign;
    } else if (how == Arrangement::doubled) {
        for (; i + W <= pairs; i += W) {
            const F v = load(from + i), even = v * even_sign, odd = v * sign;
            store(to + 2 * i, zip_low(even, odd));
            store(to + 2 * i + W, zip_high(even, odd));
        }
        for (; i < pairs; ++i) {
            to[2 * i] = from[i] * even_sign;
            to[2 * i + 1] = from[i] * sign;
        }
    } else {
        const int64_t half = (pairs + 1) / 2;
        for (; i + 2 * W <= pairs; i += 2 * W) {
            const F a = quiet(load(from + i)) * sign, b = quiet(load(from + i + W)) * sign;
            store(to + i / 2, evens(a, b));
            store(to + half + i / 2, odds(a, b));
        }
        for (; i < pairs; ++i) to[i / 2 + i % 2 * half] = quiet(from[i]) * sign;
    }
}

}  // namespace ordinate::ORDINATE_ISA
