// The angles of one token kept in registers while all its heads turn: most heads have 64 or 128 channels, and then all
// of the row fits. How rows are arranged: see rows.hpp.
#pragma once

#include "call.hpp"
#include "rows.hpp"

namespace ordinate::ORDINATE_ISA {

template <class T, Layout layout, int pairs>
class Kept {
    static constexpr bool half = layout == Layout::half, in_pairs = __is_same(T, bf16);
    static constexpr int COUNT = (half || in_pairs ? 1 : 2) * pairs / W;
    static_assert(COUNT % 2 == 0, "neighbours of a half layout are two vectors");
    F cos_[COUNT], sin_[COUNT];

public:
    INLINE Kept(const float *cos, const float *sin) {
#pragma GCC unroll 32
        for (int m = 0; m < COUNT; ++m) cos_[m] = load(cos + m * W), sin_[m] = load(sin + m * W);
    }

    template <bool stream>
    INLINE void turn(const T *x, T *out, int64_t ahead) const {
        if constexpr (half && in_pairs) {
            constexpr int M = COUNT / 2;
#pragma GCC unroll 16
            for (int m = 0; m < M; ++m) {
                const T *p = x + 2 * m * W, *q = p + pairs;
                fetch_ahead(p, ahead);
                fetch_ahead(q, ahead);
                const U a = take<U>(p), b = take<U>(q);
                const F a0 = lower<W>(a), a1 = upper<W>(a), b0 = lower<W>(b), b1 = upper<W>(b);
                const F c = cos_[m], s = sin_[m], c1 = cos_[M + m], s1 = sin_[M + m];
                T *to = out + 2 * m * W;
                give<stream>(to, packed<W>(apart(a0 * c) - apart(b0 * s), apart(a1 * c1) - apart(b1 * s1)));
                give<stream>(to + pairs, packed<W>(apart(a0 * s) + apart(b0 * c), apart(a1 * s1) + apart(b1 * c1)));
            }
        } else if constexpr (half) {
#pragma GCC unroll 32
            for (int m = 0; m < COUNT; ++m) {
                const T *p = x + m * W, *q = p + pairs;
                fetch_ahead(p, ahead);
                fetch_ahead(q, ahead);
                const F a = get<W>(p), b = get<W>(q);
                put<stream, W>(out + m * W, apart(a * cos_[m]) - apart(b * sin_[m]));
                put<stream, W>(out + pairs + m * W, apart(a * sin_[m]) + apart(b * cos_[m]));
            }
        } else if constexpr (in_pairs) {
#pragma GCC unroll 32
            for (int m = 0; m < COUNT; ++m) {
                fetch_ahead(x + 2 * m * W, ahead);
                const U both = take<U>(x + 2 * m * W);
                const F a = lower<W>(both), b = upper<W>(both), c = cos_[m], s = sin_[m];
                give<stream>(out + 2 * m * W, packed<W>(apart(a * c) - apart(b * s), apart(a * s) + apart(b * c)));
            }
        } else {
#pragma GCC unroll 32
            for (int m = 0; m < COUNT; ++m) {
                fetch_ahead(x + m * W, ahead);
                const F v = get<W>(x + m * W), other = swap_neighbours(v, v);
                put<stream, W>(out + m * W, apart(v * cos_[m]) + apart(other * sin_[m]));
            }
        }
    }
};

// Whether the heads of a token are all there is to turn, channel by channel where they lie.
INLINE bool keeps_angles(const RotateCall &call, const Heads &h) {
    return !h.weight && !h.heads_apart && h.heads > 1 && h.from_channel == 1 && h.to_channel == 1 &&
           call.read == call.write && h.dim == 2 * call.pairs && (call.pairs == 32 || call.pairs == 64);
}

}  // namespace ordinate::ORDINATE_ISA
