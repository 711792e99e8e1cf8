// attend, backward: each tile of probabilities is computed again from q, k and the log-sum-exp, and used at once.
//
//     P = exp(logits - lse)        dP = dO V^T        delta = rowsum(dO * O)
//     dV = P^T dO                  dS = scale P (dP - delta + d lse), times the softcap's slope
//     dQ = dS K                    dK = dS^T Q
//
// Source: Dao et al. 2022, arXiv:2205.14135, algorithm 4.
#include "gradient_product.hpp"
#include "parallel.hpp"
#if defined(ORDINATE_TILES)
#include "gradient_product_tiles.hpp"
#endif
#include "workspace.hpp"

namespace ordinate::ORDINATE_ISA {
namespace {

// What one thread works in.
template <class Product>
struct Room {
    float *rows;    // [BLOCK][row_size], and one row more
    float *capped;  // the softcap's values of a row
    typename Product::Room product;
    float *gradients;  // dK and dV of every block of the item
    float *grad_table, *grad_slopes, *grad_sinks;
};

struct Item {
    const Sequence *sequence;
    int kv_head, blocks;
    float *packed;  // [blocks][block_size]
    Keys *keys;
};

template <class Product>
struct Backward {
    static constexpr int BLOCK = Product::BLOCK, ROWS = Product::ROWS, LEAD = Product::LEAD;
    const Attention &a;
    const Product product;
    const PaddedTables tables;
    const int lead;

    explicit Backward(const Attention &a)
        : a(a), product(a.dim, a.value_dim), tables(padded_tables(a, BLOCK)), lead(product.row_size()) {}
    Backward(const Backward &) = delete;
    ~Backward() { free(tables.values); }

    // Row `offset` of a tensor, 0 to the end of its room.
    void read_wide(const Tensor &t, int64_t offset, int dim, float *row) const {
        for (int d = dim / W * W; d < lead; d += W) store(row + d, F{});
        read_row(t, offset, dim, row);
    }
    void clear_rows(float *rows, int from) const {
        for (int64_t i = int64_t(from) * lead; i < int64_t(BLOCK) * lead; i += W) store(rows + i, F{});
    }

    // Packing says whether the product can hold what it met.
    bool pack(const Item &item, int block, const Room<Product> &room) const {
        const Sequence &s = *item.sequence;
        const int64_t first = int64_t(block) * BLOCK;
        const int n = smaller(BLOCK, s.keys - int(first));
        float *to = item.packed + block * product.block_size(), *turned = room.rows + int64_t(BLOCK) * lead;
        item.keys[block] = keys_of(s.key_positions, first, n);
        bool held = true;
        for (int pass = 0; pass < 2; ++pass) {
            const Tensor &t = pass ? a.v : a.k;
            const int dim = pass ? a.value_dim : a.dim;
            for (int j = 0; j < n; ++j) {
                float *row = room.rows + j * lead;
                const int32_t position = s.key_positions[first + j];
                if (position < 0) {
                    for (int d = 0; d < lead; d += W) store(row + d, F{});
                    continue;
                }
                if (j + 8 < n) prefetch_row(t, key_offset(a, s, t, first + j + 8) + item.kv_head * t.stride[2], dim);
                read_wide(t, key_offset(a, s, t, first + j) + item.kv_head * t.stride[2], dim, row);
                if (!pass && a.rotation) turn(row, a.rotation, position, 1, turned);
            }
            clear_rows(room.rows, n);
            held &= pass ? product.pack_values(room.rows, lead, to) : product.pack_keys(room.rows, lead, to);
        }
        return held;
    }

    static float of_query(const Tensor &t, const Sequence &s, int head, int query) {
        return static_cast<const float *>(t.data)[s.batch * t.stride[0] + head * t.stride[1] + (s.first_query + query) * t.stride[2]];
    }

    // A tile of queries of one head.
    struct Tile {
        Row rows[BLOCK];
        float lse[BLOCK], delta[BLOCK], scale[BLOCK];
        int count, head;
        int32_t low, high;
    };

