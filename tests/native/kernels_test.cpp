// The kernels against plain loops in double precision, without Python: what sanitizers and other processors run.
//
// Exit code 0 where all agree.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "conversions.hpp"

namespace ordinate {
ORDINATE_DECLARE_TILES(void attend_backward(const Attention &))
}  // namespace ordinate

using namespace ordinate;

namespace {

using Numbers = std::vector<double>;

// A row turned by the angles of one position; `way` -1 turns back.
Numbers turned(const Rotation &r, Numbers x, int position, int way) {
    if (!r) return x;
    Numbers out = x;
    const bool in = way > 0 ? r.interleaved_in : r.interleaved_out, to = way > 0 ? r.interleaved_out : r.interleaved_in;
    for (int i = 0; i < r.pairs; ++i) {
        const double c = r.cos[position * r.cos_row + i], s = way * double(r.sin[position * r.sin_row + i]);
        const double a = x[size_t(r.start + (in ? 2 * i : i))], b = x[size_t(r.start + (in ? 2 * i + 1 : r.pairs + i))];
        out[size_t(r.start + (to ? 2 * i : i))] = a * c - b * s;
        out[size_t(r.start + (to ? 2 * i + 1 : r.pairs + i))] = a * s + b * c;
    }
    return out;
}

Tensor integers(std::vector<int64_t> &values, const std::vector<int64_t> &shape) {
    Tensor t;
    t.data = values.data(), t.dtype = Dtype::i64, t.ndim = int(shape.size());
    int64_t size = 1;
    for (int i = t.ndim - 1; i >= 0; --i) {
        t.shape[i] = shape[size_t(i)], t.stride[i] = size;
        size *= shape[size_t(i)];
    }
    return t;
}

void one_attention(int threads) {
    const Dtype dtypes[] = {Dtype::f32, Dtype::f32, Dtype::bf16, Dtype::f16};
    const Dtype dtype = dtypes[whole(0, 3)];
    const int batch = whole(1, 2), kv_heads = whole(1, 3), group = whole(1, 4), heads = kv_heads * group;
    const int sizes[] = {0, 1, 2, 3, 5, 17, 33, 64, 97, 150};
    const int queries = sizes[whole(0, 8)], keys = sizes[whole(0, 9)];
    const int dim = 2 * whole(1, 48), value_dim = whole(1, 80);
    Array q(dtype, {batch, queries, heads, dim}), k(dtype, {batch, keys, kv_heads, dim}),
        v(dtype, {batch, keys, kv_heads, value_dim}), out(dtype, {batch, queries, heads, value_dim}, true),
        lse(Dtype::f32, {batch, heads, queries}, true), upstream(dtype, {batch, queries, heads, value_dim});
    Attention a;
    a.q = q.view, a.k = k.view, a.v = v.view, a.out = out.view, a.lse = lse.view;
    a.heads = heads, a.kv_heads = kv_heads, a.dim = dim, a.value_dim = value_dim;
    a.scale = 1 / std::sqrt(float(dim));
    a.threads = threads;
    if (chance(0.2)) a.softcap = 3;
    a.causal = chance(0.5);
    if (chance(0.3)) a.left = whole(0, 40);
    if (chance(0.2)) a.right = whole(0, 40);
    a.keep_first = chance(0.3) ? whole(1, 70) : 0;
    const int table = 400;
    const int pairs = whole(1, dim / 2);
    Array cos(Dtype::f32, {table, pairs}), sin(Dtype::f32, {table, pairs});
    if (chance(0.5)) {
        for (int64_t i = 0; i < table * pairs; ++i) {
            const float angle = 6.3f * float(i % 997) / 997;
            cos.set(i, std::cos(angle)), sin.set(i, std::sin(angle));
        }
        a.rotation.cos = cos.floats(), a.rotation.sin = sin.floats();
        a.rotation.cos_row = a.rotation.sin_row = pairs;
        a.rotation.pairs = pairs;
        a.rotation.start = chance(0.5) ? dim - 2 * pairs : 0;
        a.rotation.interleaved_in = chance(0.5);
        a.rotation.interleaved_out = a.rotation.interleaved_in && chance(0.5);
    }
    Array sinks(Dtype::f32, {heads}), slopes(Dtype::f32, {batch, heads});
    if (chance(0.3)) a.sink_logits = sinks.floats();
    // Small slopes: logits of hundreds have fewer digits left in float32.
    for (int64_t i = 0; i < batch * heads; ++i) slopes.set(i, 0.02f * normal());
    if (chance(0.3)) a.slopes = slopes.view;
    a.reach = whole(0, 60);
    Array distances(Dtype::f32, {heads, 2 * a.reach + 1});
    if (chance(0.4)) a.table = distances.floats();
    // Positions: consecutive, or any, some slots empty.
    const bool listed = chance(0.4);
    std::vector<std::vector<int32_t>> query_at(batch), key_at(batch);
    std::vector<Sequence> sequences(batch);
    for (int b = 0; b < batch; ++b) {
        for (int i = 0; i < queries; ++i) query_at[b].push_back(listed ? whole(0, table - 1) : 150 + i);
        for (int j = 0; j < keys; ++j) key_at[b].push_back(listed ? (chance(0.1) ? -1 : whole(0, table - 1)) : j + 60);
        Sequence s{};
        s.index = s.batch = b;
        s.queries = queries, s.keys = keys;
        s.query_positions = listed ? Positions{query_at[b].data(), 0} : Positions{nullptr, 150};
        s.key_positions = listed ? Positions{key_at[b].data(), 0} : Positions{nullptr, 60};
        sequences[b] = s;
    }
    a.sequences = sequences.data();
    a.sequence_count = batch;

    char text[200];
    std::snprintf(text, sizeof text, "dtype %d batch %d heads %d/%d queries %d keys %d dims %d/%d listed %d causal %d",
                  int(dtype), batch, heads, kv_heads, queries, keys, dim, value_dim, listed, a.causal);

    // The definition, and its gradients.
    Numbers want(size_t(batch * queries * heads * value_dim)), want_lse(size_t(batch * heads * queries));
    Numbers dq(size_t(batch * queries * heads * dim)), dk(size_t(batch * keys * kv_heads * dim)),
        dv(size_t(batch * keys * kv_heads * value_dim)), dtable(size_t(heads * (2 * a.reach + 1))),
        dslopes(size_t(batch * heads)), dsinks(static_cast<size_t>(heads));
    for (int b = 0; b < batch; ++b)
        for (int h = 0; h < heads; ++h)
            for (int i = 0; i < queries; ++i) {
                const int qp = query_at[b][i], g = h / group;
                Numbers row(dim);
                for (int d = 0; d < dim; ++d) row[d] = q.at(b, i, h, d);
                row = turned(a.rotation, row, qp, 1);
                std::vector<Numbers> key(keys);
                Numbers x(keys, -INFINITY), slope(keys, 1.0), p(keys);
                double top = a.sink_logits ? sinks[h] : -INFINITY;
                for (int j = 0; j < keys; ++j) {
                    const int kp = key_at[b][j];
                    bool seen = kp >= a.keep_first;
                    seen = !seen || ((a.right == unlimited || kp <= qp + a.right) && (a.left == unlimited || kp >= qp - a.left));
                    seen = seen && kp >= 0 && !(a.causal && kp > qp);
                    if (!seen) continue;
                    key[j].resize(dim);
                    for (int d = 0; d < dim; ++d) key[j][d] = k.at(b, j, g, d);
                    key[j] = turned(a.rotation, key[j], kp, 1);
                    double s = 0;
                    for (int d = 0; d < dim; ++d) s += row[d] * key[j][d];
                    s *= a.scale;
                    if (a.softcap > 0) {
                        const double t = std::tanh(s / a.softcap);
                        s = a.softcap * t, slope[j] = 1 - t * t;
                    }
                    const int distance = kp - qp, clamped = std::max(-a.reach, std::min(a.reach, distance)) + a.reach;
                    if (a.table) s += distances[h * (2 * a.reach + 1) + clamped];
                    if (a.slopes) s -= slopes[b * heads + h] * std::abs(distance);
                    x[j] = s;
                    top = std::max(top, s);
                }
                double total = a.sink_logits ? std::exp(sinks[h] - top) : 0;
                for (int j = 0; j < keys; ++j) total += x[j] == -INFINITY ? 0 : std::exp(x[j] - top);
                const double log_total = total > 0 ? top + std::log(total) : -INFINITY;
                want_lse[size_t((b * heads + h) * queries + i)] = log_total;
                double delta = 0;
                for (int d = 0; d < value_dim; ++d) {
                    double sum = 0;
                    for (int j = 0; j < keys; ++j)
                        if (x[j] != -INFINITY) sum += std::exp(x[j] - log_total) * v.at(b, j, g, d);
                    want[size_t(((b * queries + i) * heads + h) * value_dim + d)] = sum;
                    delta += sum * upstream.at(b, i, h, d);
                }
                if (a.sink_logits) dsinks[h] -= std::exp(sinks[h] - log_total) * delta;
                Numbers dquery(dim);
                for (int j = 0; j < keys; ++j) {
                    if (x[j] == -INFINITY) continue;
                    const double probability = std::exp(x[j] - log_total);
                    double dp = 0;
                    for (int d = 0; d < value_dim; ++d) {
                        dv[size_t(((b * keys + j) * kv_heads + g) * value_dim + d)] += probability * upstream.at(b, i, h, d);
                        dp += upstream.at(b, i, h, d) * v.at(b, j, g, d);
                    }
                    double ds = probability * (dp - delta);
                    const int distance = key_at[b][j] - qp;
                    dtable[size_t(h * (2 * a.reach + 1) + std::max(-a.reach, std::min(a.reach, distance)) + a.reach)] += ds;
                    dslopes[size_t(b * heads + h)] -= ds * std::abs(distance);
                    ds *= slope[j] * a.scale;
                    Numbers dkey(dim);
                    for (int d = 0; d < dim; ++d) dquery[d] += ds * key[j][d], dkey[d] = ds * row[d];
                    dkey = turned(a.rotation, dkey, key_at[b][j], -1);
                    for (int d = 0; d < dim; ++d) dk[size_t(((b * keys + j) * kv_heads + g) * dim + d)] += dkey[d];
                }
                dquery = turned(a.rotation, dquery, qp, -1);
                for (int d = 0; d < dim; ++d) dq[size_t(((b * queries + i) * heads + h) * dim + d)] = dquery[d];
            }

    // Matrix registers round rotated bfloat16 numbers to bfloat16 again, and keep rotated float16 numbers to 16 bits.
    const bool again = a.rotation && instruction_set() == Isa::amx, twice = again && dtype == Dtype::bf16;
    const double log_tolerance = twice ? 3e-2 : again && dtype == Dtype::f16 ? 5e-5 : 1e-5;
    const double tolerance = dtype == Dtype::f32 ? 1e-5 : dtype == Dtype::f16 ? 1e-3 : twice ? 3e-2 : 8e-3;
    for (int kernel = 0; kernel < 2; ++kernel) {
        if (kernel == 1 && group * queries > 16) continue;
        for (int64_t i = 0; i < int64_t(want.size()); ++i) out.set(i, NAN);
        for (int64_t i = 0; i < int64_t(want_lse.size()); ++i) lse.set(i, NAN);
        if (kernel)
            ORDINATE_CALL(attend_decode(a));
        else
            ORDINATE_CALL_TILES(attend_forward(a));
        for (size_t i = 0; i < want.size(); ++i)
            compare(kernel ? "decode" : "forward", out[int64_t(i)], want[i], tolerance, text);
        for (size_t i = 0; i < want_lse.size(); ++i)
            compare(kernel ? "decode lse" : "forward lse", lse[int64_t(i)], want_lse[i], log_tolerance, text);
    }
    Array grad_q(dtype, {batch, queries, heads, dim}, true), grad_k(dtype, {batch, keys, kv_heads, dim}, true),
        grad_v(dtype, {batch, keys, kv_heads, value_dim}, true);
    std::vector<float> grad_table(dtable.size()), grad_slopes(dslopes.size()), grad_sinks(dsinks.size());
    a.grad_out = upstream.view, a.grad_q = grad_q.view, a.grad_k = grad_k.view, a.grad_v = grad_v.view;
    if (a.table) a.grad_table = grad_table.data();
    if (a.slopes) a.grad_slopes = grad_slopes.data();
    if (a.sink_logits) a.grad_sinks = grad_sinks.data();
    ORDINATE_CALL_TILES(attend_backward(a));
    // The output, and so delta, was rounded to the dtype.
    const double wide = dtype == Dtype::f32 ? 4e-5 : dtype == Dtype::f16 ? 0.05 : 0.4, summed = 10 * wide;
    for (size_t i = 0; i < dq.size(); ++i) compare("grad q", grad_q[int64_t(i)], dq[i], wide, text);
    for (size_t i = 0; i < dk.size(); ++i) compare("grad k", grad_k[int64_t(i)], dk[i], wide, text);
    for (size_t i = 0; i < dv.size(); ++i) compare("grad v", grad_v[int64_t(i)], dv[i], wide, text);
    if (a.table)
        for (size_t i = 0; i < dtable.size(); ++i) compare("grad by_distance", grad_table[i], dtable[i], summed, text);
    if (a.slopes)
        for (size_t i = 0; i < dslopes.size(); ++i) compare("grad slopes", grad_slopes[i], dslopes[i], 50 * summed, text);
    if (a.sink_logits)
        for (size_t i = 0; i < dsinks.size(); ++i) compare("grad sinks", grad_sinks[i], dsinks[i], summed, text);
}

void one_rotation(int threads) {
    const Dtype dtypes[] = {Dtype::f32, Dtype::bf16, Dtype::f16};
    const Dtype dtype = dtypes[whole(0, 2)];
    const int batch = whole(1, 3), tokens = whole(0, 40), dim = whole(2, 150), pairs = whole(1, dim / 2), table = 50;
    Array q(dtype, {batch, tokens, whole(1, 9), dim}), k(dtype, {batch, tokens, whole(1, 3), dim});
    Array cos(Dtype::f32, {table, pairs}), sin(Dtype::f32, {table, pairs});
    const int axes = chance(0.3) ? whole(1, 3) : 0;
    std::vector<int64_t> positions(size_t(tokens * (axes ? axes : 1))), axis_of_pair(size_t(pairs), 0);
    for (auto &p : positions) p = whole(0, table - 1);
    for (auto &a : axis_of_pair) a = axes ? whole(0, axes - 1) : 0;
    RotateArguments given;
    RotateExtras extras;
    given.extras = &extras;
    given.from[0] = given.to[0] = q.view, given.from[1] = given.to[1] = k.view;
    given.cos = cos.view, given.sin = sin.view;
    given.positions = integers(positions, axes ? std::vector<int64_t>{axes, tokens} : std::vector<int64_t>{tokens});
    if (axes) extras.axis_of_pair = integers(axis_of_pair, {pairs});
    given.last = chance(0.5), given.inverse = chance(0.3);
    Array weight(chance(0.5) ? Dtype::f32 : dtype, {dim});
    const bool normalised = chance(0.3);
    if (normalised) extras.weight[0] = extras.weight[1] = weight.view;
    extras.epsilon = 1e-5;
    // k, and v beside it, into pages of a cache in which a token in five has no place.
    const bool cached = chance(0.3);
    const int64_t heads = k.view.shape[2], size = whole(1, 5), pages = (batch * tokens + size - 1) / size + whole(0, 2);
    Array cache(dtype, {pages, size, heads, dim}, true), v(dtype, {batch, tokens, heads, whole(1, 90)});
    Array values(dtype, {pages, size, heads, v.view.shape[3]}, true);
    std::vector<int64_t> slots(size_t(pages * size));
    for (size_t i = 0; i < slots.size(); ++i) slots[i] = int64_t(i);
    std::shuffle(slots.begin(), slots.end(), generator);
    slots.resize(size_t(batch * tokens));
    for (auto &slot : slots) slot = chance(0.2) ? -1 : slot;
    if (cached) {
        given.to[1] = cache.view;
        extras.slots = integers(slots, {batch, tokens});
        extras.v = v.view, extras.v_to = values.view;
    }
    // A row for each token, its entries chosen by axis.
    Array own_cos(Dtype::f32, {tokens, pairs}), own_sin(Dtype::f32, {tokens, pairs});
    for (int t = 0; t < tokens; ++t)
        for (int i = 0; i < pairs; ++i) {
            const int64_t row = positions[size_t(axis_of_pair[size_t(i)] * tokens + t)];
            own_cos.set(t * pairs + i, float(cos[row * pairs + i]));
            own_sin.set(t * pairs + i, float(sin[row * pairs + i]));
        }
    Rotation r;
    r.cos = own_cos.floats(), r.sin = own_sin.floats(), r.cos_row = r.sin_row = pairs, r.pairs = pairs;
    r.start = given.last ? dim - 2 * pairs : 0;
    r.interleaved_in = chance(0.5), r.interleaved_out = r.interleaved_in && chance(0.5);
    given.read = r.interleaved_in ? Layout::interleaved : Layout::half;
    given.write = r.interleaved_out ? Layout::interleaved : Layout::half;
    Numbers want[2];
    const Array *both[] = {&q, &k};
    for (int n = 0; n < 2; ++n)
        for (int64_t row = 0; row < batch * tokens * both[n]->view.shape[2]; ++row) {
            Numbers x(static_cast<size_t>(dim));
            double squares = 0;
            for (int d = 0; d < dim; ++d) {
                x[size_t(d)] = (*both[n])[row * dim + d];
                squares += x[size_t(d)] * x[size_t(d)];
            }
            if (normalised)
                for (int d = 0; d < dim; ++d) x[size_t(d)] *= weight[d] / std::sqrt(squares / dim + extras.epsilon);
            const int64_t token = row / both[n]->view.shape[2] % tokens;
            for (double y : turned(r, x, int(token), given.inverse ? -1 : 1)) want[n].push_back(y);
        }
    run_rotation(given, threads);
    const double tolerance = dtype == Dtype::f32 ? (normalised ? 2e-6 : 1e-6) : dtype == Dtype::f16 ? 1e-3 : 8e-3;
    for (int n = 0; n < 2; ++n) {
        const bool in_cache = n == 1 && cached;
        const int64_t line = both[n]->view.shape[2] * dim;
        for (size_t i = 0; i < want[n].size(); ++i) {
            const int64_t slot = slots[i / size_t(line)], at = int64_t(i) % line;
            if (in_cache && slot < 0) continue;
            compare("rotate", in_cache ? cache[slot * line + at] : (*both[n])[int64_t(i)], want[n][i], tolerance, "rotate");
        }
    }
    if (!cached) return;
    const int64_t line = heads * v.view.shape[3];
    for (size_t token = 0; token < slots.size(); ++token)
        for (int64_t i = 0; i < line && slots[token] >= 0; ++i)
            compare("v", values[slots[token] * line + i], v[int64_t(token) * line + i], 0, "rotate");
    int64_t written = 0;
    for (int64_t slot : slots) written += slot >= 0;
    for (int64_t i = 0; i < pages * size * line; ++i) written -= values[i] == values[i] && i % line == 0;
    if (written) compare("slots that were not asked for", double(written), 0, 0, "rotate");
}

}  // namespace

int main(int argc, char **argv) {
    const int rounds = argc > 1 ? std::atoi(argv[1]) : 200;
    for (const std::string &set : instruction_sets()) {
        use_instruction_set(set);
        const int before = failures;
        every_conversion();
        for (int i = 0; i < rounds; ++i) {
            one_attention(1 + i % 3);
            one_rotation(1 + i % 3);
        }
        std::printf("%s: %d rounds, %d numbers wrong\n", set.c_str(), rounds, failures - before);
    }
    return failures ? 1 : 0;
}
