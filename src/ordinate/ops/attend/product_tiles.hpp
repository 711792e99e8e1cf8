// The two products of a tile of attention in the processor's matrix registers, 32 rows by 32 columns at a time.
//
// LIMBS bfloat16 numbers stand for each number: 1 for bfloat16, 2 for float16, 3 for float32, whose products lose what
// float32 arithmetic loses. bfloat16 queries and keys are exact; rotated they are rounded to bfloat16 again, as a rotation
// before the call would round them, and so are the weights of the values.
#pragma once

#include "limbs.hpp"
#include "tile.hpp"
#include "tiles.hpp"

namespace ordinate::ORDINATE_ISA {

template <int LIMBS>
struct TileProduct {
    static constexpr int ROWS = 32;
    static constexpr int BLOCK = 512;
    static constexpr int TILES = 8;
    static constexpr int STEP = 32;
    static constexpr int LEAD = BLOCK + 16;  // rows a power of two apart would share few sets of the cache
    static constexpr bool SCALED = LIMBS == 3;
    using Scope = TileScope;

    int dim, value_dim, steps, value_steps;  // of 32 channels
    TileProduct(int dim, int value_dim)
        : dim(dim), value_dim(value_dim), steps(round_up(dim, 32) / 32), value_steps(round_up(value_dim, 32) / 32) {}

    // A tile of a limb is 256 float32 numbers of memory. Left operands are [limb][step][ROWS] rows of 32 numbers, right
    // ones [column pair][limb][step][2] tiles, in which row p pairs the numbers p and p + 16 of the step.
    static constexpr int64_t TILE = TILE_BYTES / 4;
    int64_t keys_size() const { return int64_t(BLOCK / 16) * LIMBS * steps * TILE; }
    int64_t values_size() const { return int64_t(BLOCK / 16) * LIMBS * value_steps * TILE; }
    int64_t query_size() const { return int64_t(2) * LIMBS * steps * TILE; }
    int64_t output_size() const { return int64_t(2) * 2 * value_steps * TILE; }  // [value_steps][2][ROWS][16]
    static constexpr int64_t SCORES = int64_t(ROWS) * LEAD, WEIGHTS = int64_t(2) * LIMBS * (BLOCK / 32) * TILE;
    int64_t room_size() const { return SCORES + WEIGHTS + 4 * TILE; }  // scores, weights, one product
    int row_size() const { return round_up(larger(dim, value_dim), 32); }

    // 16 keys from j on: each limb of each step is a block of pairs, turned over.
    INLINE void pack_keys(const float *rows, int lead, int j, float *keys) const {
        for (int s = 0; s < steps; ++s) {
            F pairs[LIMBS][16];
            for (int i = 0; i < 16; ++i) {
                F low[LIMBS], high[LIMBS];
                split(load(rows + i * lead + s * 32), low);
                split(load(rows + i * lead + s * 32 + 16), high);
                for (int l = 0; l < LIMBS; ++l) pairs[l][i] = bits_of<F>(paired(low[l], high[l]));
            }
            for (int l = 0; l < LIMBS; ++l) {
                transpose(pairs[l]);
                float *tile = keys + (((int64_t(j / 32) * LIMBS + l) * steps + s) * 2 + j % 32 / 16) * TILE;
                for (int i = 0; i < 16; ++i) store(tile + i * 16, pairs[l][i]);
            }
        }
    }
    // Keys j and j + 16 of a step share the words of a row: the first is written, the second joins it.
    INLINE void pack_value(const float *row, int j, float *values) const {
        for (int c = 0; c < 2 * value_steps; ++c) {
            F limbs[LIMBS];
            split(load(row + c * 16), limbs);
            for (int l = 0; l < LIMBS; ++l) {
                float *at = values + (((int64_t(c / 2) * LIMBS + l) * (BLOCK / 32) + j / 32) * 2 + c % 2) * TILE + j % 16 * 16;
                if (j % 32 < 16) {
                    store(at, bits_of<F>(bits_of<U>(limbs[l]) >> 16));
                } else {
                    store(at, bits_of<F>(bits_of<U>(load(at)) | (bits_of<U>(limbs[l]) & 0xFFFF0000u)));
                }
            }
        }
    }
    INLINE void pack_queries(const float *rows, int lead, float *to) const {
        for (int r = 0; r < ROWS; ++r)
            for (int s = 0; s < steps; ++s) {
                F low[LIMBS], high[LIMBS];
                split(load(rows + r * lead + s * 32), low);
                split(load(rows + r * lead + s * 32 + 16), high);
                for (int l = 0; l < LIMBS; ++l)
                    store(to + (int64_t(l) * steps + s) * 2 * TILE + r * 16, bits_of<F>(paired(low[l], high[l])));
            }
    }

