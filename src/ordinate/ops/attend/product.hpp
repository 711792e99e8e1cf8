// The two products of a tile of attention in float32 vectors: keys and values packed once a block, MR rows at a time.
//
// `kernels_forward.cpp` is written over a product: this one, or that of the matrix registers (product_tiles.hpp).
#pragma once

#include "tile.hpp"

namespace ordinate::ORDINATE_ISA {

struct VectorProduct {
    static constexpr int ROWS = MR;      // rows a tile
    static constexpr int BLOCK = 256;    // keys a block
    static constexpr int TILES = 16;     // tiles of rows that meet a block while it is in the cache
    static constexpr int STEP = W;       // keys are taken so many at a time
    static constexpr int LEAD = BLOCK;   // from one row of scores to the next
    static constexpr bool SCALED = true;  // queries come with their scale
    static constexpr bool AT_ONCE = false;  // whether `weigh_at_once` is there
    static_assert(BLOCK % NR == 0, "a block is whole panels");
    struct Scope {
        Scope() {}
    };

    int dim, value_dim, value_panels;
    VectorProduct(int dim, int value_dim) : dim(dim), value_dim(value_dim), value_panels(round_up(value_dim, NR) / NR) {}

    // In float32 numbers; keys as [BLOCK / NR][dim][NR] and values as [value_panels][BLOCK][NR].
    int64_t keys_size() const { return int64_t(BLOCK) * dim; }
    int64_t values_size() const { return int64_t(BLOCK) * value_panels * NR; }
    int64_t query_size() const { return int64_t(dim) * MR + W; }          // [dim][MR]
    int64_t output_size() const { return int64_t(value_panels) * MR * NR; }  // [value_panels][MR][NR]
    int64_t room_size() const { return int64_t(MR) * LEAD; }              // scores
    int row_size() const { return round_up(larger(dim, value_dim), NR); }

    // Each packing says whether this product can hold what it met.
    // W keys from j on, rows [W][lead] that are 0 beyond dim.
    INLINE bool pack_keys(const float *rows, int lead, int j, float *keys) const {
        float *panel = keys + int64_t(j / NR) * dim * NR + j % NR;
        for (int d0 = 0; d0 < dim; d0 += W) {
            F tile[W];
            for (int i = 0; i < W; ++i) tile[i] = load(rows + i * lead + d0);
            transpose(tile);
            for (int d = 0; d < W && d0 + d < dim; ++d) store(panel + (d0 + d) * NR, tile[d]);
        }
        return true;
    }
    // STEP values from j on.
    INLINE bool pack_values(const float *rows, int lead, int j, float *values) const {
        for (int c = 0; c < value_panels; ++c)
            for (int k = 0; k < STEP; ++k)
                for (int i = 0; i < NR; i += W)
                    store(values + (int64_t(c) * BLOCK + j + k) * NR + i, load(rows + k * lead + c * NR + i));
        return true;
    }
    // Rows [MR][lead] to [dim][MR].
    INLINE bool pack_queries(const float *rows, int lead, float *to) const {
        for (int r0 = 0; r0 < MR; r0 += W)
            for (int d0 = 0; d0 < dim; d0 += W) {
                F tile[W];
                for (int r = 0; r < W; ++r) tile[r] = r0 + r < MR ? load(rows + (r0 + r) * lead + d0) : F{};
                transpose(tile);
                // Lanes beyond MR would fall on the next channel.
                for (int d = 0; d < W && d0 + d < dim; ++d) {
                    float *at = to + (d0 + d) * MR + r0;
                    if (MR - r0 >= W) {
                        store(at, tile[d]);
                    } else {
                        for (int r = r0; r < MR; ++r) at[r - r0] = tile[d][r - r0];
                    }
                }
            }
        return true;
    }

    INLINE void score(const float *query, const float *keys, int n, float *room) const {
        for (int c = 0; c * NR < n; ++c) {
            F acc[MR][C];
            clear(acc);
            multiply<1, MR>(dim, query, keys + int64_t(c) * dim * NR, acc);
            put(acc, room + c * NR, LEAD);
        }
    }
    // Scores of a row become weights, exp(score - base); returns a vector of sums of them. `n` is a multiple of STEP.
    INLINE F weigh(int r, int n, float, float base, float *room) const {
        float *x = room + r * LEAD;
        F total = F{};
        for (int j = 0; j < n; j += W) {
            F p = exponential(load(x + j) - base);
            total += p;
            store(x + j, p);
        }
        return total;
    }
    INLINE void weigh_nothing(int r, int n, float *room) const {
        for (int j = 0; j < n; j += W) store(room + r * LEAD + j, F{});
    }
    // output = output * decay + weights values, in stretches: one chain of sums over thousands of keys would lose digits.
    INLINE void accumulate(const float *values, int n, const float *decay, float *room, float *output) const {
        constexpr int STRETCH = 64;
        for (int c = 0; c < value_panels; ++c) {
            float *to = output + int64_t(c) * MR * NR;
            for (int j = 0; j < n; j += STRETCH) {
                F acc[MR][C];
                clear(acc);
                multiply<LEAD, 1>(smaller(STRETCH, n - j), room + j, values + (int64_t(c) * BLOCK + j) * NR, acc);
#pragma GCC unroll 16
                for (int r = 0; r < MR; ++r)
#pragma GCC unroll 8
                    for (int i = 0; i < C; ++i) {
                        const F before = load(to + r * NR + i * W);
                        acc[r][i] += j ? before : before * decay[r];
                    }
                put(acc, to, NR);
            }
        }
    }
    INLINE void read_output(const float *output, int r, float times, float *row) const {
        for (int c = 0; c < value_panels; ++c)
            for (int i = 0; i < NR; i += W)
                store(row + c * NR + i, load(output + (int64_t(c) * MR + r) * NR + i) * times);
    }
};

}  // namespace ordinate::ORDINATE_ISA
