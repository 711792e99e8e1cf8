// One call of `rotate` as its kernels receive it: every argument is checked before.
#pragma once

#include "tensor.hpp"

namespace ordinate {

// How the channels of a pair lie: (i, i + pairs), or (2 i, 2 i + 1).
enum class Layout : uint8_t { half, interleaved };

// The heads of q, or of k: memory to read and memory to write, which may be the same. Strides are in elements.
struct Heads {
    Dtype dtype = Dtype::none;
    const char *from = nullptr;
    char *to = nullptr;
    int64_t heads = 0, dim = 0, start = 0;  // channels start to start + 2 * pairs turn
    int64_t from_batch = 0, from_token = 0, from_head = 0, from_channel = 1;
    int64_t to_batch = 0, to_token = 0, to_head = 0, to_channel = 1;
    bool heads_apart = false;  // a head's tokens lie closer together than a token's heads
    const int64_t *rows = nullptr;  // [batch * tokens] elements from `to` where a token is written, -1 for nowhere;
                                    // none: to_batch and to_token say it
    const float *weight = nullptr;  // [dim]: heads are normalised and multiplied by it before they turn

    // The dtype that the rotation itself reads: normalised heads are float32.
    ORDINATE_INLINE Dtype turned() const { return weight ? Dtype::f32 : dtype; }
};

// What angle each token has: a row of a table, or frequencies from which the angle is computed.
struct Angles {
    const float *cos = nullptr, *sin = nullptr;
    int64_t cos_row = 0, cos_pair = 1, sin_row = 0, sin_pair = 1;
    const double *frequencies = nullptr;
    int64_t frequency_stride = 1;
    double magnitude = 1;
    const void *positions = nullptr;  // none: 0 to tokens - 1
    bool wide = true;                 // int64, not int32
    int64_t position_batch = 0, position_token = 0, position_axis = 0;
    const int32_t *axis_of_pair = nullptr;  // [pairs], below axes; none: a token has one position
    int64_t axes = 1;
};

struct RotateCall {
    Heads x[2];
    int count = 0;
    Heads copied;  // v on its way to a cache: its channels do not turn; without a dtype there is none
    Angles angles;
    int64_t batch = 1, tokens = 0, pairs = 0;
    Layout read = Layout::half, write = Layout::half;
    bool inverse = false;
    float epsilon = 0;    // of the norms
    bool stream = false;  // write around the caches
    int64_t ahead = 0;     // bytes; how far on memory is asked for
    bool shared = false;  // every row of the batch has the same positions
    int threads = 1;
    int64_t block = 1;  // tokens whose table rows are prepared together
    char *scratch = nullptr;  // threads * scratch_bytes, aligned to 64
    int64_t scratch_bytes = 0;
};

// Two pages, for a call that reads more than the first cache holds; a smaller one has nothing to ask for.
constexpr int64_t fetched_ahead = 8192, fetched_ahead_from = 32 << 10;

inline int64_t rounded_up(int64_t n, int64_t multiple) { return (n + multiple - 1) / multiple * multiple; }

inline int64_t bytes_of(Dtype dtype) {
    switch (dtype) {
        case Dtype::f16: case Dtype::bf16: return 2;
        case Dtype::f32: case Dtype::i32: return 4;
        case Dtype::f64: case Dtype::i64: return 8;
        default: return 1;
    }
}

// Floats of one prepared row of cos, or of sin, whatever its arrangement.
inline int64_t row_floats(int64_t pairs) { return rounded_up(2 * pairs, 16); }

// Scratch of one thread: prepared rows of q and of k, one plain row, and the `width` channels of a head before and
// after.
inline int64_t scratch_needed(int64_t pairs, int64_t block, int64_t width) {
    return 4 * row_floats(pairs) * (4 * block + 2) + 2 * rounded_up(4 * width, 64);
}

}  // namespace ordinate
