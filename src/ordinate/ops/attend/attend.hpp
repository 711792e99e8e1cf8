// What `attend` computes, as the kernels of every instruction set read it.
//
//     logits = softcap(q . k * scale * query_scale) + bias        where visible, -inf elsewhere
//     out    = softmax(logits) v
//
// A kernel may be given more memory than it names but never reads a key that is not there.
#pragma once

#include <cstdint>

#include "tensor.hpp"

namespace ordinate {

// Positions of one sequence: a list, or consecutive numbers from `start`.
struct Positions {
    const int32_t *at = nullptr;
    int32_t start = 0;
    ORDINATE_INLINE int32_t operator[](int64_t i) const { return at ? at[i] : start + int32_t(i); }
};

// One sequence: its rows in q, k, v and out, and where its tokens stand.
struct Sequence {
    int64_t index;
    int64_t batch;      // index into [batch, ...] of q, k, v, out; 0 where packed
    int64_t first_query, first_key;  // first row of a packed sequence; 0 otherwise
    int32_t queries, keys;
    Positions query_positions, key_positions;
    const int32_t *pages = nullptr;  // [blocks]: rows of a paged cache
};

// A rotation: [table, pairs] cos and sin, and how channels pair.
struct Rotation {
    const float *cos = nullptr, *sin = nullptr;
    int64_t cos_row = 0, sin_row = 0;  // strides of a row; the last stride is 1
    int pairs = 0;
    int start = 0;  // the first channel that turns
    bool interleaved_in = false, interleaved_out = false;
    ORDINATE_INLINE explicit operator bool() const { return cos; }
};

constexpr int32_t unlimited = INT32_MAX;

// Rows of a key head that are decoded: packing pays where more of them meet what was packed.
constexpr int64_t decoded_rows = 16;

struct Attention {
    Tensor q, k, v, out;  // [batch, token, head, dim]; k and v of a paged cache: [page, token, head, dim]
    Tensor lse;           // [batch, head, query], float32, or empty
    const Sequence *sequences = nullptr;
    int64_t sequence_count = 0;
    int64_t page_size = 0;
    int heads = 0, kv_heads = 0, dim = 0, value_dim = 0;

    float scale = 1;
    float softcap = 0;      // 0: none
    bool causal = false;
    int32_t left = unlimited, right = unlimited;  // window [token]
    int32_t keep_first = 0;
    const float *sink_logits = nullptr;  // [heads]
    Tensor query_scale;     // float32 [batch, query], stride 0 where shared
    Tensor slopes;          // float32 [sequences, heads], stride 0 where shared
    const float *table = nullptr;        // [heads, 2 reach + 1], contiguous
    int32_t reach = 0;
    Tensor bias;            // float32 [batch, heads, query, key], strides 0 where broadcast
    Tensor mask;            // bool, likewise
    Rotation rotation;

    // Backward only: shaped and typed as their namesakes.
    Tensor grad_out, grad_q, grad_k, grad_v;
    Tensor grad_lse;  // float32, or empty
    float *grad_table = nullptr;   // [heads, 2 reach + 1], added to
    float *grad_slopes = nullptr;  // as slopes, contiguous, added to
    float *grad_sinks = nullptr;   // [heads], added to

    int threads = 1;
    ORDINATE_INLINE int group() const { return heads / kv_heads; }
};

}  // namespace ordinate
