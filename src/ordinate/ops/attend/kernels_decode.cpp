// attend, forward, where there are few queries: one pass over the keys and values, nothing packed.
//
// The heads are the inner loop, so that memory is read in its own order: rows of one head lie apart, rows of all heads
// lie together. Each unit is a stretch of the keys of one sequence; the parts are merged by their log-sum-exp.
#include "parallel.hpp"
#include "workspace.hpp"

namespace ordinate::ORDINATE_ISA {
namespace {

constexpr int KB = 64;  // keys a block

struct Unit {
    const Sequence *sequence;
    int64_t first, last;  // keys
    float *output;        // [kv_heads * rows][value_lead]
    float *top, *total;   // [kv_heads * rows]
};

// x[r][j] = q[r] . k[j] for R rows and W / R keys; q and the keys are float32 or 16 bits wide.
template <int R, class T>
INLINE void dot(const float *q, int lead, const T *const *keys, int dim, float *x) {
    constexpr int N = W / R;
    F acc[W];
#pragma GCC unroll 16
    for (int i = 0; i < W; ++i) acc[i] = F{};
    int d = 0;
    for (; d + W <= dim; d += W) {
        F k[N];
#pragma GCC unroll 16
        for (int j = 0; j < N; ++j) k[j] = load(keys[j] + d);
#pragma GCC unroll 4
        for (int r = 0; r < R; ++r) {
            F query = load(q + r * lead + d);
#pragma GCC unroll 16
            for (int j = 0; j < N; ++j) acc[r * N + j] += query * k[j];
        }
    }
    F total = sums(acc);
    for (int r = 0; r < R; ++r) __builtin_memcpy(x + r * KB, reinterpret_cast<const float *>(&total) + r * N, N * 4);
    if (d == dim) return;
    for (int r = 0; r < R; ++r)
        for (int j = 0; j < N; ++j)
            for (int i = d; i < dim; ++i) x[r * KB + j] += q[r * lead + i] * to_float(keys[j][i]);
}

// out[r] += sum over j of p[r][j] v[j]
template <int R, class T>
INLINE void gather(const float *p, const T *const *values, int n, int dim, float *out, int lead) {
    int d = 0;
    for (; d + 2 * W <= dim; d += 2 * W) {
        F acc[R][2];
#pragma GCC unroll 4
        for (int r = 0; r < R; ++r) acc[r][0] = load(out + r * lead + d), acc[r][1] = load(out + r * lead + d + W);
        for (int j = 0; j < n; ++j) {
            F a = load(values[j] + d), b = load(values[j] + d + W);
#pragma GCC unroll 4
            for (int r = 0; r < R; ++r) {
                F weight = spread(p[r * KB + j]);
                acc[r][0] += weight * a;
                acc[r][1] += weight * b;
            }
        }
#pragma GCC unroll 4
        for (int r = 0; r < R; ++r) store(out + r * lead + d, acc[r][0]), store(out + r * lead + d + W, acc[r][1]);
    }
    for (; d < dim; ++d)
        for (int r = 0; r < R; ++r) {
            float sum_of = out[r * lead + d];
            for (int j = 0; j < n; ++j) sum_of += p[r * KB + j] * to_float(values[j][d]);
            out[r * lead + d] = sum_of;
        }
}

// R rows of one key head against one block.
template <int R, class TK, class TV>
void meet(const Attention &a, const Sequence &s, const PaddedTables &tables, const Keys &keys, int64_t first, int n,
          const TK *const *k, const TV *const *v, const Row *rows, const float *q, int lead, Unit &unit, int at,
          int count, int value_lead, float *x) {
    constexpr int N = W / R;
    for (int j = 0; j < n; j += N) dot<R>(q, lead, k + j, a.dim, x + j);
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
    if (any) gather<R>(x, v, n, a.value_dim, unit.output + int64_t(at) * value_lead, value_lead);
}

// Rows in fours, twos and ones.
template <class TK, class TV>
void meet_all(const Attention &a, const Sequence &s, const PaddedTables &tables, const Keys &keys, int64_t first, int n,
              const TK *const *k, const TV *const *v, const Row *rows, int count, const float *q, int lead, Unit &unit,
              int at, int value_lead, float *x) {
    int r = 0;
    for (; count - r > 2; r += 4)
        meet<4>(a, s, tables, keys, first, n, k, v, rows + r, q + r * lead, lead, unit, at + r, smaller(4, count - r),
                value_lead, x);
    if (count - r == 2) {
        meet<2>(a, s, tables, keys, first, n, k, v, rows + r, q + r * lead, lead, unit, at + r, 2, value_lead, x);
    } else if (count - r == 1) {
        meet<1>(a, s, tables, keys, first, n, k, v, rows + r, q + r * lead, lead, unit, at + r, 1, value_lead, x);
    }
}

struct Room {
    float *queries;   // [kv_heads * rows][lead], padded to fours
    float *keys;      // [KB][lead]
    float *values;    // [KB][value_lead]
    float *scores;    // [4][KB]
    float *turned;    // [lead]
    Row *rows;        // [kv_heads * rows]
};

template <class T>
void read_unit(const Attention &a, const PaddedTables &tables, Unit &unit, const Room &room, int lead, int value_lead) {
    const Sequence &s = *unit.sequence;
    const int per_head = a.group() * s.queries, padded = round_up(per_head, 4);
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
            if (a.rotation) turn(to, a.rotation, row.position, 1, room.turned);
            float scale = a.scale;
            if (a.query_scale)
                scale *= static_cast<const float *>(a.query_scale.data)[s.batch * a.query_scale.stride[0] +
                                                                        (s.first_query + query) * a.query_scale.stride[1]];
            for (int d = 0; d < a.dim; ++d) to[d] *= scale;
        }
    for (int64_t i = 0; i < int64_t(a.kv_heads) * padded; ++i) unit.top[i] = -INFINITE, unit.total[i] = 0;
    for (int64_t i = 0; i < int64_t(a.kv_heads) * padded * value_lead; ++i) unit.output[i] = 0;

