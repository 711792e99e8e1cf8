// The five products of a tile of attention's gradient in float32 vectors.
//
// `kernels_backward.cpp` is written over these, or over those of the matrix registers (gradient_product_tiles.hpp).
#pragma once

#include "tile.hpp"

namespace ordinate::ORDINATE_ISA {

struct VectorGradients {
    static constexpr int BLOCK = 96;  // keys a block, and rows a tile: whole panels either way, in every instruction set
    static constexpr int ROWS = 96;   // rows whose logits are held at once
    static constexpr int PARTS = 1;   // of which a tile has so many
    static constexpr int LEAD = BLOCK;
    static constexpr int STEP = W;
    static_assert(BLOCK % NR == 0 && BLOCK % MR == 0, "a tile is whole panels either way");
    struct Scope {
        Scope() {}
    };

    int dim, value_dim, panels, value_panels;  // of NR columns
    VectorGradients(int dim, int value_dim)
        : dim(dim), value_dim(value_dim), panels(round_up(dim, NR) / NR), value_panels(round_up(value_dim, NR) / NR) {}

    // A block: keys and values as [BLOCK / NR][dim][NR], keys as [panels][BLOCK][NR] too.
    int64_t keys_size() const { return int64_t(BLOCK) * dim; }
    int64_t key_rows_size() const { return int64_t(BLOCK) * panels * NR; }
    int64_t value_rows_size() const { return int64_t(BLOCK) * value_panels * NR; }
    int64_t block_size() const { return keys_size() + key_rows_size() + int64_t(BLOCK) * value_dim; }
    int64_t gradients_size() const { return key_rows_size() + value_rows_size(); }
    // A tile: q and dO as [BLOCK / MR][dim][MR] and as panels, dQ as panels, P and dS.
    int64_t query_size() const { return int64_t(BLOCK) * dim + W; }
    int64_t upstream_size() const { return int64_t(BLOCK) * value_dim + W; }
    int64_t room_size() const {
        return query_size() + key_rows_size() + upstream_size() + value_rows_size() + key_rows_size() + 2 * int64_t(BLOCK) * LEAD;
    }
    int row_size() const { return round_up(larger(dim, value_dim), NR) + W; }

    struct Room {
        float *query, *query_rows, *upstream, *upstream_rows, *grad_query, *scores, *slopes;
    };
    Room room_at(float *at) const {
        Room room;
        room.query = at;
        room.query_rows = room.query + query_size();
        room.upstream = room.query_rows + key_rows_size();
        room.upstream_rows = room.upstream + upstream_size();
        room.grad_query = room.upstream_rows + value_rows_size();
        room.scores = room.grad_query + key_rows_size();
        room.slopes = room.scores + int64_t(BLOCK) * LEAD;
        return room;
    }

    // BLOCK rows, 0 where there is no key.
    bool pack_keys(const float *rows, int lead, float *block) const {
        turned_over<NR>(rows, lead, dim, block);
        as_panels(rows, lead, panels, block + keys_size());
        return true;
    }
    bool pack_values(const float *rows, int lead, float *block) const {
        turned_over<NR>(rows, lead, value_dim, block + keys_size() + key_rows_size());
        return true;
    }
    bool pack_queries(const float *rows, int lead, const Room &room) const {
        turned_over<MR>(rows, lead, dim, room.query);
        as_panels(rows, lead, panels, room.query_rows);
        for (int64_t i = 0; i < key_rows_size(); i += W) store(room.grad_query + i, F{});
        return true;
    }
    bool pack_upstream(const float *rows, int lead, const Room &room) const {
        turned_over<MR>(rows, lead, value_dim, room.upstream);
        as_panels(rows, lead, value_panels, room.upstream_rows);
        return true;
    }

    // q k and dO v of `count` rows and n keys.
    INLINE void score(const float *block, int, int count, int n, const Room &room) const {
        const float *values = block + keys_size() + key_rows_size();
        for (int r = 0; r < count; r += MR)
            for (int c = 0; c * NR < n; ++c) {
                F acc[MR][C];
                clear(acc);
                multiply<1, MR>(dim, room.query + int64_t(r) * dim, block + int64_t(c) * dim * NR, acc);
                put(acc, room.scores + r * LEAD + c * NR, LEAD);
                clear(acc);
                multiply<1, MR>(value_dim, room.upstream + int64_t(r) * value_dim, values + int64_t(c) * value_dim * NR, acc);
                put(acc, room.slopes + r * LEAD + c * NR, LEAD);
            }
    }
    // P and dS of a part are made: 0 beyond the last row and key, to whole panels.
    INLINE void keep(int, int, const Room &) const {}

