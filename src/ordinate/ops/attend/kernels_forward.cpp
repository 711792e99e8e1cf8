// attend, forward, where there are many queries: tiles of rows against blocks of keys packed once.
//
// A row is one query of one head; the heads that share a key head follow each other, so that their rows share tiles.
#include <cstdlib>

#include "parallel.hpp"
#include "product.hpp"
#if defined(ORDINATE_TILES)
#include "product_tiles.hpp"
#endif
#include "sight.hpp"
#include "workspace.hpp"

namespace ordinate::ORDINATE_ISA {
namespace {

// Keys and values of one key head of one sequence, packed block by block.
struct Packed {
    const Sequence *sequence;
    int kv_head;
    int blocks;
    float *memory;
    Keys *keys;
};

// The running softmax of one tile of rows.
template <class Product>
struct State {
    float *query, *output;
    static constexpr int LANES = (Product::ROWS + W - 1) / W * W;
    float top[LANES], total[LANES], scale[LANES];
    Row rows[Product::ROWS];
    int count;  // rows that exist
    int32_t low, high;
};

template <class Product>
struct Forward {
    static constexpr int ROWS = Product::ROWS, BLOCK = Product::BLOCK, TILES = Product::TILES;
    const Attention &a;
    const Product product;
    const PaddedTables tables;

    explicit Forward(const Attention &a) : a(a), product(a.dim, a.value_dim), tables(padded_tables(a, BLOCK)) {}
    Forward(const Forward &) = delete;
    ~Forward() { free(tables.values); }

    int64_t block_size() const { return product.keys_size() + product.values_size(); }
    int64_t row_room() const { return int64_t((Product::STEP > ROWS ? Product::STEP : ROWS) + 2) * product.row_size(); }

    bool pack_block(const Packed &packed, int block, float *room) const {
        const Sequence &s = *packed.sequence;
        const int64_t first = int64_t(block) * BLOCK;
        const int n = smaller(BLOCK, s.keys - int(first)), lead = product.row_size();
        float *keys = packed.memory + block * block_size();
        float *values = keys + product.keys_size();
        packed.keys[block] = keys_of(s.key_positions, first, n);
        float *rows = room, *turned = room + int64_t(W) * lead;
        bool held = true;
        // An empty slot may hold anything, NaN too: its row is 0, as are those that make whole steps.
        auto read = [&](const Tensor &t, int j, int dim, float *row) {
            for (int d = dim / W * W; d < lead; d += W) store(row + d, F{});
            const int64_t key = first + j;
            if (j >= n || s.key_positions[key] < 0) {
                for (int d = 0; d < lead; d += W) store(row + d, F{});
                return false;
            }
            if (j + W < n) prefetch_row(t, key_offset(a, s, t, key + W) + packed.kv_head * t.stride[2], dim);
            read_row(t, key_offset(a, s, t, key) + packed.kv_head * t.stride[2], dim, row);
            return true;
        };
        for (int j0 = 0; j0 < round_up(n, NR > Product::STEP ? NR : Product::STEP); j0 += W) {
            for (int j = 0; j < W; ++j)
                if (read(a.k, j0 + j, a.dim, rows + j * lead) && a.rotation)
                    turn(rows + j * lead, a.rotation, s.key_positions[first + j0 + j], 1, turned);
            held &= product.pack_keys(rows, lead, j0, keys);
        }
        for (int j0 = 0; j0 < n; j0 += Product::STEP) {
            for (int j = 0; j < Product::STEP; ++j) read(a.v, j0 + j, a.value_dim, rows + j * lead);
            held &= product.pack_values(rows, lead, j0, values);
        }
        return held;
    }