    bool open(const Item &item, int head, int first, Tile &tile, const Room<Product> &room) const {
        const Sequence &s = *item.sequence;
        tile.head = head;
        tile.count = smaller(BLOCK, s.queries - first);
        for (int r = 0; r < tile.count; ++r) {
            const int query = first + r;
            const Row &row = tile.rows[r] = row_of(a, s, tables, head, query);
            if (r == 0) tile.low = tile.high = row.position;
            tile.low = smaller(tile.low, row.position);
            tile.high = larger(tile.high, row.position);
            tile.lse[r] = of_query(a.lse, s, head, query);
            tile.scale[r] = scale_of(a, s, query);
            float *upstream = room.rows + r * lead, *output = room.rows + int64_t(BLOCK) * lead;
            read_wide(a.grad_out, query_offset(s, a.grad_out, query) + head * a.grad_out.stride[2], a.value_dim, upstream);
            read_wide(a.out, query_offset(s, a.out, query) + head * a.out.stride[2], a.value_dim, output);
            F sum_of = F{};
            for (int d = 0; d < a.value_dim; d += W) sum_of += load(upstream + d) * load(output + d);
            tile.delta[r] = sum(sum_of);
            if (a.grad_lse) tile.delta[r] -= of_query(a.grad_lse, s, head, query);
            if (a.grad_sinks && tile.lse[r] != -INFINITE)
                room.grad_sinks[head] -= __builtin_expf(a.sink_logits[head] - tile.lse[r]) * tile.delta[r];
        }
        clear_rows(room.rows, tile.count);
        const bool held = product.pack_upstream(room.rows, lead, room.product);
        for (int r = 0; r < tile.count; ++r) {
            float *row = room.rows + r * lead;
            read_wide(a.q, query_offset(s, a.q, first + r) + head * a.q.stride[2], a.dim, row);
            if (a.rotation) turn(row, a.rotation, tile.rows[r].position, 1, room.rows + int64_t(BLOCK) * lead);
        }
        clear_rows(room.rows, tile.count);
        return product.pack_queries(room.rows, lead, room.product) && held;
    }

    // Logits become P and their gradient dS, in place, and what is learned takes its share. `from` is the first key.
    void finish_row(const Sequence &s, const Tile &tile, int r, const Keys &keys, int64_t from, int n, bool partly, float *p,
                    float *g, const Room<Product> &room) const {
        const int whole = round_up(n, Product::STEP);
        float scale = tile.scale[r];
        if (!(scale > 0))
            for (int j = 0; j < whole; j += W) store(p + j, load(p + j) * scale);
        const float positive = scale > 0 ? scale : 1;
        finish(a, tile.rows[r], s, tables, keys, from, n, partly, positive, Product::STEP, p, room.capped);
        const float times = without_terms(a) ? positive : 1;
        for (int j = 0; j < whole; j += W) {
            F probability = exponential(load(p + j) * times - tile.lse[r]);
            store(p + j, probability);
            store(g + j, probability * (load(g + j) - tile.delta[r]));
        }
        if (a.grad_table) {
            float *table = room.grad_table + tile.head * tables.width;
            if (keys.consecutive) {
                float *at = table + tables.start(keys.lowest - tile.rows[r].position);
                for (int j = 0; j < whole; j += W) store(at + j, load(at + j) + load(g + j));
            } else {
                for (int j = 0; j < n; ++j) table[tables.start(s.key_positions[from + j] - tile.rows[r].position)] += g[j];
            }
        }
        if (a.grad_slopes) {
            float total = 0;
            for (int j = 0; j < n; ++j) {
                const int32_t d = s.key_positions[from + j] - tile.rows[r].position;
                total -= g[j] * float(d < 0 ? -d : d);
            }
            room.grad_slopes[(a.slopes.stride[0] ? s.index * a.heads : 0) + tile.head] += total;
        }
        if (a.softcap > 0) {
            const float inverse = 1 / a.softcap;
            for (int j = 0; j < whole; j += W) {
                F t = load(room.capped + j) * inverse;
                store(g + j, load(g + j) * (1.0f - t * t) * scale);
            }
        } else {
            for (int j = 0; j < whole; j += W) store(g + j, load(g + j) * scale);
        }
    }

