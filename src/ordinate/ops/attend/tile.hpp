// The arithmetic of one tile: products of small matrices held in registers, and the exponential.
#pragma once

#include "simd.hpp"

namespace ordinate::ORDINATE_ISA {

// A tile of the result is MR rows by NR columns: as many accumulators as the registers hold.
#if defined(__AVX512F__)
constexpr int MR = 12;
constexpr int C = 2;
#elif defined(__AVX2__)
constexpr int MR = 6;
constexpr int C = 2;
#elif defined(__aarch64__)
constexpr int MR = 12;
constexpr int C = 2;
#else
constexpr int MR = 4;
constexpr int C = 2;
#endif
constexpr int NR = C * W;

// acc[r] += sum over k < depth of a[k * step + r * lead] * b[k * NR ...]
template <int LEAD, int STEP>
INLINE void multiply(int depth, const float *a, const float *b, F (&acc)[MR][C]) {
    for (int k = 0; k < depth; ++k) {
        F row[C];
#pragma GCC unroll 8
        for (int c = 0; c < C; ++c) row[c] = load(b + c * W);
#if defined(__aarch64__)
        if constexpr (LEAD == 1) {
            // Numbers that lie together are loaded together: NEON's product spreads a lane by itself.
#pragma GCC unroll 8
            for (int r = 0; r < MR; r += W) {
                const float32x4_t x = vld1q_f32(a + r);
#pragma GCC unroll 8
                for (int c = 0; c < C; ++c) {
                    acc[r][c] = F(vfmaq_laneq_f32(float32x4_t(acc[r][c]), float32x4_t(row[c]), x, 0));
                    acc[r + 1][c] = F(vfmaq_laneq_f32(float32x4_t(acc[r + 1][c]), float32x4_t(row[c]), x, 1));
                    acc[r + 2][c] = F(vfmaq_laneq_f32(float32x4_t(acc[r + 2][c]), float32x4_t(row[c]), x, 2));
                    acc[r + 3][c] = F(vfmaq_laneq_f32(float32x4_t(acc[r + 3][c]), float32x4_t(row[c]), x, 3));
                }
            }
            a += STEP;
            b += NR;
            continue;
        }
#endif
#pragma GCC unroll 16
        for (int r = 0; r < MR; ++r) {
            F x = spread(a[r * LEAD]);
#pragma GCC unroll 8
            for (int c = 0; c < C; ++c) acc[r][c] += x * row[c];
#if defined(__aarch64__)
            if (r % 4 == 3) __asm__ volatile("" ::: "memory");  // or twelve numbers are read at once, where accumulators lie
#endif
        }
        a += STEP;
        b += NR;
    }
}

INLINE void clear(F (&acc)[MR][C]) {
#pragma GCC unroll 16
    for (int r = 0; r < MR; ++r)
#pragma GCC unroll 8
        for (int c = 0; c < C; ++c) acc[r][c] = F{};
}

// Rows of the tile at p, `lead` apart.
INLINE void put(F (&acc)[MR][C], float *p, int64_t lead) {
#pragma GCC unroll 16
    for (int r = 0; r < MR; ++r)
#pragma GCC unroll 8
        for (int c = 0; c < C; ++c) store(p + r * lead + c * W, acc[r][c]);
}

constexpr float LOG2_E = 1.44269504088896340736f;
constexpr float SMALLEST = -100.0f;
constexpr float INFINITE = __builtin_inff();

// e^x for x <= 0, relative error below 2.1e-7, NaN for NaN; 0 below 2^-100, which no sum of float32 notices: what is
// smaller would become subnormal in the products with v, and a hundred times slower.
// 2^y = 2^n 2^f with n the nearest integer; 2^f by the polynomial of least relative error on [-1/2, 1/2].
INLINE F exponential(F x) {
#if defined(__AVX512F__)
    F y = x * LOG2_E;
    F n = F(_mm512_roundscale_ps((__m512)y, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
    F f = y - n;
#else
    const F shift = spread(12582912.0f);  // 1.5 * 2^23: adding it rounds to an integer held in the low bits
    F y = x * LOG2_E;
    F bounded = y < SMALLEST ? spread(SMALLEST) : y;
    F t = bounded + shift;
    F f = bounded - (t - shift);
#endif
    F p = spread(0.001327647129073739f);
    p = p * f + 0.009675540961325169f;
    p = p * f + 0.05550713092088699f;
    p = p * f + 0.24022120237350464f;
    p = p * f + 0.6931469440460205f;
    p = p * f + 1.0000001192092896f;
#if defined(__AVX512F__)
    const __mmask16 kept = _mm512_cmp_ps_mask((__m512)y, _mm512_set1_ps(SMALLEST), _CMP_NLT_UQ);
    return F(_mm512_maskz_scalef_ps(kept, (__m512)p, (__m512)n));
#else
    F scaled = bits_of<F>(bits_of<U>(p) + (bits_of<U>(t) << 23));
    return y < SMALLEST ? F{} : scaled;
#endif
}

INLINE F iota() {
    F v;
    for (int i = 0; i < W; ++i) v[i] = float(i);
    return v;
}
INLINE I count_up() {
    I v;
    for (int i = 0; i < W; ++i) v[i] = i;
    return v;
}

INLINE F magnitude(F x) { return bits_of<F>(bits_of<U>(x) & 0x7FFFFFFFu); }

INLINE int round_up(int n, int to) { return (n + to - 1) / to * to; }
INLINE int smaller(int a, int b) { return a < b ? a : b; }
INLINE int larger(int a, int b) { return a > b ? a : b; }

// Of two vectors of alternating numbers (a0 b0 a1 b1 ...), all a and all b; and back.
INLINE void part(F &x, F &y) {
#if defined(__clang__)
    F a, b;
    for (int i = 0; i < W; ++i) {
        a[i] = 2 * i < W ? x[2 * i] : y[2 * i - W];
        b[i] = 2 * i < W ? x[2 * i + 1] : y[2 * i + 1 - W];
    }
    x = a, y = b;
#else
    const I even = count_up() * 2, odd = even + 1;
    F a = __builtin_shuffle(x, y, even), b = __builtin_shuffle(x, y, odd);
    x = a, y = b;
#endif
}
INLINE void braid(F &a, F &b) {
#if defined(__clang__)
    F x, y;
    for (int i = 0; i < W; ++i) {
        x[i] = i & 1 ? b[i / 2] : a[i / 2];
        y[i] = i & 1 ? b[(i + W) / 2] : a[(i + W) / 2];
    }
    a = x, b = y;
#else
    const I low = (count_up() >> 1) + (count_up() & 1) * W, high = low + W / 2;
    F x = __builtin_shuffle(a, b, low), y = __builtin_shuffle(a, b, high);
    a = x, b = y;
#endif
}

// Where the lanes of two vectors go when blocks of B lanes are exchanged: numbers that are known when this is compiled,
// or else each use would put them together again.
template <int B>
struct Exchange {
    int32_t stay[W], cross[W], low[W], high[W];
    constexpr Exchange() : stay(), cross(), low(), high() {
        for (int c = 0; c < W; ++c) {
            stay[c] = c & B ? W + c : c;
            cross[c] = c & B ? W + c - B : c + B;
            low[c] = c & B ? W + c - B : c;
            high[c] = c & B ? W + c : c + B;
        }
    }
};
template <int B>
constexpr Exchange<B> exchange{};

INLINE F shuffled(F a, F b, const int32_t (&lanes)[W]) {
#if defined(__clang__)
    F v;
    for (int i = 0; i < W; ++i) v[i] = lanes[i] < W ? a[lanes[i]] : b[lanes[i] - W];
    return v;
#else
    I index;
    std::memcpy(&index, lanes, sizeof index);
    return __builtin_shuffle(a, b, index);
#endif
}

// Lane i of the result is what `join` makes of all lanes of v[i].
template <int B = W / 2, class Join>
INLINE F across(F (&v)[W], Join &&join) {
#pragma GCC unroll 8
    for (int i = 0; i < B; ++i)
        v[i] = join(shuffled(v[i], v[i + B], exchange<B>.stay), shuffled(v[i], v[i + B], exchange<B>.cross));
    if constexpr (B > 1) return across<B / 2>(v, join);
    return v[0];
}
INLINE F sums(F (&v)[W]) {
    return across(v, [](F x, F y) { return x + y; });
}
INLINE F largest_of_each(F (&v)[W]) {
    return across(v, [](F x, F y) { return maximum(x, y); });
}

// A W x W block turned over: row i of the result is column i of v.
template <int B = W / 2>
INLINE void transpose(F (&v)[W]) {
#pragma GCC unroll 16
    for (int i = 0; i < W; ++i) {
        if (i & B) continue;
        const F x = v[i], y = v[i + B];
        v[i] = shuffled(x, y, exchange<B>.low);
        v[i + B] = shuffled(x, y, exchange<B>.high);
    }
    if constexpr (B > 1) transpose<B / 2>(v);
}

}  // namespace ordinate::ORDINATE_ISA