    bool open_tile(const Packed &packed, int64_t first, State<Product> &state, float *room) const {
        const Sequence &s = *packed.sequence;
        const int64_t rows = int64_t(a.group()) * s.queries;
        state.count = int(rows - first < ROWS ? rows - first : ROWS);
        const int lead = product.row_size();
        float *turned = room + int64_t(ROWS) * lead;
        const int first_head = packed.kv_head * a.group() + int(first / s.queries), first_query = int(first % s.queries);
        auto each = [&](auto &&visit) {
            for (int r = 0, head = first_head, query = first_query; r < state.count; ++r) {
                visit(r, head, query);
                if (++query == s.queries) query = 0, ++head;
            }
        };
        each([&](int, int head, int query) { prefetch_row(a.q, query_offset(s, a.q, query) + head * a.q.stride[2], a.dim); });
        for (int r = 0; r < State<Product>::LANES; ++r) {
            state.top[r] = -INFINITE;
            state.total[r] = 0;
            state.scale[r] = 1;
        }
        for (int r = state.count; r < ROWS; ++r)
            for (int d = 0; d < lead; d += W) store(room + int64_t(r) * lead + d, F{});
        each([&](int r, int head, int query) {
            float *to = room + int64_t(r) * lead;
            Row &row = state.rows[r] = row_of(a, s, tables, head, query);
            if (r == 0) state.low = state.high = row.position;
            state.low = smaller(state.low, row.position);
            state.high = larger(state.high, row.position);
            for (int d = a.dim / W * W; d < lead; d += W) store(to + d, F{});
            read_row(a.q, query_offset(s, a.q, query) + head * a.q.stride[2], a.dim, to);
            if (a.rotation) turn(to, a.rotation, row.position, 1, turned);
            const float scale = scale_of(a, s, query);
            if (!Product::SCALED) {
                state.scale[r] = scale;
            } else {
                for (int d = 0; d < lead; d += W) store(to + d, load(to + d) * scale);
            }
        });
        for (int64_t i = 0; i < product.output_size(); i += W) store(state.output + i, F{});
        return product.pack_queries(room, lead, state.query);
    }

    // Rows that have met a logit already, and see all of a block: their weights at once, below the largest logit so far.
    // Returns false where one is exceeded by so much that weights would be too large; then nothing has changed.
    INLINE bool meet_at_once(State<Product> &state, int r0, int count, const Keys &keys, int n, float *room) const {
        constexpr float MOST = 10;  // powers of 2
        const F old = load(state.top + r0);
        for (int r = 0; r < count; ++r)
            if (!product.fits(old[r])) return false;
        F totals[W], most[W];
        for (int r = 0; r < W; ++r) {
            totals[r] = F{}, most[r] = spread(-INFINITE);
            if (r >= count) continue;
            const Row &row = state.rows[r0 + r];
            const float *table = row.table ? row.table + tables.start(keys.lowest - row.position) : nullptr;
            const float nearest = float(keys.lowest - row.position), slope = row.slope * LOG2_E;
            auto weigh = [&](auto &&term) {
                totals[r] = product.weigh_at_once(r0 + r, n, state.scale[r0 + r], old[r], term, most[r], room);
            };
            // Of the past, distances grow by one from key to key: so does this ramp, exactly enough
            // for 16 bits unless the distance itself is large.
            F ramp = slope * (iota() + nearest);
            const F step = spread(slope * W);
            const bool past = keys.highest <= row.position && nearest > -65536.0f;
            auto from_slope = [&](F y, int j) {
                if (!past) return y - slope * magnitude(iota() + (nearest + float(j)));
                y += ramp;
                ramp += step;
                return y;
            };
            auto from_table = [&](F y, int j) { return y + load(table + j) * LOG2_E; };
            if (table && a.slopes)
                weigh([&](F y, int j) { return from_slope(from_table(y, j), j); });
            else if (table)
                weigh(from_table);
            else if (a.slopes)
                weigh(from_slope);
            else
                weigh([](F y, int) { return y; });
        }
        if (!(largest(largest_of_each(most)) <= MOST)) return false;
        for (int r = count; r < smaller(W, ROWS - r0); ++r) product.weigh_nothing(r0 + r, n, room);
        store(state.total + r0, load(state.total + r0) + sums(totals));
        return true;
    }

