// The two products of a tile of attention in the processor's matrix registers, 32 rows by 32 columns at a time.
//
// LIMBS bfloat16 numbers stand for each number: 1 for bfloat16, 2 for float16, 3 for float32, whose products lose what
// float32 arithmetic loses. bfloat16 queries and keys are exact; rotated they are rounded to bfloat16 again, as a rotation
// before the call would round them, and so are the weights of the values.
#pragma once

#include "operands.hpp"

namespace ordinate::ORDINATE_ISA {

template <int LIMBS>
struct TileProduct {
    static constexpr int ROWS = 32;
    static constexpr int BLOCK = 512;
    static constexpr int TILES = 8;
    static constexpr int STEP = 32;
    static constexpr int LEAD = BLOCK + 16;  // rows a power of two apart would share few sets of the cache
    static constexpr bool SCALED = LIMBS == 3;
    static constexpr bool AT_ONCE = LIMBS == 1;
    using Scope = TileScope;

    using On = Operands<LIMBS>;
    static constexpr int64_t TILE = On::TILE;

    int dim, value_dim, steps, value_steps;  // of 32 channels
    TileProduct(int dim, int value_dim)
        : dim(dim), value_dim(value_dim), steps(round_up(dim, 32) / 32), value_steps(round_up(value_dim, 32) / 32) {}

    // In float32 numbers. Keys are right operands of 32 keys each, values of 32 channels each.
    static constexpr int DEPTH = BLOCK / 32;
    int64_t keys_size() const { return DEPTH * On::size(steps); }
    int64_t values_size() const { return value_steps * On::size(DEPTH); }
    int64_t query_size() const { return On::size(steps); }
    int64_t output_size() const { return value_steps * 4 * TILE; }
    static constexpr int64_t SCORES = int64_t(ROWS) * LEAD;
    int64_t room_size() const { return SCORES + On::size(DEPTH) + 4 * TILE; }  // scores, weights, one product
    int row_size() const { return round_up(larger(dim, value_dim), 32); }

    INLINE bool pack_keys(const float *rows, int lead, int j, float *keys) const {
        return On::pack_columns(rows, lead, steps, j % 32 / 16, keys + j / 32 * On::size(steps));
    }
    INLINE bool pack_values(const float *rows, int lead, int j, float *values) const {
        return On::template pack_depth<false>(rows, lead, value_steps, j / 32, DEPTH, values);
    }
    INLINE bool pack_queries(const float *rows, int lead, float *to) const { return On::pack_rows(rows, lead, steps, steps, to); }

    INLINE void score(const float *query, const float *keys, int n, float *room) const {
        for (int j = 0; j < n; j += 32) {
            On::multiply(query, steps, keys + j / 32 * On::size(steps), steps, steps);
            On::store_rows(room + j, LEAD);
        }
    }
    // Scores of a row become weights, exp(scale * score - base); returns a vector of sums of them. `n` is a multiple of
    // STEP.
    INLINE F weigh(int r, int n, float scale, float base, float *room) const {
        const float times = scale * LOG2_E, less = base * LOG2_E;
        if (SCALED) return weigh_by(r, n, room, [&](F x) { return exponential(x - base); });
        if (!fits(base)) return weigh_by(r, n, room, [&](F x) { return exponential(unfused(x * scale) - base); });
        if (LIMBS > 1) return weigh_by(r, n, room, [&](F x) { return exponential(x * scale - base); });
        return weigh_by(r, n, room, [&](F x) { return power_of_2(x * times - less); });
    }
    // The base is a rounded product, from which exact ones differ: by as much in every weight of a row, which changes
    // nothing as long as it is no large power of 2.
    static INLINE bool fits(float base) { return base < 2.7e8f && base > -2.7e8f; }
    // The same of what `term` makes of scale * score - base, counted in powers of 2; `most` is a vector whose largest lane
    // is the largest of them.
    template <class Term>
    INLINE F weigh_at_once(int r, int n, float scale, float base, Term &&term, F &most, float *room) const {
        const float *x = room + r * LEAD;
        float *weights = room + SCORES + r * 16;
        const float times = scale * LOG2_E, less = base * LOG2_E;
        F total = F{};
        for (int j = 0; j < n; j += 32) {
            const F a = term(load(x + j) * times - less, j), b = term(load(x + j + 16) * times - less, j + 16);
            most = maximum(maximum(a, b), most);
            const F p = power_of_2(a), q = power_of_2(b);
            total += p + q;
            store(weights + j / 32 * TILE * 2, bits_of<F>(paired(rounded(p), rounded(q))));
        }
        return total;
    }
    INLINE void weigh_nothing(int r, int n, float *room) const {
        for (int l = 0; l < LIMBS; ++l)
            for (int j = 0; j < n; j += 32)
                store(room + SCORES + (int64_t(l) * DEPTH + j / 32) * 2 * TILE + r * 16, F{});
    }
    // output = output * decay + weights values
    INLINE void accumulate(const float *values, int n, const float *decay, float *room, float *output) const {
        const float *weights = room + SCORES;
        float *product = room + SCORES + On::size(DEPTH);
        // Where no row found a larger logit, which is most often, one limb's products are summed where they belong.
        const I same = (load(decay) == 1.0f) & (load(decay + 16) == 1.0f);
        const bool steady = LIMBS == 1 && _mm512_movepi32_mask((__m512i)same) == 0xFFFF;
        for (int c = 0; c < value_steps; ++c) {
            float *to = output + c * 4 * TILE;
            if (steady) {
                On::add_product(weights, DEPTH, values + c * On::size(DEPTH), DEPTH, n / 32, to);
                continue;
            }
            On::multiply(weights, DEPTH, values + c * On::size(DEPTH), DEPTH, n / 32);
            On::store_sums(product);
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
    static INLINE F unfused(F product) {
        asm("" : "+v"(product));
        return product;
    }
    template <class Weight>
    INLINE F weigh_by(int r, int n, float *room, Weight &&weight) const {
        const float *x = room + r * LEAD;
        float *weights = room + SCORES + r * 16;
        F total = F{};
        for (int j = 0; j < n; j += 32) {
            const F a = weight(load(x + j)), b = weight(load(x + j + 16));
            total += a + b;
            F low[LIMBS], high[LIMBS];
            split_finite(a, low);
            split_finite(b, high);
            for (int l = 0; l < LIMBS; ++l)
                store(weights + (int64_t(l) * DEPTH + j / 32) * 2 * TILE, bits_of<F>(paired(low[l], high[l])));
        }
        return total;
    }

    // 2^y for y < 127, relative error below 2.7e-6; 0 below 2^-100; NaN for NaN.
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
};

}  // namespace ordinate::ORDINATE_ISA
