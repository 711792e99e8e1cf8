// attend, forward, where there are many queries: tiles of MR rows against blocks of keys packed once.
//
// A row is one query of one head; the heads that share a key head follow each other, so that their rows share tiles.
#include <cstdlib>

#include "parallel.hpp"
#include "sight.hpp"
#include "workspace.hpp"

namespace ordinate::ORDINATE_ISA {
namespace {

constexpr int NK = 256;       // keys a block
constexpr int PANELS = 16;     // tiles of rows that meet a block while it is in the cache
static_assert(NK % NR == 0, "a block is whole panels");

// Keys and values of one key head of one sequence, packed:
// each block has keys as [NK / NR][dim][NR] and values as [value_panels][NK][NR].
struct Packed {
    const Sequence *sequence;
    int kv_head;
    int blocks;
    float *memory;
    Keys *keys;
};

struct Shape {
    int dim, value_panels;
    int64_t key_size() const { return int64_t(NK) * dim; }
    int64_t block_size() const { return key_size() + int64_t(NK) * value_panels * NR; }
};

void pack_block(const Attention &a, const Shape &shape, const Packed &packed, int block, float *room) {
    const Sequence &s = *packed.sequence;
    const int64_t first = int64_t(block) * NK;
    const int n = smaller(NK, s.keys - int(first));
    float *keys = packed.memory + block * shape.block_size();
    float *values = keys + shape.key_size();
    packed.keys[block] = keys_of(s.key_positions, first, n);
    float *rows = room, *turned = room + int64_t(W) * round_up(shape.dim, W);
    const int lead = round_up(shape.dim, W);
    for (int j0 = 0; j0 < round_up(n, NR); j0 += W) {
        for (int j = 0; j < W; ++j) {
            float *row = rows + j * lead;
            const int64_t key = first + j0 + j;
            const int32_t position = j0 + j < n ? s.key_positions[key] : -1;
            if (position < 0) {  // an empty slot may hold anything, NaN too
                for (int d = 0; d < lead; ++d) row[d] = 0;
                continue;
            }
            if (j0 + j + W < n)
                prefetch_row(a.k, key_offset(a, s, a.k, key + W) + packed.kv_head * a.k.stride[2], shape.dim);
            read_row(a.k, key_offset(a, s, a.k, key) + packed.kv_head * a.k.stride[2], shape.dim, row);
            if (a.rotation) turn(row, a.rotation, position, 1, turned);
        }
        float *panel = keys + int64_t(j0 / NR) * shape.dim * NR + j0 % NR;
        for (int d0 = 0; d0 < shape.dim; d0 += W) {
            F tile[W];
            for (int j = 0; j < W; ++j) tile[j] = load(rows + j * lead + d0);
            transpose(tile);
            for (int d = 0; d < W && d0 + d < shape.dim; ++d) store(panel + (d0 + d) * NR, tile[d]);
        }
    }
    for (int j = 0; j < n; ++j) {
        const int64_t key = first + j;
        const bool empty = s.key_positions[key] < 0;
        const int64_t from = key_offset(a, s, a.v, key) + packed.kv_head * a.v.stride[2];
        if (j + W < n) prefetch_row(a.v, key_offset(a, s, a.v, key + W) + packed.kv_head * a.v.stride[2], a.value_dim);
        for (int c = 0; c < shape.value_panels; ++c) {
            float *to = values + (int64_t(c) * NK + j) * NR;
            const int width = empty ? 0 : smaller(NR, a.value_dim - c * NR);
            if (width > 0) read_row(a.v, from + c * NR * a.v.stride[3], width, to);
            for (int d = width; d < NR; ++d) to[d] = 0;
        }
    }
}

// The running softmax of one tile of rows.
struct State {
    float *query;    // [dim][MR]
    float *output;   // [value_panels][MR][NR]
    float top[MR], total[MR];
    Row rows[MR];
    int count;       // rows that exist
    int32_t low, high;
};

// [MR][lead] to [dim][MR]; writes up to W numbers beyond the last.
void turn_over(const float *rows, int lead, int dim, float *to) {
    for (int r0 = 0; r0 < MR; r0 += W)
        for (int d0 = 0; d0 < dim; d0 += W) {
            F tile[W];
            for (int r = 0; r < W; ++r) tile[r] = r0 + r < MR ? load(rows + (r0 + r) * lead + d0) : F{};
            transpose(tile);
            // Lanes beyond MR fall on what is written next.
            for (int d = 0; d < W && d0 + d < dim; ++d) {
                float *at = to + (d0 + d) * MR + r0;
                if (MR - r0 >= W || MR < W) {
                    store(at, tile[d]);
                } else {
                    for (int r = r0; r < MR; ++r) at[r - r0] = tile[d][r - r0];
                }
            }
        }
}

void open_tile(const Attention &a, const Shape &shape, const Packed &packed, const PaddedTables &tables, int64_t first,
               State &state, float *room) {
    const Sequence &s = *packed.sequence;
    const int64_t rows = int64_t(a.group()) * s.queries;
    state.count = int(rows - first < MR ? rows - first : MR);
    const int lead = round_up(shape.dim, W);
    float *turned = room + int64_t(MR) * lead;
    for (int64_t i = first; i < first + state.count; ++i)
        prefetch_row(a.q, query_offset(s, a.q, i % s.queries) + (packed.kv_head * a.group() + i / s.queries) * a.q.stride[2],
                     shape.dim);
    for (int r = 0; r < MR; ++r) {
        float *to = room + int64_t(r) * lead;
        state.top[r] = -INFINITE;
        state.total[r] = 0;
        if (r >= state.count) {
            for (int d = 0; d < lead; d += W) store(to + d, F{});
            state.rows[r] = state.rows[0];
            continue;
        }
        const int head = packed.kv_head * a.group() + int((first + r) / s.queries), query = int((first + r) % s.queries);
        Row &row = state.rows[r] = row_of(a, s, tables, head, query);
        if (r == 0) state.low = state.high = row.position;
        state.low = smaller(state.low, row.position);
        state.high = larger(state.high, row.position);
        read_row(a.q, query_offset(s, a.q, query) + head * a.q.stride[2], shape.dim, to);
        if (a.rotation) turn(to, a.rotation, row.position, 1, turned);
        float scale = a.scale;
        if (a.query_scale)
            scale *= static_cast<const float *>(
                a.query_scale.data)[s.batch * a.query_scale.stride[0] + (s.first_query + query) * a.query_scale.stride[1]];
        for (int d = 0; d < lead; d += W) store(to + d, load(to + d) * scale);
    }
    turn_over(room, lead, shape.dim, state.query);
    for (int64_t i = 0; i < int64_t(shape.value_panels) * MR * NR; ++i) state.output[i] = 0;
}

void meet(const Attention &a, const Shape &shape, const Packed &packed, const PaddedTables &tables, int block,
          State &state, float *scores) {
    const Sequence &s = *packed.sequence;
    const int64_t first = int64_t(block) * NK;
    const Keys &keys = packed.keys[block];
    const Sight seen = sight(a, keys, state.low, state.high);
    if (seen == Sight::none) return;
    int n = smaller(NK, s.keys - int(first));
    if (a.causal && keys.consecutive && state.high - keys.lowest + 1 < n) n = state.high - keys.lowest + 1;
    const float *key_panels = packed.memory + block * shape.block_size();
    const float *value_panels = key_panels + shape.key_size();

    for (int c = 0; c * NR < n; ++c) {
        F acc[MR][C];
        clear(acc);
        multiply<1, MR>(shape.dim, state.query, key_panels + int64_t(c) * shape.dim * NR, acc);
        put(acc, scores + c * NR, NK);
    }
    float decay[MR];
    const int whole = round_up(n, W);
    for (int r = 0; r < MR; ++r) {
        float *x = scores + r * NK;
        if (r >= state.count) {
            decay[r] = 0;
            for (int j = 0; j < whole; j += W) store(x + j, F{});
            continue;
        }
        float top = finish(a, state.rows[r], s, tables, keys, first, n, seen == Sight::some, x);
        top = state.top[r] > top ? state.top[r] : top;
        const float base = top == -INFINITE ? 0 : top;
        decay[r] = state.top[r] == -INFINITE ? 0 : exponential(spread(state.top[r] - base))[0];
        F sum_of = F{};
        for (int j = 0; j < whole; j += W) {
            F p = exponential(load(x + j) - base);
            sum_of += p;
            store(x + j, p);
        }
        state.total[r] = state.total[r] * decay[r] + sum(sum_of);
        state.top[r] = top;
    }
    for (int c = 0; c < shape.value_panels; ++c) {
        float *output = state.output + int64_t(c) * MR * NR;
        F acc[MR][C];
#pragma GCC unroll 16
        for (int r = 0; r < MR; ++r)
#pragma GCC unroll 8
            for (int i = 0; i < C; ++i) acc[r][i] = load(output + r * NR + i * W) * decay[r];
        multiply<NK, 1>(n, scores, value_panels + int64_t(c) * NK * NR, acc);
        put(acc, output, NR);
    }
}

void close_tile(const Attention &a, const Packed &packed, State &state, float *room) {
    const Sequence &s = *packed.sequence;
    for (int r = 0; r < state.count; ++r) {
        const Row &row = state.rows[r];
        float top = state.top[r], total = state.total[r], decay = 1;
        if (a.sink_logits) {
            const float sink = a.sink_logits[row.head];
            const float higher = sink > top ? sink : top;
            decay = top == -INFINITE ? 0 : __builtin_expf(top - higher);
            total = total * decay + (sink == -INFINITE ? 0 : __builtin_expf(sink - higher));
            top = higher;
        }
        const float share = total > 0 || total != total ? decay / total : 0;
        for (int c = 0; c * NR < a.value_dim; ++c)
            for (int i = 0; i < NR; i += W)
                store(room + c * NR + i, load(state.output + (int64_t(c) * MR + r) * NR + i) * share);
        write_row(a.out, query_offset(s, a.out, row.query) + row.head * a.out.stride[2], a.value_dim, room);
        if (a.lse)
            static_cast<float *>(a.lse.data)[s.batch * a.lse.stride[0] + row.head * a.lse.stride[1] +
                                             (s.first_query + row.query) * a.lse.stride[2]] =
                total > 0 || total != total ? top + __builtin_logf(total) : -INFINITE;
    }
}

}  // namespace

void attend_forward(const Attention &a) {
    const Shape shape{a.dim, round_up(a.value_dim, NR) / NR};
    const int width = round_up(larger(a.dim, a.value_dim), NR);
    const int threads = a.threads;
    const int64_t items = a.sequence_count * a.kv_heads;
    PaddedTables tables = padded_tables(a, NK);
    auto blocks_of = [&](int64_t item) { return (a.sequences[item / a.kv_heads].keys + NK - 1) / NK; };
    auto chunks_of = [&](int64_t item) {
        return (int64_t(a.group()) * a.sequences[item / a.kv_heads].queries + MR * PANELS - 1) / (MR * PANELS);
    };
    // What is packed at once: one key head, or as many as fit 2 MiB.
    auto batch_end = [&](int64_t item, int64_t *blocks) {
        const int64_t budget = (2 << 20) / (4 * shape.block_size());
        *blocks = blocks_of(item++);
        for (; item < items && *blocks + blocks_of(item) <= budget; ++item) *blocks += blocks_of(item);
        return item;
    };
    int64_t most_blocks = 0, most_items = 0;
    for (int64_t item = 0; item < items;) {
        int64_t blocks, end = batch_end(item, &blocks);
        most_blocks = blocks > most_blocks ? blocks : most_blocks;
        most_items = end - item > most_items ? end - item : most_items;
        item = end;
    }
    Memory<float> memory(most_blocks * shape.block_size());
    Memory<Keys> keys(most_blocks);
    Memory<Packed> packed(most_items);
    Memory<int64_t> block_ends(most_items), chunk_ends(most_items);
    // A thread's own room.
    const int64_t query_size = int64_t(a.dim) * MR + W, output_size = int64_t(shape.value_panels) * MR * NR;
    const int64_t rows_size = int64_t((W > MR ? W : MR) + 3) * width;
    const int64_t room_size = (PANELS * (query_size + output_size) + MR * NK + rows_size + 15) / 16 * 16;
    Memory<float> rooms(room_size * threads);
    Memory<State> states(int64_t(PANELS) * threads);

    for (int64_t item = 0; item < items;) {
        int64_t blocks, chunks = 0, at = 0;
        const int64_t end = batch_end(item, &blocks), count = end - item;
        for (int64_t i = 0; i < count; ++i) {
            packed[i] = {&a.sequences[(item + i) / a.kv_heads], int((item + i) % a.kv_heads), int(blocks_of(item + i)),
                         memory.at() + at * shape.block_size(), keys.at() + at};
            block_ends[i] = at += blocks_of(item + i);
            chunk_ends[i] = chunks += chunks_of(item + i);
        }
        parallel_for(blocks, threads, [&](int64_t b, int thread) {
            int64_t i = 0;
            while (b >= block_ends[i]) ++i;
            float *room = rooms.at() + thread * room_size + PANELS * (query_size + output_size) + MR * NK;
            pack_block(a, shape, packed[i], int(b - (i ? block_ends[i - 1] : 0)), room);
        });
        // The last rows of a causal sequence are the longest: they go first.
        parallel_for(chunks, threads, [&](int64_t reversed, int thread) {
            const int64_t chunk = chunks - 1 - reversed;
            int64_t i = 0;
            while (chunk >= chunk_ends[i]) ++i;
            const Packed &p = packed[i];
            float *room = rooms.at() + thread * room_size;
            float *scores = room + PANELS * (query_size + output_size), *row = scores + MR * NK;
            State *tiles = states.at() + thread * PANELS;
            const int64_t first = (chunk - (i ? chunk_ends[i - 1] : 0)) * MR * PANELS;
            const int64_t rows = int64_t(a.group()) * p.sequence->queries;
            int used = 0;
            for (; used < PANELS && first + used * MR < rows; ++used) {
                tiles[used].query = room + used * query_size;
                tiles[used].output = room + PANELS * query_size + used * output_size;
                open_tile(a, shape, p, tables, first + used * MR, tiles[used], row);
            }
            for (int b = 0; b < p.blocks; ++b)
                for (int t = 0; t < used; ++t) meet(a, shape, p, tables, b, tiles[t], scores);
            for (int t = 0; t < used; ++t) close_tile(a, p, tiles[t], row);
        });
        item = end;
    }
    free(tables.values);
}

}  // namespace ordinate::ORDINATE_ISA
