// Rows of q, k and v as float32: converted, rotated, scaled.
#pragma once

#include "attend.hpp"
#include "tile.hpp"

namespace ordinate::ORDINATE_ISA {

template <class T>
INLINE void widen(const T *from, int64_t stride, int n, float *to) {
    int i = 0;
    if (stride == 1)
        for (; i + W <= n; i += W) store(to + i, load(from + i));
    for (; i < n; ++i) to[i] = to_float(from[i * stride]);
}

template <class T>
INLINE void narrow(const float *from, int n, T *to, int64_t stride) {
    int i = 0;
    if (stride == 1)
        for (; i + W <= n; i += W) store(to + i, load(from + i));
    for (; i < n; ++i) from_float(to + i * stride, from[i]);
}

// Turn the channels of one row in place by the angles of one row of the table; `way` -1 turns back (the transpose).
// `turned` is room for 2 * pairs numbers.
INLINE void turn(float *row, const Rotation &rotation, int32_t position, float way, float *turned) {
    const float *cos = rotation.cos + position * rotation.cos_row;
    const float *sin = rotation.sin + position * rotation.sin_row;
    const int pairs = rotation.pairs;
    float *x = row + rotation.start;
    bool in = way > 0 ? rotation.interleaved_in : rotation.interleaved_out;
    bool out = way > 0 ? rotation.interleaved_out : rotation.interleaved_in;
    if (!in && !out) {
        int i = 0;
        for (; i + W <= pairs; i += W) {
            F a = load(x + i), b = load(x + pairs + i), c = load(cos + i), s = load(sin + i) * way;
            store(x + i, a * c - b * s);
            store(x + pairs + i, a * s + b * c);
        }
        for (; i < pairs; ++i) {
            float a = x[i], b = x[pairs + i], c = cos[i], s = sin[i] * way;
            x[i] = a * c - b * s;
            x[pairs + i] = a * s + b * c;
        }
        return;
    }
    // The output may fall on channels not yet read, unless both ends are interleaved.
    float *to = in && out ? x : turned;
    int i = 0;
    for (; i + W <= pairs; i += W) {
        F c = load(cos + i), s = load(sin + i) * way;
        F a = in ? load(x + 2 * i) : load(x + i), b = in ? load(x + 2 * i + W) : load(x + pairs + i);
        if (in) part(a, b);
        F first = a * c - b * s, second = a * s + b * c;
        if (out) braid(first, second);
        store(out ? to + 2 * i : to + i, first);
        store(out ? to + 2 * i + W : to + pairs + i, second);
    }
    for (; i < pairs; ++i) {
        float a = in ? x[2 * i] : x[i], b = in ? x[2 * i + 1] : x[pairs + i];
        float c = cos[i], s = sin[i] * way;
        to[out ? 2 * i : i] = a * c - b * s;
        to[out ? 2 * i + 1 : pairs + i] = a * s + b * c;
    }
    if (to != x)
        for (i = 0; i < 2 * pairs; ++i) x[i] = turned[i];
}

// Where key j of a sequence lies in k or v, before its head is added.
INLINE int64_t key_offset(const Attention &a, const Sequence &s, const Tensor &t, int64_t j) {
    if (s.pages) return s.pages[j / a.page_size] * t.stride[0] + (j % a.page_size) * t.stride[1];
    return s.batch * t.stride[0] + (s.first_key + j) * t.stride[1];
}

INLINE int64_t query_offset(const Sequence &s, const Tensor &t, int64_t i) {
    return s.batch * t.stride[0] + (s.first_query + i) * t.stride[1];
}

// Row `offset` of a tensor of any of the three dtypes, as n float32 numbers.
INLINE void read_row(const Tensor &t, int64_t offset, int n, float *to) {
    int64_t stride = t.stride[3];
    if (t.dtype == Dtype::f32) widen(static_cast<const float *>(t.data) + offset, stride, n, to);
    if (t.dtype == Dtype::bf16) widen(static_cast<const bf16 *>(t.data) + offset, stride, n, to);
    if (t.dtype == Dtype::f16) widen(static_cast<const f16 *>(t.data) + offset, stride, n, to);
}

INLINE int64_t bytes_of(const Tensor &t) { return t.dtype == Dtype::f32 ? 4 : 2; }

// Rows of a head lie pages apart, where the processor's own prefetcher does not follow.
INLINE void prefetch_row(const Tensor &t, int64_t offset, int n) {
    const char *at = static_cast<const char *>(t.data) + offset * bytes_of(t);
    for (int64_t i = 0; i < n * bytes_of(t); i += 64) __builtin_prefetch(at + i);
}

INLINE void write_row(const Tensor &t, int64_t offset, int n, const float *from) {
    int64_t stride = t.stride[3];
    if (t.dtype == Dtype::f32) narrow(from, n, static_cast<float *>(t.data) + offset, stride);
    if (t.dtype == Dtype::bf16) narrow(from, n, static_cast<bf16 *>(t.data) + offset, stride);
    if (t.dtype == Dtype::f16) narrow(from, n, static_cast<f16 *>(t.data) + offset, stride);
}

}  // namespace ordinate::ORDINATE_ISA