    void meet(const Packed &packed, int block, State<Product> &state, float *room) const {
        const Sequence &s = *packed.sequence;
        const int64_t first = int64_t(block) * BLOCK;
        const Keys &keys = packed.keys[block];
        const Sight seen = sight(a, keys, state.low, state.high);
        if (seen == Sight::none) return;
        int n = smaller(BLOCK, s.keys - int(first));
        if (a.causal && keys.consecutive && state.high - keys.lowest + 1 < n) n = state.high - keys.lowest + 1;
        const float *packed_keys = packed.memory + block * block_size();
        product.score(state.query, packed_keys, n, room);

        float decay[State<Product>::LANES];
        const int whole = round_up(n, Product::STEP);
        const bool scaled_later = without_terms(a);
        const bool at_once = Product::AT_ONCE && seen == Sight::all && keys.consecutive && a.softcap <= 0 && !a.bias && n == whole;
        for (int r0 = 0; r0 < ROWS; r0 += W) {
            const int count = larger(0, smaller(W, state.count - r0));
            if constexpr (Product::AT_ONCE)
                if (at_once && meet_at_once(state, r0, count, keys, n, room)) {
                    store(decay + r0, spread(1.0f));
                    continue;
                }
            F pieces[W], scale = load(state.scale + r0);
            for (int r = 0; r < W; ++r) {
                pieces[r] = spread(-INFINITE);
                if (r >= count) continue;
                float *x = room + (r0 + r) * Product::LEAD;
                if (!(scale[r] > 0)) {  // what is hidden must stay hidden
                    for (int j = 0; j < whole; j += W) store(x + j, load(x + j) * scale[r]);
                    scale[r] = 1;
                }
                pieces[r] = finish(a, state.rows[r0 + r], s, tables, keys, first, n, seen == Sight::some, scale[r],
                                   Product::STEP, x);
            }
            if (!scaled_later) scale = spread(1.0f);
            const F old = load(state.top + r0);
            const F top = maximum(old, largest_of_each(pieces) * scale);
            const F base = top == -INFINITE ? F{} : top;
            const F shrunk = old == -INFINITE ? spread(1.0f) : exponential(old - base);  // of nothing, nothing is left
            for (int r = 0; r < W; ++r) {
                pieces[r] = F{};
                if (r < count) {
                    pieces[r] = product.weigh(r0 + r, whole, scale[r], base[r], room);
                } else if (r0 + r < ROWS) {
                    product.weigh_nothing(r0 + r, whole, room);
                }
            }
            store(state.total + r0, load(state.total + r0) * shrunk + sums(pieces));
            store(state.top + r0, top);
            store(decay + r0, shrunk);
        }
        product.accumulate(packed_keys + product.keys_size(), whole, decay, room, state.output);
    }

    void close_tile(const Packed &packed, State<Product> &state, float *room) const {
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
            product.read_output(state.output, r, total > 0 || total != total ? decay / total : 0, room);
            write_row(a.out, query_offset(s, a.out, row.query) + row.head * a.out.stride[2], a.value_dim, room);
            if (a.lse)
                static_cast<float *>(a.lse.data)[s.batch * a.lse.stride[0] + row.head * a.lse.stride[1] +
                                                 (s.first_query + row.query) * a.lse.stride[2]] =
                    total > 0 || total != total ? top + __builtin_logf(total) : -INFINITE;
        }
    }

