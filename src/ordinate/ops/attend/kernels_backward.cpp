// attend, backward: each tile of probabilities is computed again from q, k and the log-sum-exp, and used at once.
//
//     P = exp(logits - lse)        dP = dO V^T        delta = rowsum(dO * O)
//     dV = P^T dO                  dS = P (dP - delta + d lse), times the softcap's slope
//     dQ = scale dS K              dK = dS^T (scale Q)
//
// Source: Dao et al. 2022, arXiv:2205.14135, algorithm 4.
#include "parallel.hpp"
#include "workspace.hpp"

namespace ordinate::ORDINATE_ISA {
namespace {

constexpr int NB = 96;  // rows and keys a tile: a multiple of MR and NR for every instruction set
static_assert(NB % NR == 0 && NB % MR == 0, "a tile is whole panels either way");

struct Shape {
    int dim, value_dim;
    int panels, value_panels;  // of NR columns
    int64_t keys() const { return int64_t(NB) * dim; }
    int64_t key_rows() const { return int64_t(NB) * panels * NR; }
    int64_t values() const { return int64_t(NB) * value_dim; }
    int64_t value_rows() const { return int64_t(NB) * value_panels * NR; }
    int64_t block() const { return keys() + key_rows() + values(); }
    int64_t gradients() const { return key_rows() + value_rows(); }
};

// Rows [count][lead] as panels of columns: [panels][NB][NR]; rows beyond `count` are 0.
void as_panels(const float *rows, int lead, int count, int panels, float *to) {
    for (int c = 0; c < panels; ++c)
        for (int j = 0; j < NB; ++j)
            for (int i = 0; i < NR; i += W)
                store(to + (int64_t(c) * NB + j) * NR + i, j < count ? load(rows + j * lead + c * NR + i) : F{});
}

// Rows [NB][lead] turned over, in groups of `width` rows: [NB / width][dim][width].
template <int WIDTH>
void turned_over(const float *rows, int lead, int count, int dim, float *to) {
    for (int g = 0; g < NB; g += WIDTH)
        for (int r0 = 0; r0 < WIDTH; r0 += W)
            for (int d0 = 0; d0 < dim; d0 += W) {
                F tile[W];
                for (int r = 0; r < W; ++r)
                    tile[r] = r0 + r < WIDTH && g + r0 + r < count ? load(rows + (g + r0 + r) * lead + d0) : F{};
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

// What one thread works in.
struct Room {
    float *rows;                             // [NB][lead]
    float *query, *query_rows;               // [NB / MR][dim][MR], [panels][NB][NR]
    float *upstream, *upstream_rows;         // dO likewise
    float *grad_query;                       // [panels][NB][NR]
    float *scores, *slopes, *capped;         // P, dP then dS, the softcap's values: [NB][NB]
    float *gradients;                        // dK and dV of every block of the item
    float *grad_table, *grad_slopes, *grad_sinks;
    float *turned;
};

struct Item {
    const Sequence *sequence;
    int kv_head, blocks;
    float *packed;  // [blocks][shape.block()]
    Keys *keys;
};

void pack(const Attention &a, const Shape &shape, const Item &item, int block, const Room &room, int lead) {
    const Sequence &s = *item.sequence;
    const int64_t first = int64_t(block) * NB;
    const int n = smaller(NB, s.keys - int(first));
    float *keys = item.packed + block * shape.block(), *key_rows = keys + shape.keys(), *values = key_rows + shape.key_rows();
    item.keys[block] = keys_of(s.key_positions, first, n);
    for (int pass = 0; pass < 2; ++pass) {
        const Tensor &t = pass ? a.v : a.k;
        const int dim = pass ? shape.value_dim : shape.dim;
        for (int j = 0; j < n; ++j) {
            float *row = room.rows + j * lead;
            const int32_t position = s.key_positions[first + j];
            for (int d = dim / W * W; d < lead; d += W) store(row + d, F{});
            if (position < 0) {
                for (int d = 0; d < lead; d += W) store(row + d, F{});
                continue;
            }
            if (j + 8 < n) prefetch_row(t, key_offset(a, s, t, first + j + 8) + item.kv_head * t.stride[2], dim);
            read_row(t, key_offset(a, s, t, first + j) + item.kv_head * t.stride[2], dim, row);
            if (!pass && a.rotation) turn(row, a.rotation, position, 1, room.turned);
        }
        turned_over<NR>(room.rows, lead, n, dim, pass ? values : keys);
        if (!pass) as_panels(room.rows, lead, n, shape.panels, key_rows);
    }
}

float scale_of(const Attention &a, const Sequence &s, int query) {
    if (!a.query_scale) return a.scale;
    return a.scale * static_cast<const float *>(a.query_scale.data)[s.batch * a.query_scale.stride[0] +
                                                                    (s.first_query + query) * a.query_scale.stride[1]];
}

// One tile of queries of one head against every block of keys.
void descend(const Attention &a, const Shape &shape, const PaddedTables &tables, const Item &item, int head, int first,
             const Room &room, int lead) {
    const Sequence &s = *item.sequence;
    const int count = smaller(NB, s.queries - first);
    Row rows[NB];
    float lse[NB], delta[NB];
    int32_t low = 0, high = 0;
    for (int r = 0; r < count; ++r) {
        rows[r] = row_of(a, s, tables, head, first + r);
        low = r == 0 || rows[r].position < low ? rows[r].position : low;
        high = r == 0 || rows[r].position > high ? rows[r].position : high;
        lse[r] = static_cast<const float *>(a.lse.data)[s.batch * a.lse.stride[0] + head * a.lse.stride[1] +
                                                        (s.first_query + first + r) * a.lse.stride[2]];
        // delta, with dO and O in the room of one row each.
        float *upstream = room.rows + r * lead, *output = room.turned;
        for (int d = shape.value_dim / W * W; d < lead; d += W) store(upstream + d, F{}), store(output + d, F{});
        read_row(a.grad_out, query_offset(s, a.grad_out, first + r) + head * a.grad_out.stride[2], shape.value_dim, upstream);
        read_row(a.out, query_offset(s, a.out, first + r) + head * a.out.stride[2], shape.value_dim, output);
        F product = F{};
        for (int d = 0; d < shape.value_dim; d += W) product += load(upstream + d) * load(output + d);
        delta[r] = sum(product);
        if (a.grad_lse)
            delta[r] -= static_cast<const float *>(a.grad_lse.data)[s.batch * a.grad_lse.stride[0] +
                                                                    head * a.grad_lse.stride[1] +
                                                                    (s.first_query + first + r) * a.grad_lse.stride[2]];
        if (a.grad_sinks && lse[r] != -INFINITE) room.grad_sinks[head] -= __builtin_expf(a.sink_logits[head] - lse[r]) * delta[r];
    }
    turned_over<MR>(room.rows, lead, count, shape.value_dim, room.upstream);
    as_panels(room.rows, lead, count, shape.value_panels, room.upstream_rows);
    for (int r = 0; r < count; ++r) {
        float *row = room.rows + r * lead;
        for (int d = shape.dim / W * W; d < lead; d += W) store(row + d, F{});
        read_row(a.q, query_offset(s, a.q, first + r) + head * a.q.stride[2], shape.dim, row);
        if (a.rotation) turn(row, a.rotation, rows[r].position, 1, room.turned);
        const float scale = scale_of(a, s, first + r);
        for (int d = 0; d < lead; d += W) store(row + d, load(row + d) * scale);
    }
    turned_over<MR>(room.rows, lead, count, shape.dim, room.query);
    as_panels(room.rows, lead, count, shape.panels, room.query_rows);
    for (int64_t i = 0; i < shape.key_rows(); i += W) store(room.grad_query + i, F{});

    for (int b = 0; b < item.blocks; ++b) {
        const Keys &keys = item.keys[b];
        const Sight seen = sight(a, keys, low, high);
        if (seen == Sight::none) continue;
        const int64_t from = int64_t(b) * NB;
        const int n = smaller(NB, s.keys - int(from));
        const float *key_panels = item.packed + b * shape.block(), *key_rows = key_panels + shape.keys(),
                    *value_panels = key_rows + shape.key_rows();
        for (int r = 0; r < count; r += MR)
            for (int c = 0; c * NR < n; ++c) {
                F acc[MR][C];
                clear(acc);
                multiply<1, MR>(shape.dim, room.query + int64_t(r) * shape.dim, key_panels + int64_t(c) * shape.dim * NR, acc);
                put(acc, room.scores + r * NB + c * NR, NB);
                clear(acc);
                multiply<1, MR>(shape.value_dim, room.upstream + int64_t(r) * shape.value_dim,
                                value_panels + int64_t(c) * shape.value_dim * NR, acc);
                put(acc, room.slopes + r * NB + c * NR, NB);
            }
        const int padded = round_up(count, MR), whole = round_up(n, W);
        for (int r = 0; r < padded; ++r) {
            float *p = room.scores + r * NB, *g = room.slopes + r * NB;
            if (r >= count || lse[r] == -INFINITE) {
                for (int j = 0; j < NB; j += W) store(p + j, F{}), store(g + j, F{});
                continue;
            }
            finish(a, rows[r], s, tables, keys, from, n, seen == Sight::some, 1, W, p, room.capped);
            for (int j = 0; j < whole; j += W) {
                F probability = exponential(load(p + j) - lse[r]);
                store(p + j, probability);
                store(g + j, probability * (load(g + j) - delta[r]));
            }
            for (int j = n; j < NB; ++j) p[j] = g[j] = 0;
            if (a.grad_table) {
                float *table = room.grad_table + head * tables.width;
                if (keys.consecutive) {
                    float *at = table + tables.start(keys.lowest - rows[r].position);
                    for (int j = 0; j < whole; j += W) store(at + j, load(at + j) + load(g + j));
                } else {
                    for (int j = 0; j < n; ++j) table[tables.start(s.key_positions[from + j] - rows[r].position)] += g[j];
                }
            }
            if (a.grad_slopes) {
                float total = 0;
                for (int j = 0; j < n; ++j) {
                    const int32_t d = s.key_positions[from + j] - rows[r].position;
                    total -= g[j] * float(d < 0 ? -d : d);
                }
                room.grad_slopes[(a.slopes.stride[0] ? s.index * a.heads : 0) + head] += total;
            }
            if (a.softcap > 0) {
                const float inverse = 1 / a.softcap;
                for (int j = 0; j < whole; j += W) {
                    F t = load(room.capped + j) * inverse;
                    store(g + j, load(g + j) * (1.0f - t * t));
                }
            }
        }
        float *grad_keys = room.gradients + b * shape.gradients(), *grad_values = grad_keys + shape.key_rows();
        auto add = [&](const float *weights, const float *panels, int panel_count, float *to) {
            for (int c = 0; c < panel_count; ++c)
                for (int j = 0; j < n; j += MR) {
                    float *at = to + (int64_t(c) * NB + j) * NR;
                    F acc[MR][C];
#pragma GCC unroll 16
                    for (int r = 0; r < MR; ++r)
#pragma GCC unroll 8
                        for (int i = 0; i < C; ++i) acc[r][i] = load(at + r * NR + i * W);
                    multiply<1, NB>(count, weights + j, panels + int64_t(c) * NB * NR, acc);
                    put(acc, at, NR);
                }
        };
        add(room.scores, room.upstream_rows, shape.value_panels, grad_values);
        add(room.slopes, room.query_rows, shape.panels, grad_keys);
        for (int c = 0; c < shape.panels; ++c)
            for (int r = 0; r < count; r += MR) {
                float *at = room.grad_query + (int64_t(c) * NB + r) * NR;
                F acc[MR][C];
#pragma GCC unroll 16
                for (int i = 0; i < MR; ++i)
#pragma GCC unroll 8
                    for (int k = 0; k < C; ++k) acc[i][k] = load(at + i * NR + k * W);
                multiply<NB, 1>(n, room.slopes + r * NB, key_rows + int64_t(c) * NB * NR, acc);
                put(acc, at, NR);
            }
    }
    for (int r = 0; r < count; ++r) {
        float *row = room.rows;
        const float scale = scale_of(a, s, first + r);
        for (int c = 0; c < shape.panels; ++c)
            for (int i = 0; i < NR; i += W)
                store(row + c * NR + i, load(room.grad_query + (int64_t(c) * NB + r) * NR + i) * scale);
        if (a.rotation) turn(row, a.rotation, rows[r].position, -1, room.turned);
        write_row(a.grad_q, query_offset(s, a.grad_q, first + r) + head * a.grad_q.stride[2], shape.dim, row);
    }
}

// dK and dV of one block: the sum of every thread's, turned back.
void write_keys(const Attention &a, const Shape &shape, const Item &item, int block, float *const *gradients, int count,
                const Room &room) {
    const Sequence &s = *item.sequence;
    const int64_t first = int64_t(block) * NB;
    const int n = smaller(NB, s.keys - int(first));
    for (int j = 0; j < n; ++j) {
        const int32_t position = s.key_positions[first + j];
        for (int pass = 0; pass < 2; ++pass) {
            float *row = room.rows;
            const int panels = pass ? shape.value_panels : shape.panels;
            for (int c = 0; c < panels; ++c)
                for (int i = 0; i < NR; i += W) {
                    F total = F{};
                    for (int t = 0; t < count; ++t)
                        total += load(gradients[t] + block * shape.gradients() + (pass ? shape.key_rows() : 0) +
                                      (int64_t(c) * NB + j) * NR + i);
                    store(row + c * NR + i, position < 0 ? F{} : total);
                }
            if (!pass && a.rotation && position >= 0) turn(row, a.rotation, position, -1, room.turned);
            const Tensor &t = pass ? a.grad_v : a.grad_k;
            write_row(t, key_offset(a, s, t, first + j) + item.kv_head * t.stride[2], pass ? shape.value_dim : shape.dim, row);
        }
    }
}

}  // namespace

void attend_backward(const Attention &a) {
    const Shape shape{a.dim, a.value_dim, round_up(a.dim, NR) / NR, round_up(a.value_dim, NR) / NR};
    const int lead = round_up(larger(a.dim, a.value_dim), NR) + W;
    PaddedTables tables = padded_tables(a, NB);
    int most_blocks = 0;
    for (int64_t i = 0; i < a.sequence_count; ++i) most_blocks = larger(most_blocks, (a.sequences[i].keys + NB - 1) / NB);
    const int64_t items = a.sequence_count * a.kv_heads;

    // Either each thread takes whole items, or all share one at a time: whichever fits the caches.
    const int64_t packed_size = most_blocks * shape.block(), gradient_size = most_blocks * shape.gradients();
    const bool apart = a.threads == 1 || (items >= 2 * a.threads && (packed_size + gradient_size) * 4 * a.threads <= (8 << 20));
    const int packs = apart ? a.threads : 1;

    const int64_t table_size = a.grad_table ? a.heads * tables.width + W : 0;
    const int64_t slope_rows = a.grad_slopes ? (a.slopes.stride[0] ? a.slopes.shape[0] : 1) * int64_t(a.heads) : 0;
    const int64_t sinks = a.grad_sinks ? a.heads : 0;
    const int64_t sizes[] = {int64_t(NB) * lead, int64_t(NB) * shape.dim + W, shape.key_rows(),
                             int64_t(NB) * shape.value_dim + W, shape.value_rows(), shape.key_rows(),
                             int64_t(NB) * NB, int64_t(NB) * NB, NB, gradient_size, table_size, slope_rows, sinks,
                             int64_t(2) * lead};
    int64_t room_size = 0;
    for (int64_t size : sizes) room_size += (size + 15) / 16 * 16;
    Memory<float> memory(room_size * a.threads), packed(packed_size * packs);
    Memory<Keys> keys(int64_t(most_blocks) * packs);
    Memory<Room> rooms(a.threads);
    Memory<float *> gradients(a.threads);
    for (int t = 0; t < a.threads; ++t) {
        float *at = memory.at() + t * room_size;
        Room &room = rooms[t];
        float **fields[] = {&room.rows, &room.query, &room.query_rows, &room.upstream, &room.upstream_rows,
                            &room.grad_query, &room.scores, &room.slopes, &room.capped, &room.gradients,
                            &room.grad_table, &room.grad_slopes, &room.grad_sinks, &room.turned};
        for (int i = 0; i < 14; ++i) {
            *fields[i] = at;
            at += (sizes[i] + 15) / 16 * 16;
        }
        gradients[t] = room.gradients;
        for (int64_t i = 0; i < table_size; ++i) room.grad_table[i] = 0;
        for (int64_t i = 0; i < slope_rows; ++i) room.grad_slopes[i] = 0;
        for (int64_t i = 0; i < sinks; ++i) room.grad_sinks[i] = 0;
    }
    auto run = [&](int64_t i, int pack_index, int threads, int thread) {
        const Sequence &s = a.sequences[i / a.kv_heads];
        const Item item{&s, int(i % a.kv_heads), (s.keys + NB - 1) / NB, packed.at() + pack_index * packed_size,
                        keys.at() + int64_t(pack_index) * most_blocks};
        const int64_t tiles = (s.queries + NB - 1) / NB, size = item.blocks * shape.gradients();
        parallel_for(item.blocks, threads, [&](int64_t b, int t) { pack(a, shape, item, int(b), rooms[threads > 1 ? t : thread], lead); });
        parallel_for(threads, threads, [&](int64_t t, int) {
            float *to = gradients[threads > 1 ? t : thread];
            for (int64_t j = 0; j < size; j += W) store(to + j, F{});
        });
        parallel_for(tiles * a.group(), threads, [&](int64_t c, int t) {
            const int64_t tile = tiles - 1 - c / a.group();
            descend(a, shape, tables, item, item.kv_head * a.group() + int(c % a.group()), int(tile * NB),
                    rooms[threads > 1 ? t : thread], lead);
        });
        parallel_for(item.blocks, threads, [&](int64_t b, int t) {
            write_keys(a, shape, item, int(b), threads > 1 ? gradients.at() : gradients.at() + thread, threads,
                       rooms[threads > 1 ? t : thread]);
        });
    };
    if (apart) {
        parallel_for(items, a.threads, [&](int64_t i, int thread) { run(i, thread, 1, thread); });
    } else {
        for (int64_t i = 0; i < items; ++i) run(i, 0, a.threads, 0);
    }
    for (int t = 0; t < a.threads; ++t) {
        const Room &room = rooms[t];
        if (a.grad_table)
            for (int h = 0; h < a.heads; ++h)
                for (int64_t i = 0; i < tables.width; ++i) {
                    const int64_t j = i - tables.pad, last = 2 * int64_t(a.reach);
                    a.grad_table[h * (last + 1) + (j < 0 ? 0 : j > last ? last : j)] += room.grad_table[h * tables.width + i];
                }
        for (int64_t i = 0; i < slope_rows; ++i) a.grad_slopes[i] += room.grad_slopes[i];
        for (int64_t i = 0; i < sinks; ++i) a.grad_sinks[i] += room.grad_sinks[i];
    }
    free(tables.values);
}

}  // namespace ordinate::ORDINATE_ISA
