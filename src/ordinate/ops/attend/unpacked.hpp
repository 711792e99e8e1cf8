// Products of a few rows with keys and values as they lie in memory.
//
// Two vectors of neighbouring channels are read at once. Of bfloat16 they come apart as even and odd channels, which
// costs one operation each and no shuffle: rows that meet them are kept in that order (see `set_apart`).
#pragma once

#include "tile.hpp"

namespace ordinate::ORDINATE_ISA {

constexpr int KB = 32;  // keys a block

template <class T>
INLINE void load_two(const T *p, F &a, F &b) {
    a = load(p);
    b = load(p + W);
}
INLINE void load_two(const bf16 *p, F &a, F &b) {
    U both;
    std::memcpy(&both, p, sizeof both);
    a = bits_of<F>(both << 16);
    b = bits_of<F>(both & 0xFFFF0000u);
}

// One of the two.
template <int M, class T>
INLINE F load_one(const T *p) {
    return load(p + M * W);
}
template <int M>
INLINE F load_one(const bf16 *p) {
    U both;
    std::memcpy(&both, p, sizeof both);
    return bits_of<F>(M ? both & 0xFFFF0000u : both << 16);
}

// In each stretch of 2 W channels first the even ones, then the odd ones; and back.
INLINE void set_apart(float *row, int n) {
    for (int d = 0; d + 2 * W <= n; d += 2 * W) {
        F a = load(row + d), b = load(row + d + W);
        part(a, b);
        store(row + d, a), store(row + d + W, b);
    }
}
INLINE void set_together(float *row, int n) {
    for (int d = 0; d + 2 * W <= n; d += 2 * W) {
        F a = load(row + d), b = load(row + d + W);
        braid(a, b);
        store(row + d, a), store(row + d + W, b);
    }
}

// Ask for what is read next while products are made of what is read now.
template <class T>
INLINE void ask_for_two(const T *p) {
#pragma GCC unroll 4
    for (int i = 0; i < 2 * W; i += 64 / int(sizeof(T))) __builtin_prefetch(p + i);
}

// Sums of R rows and W / R keys; where vectors are short, two of each, so that no sum waits for the one before.
constexpr int CHAINS = W == 4 ? 2 : 1;

INLINE void clear(F (&acc)[CHAINS][W]) {
#pragma GCC unroll 2
    for (int c = 0; c < CHAINS; ++c)
#pragma GCC unroll 16
        for (int i = 0; i < W; ++i) acc[c][i] = F{};
}

template <int R>
INLINE void put_sums(F (&acc)[CHAINS][W], float *x) {
    constexpr int N = W / R;
    if constexpr (CHAINS == 2)
#pragma GCC unroll 16
        for (int i = 0; i < W; ++i) acc[0][i] += acc[1][i];
    const F total = sums(acc[0]);
    for (int r = 0; r < R; ++r) __builtin_memcpy(x + r * KB, reinterpret_cast<const float *>(&total) + r * N, N * 4);
}

// x[r][j] = q[r] . k[j]; the keys that are read next lie `ahead`.
template <int R, class T>
INLINE void dot(const float *q, int lead, const T *const *keys, int64_t ahead, int dim, float *x) {
    constexpr int N = W / R;
    F acc[CHAINS][W];
    clear(acc);
    int d = 0;
    for (; d + 2 * W <= dim; d += 2 * W) {
        F k[N][2];
#pragma GCC unroll 16
        for (int j = 0; j < N; ++j) load_two(keys[j] + d, k[j][0], k[j][1]), ask_for_two(keys[j] + d + ahead);
#pragma GCC unroll 2
        for (int i = 0; i < 2; ++i)
#pragma GCC unroll 4
            for (int r = 0; r < R; ++r) {
                const F query = load(q + r * lead + d + i * W);
#pragma GCC unroll 16
                for (int j = 0; j < N; ++j) acc[i % CHAINS][r * N + j] += query * k[j][i];
            }
    }
    put_sums<R>(acc, x);
    for (; d < dim; ++d)
        for (int j = 0; j < N; ++j) {
            const float key = to_float(keys[j][d]);
            for (int r = 0; r < R; ++r) x[r * KB + j] += q[r * lead + d] * key;
        }
}

// W pairs of channels of W / R keys turn, and meet R rows.
template <int R, bool interleaved, int M, class T>
INLINE void turn_and_add(const float *q, int lead, const T *const *keys, const float *table, int i, int pairs,
                         F (&acc)[CHAINS][W]) {
    constexpr int N = W / R;
    F first[N], second[N];
#pragma GCC unroll 16
    for (int j = 0; j < N; ++j) {
        F a, b;
        if constexpr (interleaved) {
            load_two(keys[j] + 2 * i + 2 * M * W, a, b);
            if constexpr (!__is_same(T, bf16)) part(a, b);
        } else {
            a = load_one<M>(keys[j] + i), b = load_one<M>(keys[j] + pairs + i);
        }
        const F c = load(table + 2 * j * pairs + i + M * W), s = load(table + (2 * j + 1) * pairs + i + M * W);
        first[j] = a * c - b * s;
        second[j] = a * s + b * c;
    }
    const float *at = q + (interleaved ? 2 * i + 2 * M * W : i + M * W);
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r) {
        const F x = load(at + r * lead), y = load(at + r * lead + (interleaved ? W : pairs));
#pragma GCC unroll 16
        for (int j = 0; j < N; ++j) acc[0][r * N + j] += first[j] * x;
#pragma GCC unroll 16
        for (int j = 0; j < N; ++j) acc[CHAINS - 1][r * N + j] += second[j] * y;
    }
}

