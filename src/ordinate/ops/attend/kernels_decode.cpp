// attend, forward, where there are few queries: one pass over the keys and values, nothing packed.
//
// The heads are the inner loop, so that memory is read in its own order: rows of one head lie apart, rows of all heads
// lie together. Each unit is a stretch of the keys of one sequence; the parts are merged by their log-sum-exp.
#include "parallel.hpp"
#include "unpacked.hpp"
#include "workspace.hpp"

namespace ordinate::ORDINATE_ISA {
namespace {

constexpr int STRETCH = 1024;  // keys a unit: the same whatever the number of threads, so that sums are too

struct Unit {
    const Sequence *sequence;
    int64_t first, last;  // keys
    float *output;        // [kv_heads * rows][value_lead]
    float *top, *total;   // [kv_heads * rows]
};

// Rows of keys or values of a block, and how far from them those lie that are read next.
template <class T>
struct Rows {
    const T *at[KB];
    int64_t ahead = 0;
};

// Keys that turn on the way into their products, by cos and sin of each key, [KB][2][pairs]; or none do.
struct Turning {
    bool on = false, interleaved = false;
    int pairs = 0;
    const float *table = nullptr;
};

// R rows of one key head against one block.
template <int R, class TK, class TV>
void meet(const Attention &a, const Sequence &s, const PaddedTables &tables, const Keys &keys, int64_t first, int n,
          const Rows<TK> &k, const Turning &turning, const Rows<TV> &v, const Row *rows, const float *q, int lead,
          Unit &unit, int at, int count, int value_lead, float *x) {
    constexpr int N = W / R;
    if (!turning.on)
        for (int j = 0; j < n; j += N) dot<R>(q, lead, k.at + j, k.ahead, a.dim, x + j);
    else if (turning.interleaved)
        for (int j = 0; j < n; j += N)
            dot_turned<R, true>(q, lead, k.at + j, k.ahead, turning.table + int64_t(2) * j * turning.pairs,
                                 turning.pairs, x + j);
    else
        for (int j = 0; j < n; j += N)
            dot_turned<R, false>(q, lead, k.at + j, k.ahead, turning.table + int64_t(2) * j * turning.pairs,
                                 turning.pairs, x + j);
    const int whole = round_up(n, W);
    bool any = false;
    for (int r = 0; r < R; ++r) {
        float *row = x + r * KB;
        const Sight seen = r < count ? sight(a, keys, rows[r].position, rows[r].position) : Sight::none;
        if (seen == Sight::none) {
            for (int j = 0; j < whole; j += W) store(row + j, F{});
            continue;
        }
        any = true;
        float top = largest(finish(a, rows[r], s, tables, keys, first, n, seen == Sight::some, 1, W, row));
        float &best = unit.top[at + r];
        top = best > top ? best : top;
        const float base = top == -INFINITE ? 0 : top;
        if (top != best) {
            const float decay = best == -INFINITE ? 0 : __builtin_expf(best - base);
            unit.total[at + r] *= decay;
            float *out = unit.output + int64_t(at + r) * value_lead;
            for (int d = 0; d < value_lead; d += W) store(out + d, load(out + d) * decay);
            best = top;
        }
        F sum_of = F{};
        for (int j = 0; j < whole; j += W) {
            F p = exponential(load(row + j) - base);
            sum_of += p;
            store(row + j, p);
        }
        unit.total[at + r] += sum(sum_of);
    }
    if (any) gather<R>(x, v.at, v.ahead, n, a.value_dim, unit.output + int64_t(at) * value_lead, value_lead);
}

// Rows in fours, twos and ones.
template <class TK, class TV>
void meet_all(const Attention &a, const Sequence &s, const PaddedTables &tables, const Keys &keys, int64_t first, int n,
              const Rows<TK> &k, const Turning &turning, const Rows<TV> &v, const Row *rows, int count, const float *q,
              int lead, Unit &unit, int at, int value_lead, float *x) {
    int r = 0;
    for (; count - r > 2; r += 4)
        meet<4>(a, s, tables, keys, first, n, k, turning, v, rows + r, q + r * lead, lead, unit, at + r,
                smaller(4, count - r), value_lead, x);
    if (count - r == 2) {
        meet<2>(a, s, tables, keys, first, n, k, turning, v, rows + r, q + r * lead, lead, unit, at + r, 2, value_lead, x);
    } else if (count - r == 1) {
        meet<1>(a, s, tables, keys, first, n, k, turning, v, rows + r, q + r * lead, lead, unit, at + r, 1, value_lead, x);
    }
}

struct Room {
    float *queries;   // [kv_heads * rows][lead], padded to fours
    float *keys;      // [KB][lead]: keys of a block as float32, or its rows of the table
    float *values;    // [KB][value_lead]
    float *scores;    // [4][KB]
    float *turned;    // [lead]
    Row *rows;        // [kv_heads * rows]
};

template <class T>
void read_unit(const Attention &a, const PaddedTables &tables, Unit &unit, const Room &room, int lead, int value_lead) {
    constexpr bool comes_apart = __is_same(T, bf16);
    const Sequence &s = *unit.sequence;
    const int per_head = a.group() * s.queries, padded = round_up(per_head, 4);
    for (int64_t i = 0; i < int64_t(a.kv_heads) * padded; ++i) unit.top[i] = -INFINITE, unit.total[i] = 0;
    for (int64_t i = 0; i < int64_t(a.kv_heads) * padded * value_lead; ++i) unit.output[i] = 0;
    if (unit.first == unit.last) return;

    // Products are the same whatever the layout after the turn, as long as queries and keys share it.
    Rotation rotation = a.rotation;
    rotation.interleaved_out = rotation.interleaved_in;
    const bool usual = 2 * rotation.pairs == a.dim && rotation.start == 0 && rotation.pairs % (2 * W) == 0;
    Turning turning, still;
    turning.on = rotation && usual && a.k.stride[3] == 1;
    turning.interleaved = rotation.interleaved_in;
    turning.pairs = rotation.pairs;
    turning.table = room.keys;
    const bool keys_apart = comes_apart || (turning.on && turning.interleaved);

    for (int h = 0; h < a.kv_heads; ++h)
        for (int r = 0; r < padded; ++r) {
            float *to = room.queries + int64_t(h * padded + r) * lead;
            if (r >= per_head) {
                for (int d = 0; d < lead; ++d) to[d] = 0;
                continue;
            }
            const int head = h * a.group() + r / s.queries, query = r % s.queries;
            Row &row = room.rows[h * padded + r] = row_of(a, s, tables, head, query);
            read_row(a.q, query_offset(s, a.q, query) + head * a.q.stride[2], a.dim, to);
            if (rotation) turn(to, rotation, row.position, 1, room.turned);
            const float scale = scale_of(a, s, query);
            for (int d = 0; d < a.dim; ++d) to[d] *= scale;
            if (keys_apart) set_apart(to, a.dim);
        }

    const T *k_data = static_cast<const T *>(a.k.data), *v_data = static_cast<const T *>(a.v.data);
    int64_t k_at[KB], v_at[KB], next_k[KB], next_v[KB];  // where a block's rows lie, and the next one's
    Rows<T> k, v;
    Rows<float> wide_k, wide_v;
    auto places = [&](int64_t first, int64_t *keys_at, int64_t *values_at) {
        // Rows beyond the last stand for the first: their weight is 0.
        for (int j = 0; j < KB; ++j) {
            const int64_t key = first + j < unit.last ? first + j : first;
            keys_at[j] = key_offset(a, s, a.k, key);
            values_at[j] = key_offset(a, s, a.v, key);
        }
    };
    places(unit.first, next_k, next_v);
    for (int64_t first = unit.first; first < unit.last; first += KB) {
        const int n = int(unit.last - first < KB ? unit.last - first : KB);
        const Keys keys = keys_of(s.key_positions, first, n);
        const bool empties = keys.lowest < 0;
        const bool own_keys = a.k.stride[3] != 1 || (rotation && !turning.on) || empties;
        const bool own_values = a.v.stride[3] != 1 || empties;
        const bool more = first + KB < unit.last;
        for (int j = 0; j < KB; ++j) k_at[j] = next_k[j], v_at[j] = next_v[j];
        if (more) places(first + KB, next_k, next_v);
        for (int j = 0; j < KB && turning.on && !empties; ++j) {
            const int32_t position = s.key_positions[first + (j < n ? j : 0)];
            float *row = room.keys + int64_t(j) * a.dim;
            for (int d = 0; d < rotation.pairs; d += W) {
                store(row + d, load(rotation.cos + position * rotation.cos_row + d));
                store(row + rotation.pairs + d, load(rotation.sin + position * rotation.sin_row + d));
            }
            if (comes_apart && !turning.interleaved) set_apart(row, a.dim);
        }
        for (int h = 0; h < a.kv_heads; ++h) {
            const int64_t k_head = h * a.k.stride[2], v_head = h * a.v.stride[2];
            const bool last = h + 1 == a.kv_heads;
            for (int j = 0; j < KB; ++j) k.at[j] = k_data + k_at[j] + k_head, v.at[j] = v_data + v_at[j] + v_head;
            k.ahead = last ? KB * a.k.stride[1] - k_head : a.k.stride[2];
            v.ahead = last ? KB * a.v.stride[1] - v_head : a.v.stride[2];
            for (int j = 0; j < KB && last && more && s.pages; ++j) {
                prefetch_row(a.k, next_k[j], a.dim);
                prefetch_row(a.v, next_v[j], a.value_dim);
            }
            // A share of the next block's rows of the table.
            for (int j = h; j < KB && turning.on && more; j += a.kv_heads) {
                const int64_t position = s.key_positions[first + KB + j < unit.last ? first + KB + j : first];
                for (int d = 0; d < rotation.pairs; d += 16) {
                    __builtin_prefetch(rotation.cos + position * rotation.cos_row + d);
                    __builtin_prefetch(rotation.sin + position * rotation.sin_row + d);
                }
            }
            const int at = h * padded;
            const Row *rows = room.rows + at;
            const float *q = room.queries + int64_t(at) * lead;
            for (int j = 0; j < KB && own_keys; ++j) {
                float *row = room.keys + int64_t(j) * lead;
                wide_k.at[j] = room.keys + int64_t(j < n ? j : 0) * lead;
                if (j >= n) continue;
                if (a.k.stride[3] == 1) prefetch_row(a.k, k.at[j] - k_data + k.ahead, a.dim);
                const int32_t position = s.key_positions[first + j];
                if (position < 0) {  // an empty slot may hold anything, NaN too
                    for (int d = 0; d < a.dim; ++d) row[d] = 0;
                    continue;
                }
                widen(k.at[j], a.k.stride[3], a.dim, row);
                if (rotation) turn(row, rotation, position, 1, room.turned);
                if (keys_apart) set_apart(row, a.dim);
            }
            for (int j = 0; j < n && own_values; ++j) {
                float *row = room.values + int64_t(j) * value_lead;
                wide_v.at[j] = row;
                if (a.v.stride[3] == 1) prefetch_row(a.v, v.at[j] - v_data + v.ahead, a.value_dim);
                if (s.key_positions[first + j] < 0) {
                    for (int d = 0; d < a.value_dim; ++d) row[d] = 0;
                    continue;
                }
                widen(v.at[j], a.v.stride[3], a.value_dim, row);
                if (comes_apart) set_apart(row, a.value_dim);
            }
            auto meet_them = [&](const auto &these_keys, const Turning &how, const auto &these_values) {
                meet_all(a, s, tables, keys, first, n, these_keys, how, these_values, rows, per_head, q, lead, unit, at,
                         value_lead, room.scores);
            };
            if (own_keys && own_values) meet_them(wide_k, still, wide_v);
            else if (own_keys) meet_them(wide_k, still, v);
            else if (own_values) meet_them(k, turning, wide_v);
            else meet_them(k, turning, v);
        }
    }
    for (int64_t i = 0; i < int64_t(a.kv_heads) * padded && comes_apart; ++i)
        set_together(unit.output + i * value_lead, a.value_dim);
}

// The parts of one sequence become one, and are written.
void merge(const Attention &a, const Sequence &s, const Unit *units, int64_t count, int value_lead, float *row) {
    const int per_head = a.group() * s.queries, padded = round_up(per_head, 4);
    for (int h = 0; h < a.kv_heads; ++h)
        for (int r = 0; r < per_head; ++r) {
            const int at = h * padded + r, head = h * a.group() + r / s.queries, query = r % s.queries;
            float top = a.sink_logits ? a.sink_logits[head] : -INFINITE;
            for (int64_t u = 0; u < count; ++u) top = units[u].top[at] > top ? units[u].top[at] : top;
            float total = a.sink_logits && top != -INFINITE ? __builtin_expf(a.sink_logits[head] - top) : 0;
            for (int d = 0; d < value_lead; ++d) row[d] = 0;
            for (int64_t u = 0; u < count; ++u) {
                if (units[u].top[at] == -INFINITE && units[u].total[at] == 0) continue;
                const float share = __builtin_expf(units[u].top[at] - top);
                total += units[u].total[at] * share;
                const float *out = units[u].output + int64_t(at) * value_lead;
                for (int d = 0; d < value_lead; d += W) store(row + d, load(row + d) + load(out + d) * share);
            }
            const bool seen = total > 0 || total != total;
            for (int d = 0; d < value_lead; ++d) row[d] = seen ? row[d] / total : 0;
            write_row(a.out, query_offset(s, a.out, query) + head * a.out.stride[2], a.value_dim, row);
            if (a.lse)
                static_cast<float *>(a.lse.data)[s.batch * a.lse.stride[0] + head * a.lse.stride[1] +
                                                 (s.first_query + query) * a.lse.stride[2]] =
                    seen ? top + __builtin_logf(total) : -INFINITE;
        }
}

}  // namespace

void attend_decode(const Attention &a) {
    const int lead = round_up(a.dim, W), value_lead = round_up(a.value_dim, W);
    PaddedTables tables = padded_tables(a, KB);
    int64_t most_queries = 1, bytes = 0, units_count = 0;
    Memory<int64_t> first_unit(a.sequence_count + 1);
    for (int64_t i = 0; i < a.sequence_count; ++i) {
        const Sequence &s = a.sequences[i];
        most_queries = s.queries > most_queries ? s.queries : most_queries;
        bytes += s.keys * a.kv_heads * int64_t(a.dim + a.value_dim) * bytes_of(a.k);
        first_unit[i] = units_count;
        units_count += s.keys ? (s.keys + STRETCH - 1) / STRETCH : 1;
    }
    first_unit[a.sequence_count] = units_count;
    const int threads = bytes < (512 << 10) ? 1 : a.threads;
    const int64_t padded = a.kv_heads * int64_t(round_up(int(a.group() * most_queries), 4));

    Memory<Unit> units(units_count);
    Memory<float> results(units_count * padded * (value_lead + 2));
    const int64_t room_size = padded * lead + int64_t(KB) * (lead + value_lead) + 4 * KB + 2 * lead + value_lead + W;
    Memory<float> rooms(room_size * threads);
    Memory<Row> rows(padded * threads);
    for (int64_t i = 0; i < a.sequence_count; ++i)
        for (int64_t u = first_unit[i]; u < first_unit[i + 1]; ++u) {
            const Sequence &s = a.sequences[i];
            const int64_t first = (u - first_unit[i]) * STRETCH;
            float *output = results.at() + u * padded * (value_lead + 2);
            units[u] = {&s, first, first + STRETCH < s.keys ? first + STRETCH : s.keys, output,
                        output + padded * value_lead, output + padded * (value_lead + 1)};
        }
    parallel_for(units_count, threads, [&](int64_t u, int thread) {
        float *at = rooms.at() + thread * room_size;
        Room room{};
        room.queries = at, at += padded * lead;
        room.keys = at, at += int64_t(KB) * lead;
        room.values = at, at += int64_t(KB) * value_lead;
        room.scores = at, at += 4 * KB;
        room.turned = at;
        room.rows = rows.at() + thread * padded;
        if (a.q.dtype == Dtype::f32) read_unit<float>(a, tables, units[u], room, lead, value_lead);
        if (a.q.dtype == Dtype::bf16) read_unit<bf16>(a, tables, units[u], room, lead, value_lead);
        if (a.q.dtype == Dtype::f16) read_unit<f16>(a, tables, units[u], room, lead, value_lead);
    });
    for (int64_t i = 0; i < a.sequence_count; ++i)
        merge(a, a.sequences[i], units.at() + first_unit[i], first_unit[i + 1] - first_unit[i], value_lead, rooms.at());
    free(tables.values);
}

}  // namespace ordinate::ORDINATE_ISA