    // One tile of queries of one head against every block of keys.
    bool descend(const Item &item, int head, int first, const Room<Product> &room) const {
        const Sequence &s = *item.sequence;
        Tile tile;
        if (!open(item, head, first, tile, room)) return false;
        for (int b = 0; b < item.blocks; ++b) {
            const Keys &keys = item.keys[b];
            const Sight seen = sight(a, keys, tile.low, tile.high);
            if (seen == Sight::none) continue;
            const int64_t from = int64_t(b) * BLOCK;
            const int n = smaller(BLOCK, s.keys - int(from));
            const float *block = item.packed + b * product.block_size();
            for (int part = 0; part * ROWS < tile.count; ++part) {
                const int rows = smaller(ROWS, tile.count - part * ROWS);
                product.score(block, part, rows, n, room.product);
                for (int r = 0; r < ROWS; ++r) {
                    float *p = room.product.scores + r * LEAD, *g = room.product.slopes + r * LEAD;
                    int made = 0;
                    if (r < rows && tile.lse[part * ROWS + r] != -INFINITE) {
                        finish_row(s, tile, part * ROWS + r, keys, from, n, seen == Sight::some, p, g, room);
                        made = round_up(n, Product::STEP);
                    }
                    for (int j = made; j < BLOCK; j += W) store(p + j, F{}), store(g + j, F{});
                }
                product.keep(part, n, room.product);
            }
            product.add(block, tile.count, n, room.product, room.gradients + b * product.gradients_size());
        }
        for (int r = 0; r < tile.count; ++r) {
            float *row = room.rows;
            product.read_query(room.product, r, row);
            if (a.rotation) turn(row, a.rotation, tile.rows[r].position, -1, room.rows + int64_t(BLOCK) * lead);
            write_row(a.grad_q, query_offset(s, a.grad_q, first + r) + head * a.grad_q.stride[2], a.dim, row);
        }
        return true;
    }

    // dK and dV of one block: the sum of every thread's, turned back.
    void write_keys(const Item &item, int block, float *const *gradients, int count, const Room<Product> &room) const {
        const Sequence &s = *item.sequence;
        const int64_t first = int64_t(block) * BLOCK;
        const int n = smaller(BLOCK, s.keys - int(first));
        for (int j0 = 0; j0 < n; j0 += W)
            for (int pass = 0; pass < 2; ++pass) {
                for (int64_t i = 0; i < int64_t(W) * lead; i += W) store(room.rows + i, F{});
                for (int t = 0; t < count; ++t) {
                    const float *from = gradients[t] + block * product.gradients_size();
                    if (pass)
                        product.add_values(from, j0, room.rows, lead);
                    else
                        product.add_keys(from, j0, room.rows, lead);
                }
                for (int j = 0; j < W && j0 + j < n; ++j) {
                    float *row = room.rows + j * lead;
                    const int32_t position = s.key_positions[first + j0 + j];
                    if (position < 0)
                        for (int d = 0; d < lead; d += W) store(row + d, F{});
                    else if (!pass && a.rotation)
                        turn(row, a.rotation, position, -1, room.rows + int64_t(BLOCK) * lead);
                    const Tensor &t = pass ? a.grad_v : a.grad_k;
                    write_row(t, key_offset(a, s, t, first + j0 + j) + item.kv_head * t.stride[2], pass ? a.value_dim : a.dim, row);
                }
            }
    }

