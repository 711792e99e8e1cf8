// Which keys a query sees, by their positions, and what is added to its logits.
#pragma once

#include "rows.hpp"

namespace ordinate::ORDINATE_ISA {

// The positions of a block of keys.
struct Keys {
    int32_t lowest, highest;
    bool consecutive;  // highest = lowest + n - 1, in order
};

enum class Sight { none, some, all };

INLINE Keys keys_of(const Positions &p, int64_t first, int n) {
    if (!p.at) return {p[first], p[first + n - 1], true};
    Keys keys{p[first], p[first], true};
    for (int j = 0; j < n; ++j) {
        int32_t at = p[first + j];
        if (at < keys.lowest) keys.lowest = at;
        if (at > keys.highest) keys.highest = at;
        if (at != p[first] + j) keys.consecutive = false;
    }
    return keys;
}

// What queries at positions low to high see of a block. Positions lie within 2^30 of 0, so differences are safe.
INLINE Sight sight(const Attention &a, const Keys &keys, int32_t low, int32_t high) {
    if (keys.highest < 0) return Sight::none;
    bool all = keys.lowest >= 0 && !a.mask;
    if (a.causal) {
        if (keys.lowest > high) return Sight::none;
        all = all && keys.highest <= low;
    }
    if (a.right != unlimited) {
        if (keys.lowest > high + a.right && keys.lowest >= a.keep_first) return Sight::none;
        all = all && keys.highest <= low + a.right;
    }
    if (a.left != unlimited) {
        if (keys.highest < low - a.left && keys.lowest >= a.keep_first) return Sight::none;
        all = all && keys.lowest >= high - a.left;
    }
    return all ? Sight::all : Sight::some;
}

// One query of one head.
struct Row {
    int head = 0, query = 0;
    int32_t position = 0;
    float slope = 0;
    const float *table = nullptr;  // padded: see `padded_tables`
    const float *bias = nullptr;
    const uint8_t *mask = nullptr;
};

// Each head's table with `pad` copies of its first and last entry before and after it, so that a run of `pad`
// distances is one run of memory wherever it starts.
struct PaddedTables {
    float *values = nullptr;
    int64_t width = 0;
    int pad = 0;
    int reach = 0;