    bool run() const;
};

// False where the product could not hold a number: what was written is then not the answer.
template <class Product>
bool Forward<Product>::run() const {
    const int threads = a.threads;
    const int64_t items = a.sequence_count * a.kv_heads;
    auto blocks_of = [&](int64_t item) { return (a.sequences[item / a.kv_heads].keys + BLOCK - 1) / BLOCK; };
    auto chunks_of = [&](int64_t item) {
        return (int64_t(a.group()) * a.sequences[item / a.kv_heads].queries + ROWS * TILES - 1) / (ROWS * TILES);
    };
    // What is packed at once: one key head, or as many as fit 2 MiB.
    auto batch_end = [&](int64_t item, int64_t *blocks) {
        const int64_t budget = (2 << 20) / (4 * block_size());
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
    Memory<float> memory(most_blocks * block_size());
    Memory<Keys> keys(most_blocks);
    Memory<Packed> packed(most_items);
    Memory<int64_t> block_ends(most_items), chunk_ends(most_items);
    // A thread's own room: its tiles' queries and outputs, what the product works in, and rows.
    const int64_t query_size = round_up(product.query_size(), 16), output_size = round_up(product.output_size(), 16);
    const int64_t work = TILES * (query_size + output_size), rows_at = work + round_up(product.room_size(), 16);
    const int64_t room_size = rows_at + round_up(row_room(), 16);
    Memory<float> rooms(room_size * threads);
    Memory<State<Product>> states(int64_t(TILES) * threads);

    int given_up = 0;  // by any thread
    auto give_up = [&] { __atomic_store_n(&given_up, 1, __ATOMIC_RELAXED); };
    for (int64_t item = 0; item < items && !given_up;) {
        int64_t blocks, chunks = 0, at = 0;
        const int64_t end = batch_end(item, &blocks), count = end - item;
        for (int64_t i = 0; i < count; ++i) {
            packed[i] = {&a.sequences[(item + i) / a.kv_heads], int((item + i) % a.kv_heads), int(blocks_of(item + i)),
                         memory.at() + at * block_size(), keys.at() + at};
            block_ends[i] = at += blocks_of(item + i);
            chunk_ends[i] = chunks += chunks_of(item + i);
        }
        parallel_for(blocks, threads, [&](int64_t b, int thread) {
            int64_t i = 0;
            while (b >= block_ends[i]) ++i;
            if (!pack_block(packed[i], int(b - (i ? block_ends[i - 1] : 0)), rooms.at() + thread * room_size + rows_at)) give_up();
        });
        // The last rows of a causal sequence are the longest: they go first.
        parallel_for(chunks, threads, [&](int64_t reversed, int thread) {
            const typename Product::Scope scope;
            const int64_t chunk = chunks - 1 - reversed;
            int64_t i = 0;
            while (chunk >= chunk_ends[i]) ++i;
            const Packed &p = packed[i];
            float *room = rooms.at() + thread * room_size;
            State<Product> *tiles = states.at() + thread * TILES;
            const int64_t first = (chunk - (i ? chunk_ends[i - 1] : 0)) * ROWS * TILES;
            const int64_t rows = int64_t(a.group()) * p.sequence->queries;
            int used = 0;
            for (; used < TILES && first + used * ROWS < rows; ++used) {
                tiles[used].query = room + used * query_size;
                tiles[used].output = room + TILES * query_size + used * output_size;
                if (!open_tile(p, first + used * ROWS, tiles[used], room + rows_at)) give_up();
            }
            // What is nearest scores highest under most biases: met first, it leaves little to shrink.
            for (int b = p.blocks - 1; b >= 0; --b)
                for (int t = 0; t < used; ++t) meet(p, b, tiles[t], room + work);
            for (int t = 0; t < used; ++t) close_tile(p, tiles[t], room + rows_at);
        });
        item = end;
    }
    return !given_up;
}

#if defined(ORDINATE_TILES)
template <int LIMBS>
void run_on_tiles(const Attention &a) {
    if (!Forward<TileProduct<LIMBS>>(a).run()) Forward<VectorProduct>(a).run();
}
#endif

}  // namespace

void attend_forward(const Attention &a) {
#if defined(ORDINATE_TILES)
    switch (a.q.dtype) {
        // A float32 output is asked for where its digits count.
        case Dtype::bf16: return a.out.dtype == Dtype::f32 ? run_on_tiles<2>(a) : run_on_tiles<1>(a);
        case Dtype::f16: return run_on_tiles<2>(a);
        default: return run_on_tiles<3>(a);
    }
#else
    Forward<VectorProduct>(a).run();
#endif
}

}  // namespace ordinate::ORDINATE_ISA