    bool run() const;
};

// False where the product could not hold a number: then nothing has been added to what is learned.
template <class Product>
bool Backward<Product>::run() const {
    int most_blocks = 0;
    for (int64_t i = 0; i < a.sequence_count; ++i) most_blocks = larger(most_blocks, (a.sequences[i].keys + BLOCK - 1) / BLOCK);
    const int64_t items = a.sequence_count * a.kv_heads;

    // Either each thread takes whole items, or all share one at a time: whichever fits the caches.
    const int64_t packed_size = most_blocks * product.block_size(), gradient_size = most_blocks * product.gradients_size();
    const bool apart = a.threads == 1 || (items >= 2 * a.threads && (packed_size + gradient_size) * 4 * a.threads <= (8 << 20));
    const int packs = apart ? a.threads : 1;

    const int64_t table_size = a.grad_table ? a.heads * tables.width + W : 0;
    const int64_t slope_rows = a.grad_slopes ? (a.slopes.stride[0] ? a.slopes.shape[0] : 1) * int64_t(a.heads) : 0;
    const int64_t sinks = a.grad_sinks ? a.heads : 0;
    const int64_t sizes[] = {int64_t(BLOCK + 1) * lead, BLOCK, product.room_size(), gradient_size, table_size, slope_rows, sinks};
    int64_t room_size = 0;
    for (int64_t size : sizes) room_size += (size + 15) / 16 * 16;
    Memory<float> memory(room_size * a.threads), packed(packed_size * packs);
    Memory<Keys> keys(int64_t(most_blocks) * packs);
    Memory<Room<Product>> rooms(a.threads);
    Memory<float *> gradients(a.threads);
    for (int t = 0; t < a.threads; ++t) {
        float *at = memory.at() + t * room_size;
        Room<Product> &room = rooms[t];
        float *whole = nullptr;
        float **fields[] = {&room.rows, &room.capped, &whole, &room.gradients, &room.grad_table, &room.grad_slopes, &room.grad_sinks};
        for (int i = 0; i < 7; ++i) {
            *fields[i] = at;
            at += (sizes[i] + 15) / 16 * 16;
        }
        room.product = product.room_at(whole);
        gradients[t] = room.gradients;
        for (int64_t i = 0; i < table_size; ++i) room.grad_table[i] = 0;
        for (int64_t i = 0; i < slope_rows; ++i) room.grad_slopes[i] = 0;
        for (int64_t i = 0; i < sinks; ++i) room.grad_sinks[i] = 0;
    }
    int given_up = 0;  // by any thread
    auto give_up = [&] { __atomic_store_n(&given_up, 1, __ATOMIC_RELAXED); };
    auto item_by = [&](int64_t i, int pack_index, int threads, int thread) {
        const Sequence &s = a.sequences[i / a.kv_heads];
        const Item item{&s, int(i % a.kv_heads), (s.keys + BLOCK - 1) / BLOCK, packed.at() + pack_index * packed_size,
                        keys.at() + int64_t(pack_index) * most_blocks};
        const int64_t tiles = (s.queries + BLOCK - 1) / BLOCK, size = item.blocks * product.gradients_size();
        parallel_for(item.blocks, threads, [&](int64_t b, int t) {
            if (!pack(item, int(b), rooms[threads > 1 ? t : thread])) give_up();
        });
        parallel_for(threads, threads, [&](int64_t t, int) {
            float *to = gradients[threads > 1 ? t : thread];
            for (int64_t j = 0; j < size; j += W) store(to + j, F{});
        });
        parallel_for(tiles * a.group(), threads, [&](int64_t c, int t) {
            const typename Product::Scope scope;
            const int64_t tile = tiles - 1 - c / a.group();
            if (!descend(item, item.kv_head * a.group() + int(c % a.group()), int(tile * BLOCK), rooms[threads > 1 ? t : thread]))
                give_up();
        });
        parallel_for(item.blocks, threads, [&](int64_t b, int t) {
            write_keys(item, int(b), threads > 1 ? gradients.at() : gradients.at() + thread, threads, rooms[threads > 1 ? t : thread]);
        });
    };
    if (apart) {
        parallel_for(items, a.threads, [&](int64_t i, int thread) { item_by(i, thread, 1, thread); });
    } else {
        for (int64_t i = 0; i < items; ++i) item_by(i, 0, a.threads, 0);
    }
    if (given_up) return false;
    for (int t = 0; t < a.threads; ++t) {
        const Room<Product> &room = rooms[t];
        if (a.grad_table)
            for (int h = 0; h < a.heads; ++h)
                for (int64_t i = 0; i < tables.width; ++i) {
                    const int64_t j = i - tables.pad, last = 2 * int64_t(a.reach);
                    a.grad_table[h * (last + 1) + (j < 0 ? 0 : j > last ? last : j)] += room.grad_table[h * tables.width + i];
                }
        for (int64_t i = 0; i < slope_rows; ++i) a.grad_slopes[i] += room.grad_slopes[i];
        for (int64_t i = 0; i < sinks; ++i) a.grad_sinks[i] += room.grad_sinks[i];
    }
    return true;
}

#if defined(ORDINATE_TILES)
template <int LIMBS>
bool run_on_tiles(const Attention &a) {
    return Backward<TileGradients<LIMBS>>(a).run();
}
#endif

}  // namespace

void attend_backward(const Attention &a) {
#if defined(ORDINATE_TILES)
    // The logits must be those of forward, which decodes a few rows without rounding what turns.
    int64_t rows = 0;
    for (int64_t i = 0; i < a.sequence_count; ++i) {
        const int64_t own = int64_t(a.group()) * a.sequences[i].queries;
        rows = own > rows ? own : rows;
    }
    if (rows > decoded_rows) {
        const bool in_one = a.q.dtype == Dtype::bf16 && a.out.dtype == Dtype::bf16;
        if (in_one ? run_on_tiles<1>(a) : a.q.dtype == Dtype::f32 ? run_on_tiles<3>(a) : run_on_tiles<2>(a)) return;
    }
#endif
    Backward<VectorGradients>(a).run();
}

}  // namespace ordinate::ORDINATE_ISA