    INLINE const float *of(int head) const { return values ? values + head * width : nullptr; }
    // Where distances d, d + 1, ... start in a head's row.
    INLINE int64_t start(int32_t d) const {
        int32_t lowest = -reach - pad, highest = reach + 1;
        return (d < lowest ? lowest : d > highest ? highest : d) + reach + pad;
    }
};

INLINE Row row_of(const Attention &a, const Sequence &s, const PaddedTables &tables, int head, int query) {
    Row row;
    row.head = head;
    row.query = query;
    row.position = s.query_positions[query];
    if (a.slopes)
        row.slope = static_cast<const float *>(a.slopes.data)[s.index * a.slopes.stride[0] + head * a.slopes.stride[1]];
    row.table = tables.of(head);
    if (a.bias)
        row.bias = static_cast<const float *>(a.bias.data) + s.batch * a.bias.stride[0] + head * a.bias.stride[1] +
                   query * a.bias.stride[2];
    if (a.mask)
        row.mask = static_cast<const uint8_t *>(a.mask.data) + s.batch * a.mask.stride[0] + head * a.mask.stride[1] +
                   query * a.mask.stride[2];
    return row;
}

// What a query's products are multiplied by.
INLINE float scale_of(const Attention &a, const Sequence &s, int query) {
    if (!a.query_scale) return a.scale;
    const int64_t at = s.batch * a.query_scale.stride[0] + (s.first_query + query) * a.query_scale.stride[1];
    return a.scale * static_cast<const float *>(a.query_scale.data)[at];
}

// tanh: Pade's fraction [5/4] near 0, (1 - t) / (1 + t) with t = e^-2|x| beyond.
INLINE F hyperbolic_tangent(F x) {
    F size = magnitude(x), square = x * x;
    F near = x * (945.0f + square * (105.0f + square)) / (945.0f + square * (420.0f + square * 15.0f));
    F t = exponential(-2.0f * size);
    F far = (1.0f - t) / (1.0f + t);
    far = x < 0.0f ? -far : far;
    return size < 0.55f ? near : far;
}

INLINE I positions_from(const Positions &p, int64_t j) {
    if (!p.at) return spread(p.start + int32_t(j)) + count_up();
    I v;
    std::memcpy(&v, p.at + j, sizeof v);
    return v;
}

INLINE bool visible(const Attention &a, const Row &row, int32_t key) {
    if (key < 0 || (a.causal && key > row.position)) return false;
    if (key < a.keep_first) return true;
    return (a.right == unlimited || key <= row.position + a.right) && (a.left == unlimited || key >= row.position - a.left);
}

// s = -inf where the query does not see the key.
INLINE void hide(const Attention &a, const Row &row, const Positions &p, int64_t first, int n, float *s) {
    int j = 0;
    const int32_t at = row.position;
    for (; j + W <= n; j += W) {
        I key = positions_from(p, first + j);
        I seen = key >= 0;
        if (a.causal) seen &= key <= at;
        if (a.right != unlimited) seen &= (key <= at + a.right) | (key < a.keep_first);
        if (a.left != unlimited) seen &= (key >= at - a.left) | (key < a.keep_first);
        F x = load(s + j);
        store(s + j, seen ? x : spread(-INFINITE));
    }
    for (; j < n; ++j)
        if (!visible(a, row, p[first + j])) s[j] = -INFINITE;
    if (row.mask)
        for (j = 0; j < n; ++j)
            if (!row.mask[(first + j) * a.mask.stride[3]]) s[j] = -INFINITE;
}

// Whether nothing but sight is asked for.
INLINE bool without_terms(const Attention &a) { return a.softcap <= 0 && !a.bias && !a.table && !a.slopes; }

INLINE F largest_in(const float *x, int whole) {
    F top = load(x), other = top;
    int j = W;
    for (; j + W < whole; j += 2 * W) {
        top = maximum(load(x + j), top);
        other = maximum(load(x + j + W), other);
    }
    if (j < whole) top = maximum(load(x + j), top);
    return maximum(other, top);
}

// Scores times `scale` (which is positive) become logits, in place: softcap, biases, sight. Returns a vector whose
// largest lane is the largest of them. `n` is padded to a multiple of `step` with -inf. Where `capped` is given it receives
// the logits after the softcap, before any bias. Without terms the scale is left to the caller.
INLINE F finish(const Attention &a, const Row &row, const Sequence &s, const PaddedTables &tables, const Keys &keys,
                int64_t first, int n, bool partly, float scale, int step, float *x, float *capped = nullptr) {
    const int whole = round_up(n, step);
    const Positions &p = s.key_positions;
    if (a.softcap > 0) {
        F cap = spread(a.softcap), inverse = spread(scale / a.softcap);
        for (int j = 0; j < whole; j += W) {
            F value = cap * hyperbolic_tangent(load(x + j) * inverse);
            store(x + j, value);
            if (capped) store(capped + j, value);
        }
        scale = 1;
    }
    if (row.bias) {
        const int64_t stride = a.bias.stride[3];
        const float *from = row.bias + first * stride;
        int j = 0;
        if (stride == 1)
            for (; j + W <= n; j += W) store(x + j, load(x + j) * scale + load(from + j));
        for (; j < n; ++j) x[j] = x[j] * scale + from[j * stride];
        scale = 1;
    }
    if (partly) {
        if (keys.consecutive && keys.lowest >= 0 && a.left == unlimited && a.right == unlimited && !row.mask) {
            n = larger(0, smaller(n, row.position - keys.lowest + 1));  // causal and nothing else: the end is hidden
        } else {
            hide(a, row, p, first, n, x);
        }
    }
    for (int j = n; j < whole; ++j) x[j] = -INFINITE;

    const float nearest = float(keys.lowest - row.position);
    if (keys.consecutive && (row.table || a.slopes)) {
        F top = spread(-INFINITE);
        const float *table = row.table ? row.table + tables.start(keys.lowest - row.position) : nullptr;
        // Each pass also finds the largest: what the last one found is returned.
        auto pass = [&](auto &&value_of) {
            top = spread(-INFINITE);
            for (int j = 0; j < whole; j += W) {
                const F value = value_of(load(x + j), j);
                store(x + j, value);
                top = maximum(value, top);
            }
        };
        if (table) {
            pass([&](F value, int j) { return value * scale + load(table + j); });
            scale = 1;
        }
        if (a.slopes)
            pass([&](F value, int j) { return value * scale - row.slope * magnitude(iota() + (nearest + float(j))); });
        return top;
    }
    for (int j = 0; j < n && (row.table || a.slopes); ++j) {
        const int32_t d = p[first + j] - row.position;
        x[j] *= scale;
        if (row.table) x[j] += row.table[tables.start(d)];
        if (a.slopes) x[j] -= row.slope * float(d < 0 ? -d : d);
    }
    return largest_in(x, whole);
}

}  // namespace ordinate::ORDINATE_ISA
