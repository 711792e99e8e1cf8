// The rotation of one head: pairs of channels times a prepared row of cos and sin.
//
//     out[first]  = x[first] * cos - x[second] * sin
//     out[second] = x[first] * sin + x[second] * cos
//
// How a row is prepared depends on dtype and layout, so that no channel is moved between lanes:
//
//     half, float32 and float16:          cos[i]
//     half, bfloat16:                     cos[2 i], and after them cos[2 i + 1]: a lane holds two neighbours
//     interleaved, float32 and float16:   cos[i], cos[i]; -sin[i], sin[i]
//     interleaved, bfloat16:              cos[i]: a lane holds a pair
//     from one layout to the other:       cos[i]
#pragma once

#include "lanes.hpp"

namespace ordinate::ORDINATE_ISA {

template <class T>
INLINE void turn_scalar(float a, float b, float c, float s, T *first, T *second) {
    from_float(first, apart(a * c) - apart(b * s));
    from_float(second, apart(a * s) + apart(b * c));
}

template <int N, bool stream, class T>
INLINE int64_t half_by(const T *x, T *out, const float *cos, const float *sin, int64_t pairs, int64_t i,
               int64_t ahead) {
    for (; i + N <= pairs; i += N) {
        fetch_ahead(x + i, ahead);
        fetch_ahead(x + pairs + i, ahead);
        Floats<N> a = get<N>(x + i), b = get<N>(x + pairs + i), c = get<N>(cos + i), s = get<N>(sin + i);
        put<stream, N>(out + i, apart(a * c) - apart(b * s));
        put<stream, N>(out + pairs + i, apart(a * s) + apart(b * c));
    }
    return i;
}

template <int N, bool stream>
INLINE int64_t half_by(const bf16 *x, bf16 *out, const float *cos, const float *sin, int64_t pairs, int64_t i,
               int64_t ahead) {
    const int64_t evens = (pairs + 1) / 2;
    for (; i + 2 * N <= pairs; i += 2 * N) {
        fetch_ahead(x + i, ahead);
        fetch_ahead(x + pairs + i, ahead);
        Bits<N> a = take<Bits<N>>(x + i), b = take<Bits<N>>(x + pairs + i);
        Floats<N> c = get<N>(cos + i / 2), s = get<N>(sin + i / 2);
        Floats<N> c1 = get<N>(cos + evens + i / 2), s1 = get<N>(sin + evens + i / 2);
        Floats<N> a0 = lower<N>(a), a1 = upper<N>(a), b0 = lower<N>(b), b1 = upper<N>(b);
        give<stream>(out + i, packed<N>(apart(a0 * c) - apart(b0 * s), apart(a1 * c1) - apart(b1 * s1)));
        give<stream>(out + pairs + i, packed<N>(apart(a0 * s) + apart(b0 * c), apart(a1 * s1) + apart(b1 * c1)));
    }
    return i;
}

INLINE int64_t entry(const bf16 *, int64_t i, int64_t pairs) { return i / 2 + (i % 2) * ((pairs + 1) / 2); }
template <class T>
INLINE int64_t entry(const T *, int64_t i, int64_t) {
    return i;
}

template <bool stream, int known, class T>
INLINE void turn_half(const T *x, T *out, const float *cos, const float *sin, int64_t any, int64_t ahead) {
    const int64_t pairs = known ? known : any;
    int64_t i = half_by<W, stream>(x, out, cos, sin, pairs, 0, ahead);
    if constexpr (known) return;  // a multiple of every vector
    if constexpr (W > 8) i = half_by<8, false>(x, out, cos, sin, pairs, i, ahead);
    if constexpr (W > 4) i = half_by<4, false>(x, out, cos, sin, pairs, i, ahead);
    for (; i < pairs; ++i) {
        const int64_t e = entry(x, i, pairs);
        turn_scalar(to_float(x[i]), to_float(x[pairs + i]), cos[e], sin[e], out + i, out + pairs + i);
    }
}

template <int N, bool stream, class T>
INLINE int64_t interleaved_by(const T *x, T *out, const float *cos, const float *sin, int64_t pairs, int64_t i,
               int64_t ahead) {
    for (; 2 * i + N <= 2 * pairs; i += N / 2) {
        fetch_ahead(x + 2 * i, ahead);
        Floats<N> v = get<N>(x + 2 * i);
        const Floats<N> other = swap_neighbours(v, v);
        put<stream, N>(out + 2 * i, apart(v * get<N>(cos + 2 * i)) + apart(other * get<N>(sin + 2 * i)));
    }
    return i;
}

template <int N, bool stream>
INLINE int64_t interleaved_by(const bf16 *x, bf16 *out, const float *cos, const float *sin, int64_t pairs, int64_t i,
               int64_t ahead) {
    for (; i + N <= pairs; i += N) {
        fetch_ahead(x + 2 * i, ahead);
        Bits<N> both = take<Bits<N>>(x + 2 * i);
        Floats<N> a = lower<N>(both), b = upper<N>(both), c = get<N>(cos + i), s = get<N>(sin + i);
        give<stream>(out + 2 * i, packed<N>(apart(a * c) - apart(b * s), apart(a * s) + apart(b * c)));
    }
    return i;
}

INLINE float cos_at(const bf16 *, const float *cos, int64_t i) { return cos[i]; }
template <class T>
INLINE float cos_at(const T *, const float *cos, int64_t i) {
    return cos[2 * i + 1];
}

template <bool stream, int known, class T>
INLINE void turn_interleaved(const T *x, T *out, const float *cos, const float *sin, int64_t any, int64_t ahead) {
    const int64_t pairs = known ? known : any;
    int64_t i = interleaved_by<W, stream>(x, out, cos, sin, pairs, 0, ahead);
    if constexpr (known) return;  // a multiple of every vector
    if constexpr (W > 8) i = interleaved_by<8, false>(x, out, cos, sin, pairs, i, ahead);
    if constexpr (W > 4) i = interleaved_by<4, false>(x, out, cos, sin, pairs, i, ahead);
    for (; i < pairs; ++i) {
        float c = cos_at(x, cos, i), s = cos_at(x, sin, i);
        turn_scalar(to_float(x[2 * i]), to_float(x[2 * i + 1]), c, s, out + 2 * i, out + 2 * i + 1);
    }
}

template <int N, class T>
INLINE int64_t moved_by(Layout read, const T *x, T *out, const float *cos, const float *sin, int64_t pairs, int64_t i) {
    for (; i + N <= pairs; i += N) {
        const Floats<N> c = get<N>(cos + i), s = get<N>(sin + i);
        const bool together = read == Layout::interleaved;
        Floats<N> a = get<N>(x + (together ? 2 * i : i)), b = get<N>(x + (together ? 2 * i + N : pairs + i));
        if (together) {
            const Floats<N> low = a, high = b;
            a = evens(low, high);
            b = odds(low, high);
        }
        const Floats<N> first = apart(a * c) - apart(b * s), second = apart(a * s) + apart(b * c);
        put<false, N>(out + (together ? i : 2 * i), together ? first : zip_low(first, second));
        put<false, N>(out + (together ? pairs + i : 2 * i + N), together ? second : zip_high(first, second));
    }
    return i;
}

// Read one layout and write the other: `x` and `out` share no memory.
template <class T>
INLINE void turn_moved(Layout read, const T *x, T *out, const float *cos, const float *sin, int64_t pairs) {
    int64_t i = moved_by<W>(read, x, out, cos, sin, pairs, 0);
    if constexpr (W > 8) i = moved_by<8>(read, x, out, cos, sin, pairs, i);
    if constexpr (W > 4) i = moved_by<4>(read, x, out, cos, sin, pairs, i);
    for (; i < pairs; ++i) {
        if (read == Layout::interleaved)
            turn_scalar(to_float(x[2 * i]), to_float(x[2 * i + 1]), cos[i], sin[i], out + i, out + pairs + i);
        else
            turn_scalar(to_float(x[i]), to_float(x[pairs + i]), cos[i], sin[i], out + 2 * i, out + 2 * i + 1);
    }
}

template <bool stream, class T>
INLINE void turn(Layout read, Layout write, const T *x, T *out, const float *cos, const float *sin, int64_t pairs,
                 int64_t ahead) {
    if (read != write) {
        if (read == Layout::interleaved) turn_moved(Layout::interleaved, x, out, cos, sin, pairs);
        else turn_moved(Layout::half, x, out, cos, sin, pairs);
    } else if (read == Layout::half) {
        // Most heads have 64 or 128 channels: with the number known the loops are gone.
        if (pairs == 64) turn_half<stream, 64>(x, out, cos, sin, 64, ahead);
        else if (pairs == 32) turn_half<stream, 32>(x, out, cos, sin, 32, ahead);
        else turn_half<stream, 0>(x, out, cos, sin, pairs, ahead);
    } else {
        if (pairs == 64) turn_interleaved<stream, 64>(x, out, cos, sin, 64, ahead);
        else if (pairs == 32) turn_interleaved<stream, 32>(x, out, cos, sin, 32, ahead);
        else turn_interleaved<stream, 0>(x, out, cos, sin, pairs, ahead);
    }
}

}  // namespace ordinate::ORDINATE_ISA