    // dV += P^T dO, dK += dS^T Q, dQ += dS K
    INLINE void add(const float *block, int count, int n, const Room &room, float *gradients) const {
        add_turned(room.scores, room.upstream_rows, value_panels, count, n, gradients + key_rows_size());
        add_turned(room.slopes, room.query_rows, panels, count, n, gradients);
        const float *key_rows = block + keys_size();
        for (int c = 0; c < panels; ++c)
            for (int r = 0; r < count; r += MR) {
                float *at = room.grad_query + (int64_t(c) * BLOCK + r) * NR;
                F acc[MR][C];
                clear(acc);
                multiply<LEAD, 1>(n, room.slopes + r * LEAD, key_rows + int64_t(c) * BLOCK * NR, acc);
                add_to(acc, at);
            }
    }
    void read_query(const Room &room, int r, float *row) const { read(room.grad_query, panels, r, row); }
    // W rows of dK or dV from key j on are added to.
    void add_keys(const float *gradients, int j, float *rows, int lead) const { add_rows(gradients, panels, j, rows, lead); }
    void add_values(const float *gradients, int j, float *rows, int lead) const {
        add_rows(gradients + key_rows_size(), value_panels, j, rows, lead);
    }

private:
    // Added to what was there, not begun with it: one chain of sums over thousands of rows would lose digits.
    static INLINE void add_to(F (&acc)[MR][C], float *p) {
#pragma GCC unroll 16
        for (int r = 0; r < MR; ++r)
#pragma GCC unroll 8
            for (int i = 0; i < C; ++i) acc[r][i] += load(p + r * NR + i * W);
        put(acc, p, NR);
    }
    INLINE void add_turned(const float *weights, const float *rows, int count_panels, int count, int n, float *to) const {
        for (int c = 0; c < count_panels; ++c)
            for (int j = 0; j < n; j += MR) {
                float *at = to + (int64_t(c) * BLOCK + j) * NR;
                F acc[MR][C];
                clear(acc);
                multiply<1, LEAD>(count, weights + j, rows + int64_t(c) * BLOCK * NR, acc);
                add_to(acc, at);
            }
    }
    static void read(const float *panels_of, int count, int r, float *row) {
        for (int c = 0; c < count; ++c)
            for (int i = 0; i < NR; i += W) store(row + c * NR + i, load(panels_of + (int64_t(c) * BLOCK + r) * NR + i));
    }
    static void add_rows(const float *panels_of, int count, int j, float *rows, int lead) {
        for (int k = 0; k < W; ++k)
            for (int c = 0; c < count; ++c)
                for (int i = 0; i < NR; i += W) {
                    float *at = rows + k * lead + c * NR + i;
                    store(at, load(at) + load(panels_of + (int64_t(c) * BLOCK + j + k) * NR + i));
                }
    }
    // Rows [BLOCK][lead] as panels of columns: [count][BLOCK][NR].
    static void as_panels(const float *rows, int lead, int count, float *to) {
        for (int c = 0; c < count; ++c)
            for (int j = 0; j < BLOCK; ++j)
                for (int i = 0; i < NR; i += W)
                    store(to + (int64_t(c) * BLOCK + j) * NR + i, load(rows + j * lead + c * NR + i));
    }
    // Rows [BLOCK][lead] turned over, in groups of `width` rows: [BLOCK / width][dim][width].
    template <int WIDTH>
    static void turned_over(const float *rows, int lead, int dim, float *to) {
        for (int g = 0; g < BLOCK; g += WIDTH)
            for (int r0 = 0; r0 < WIDTH; r0 += W)
                for (int d0 = 0; d0 < dim; d0 += W) {
                    F tile[W];
                    for (int r = 0; r < W; ++r) tile[r] = r0 + r < WIDTH ? load(rows + (g + r0 + r) * lead + d0) : F{};
                    transpose(tile);
                    for (int d = 0; d < W && d0 + d < dim; ++d) {
                        float *at = to + (int64_t(g) * dim) + (d0 + d) * WIDTH + r0;
                        if (WIDTH - r0 >= W) {
                            store(at, tile[d]);
                        } else {
                            for (int r = r0; r < WIDTH; ++r) at[r - r0] = tile[d][r - r0];
                        }
                    }
                }
    }
};

}  // namespace ordinate::ORDINATE_ISA
