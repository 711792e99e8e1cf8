// The loops over tokens and heads around the rotation of one head.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"  // GCC 12 takes the undefined lanes of its own header for ours
#endif
#include "angles.hpp"
#include "kept.hpp"
#include "parallel.hpp"

namespace ordinate::ORDINATE_ISA {
namespace {

// Prepared rows of the tokens of a block, for q and for k: the same ones where both are read alike.
struct Prepared {
    float *cos[2], *sin[2];
    float *plain;
    char *heads;
    int64_t row;
};

Prepared places(const RotateCall &call, char *scratch) {
    Prepared p;
    p.row = row_floats(call.pairs);
    float *memory = reinterpret_cast<float *>(scratch);
    const int64_t rows = p.row * call.block;
    for (int i = 0; i < 2; ++i) {
        p.cos[i] = memory + 2 * i * rows;
        p.sin[i] = memory + (2 * i + 1) * rows;
    }
    if (call.count == 2 && call.x[0].turned() == call.x[1].turned()) {
        p.cos[1] = p.cos[0];
        p.sin[1] = p.sin[0];
    }
    p.plain = memory + 4 * rows;
    p.heads = reinterpret_cast<char *>(p.plain + 2 * p.row);
    return p;
}

void prepare(const RotateCall &call, const Prepared &p, int64_t batch, int64_t token, int64_t slot) {
    const Angles &a = call.angles;
    float *plain_cos = p.plain, *plain_sin = p.plain + p.row;
    const float *cos = plain_cos, *sin = plain_sin;
    if (a.frequencies) {
        compute_row(a, batch, token, call.pairs, plain_cos, plain_sin);
    } else if (a.axis_of_pair) {
        gather_row(a, batch, token, call.pairs, plain_cos, plain_sin);
    } else {
        const int64_t position = position_of(a, batch, token);
        cos = a.cos + position * a.cos_row;
        sin = a.sin + position * a.sin_row;
        if (a.cos_pair != 1 || a.sin_pair != 1) {
            for (int64_t i = 0; i < call.pairs; ++i) {
                plain_cos[i] = cos[i * a.cos_pair];
                plain_sin[i] = sin[i * a.sin_pair];
            }
            cos = plain_cos;
            sin = plain_sin;
        }
    }
    const float sign = call.inverse ? -1.0f : 1.0f;
    for (int i = 0; i < call.count; ++i) {
        if (i == 1 && p.cos[1] == p.cos[0]) break;
        const Arrangement how = arrangement(call.x[i].turned(), call.read, call.write);
        arrange(how, 1.0f, 1.0f, call.pairs, cos, p.cos[i] + slot * p.row);
        arrange(how, -sign, sign, call.pairs, sin, p.sin[i] + slot * p.row);
    }
}

// Any strides: by way of scratch, so that reading is over before writing begins.
template <class T>
void turn_strided(const RotateCall &call, const Heads &h, const T *x, T *out, const float *cos, const float *sin,
                  T *scratch) {
    const int64_t width = 2 * call.pairs;
    T *before = scratch, *after = scratch + rounded_up(width, 64 / int64_t(sizeof(T)));
    for (int64_t i = 0; i < width; ++i) before[i] = x[i * h.from_channel];
    turn<false>(call.read, call.write, before, after, cos, sin, call.pairs, call.ahead);
    for (int64_t i = 0; i < width; ++i) out[i * h.to_channel] = after[i];
}

// The channels that do not turn.
template <class T>
void copy_still(const Heads &h, const T *x, T *out, int64_t width) {
    const int64_t ends[2][2] = {{0, h.start}, {h.start + width, h.dim}};
    for (const auto &end : ends) {
        if (h.from_channel == 1 && h.to_channel == 1) {
            std::memcpy(out + end[0], x + end[0], size_t(end[1] - end[0]) * sizeof(T));
        } else {
            for (int64_t i = end[0]; i < end[1]; ++i) out[i * h.to_channel] = x[i * h.from_channel];
        }
    }
}

// x / sqrt(mean(x^2) + epsilon) * weight, then turned, in float32; rounded once.
template <class T>
void turn_normalised(const RotateCall &call, const Heads &h, const T *x, T *out, const float *cos, const float *sin,
                     char *scratch) {
    float *before = reinterpret_cast<float *>(scratch), *after = before + rounded_up(h.dim, 16);
    F squares = {};
    float total = 0;
    int64_t i = 0;
    if (h.from_channel == 1) {
        for (; i + W <= h.dim; i += W) {
            fetch_ahead(x + i, call.ahead);
            const F v = get<W>(x + i);
            squares += v * v;
            store(before + i, v);
        }
        total = sum(squares);
    }
    for (; i < h.dim; ++i) {
        before[i] = to_float(x[i * h.from_channel]);
        total += before[i] * before[i];
    }
    const float scale = 1.0f / __builtin_sqrtf(total / float(h.dim) + call.epsilon);
    for (i = 0; i + W <= h.dim; i += W) store(before + i, load(before + i) * scale * load(h.weight + i));
    for (; i < h.dim; ++i) before[i] = before[i] * scale * h.weight[i];
    const int64_t width = 2 * call.pairs;
    turn<false>(call.read, call.write, before + h.start, after + h.start, cos, sin, call.pairs, 0);
    std::memcpy(after, before, size_t(h.start) * sizeof(float));
    std::memcpy(after + h.start + width, before + h.start + width, size_t(h.dim - h.start - width) * sizeof(float));
    i = 0;
    if (h.to_channel == 1)
        for (; i + W <= h.dim; i += W) put<false, W>(out + i, quiet(load(after + i)));
    for (; i < h.dim; ++i) from_float(out + i * h.to_channel, after[i]);
}

template <class T, bool stream>
INLINE void turn_head(const RotateCall &call, const Heads &h, const T *x, T *out, const float *cos, const float *sin,
                      T *scratch) {
    if (h.weight) return turn_normalised(call, h, x, out, cos, sin, reinterpret_cast<char *>(scratch));
    const T *first = x + h.start * h.from_channel;
    T *to = out + h.start * h.to_channel;
    if (h.from_channel != 1 || h.to_channel != 1) {
        turn_strided(call, h, first, to, cos, sin, scratch);
    } else if (call.read == call.write || h.from != h.to) {
        turn<stream>(call.read, call.write, first, to, cos, sin, call.pairs, call.ahead);
    } else {
        for (int64_t i = 0; i < 2 * call.pairs; i += 64 / int64_t(sizeof(T))) fetch_ahead(first + i, call.ahead);
        std::memcpy(scratch, first, size_t(2 * call.pairs) * sizeof(T));
        turn<false>(call.read, call.write, scratch, to, cos, sin, call.pairs, call.ahead);
    }
    if (h.dim != 2 * call.pairs && h.from != h.to) copy_still(h, x, out, 2 * call.pairs);
}

// Where a token's heads are written, or nowhere.
template <class T>
INLINE T *place_of(const RotateCall &call, const Heads &h, T *to, int64_t batch, int64_t token) {
    if (!h.rows) return to + batch * h.to_batch + token * h.to_token;
    const int64_t row = h.rows[batch * call.tokens + token];
    return row < 0 ? nullptr : to + row;
}

template <class T, bool stream>
void turn_block(const RotateCall &call, const Heads &h, const float *cos, const float *sin, int64_t row, int64_t batch,
                int64_t begin, int64_t end, char *scratch) {
    const T *from = reinterpret_cast<const T *>(h.from) + batch * h.from_batch;
    T *to = reinterpret_cast<T *>(h.to);
    T *room = reinterpret_cast<T *>(scratch);
    auto place = [&](int64_t token) { return place_of(call, h, to, batch, token); };
    auto at = [&](int64_t token, int64_t head, T *row_of_token) __attribute__((always_inline)) {
        turn_head<T, stream>(call, h, from + token * h.from_token + head * h.from_head,
                             row_of_token + head * h.to_head, cos + (token - begin) * row, sin + (token - begin) * row,
                             room);
    };
    if (keeps_angles(call, h)) {
        auto all = [&](auto kept_of) __attribute__((always_inline)) {
            for (int64_t token = begin; token < end; ++token) {
                T *row_of_token = place(token);
                if (!row_of_token) continue;
                const auto kept = kept_of(cos + (token - begin) * row, sin + (token - begin) * row);
                const T *x = from + token * h.from_token;
                for (int64_t head = 0; head < h.heads; ++head)
                    kept.template turn<stream>(x + head * h.from_head, row_of_token + head * h.to_head, call.ahead);
            }
        };
        const bool half = call.read == Layout::half;
        if (half && call.pairs == 32) return all([](auto c, auto s) { return Kept<T, Layout::half, 32>(c, s); });
        if (half) return all([](auto c, auto s) { return Kept<T, Layout::half, 64>(c, s); });
        if (call.pairs == 32) return all([](auto c, auto s) { return Kept<T, Layout::interleaved, 32>(c, s); });
        return all([](auto c, auto s) { return Kept<T, Layout::interleaved, 64>(c, s); });
    }
    // What lies closer together in memory is the inner loop.
    if (h.heads_apart) {
        for (int64_t head = 0; head < h.heads; ++head)
            for (int64_t token = begin; token < end; ++token)
                if (T *row_of_token = place(token)) at(token, head, row_of_token);
    } else {
        for (int64_t token = begin; token < end; ++token)
            if (T *row_of_token = place(token))
                for (int64_t head = 0; head < h.heads; ++head) at(token, head, row_of_token);
    }
}

template <class T>
void copy_block(const RotateCall &call, const Heads &h, int64_t batch, int64_t begin, int64_t end) {
    for (int64_t token = begin; token < end; ++token) {
        const T *from = reinterpret_cast<const T *>(h.from) + batch * h.from_batch + token * h.from_token;
        T *to = place_of(call, h, reinterpret_cast<T *>(h.to), batch, token);
        if (!to) continue;
        for (int64_t head = 0; head < h.heads; ++head)
            copy_still(h, from + head * h.from_head, to + head * h.to_head, 0);
    }
}

template <bool stream>
void turn_heads(const RotateCall &call, const Prepared &p, int which, int64_t batch, int64_t begin, int64_t end) {
    const Heads &h = call.x[which];
    const float *cos = p.cos[which], *sin = p.sin[which];
    switch (h.dtype) {
        case Dtype::f32: return turn_block<float, stream>(call, h, cos, sin, p.row, batch, begin, end, p.heads);
        case Dtype::bf16: return turn_block<bf16, stream>(call, h, cos, sin, p.row, batch, begin, end, p.heads);
        case Dtype::f16: return turn_block<f16, stream>(call, h, cos, sin, p.row, batch, begin, end, p.heads);
        default: return;
    }
}

void turn_tokens(const RotateCall &call, const Prepared &p, int64_t batch, int64_t begin, int64_t end) {
    for (int i = 0; i < call.count; ++i) {
        if (call.stream) turn_heads<true>(call, p, i, batch, begin, end);
        else turn_heads<false>(call, p, i, batch, begin, end);
    }
    switch (call.copied.dtype) {
        case Dtype::f32: return copy_block<float>(call, call.copied, batch, begin, end);
        case Dtype::bf16: case Dtype::f16: return copy_block<bf16>(call, call.copied, batch, begin, end);
        default: return;
    }
}

}  // namespace

void rotate(const RotateCall &call) {
    // A piece is a run of tokens of one row of the batch, or of all rows where they share their positions.
    const int64_t lots = call.shared ? 1 : call.batch;
    int64_t piece = call.tokens;
    if (call.threads > 1) {
        const int64_t wanted = 8 * call.threads;
        piece = rounded_up((call.tokens * lots + wanted - 1) / wanted, call.block);
        if (piece > call.tokens) piece = call.tokens;
    }
    const int64_t pieces = (call.tokens + piece - 1) / piece;
    parallel_for(lots * pieces, call.threads, [&](int64_t i, int thread) {
        const Prepared p = places(call, call.scratch + thread * call.scratch_bytes);
        const int64_t lot = i / pieces, first = i % pieces * piece;
        const int64_t last = first + piece < call.tokens ? first + piece : call.tokens;
        for (int64_t begin = first; begin < last; begin += call.block) {
            const int64_t end = begin + call.block < last ? begin + call.block : last;
            for (int64_t t = begin; t < end; ++t) prepare(call, p, lot, t, t - begin);
            if (call.shared) {
                for (int64_t batch = 0; batch < call.batch; ++batch) turn_tokens(call, p, batch, begin, end);
            } else {
                turn_tokens(call, p, lot, begin, end);
            }
        }
#if defined(__x86_64__)
        if (call.stream) _mm_sfence();
#endif
    });
}

}  // namespace ordinate::ORDINATE_ISA
