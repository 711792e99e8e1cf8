// The five products of a tile of attention's gradient in the processor's matrix registers. See product_tiles.hpp for
// what is rounded; dS is rounded as the weights are.
//
// The sums over queries are kept turned over, dK^T = Q^T dS and dV^T = dO^T P, so that P and dS are right operands, which
// their rows make without being turned.
#pragma once

#include "operands.hpp"

namespace ordinate::ORDINATE_ISA {

template <int LIMBS>
struct TileGradients {
    static constexpr int BLOCK = 128;
    static constexpr int ROWS = 32;
    static constexpr int PARTS = BLOCK / ROWS;
    static constexpr int LEAD = BLOCK + 16;
    static constexpr int STEP = 32;
    using Scope = TileScope;
    using On = Operands<LIMBS>;
    static constexpr int64_t TILE = On::TILE;
    static constexpr int DEPTH = BLOCK / 32;

    int dim, value_dim, steps, value_steps;  // of 32 channels
    TileGradients(int dim, int value_dim)
        : dim(dim), value_dim(value_dim), steps(round_up(dim, 32) / 32), value_steps(round_up(value_dim, 32) / 32) {}

    // A block, as right operands: keys and values as columns, keys as depth too.
    int64_t key_columns_size() const { return DEPTH * On::size(steps); }
    int64_t key_depth_size() const { return steps * On::size(DEPTH); }
    int64_t block_size() const { return key_columns_size() + key_depth_size() + DEPTH * On::size(value_steps); }
    // dK^T and dV^T: [steps][DEPTH] sums of 32 channels by 32 keys.
    int64_t gradients_size() const { return int64_t(DEPTH) * (steps + value_steps) * 4 * TILE; }
    // A tile, as left operands: q and dO as rows and as depth; dQ; logits and their gradient of a part; P and dS of all.
    int64_t room_size() const {
        return PARTS * (On::size(steps) + On::size(value_steps) + int64_t(steps) * 4 * TILE) + steps * On::size(PARTS) +
               value_steps * On::size(PARTS) + 2 * int64_t(ROWS) * LEAD + PARTS * On::size(DEPTH) + 2 * DEPTH * On::size(PARTS);
    }
    int row_size() const { return round_up(larger(dim, value_dim), 32) + W; }

    struct Room {
        float *query, *upstream, *query_depth, *upstream_depth, *grad_query, *scores, *slopes;
        float *slope_rows, *slope_depth, *weight_depth;
    };
    Room room_at(float *at) const {
        Room room;
        auto take = [&](int64_t size) {
            float *from = at;
            at += size;
            return from;
        };
        room.query = take(PARTS * On::size(steps));
        room.upstream = take(PARTS * On::size(value_steps));
        room.query_depth = take(steps * On::size(PARTS));
        room.upstream_depth = take(value_steps * On::size(PARTS));
        room.grad_query = take(PARTS * int64_t(steps) * 4 * TILE);
        room.scores = take(int64_t(ROWS) * LEAD);
        room.slopes = take(int64_t(ROWS) * LEAD);
        room.slope_rows = take(PARTS * On::size(DEPTH));
        room.slope_depth = take(DEPTH * On::size(PARTS));
        room.weight_depth = take(DEPTH * On::size(PARTS));
        return room;
    }

    bool pack_keys(const float *rows, int lead, float *block) const {
        const bool held = columns(rows, lead, steps, block);
        for (int s = 0; s < DEPTH; ++s)
            On::template pack_depth<false>(rows + s * 32 * lead, lead, steps, s, DEPTH, block + key_columns_size());
        return held;
    }
    bool pack_values(const float *rows, int lead, float *block) const {
        return columns(rows, lead, value_steps, block + key_columns_size() + key_depth_size());
    }
    bool pack_queries(const float *rows, int lead, const Room &room) const {
        for (int64_t i = 0; i < PARTS * int64_t(steps) * 4 * TILE; i += W) store(room.grad_query + i, F{});
        return both(rows, lead, steps, room.query, room.query_depth);
    }
    bool pack_upstream(const float *rows, int lead, const Room &room) const {
        return both(rows, lead, value_steps, room.upstream, room.upstream_depth);
    }