    const bool direct_keys = a.k.stride[3] == 1 && !a.rotation, direct_values = a.v.stride[3] == 1;
    // Rows of a head that lie behind one another the processor fetches ahead by itself.
    const bool follows = !s.pages && a.k.stride[1] == a.dim && a.v.stride[1] == a.value_dim;
    const T *k[KB], *v[KB];
    const float *wide_k[KB], *wide_v[KB];
    for (int64_t first = unit.first; first < unit.last; first += KB) {
        const int n = int(unit.last - first < KB ? unit.last - first : KB);
        const Keys keys = keys_of(s.key_positions, first, n);
        const bool empties = keys.lowest < 0;
        for (int h = 0; h < a.kv_heads; ++h) {
            if (follows) {
                const T *at_key = static_cast<const T *>(a.k.data) + key_offset(a, s, a.k, first) + h * a.k.stride[2];
                const T *at_value = static_cast<const T *>(a.v.data) + key_offset(a, s, a.v, first) + h * a.v.stride[2];
                for (int j = 0; j < n; ++j) k[j] = at_key + j * a.k.stride[1], v[j] = at_value + j * a.v.stride[1];
                for (int j = n; j < KB; ++j) k[j] = at_key, v[j] = at_value;
            }
            for (int j = 0; j < KB && !follows; ++j) {
                // Rows beyond the last, and slots that are empty, stand for their neighbours: their weight is 0.
                const int64_t key = first + (j < n ? j : 0);
                const int64_t at = key_offset(a, s, a.k, key) + h * a.k.stride[2];
                const int64_t value_at = key_offset(a, s, a.v, key) + h * a.v.stride[2];
                k[j] = static_cast<const T *>(a.k.data) + at;
                v[j] = static_cast<const T *>(a.v.data) + value_at;
                if (j < n) {  // what the next head reads, or the next block
                    const bool more = h + 1 < a.kv_heads;
                    if (more || first + KB + j < unit.last) {
                        prefetch_row(a.k, more ? at + a.k.stride[2] : key_offset(a, s, a.k, first + KB + j), a.dim);
                        prefetch_row(a.v, more ? value_at + a.v.stride[2] : key_offset(a, s, a.v, first + KB + j),
                                     a.value_dim);
                    }
                }
            }
            const int at = h * padded;
            const Row *rows = room.rows + at;
            const float *q = room.queries + int64_t(at) * lead;
            const bool own_keys = !direct_keys || empties, own_values = !direct_values || empties;
            if (own_keys)
                for (int j = 0; j < KB; ++j) {
                    float *row = room.keys + int64_t(j) * lead;
                    wide_k[j] = room.keys + int64_t(j < n ? j : 0) * lead;
                    if (j >= n) continue;
                    const int32_t position = s.key_positions[first + j];
                    if (position < 0) {
                        for (int d = 0; d < a.dim; ++d) row[d] = 0;
                        continue;
                    }
                    widen(k[j], a.k.stride[3], a.dim, row);
                    if (a.rotation) turn(row, a.rotation, position, 1, room.turned);
                }
            if (own_values)
                for (int j = 0; j < n; ++j) {
                    float *row = room.values + int64_t(j) * value_lead;
                    wide_v[j] = row;
                    if (s.key_positions[first + j] < 0) {
                        for (int d = 0; d < a.value_dim; ++d) row[d] = 0;
                        continue;
                    }
                    widen(v[j], a.v.stride[3], a.value_dim, row);
                }
            if (own_keys && own_values)
                meet_all(a, s, tables, keys, first, n, wide_k, wide_v, rows, per_head, q, lead, unit, at, value_lead, room.scores);
            else if (own_keys)
                meet_all(a, s, tables, keys, first, n, wide_k, v, rows, per_head, q, lead, unit, at, value_lead, room.scores);
            else if (own_values)
                meet_all(a, s, tables, keys, first, n, k, wide_v, rows, per_head, q, lead, unit, at, value_lead, room.scores);
            else
                meet_all(a, s, tables, keys, first, n, k, v, rows, per_head, q, lead, unit, at, value_lead, room.scores);
        }
    }
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
    int64_t most_queries = 1, bytes = 0;
    for (int64_t i = 0; i < a.sequence_count; ++i) {
        most_queries = a.sequences[i].queries > most_queries ? a.sequences[i].queries : most_queries;
        bytes += a.sequences[i].keys * a.kv_heads * int64_t(a.dim + a.value_dim) * bytes_of(a.k);
    }
    const int threads = bytes < (512 << 10) ? 1 : a.threads;
    const int64_t parts = a.sequence_count >= threads ? 1 : (threads + a.sequence_count - 1) / a.sequence_count;
    const int64_t padded = a.kv_heads * int64_t(round_up(int(a.group() * most_queries), 4));

    const int64_t units_count = a.sequence_count * parts;
    Memory<Unit> units(units_count);
    Memory<float> results(units_count * padded * (value_lead + 2));
    const int64_t room_size = padded * lead + int64_t(KB) * (lead + value_lead) + 4 * KB + 2 * lead + value_lead + W;
    Memory<float> rooms(room_size * threads);
    Memory<Row> rows(padded * threads);
    for (int64_t u = 0; u < units_count; ++u) {
        const Sequence &s = a.sequences[u / parts];
        const int64_t stretch = ((s.keys + parts - 1) / parts + KB - 1) / KB * KB, first = u % parts * stretch;
        float *output = results.at() + u * padded * (value_lead + 2);
        units[u] = {&s, first < s.keys ? first : s.keys, first + stretch < s.keys ? first + stretch : s.keys, output,
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
        merge(a, a.sequences[i], units.at() + i * parts, parts, value_lead, rooms.at());
    free(tables.values);
}

}  // namespace ordinate::ORDINATE_ISA
