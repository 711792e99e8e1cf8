// Matrices as the processor's matrix registers take them: LIMBS bfloat16 numbers for each number, in tiles of 1 KiB.
//
// A left operand is 32 rows, a right one 32 columns, of any depth in steps of 32: [limb][step][2] tiles. A tile has 16
// rows of 16 pairs: of a left operand's row the numbers p and p + 16 of the step, of a right one's row p the numbers of
// depth p and p + 16 in each of 16 columns. Packing says whether all it met was finite, or one limb can hold it. The sums of a product are four tiles: [column half][32 rows][16].
#pragma once

#include "limbs.hpp"
#include "tile.hpp"
#include "tiles.hpp"

namespace ordinate::ORDINATE_ISA {

template <int LIMBS>
struct Operands {
    // In float32 numbers of memory.
    static constexpr int64_t TILE = TILE_BYTES / 4;
    static INLINE int64_t size(int depth) { return int64_t(LIMBS) * depth * 2 * TILE; }

    // Whether packing has met an infinity: of several limbs it would meet another's limb of 0 and make a NaN where there
    // is none.
    struct Seen {
        I infinite = I{};
        INLINE bool finite() const { return LIMBS == 1 || _mm512_movepi32_mask((__m512i)infinite) == 0; }
    };
    static INLINE void pair(F low, F high, F (&pairs)[LIMBS], Seen &seen) {
        F a[LIMBS], b[LIMBS];
        split(low, a);
        split(high, b);
        for (int l = 0; l < LIMBS; ++l) pairs[l] = bits_of<F>(paired(a[l], b[l]));
        if (LIMBS > 1) seen.infinite |= (magnitude(low) == INFINITE) | (magnitude(high) == INFINITE);
    }

    // 32 rows as the rows of a left operand, whose depth is their length: the first `count` steps of `depth`.
    static INLINE bool pack_rows(const float *rows, int lead, int count, int depth, float *to) {
        Seen seen;
        for (int r = 0; r < 32; ++r)
            for (int s = 0; s < count; ++s) {
                F pairs[LIMBS];
                pair(load(rows + r * lead + s * 32), load(rows + r * lead + s * 32 + 16), pairs, seen);
                for (int l = 0; l < LIMBS; ++l) store(to + (int64_t(l) * depth + s) * 2 * TILE + r * 16, pairs[l]);
            }
        return seen.finite();
    }
    // 16 rows as one half of the columns of a right operand, whose depth is their length.
    static INLINE bool pack_columns(const float *rows, int lead, int depth, int half, float *to) {
        Seen seen;
        for (int s = 0; s < depth; ++s) {
            F tiles[LIMBS][16];
            for (int i = 0; i < 16; ++i) {
                F pairs[LIMBS];
                pair(load(rows + i * lead + s * 32), load(rows + i * lead + s * 32 + 16), pairs, seen);
                for (int l = 0; l < LIMBS; ++l) tiles[l][i] = pairs[l];
            }
            for (int l = 0; l < LIMBS; ++l) {
                transpose(tiles[l]);
                for (int i = 0; i < 16; ++i) store(to + ((int64_t(l) * depth + s) * 2 + half) * TILE + i * 16, tiles[l][i]);
            }
        }
        return seen.finite();
    }
    // 32 rows as one step of the depth of `count` operands, each for 32 of their numbers: of right ones, or of left ones.
    template <bool LEFT>
    static INLINE bool pack_depth(const float *rows, int lead, int count, int step, int depth, float *to) {
        Seen seen;
        for (int c = 0; c < 2 * count; ++c) {
            F tiles[LIMBS][16];
            for (int p = 0; p < 16; ++p) {
                F pairs[LIMBS];
                pair(load(rows + p * lead + c * 16), load(rows + (p + 16) * lead + c * 16), pairs, seen);
                for (int l = 0; l < LIMBS; ++l) tiles[l][p] = pairs[l];
            }
            for (int l = 0; l < LIMBS; ++l) {
                if (LEFT) transpose(tiles[l]);
                float *tile = to + c / 2 * size(depth) + ((int64_t(l) * depth + step) * 2 + c % 2) * TILE;
                for (int p = 0; p < 16; ++p) store(tile + p * 16, tiles[l][p]);
            }
        }
        return seen.finite();
    }

    // left x right over `count` steps, of operands packed `a_depth` and `b_depth` deep, in the registers of sums. What
    // small products sum to would be rounded away beside the large ones, which therefore come last.
    static INLINE void multiply(const float *a, int a_depth, const float *b, int b_depth, int count) {
        tile_zero<0>();
        tile_zero<1>();
        tile_zero<2>();
        tile_zero<3>();
        multiply_on(a, a_depth, b, b_depth, count);
    }
    // sums += left x right
    static INLINE void add_product(const float *a, int a_depth, const float *b, int b_depth, int count, float *sums) {
        if (LIMBS == 1) {
            tile_load<0>(sums);
            tile_load<1>(sums + 2 * TILE);
            tile_load<2>(sums + TILE);
            tile_load<3>(sums + 3 * TILE);
            multiply_on(a, a_depth, b, b_depth, count);
            store_sums(sums);
        } else {
            alignas(64) float product[4 * TILE];
            multiply(a, a_depth, b, b_depth, count);
            store_sums(product);
            for (int64_t i = 0; i < 4 * TILE; i += W) store(sums + i, load(sums + i) + load(product + i));
        }
    }
    static INLINE void store_sums(float *to) {
        tile_store<0>(to, 64);
        tile_store<1>(to + 2 * TILE, 64);
        tile_store<2>(to + TILE, 64);
        tile_store<3>(to + 3 * TILE, 64);
    }
    // As 32 rows of 32, `lead` numbers apart.
    static INLINE void store_rows(float *to, int lead) {
        tile_store<0>(to, 4 * lead);
        tile_store<1>(to + 16, 4 * lead);
        tile_store<2>(to + 16 * lead, 4 * lead);
        tile_store<3>(to + 16 * lead + 16, 4 * lead);
    }

private:
    static INLINE void multiply_on(const float *a, int a_depth, const float *b, int b_depth, int count) {
        const int64_t a_limb = int64_t(a_depth) * 2 * TILE, b_limb = int64_t(b_depth) * 2 * TILE;
        for (int s = 0; s < count && LIMBS > 1; ++s) {
            const float *left = a + s * 2 * TILE, *right = b + s * 2 * TILE;
            if (LIMBS == 2) {
                take_left(left + a_limb);
                take_right(right + b_limb);
                add();
                take_right(right);
                add();
                take_left(left);
                take_right(right + b_limb);
                add();
            } else {
                take_left(left);
                take_right(right + 2 * b_limb);
                add();
                take_right(right + b_limb);
                add();
                take_left(left + a_limb);
                add();
                take_right(right);
                add();
                take_left(left + 2 * a_limb);
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