// The same with keys that turn on the way, all their 2 * pairs channels, a multiple of 4 W. `table` holds for each key
// its cos and sin, [2][pairs], in the order in which the first channels of its pairs are read.
template <int R, bool interleaved, class T>
INLINE void dot_turned(const float *q, int lead, const T *const *keys, int64_t ahead, const float *table, int pairs,
                       float *x) {
    constexpr int N = W / R;
    F acc[CHAINS][W];
    clear(acc);
    for (int i = 0; i < pairs; i += 2 * W) {
#pragma GCC unroll 16
        for (int j = 0; j < N; ++j) {
            ask_for_two(keys[j] + ahead + (interleaved ? 2 * i : i));
            ask_for_two(keys[j] + ahead + (interleaved ? 2 * i + 2 * W : pairs + i));
        }
        turn_and_add<R, interleaved, 0>(q, lead, keys, table, i, pairs, acc);
        turn_and_add<R, interleaved, 1>(q, lead, keys, table, i, pairs, acc);
    }
    put_sums<R>(acc, x);
}

// out[r] += sum over j of p[r][j] v[j], over P pairs of vectors of channels.
template <int R, int P, class T>
INLINE void gather_some(const float *p, const T *const *values, int64_t ahead, int n, int d, float *out, int lead) {
    F acc[R][2 * P];
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r)
#pragma GCC unroll 4
        for (int i = 0; i < 2 * P; ++i) acc[r][i] = F{};
    for (int j = 0; j < n; ++j) {
        F v[2 * P];
#pragma GCC unroll 2
        for (int i = 0; i < P; ++i) {
            load_two(values[j] + d + 2 * i * W, v[2 * i], v[2 * i + 1]);
            ask_for_two(values[j] + d + 2 * i * W + ahead);
        }
#pragma GCC unroll 4
        for (int r = 0; r < R; ++r) {
            const F weight = spread(p[r * KB + j]);
#pragma GCC unroll 4
            for (int i = 0; i < 2 * P; ++i) acc[r][i] += weight * v[i];
        }
    }
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r)
#pragma GCC unroll 4
        for (int i = 0; i < 2 * P; ++i) {
            float *to = out + r * lead + d + i * W;
            store(to, load(to) + acc[r][i]);
        }
}

template <int R, class T>
INLINE void gather(const float *p, const T *const *values, int64_t ahead, int n, int dim, float *out, int lead) {
    int d = 0;
#if defined(__AVX512F__) || defined(__aarch64__)
    for (; d + 4 * W <= dim; d += 4 * W) gather_some<R, 2>(p, values, ahead, n, d, out, lead);
#endif
    for (; d + 2 * W <= dim; d += 2 * W) gather_some<R, 1>(p, values, ahead, n, d, out, lead);
    for (; d < dim; ++d)
        for (int r = 0; r < R; ++r) {
            float sum_of = 0;
            for (int j = 0; j < n; ++j) sum_of += p[r * KB + j] * to_float(values[j][d]);
            out[r * lead + d] += sum_of;
        }
}

}  // namespace ordinate::ORDINATE_ISA