    INLINE void score(const float *block, int part, int, int n, const Room &room) const {
        const float *values = block + key_columns_size() + key_depth_size();
        for (int j = 0; j < n; j += 32) {
            On::multiply(room.query + part * On::size(steps), steps, block + j / 32 * On::size(steps), steps, steps);
            On::store_rows(room.scores + j, LEAD);
            On::multiply(room.upstream + part * On::size(value_steps), value_steps, values + j / 32 * On::size(value_steps),
                         value_steps, value_steps);
            On::store_rows(room.slopes + j, LEAD);
        }
    }
    INLINE void keep(int part, int n, const Room &room) const {
        const int count = round_up(n, 32) / 32;
        // Only so deep as there are keys: what lies beyond is not read.
        On::pack_rows(room.slopes, LEAD, count, DEPTH, room.slope_rows + part * On::size(DEPTH));
        On::template pack_depth<false>(room.slopes, LEAD, count, part, PARTS, room.slope_depth);
        On::template pack_depth<false>(room.scores, LEAD, count, part, PARTS, room.weight_depth);
    }
    INLINE void add(const float *block, int count, int n, const Room &room, float *gradients) const {
        const int parts = round_up(count, 32) / 32, blocks = round_up(n, 32) / 32;
        add_turned(room.query_depth, room.slope_depth, steps, parts, blocks, gradients);
        add_turned(room.upstream_depth, room.weight_depth, value_steps, parts, blocks, gradients + steps * DEPTH * 4 * TILE);
        for (int part = 0; part < parts; ++part)
            for (int c = 0; c < steps; ++c)
                On::add_product(room.slope_rows + part * On::size(DEPTH), DEPTH, block + key_columns_size() + c * On::size(DEPTH),
                                DEPTH, blocks, room.grad_query + (int64_t(part) * steps + c) * 4 * TILE);
    }

    void read_query(const Room &room, int r, float *row) const {
        const float *sums = room.grad_query + int64_t(r / 32) * steps * 4 * TILE + r % 32 * 16;
        for (int c = 0; c < 2 * steps; ++c) store(row + c * 16, load(sums + int64_t(c) * 2 * TILE));
    }
    void add_keys(const float *gradients, int j, float *rows, int lead) const { add_rows(gradients, steps, j, rows, lead); }
    void add_values(const float *gradients, int j, float *rows, int lead) const {
        add_rows(gradients + steps * DEPTH * 4 * TILE, value_steps, j, rows, lead);
    }

private:
    static bool columns(const float *rows, int lead, int depth, float *to) {
        bool held = true;
        for (int j = 0; j < BLOCK; j += 16)
            held &= On::pack_columns(rows + j * lead, lead, depth, j % 32 / 16, to + j / 32 * On::size(depth));
        return held;
    }
    static bool both(const float *rows, int lead, int depth, float *to, float *to_depth) {
        bool held = true;
        for (int part = 0; part < PARTS; ++part) {
            held &= On::pack_rows(rows + part * 32 * lead, lead, depth, depth, to + part * On::size(depth));
            On::template pack_depth<true>(rows + part * 32 * lead, lead, depth, part, PARTS, to_depth);
        }
        return held;
    }
    static INLINE void add_turned(const float *left, const float *right, int channels, int parts, int blocks, float *to) {
        for (int c = 0; c < channels; ++c)
            for (int j = 0; j < blocks; ++j)
                On::add_product(left + c * On::size(PARTS), PARTS, right + j * On::size(PARTS), PARTS, parts,
                                to + (int64_t(c) * DEPTH + j) * 4 * TILE);
    }
    static void add_rows(const float *sums, int channels, int j, float *rows, int lead) {
        for (int c = 0; c < 2 * channels; ++c) {
            // Rows of these sums are channels, columns keys.
            const float *from = sums + (int64_t(c / 2) * DEPTH + j / 32) * 4 * TILE + j % 32 / 16 * 2 * TILE + c % 2 * TILE;
            F tile[16];
            for (int i = 0; i < 16; ++i) tile[i] = load(from + i * 16);
            transpose(tile);
            for (int i = 0; i < 16; ++i) {
                float *at = rows + i * lead + c * 16;
                store(at, load(at) + tile[i]);
            }
        }
    }
};

}  // namespace ordinate::ORDINATE_ISA