    INLINE void score(const float *query, const float *keys, int n, float *room) const {
        const int64_t stride = int64_t(2) * steps * TILE;
        for (int j = 0; j < n; j += 32) {
            multiply(query, stride, keys + int64_t(j / 32) * LIMBS * stride, stride, steps);
            tile_store<0>(room + j, 4 * LEAD);
            tile_store<1>(room + j + 16, 4 * LEAD);
            tile_store<2>(room + 16 * LEAD + j, 4 * LEAD);
            tile_store<3>(room + 16 * LEAD + j + 16, 4 * LEAD);
        }
    }
    // Scores of a row become weights, exp(scale * score - base); returns a vector of sums of them. `n` is a multiple of
    // STEP.
    INLINE F weigh(int r, int n, float scale, float base, float *room) const {
        const float *x = room + r * LEAD;
        float *weights = room + SCORES + r * 16;
        const float times = scale * LOG2_E, less = base * LOG2_E;
        F total = F{};
        for (int j = 0; j < n; j += 32) {
            F a = load(x + j), b = load(x + j + 16);
            a = LIMBS > 1 ? exponential(SCALED ? a - base : a * scale - base) : power_of_2(a * times - less);
            b = LIMBS > 1 ? exponential(SCALED ? b - base : b * scale - base) : power_of_2(b * times - less);
            total += a + b;
            F low[LIMBS], high[LIMBS];
            split_finite(a, low);
            split_finite(b, high);
            for (int l = 0; l < LIMBS; ++l)
                store(weights + (int64_t(l) * (BLOCK / 32) + j / 32) * 2 * TILE, bits_of<F>(paired(low[l], high[l])));
        }
        return total;
    }
    INLINE void weigh_nothing(int r, int n, float *room) const {
        for (int l = 0; l < LIMBS; ++l)
            for (int j = 0; j < n; j += 32)
                store(room + SCORES + (int64_t(l) * (BLOCK / 32) + j / 32) * 2 * TILE + r * 16, F{});
    }
    // output = output * decay + weights values
    INLINE void accumulate(const float *values, int n, const float *decay, float *room, float *output) const {
        const int64_t stride = int64_t(BLOCK / 32) * 2 * TILE;
        float *product = room + SCORES + WEIGHTS;
        for (int c = 0; c < value_steps; ++c) {
            multiply(room + SCORES, stride, values + c * LIMBS * stride, stride, n / 32);
            tile_store<0>(product, 64);
            tile_store<1>(product + 2 * TILE, 64);
            tile_store<2>(product + TILE, 64);
            tile_store<3>(product + 3 * TILE, 64);
            float *to = output + int64_t(c) * 4 * TILE;
            for (int half = 0; half < 2; ++half)
                for (int r = 0; r < ROWS; ++r) {
                    const int64_t at = half * 2 * TILE + r * 16;
                    store(to + at, load(to + at) * decay[r] + load(product + at));
                }
        }
    }
    INLINE void read_output(const float *output, int r, float times, float *row) const {
        for (int c = 0; c < 2 * value_steps; ++c) store(row + c * 16, load(output + (int64_t(c) * ROWS + r) * 16) * times);
    }

private:
    // 2^y for y <= 0, relative error below 2.7e-6; 0 below 2^-100; NaN for NaN.
    static INLINE F power_of_2(F y) {
        const F n = F(_mm512_roundscale_ps((__m512)y, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
        const F f = y - n;
        F p = spread(0.009570102207362652f);
        p = p * f + 0.05591785907745361f;
        p = p * f + 0.240247443318367f;
        p = p * f + 0.6931217908859253f;
        p = p * f + 0.9999992847442627f;
        const __mmask16 kept = _mm512_cmp_ps_mask((__m512)y, _mm512_set1_ps(SMALLEST), _CMP_NLT_UQ);
        return F(_mm512_maskz_scalef_ps(kept, (__m512)p, (__m512)n));
    }

    // 32 x 32 sums in tiles 0 to 3, of operands whose limbs lie `stride` apart. What small products sum to would be
    // rounded away beside the large ones, which therefore come last.
    static INLINE void multiply(const float *a, int64_t a_stride, const float *b, int64_t b_stride, int count) {
        tile_zero<0>();
        tile_zero<1>();
        tile_zero<2>();
        tile_zero<3>();
        for (int s = 0; s < count && LIMBS > 1; ++s) {
            const float *left = a + s * 2 * TILE, *right = b + s * 2 * TILE;
            if (LIMBS == 2) {
                take_left(left + a_stride);
                take_right(right + b_stride);
                add();
                take_right(right);
                add();
                take_left(left);
                take_right(right + b_stride);
                add();
            } else {
                take_left(left);
                take_right(right + 2 * b_stride);
                add();
                take_right(right + b_stride);
                add();
                take_left(left + a_stride);
                add();
                take_right(right);
                add();
                take_left(left + 2 * a_stride);
                add();
            }
        }
        for (int s = 0; s < count; ++s) {
            take_left(a + s * 2 * TILE);
            take_right(b + s * 2 * TILE);
            add();
        }
    }
    static INLINE void take_left(const float *p) {
        tile_load<4>(p);
        tile_load<5>(p + TILE);
    }
    static INLINE void take_right(const float *p) {
        tile_load<6>(p);
        tile_load<7>(p + TILE);
    }
    static INLINE void add() {
        tile_multiply<0, 4, 6>();
        tile_multiply<1, 4, 7>();
        tile_multiply<2, 5, 6>();
        tile_multiply<3, 5, 7>();
    }
};

}  // namespace ordinate::ORDINATE_ISA
