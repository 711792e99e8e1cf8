#include "binding_call.hpp"

#include <algorithm>

#include "parallel.hpp"

namespace nb = nanobind;

namespace ordinate {

void require(bool holds, const char *what) {
    if (!holds) throw nb::value_error(what);
}

// A packed [tokens, heads, dim] seen as a batch of one.
Tensor batched(Tensor t) {
    if (t.ndim == 4) return t;
    require(t.ndim == 3, "q, k and v must have three or four dimensions");
    t.ndim = 4;
    for (int i = 3; i > 0; --i) {
        t.shape[i] = t.shape[i - 1];
        t.stride[i] = t.stride[i - 1];
    }
    t.shape[0] = 1;
    t.stride[0] = 0;
    return t;
}

static int64_t number(const Tensor &t, int64_t i) {
    require(t.dtype == Dtype::i32 || t.dtype == Dtype::i64, "positions, lengths and pages must be int32 or int64");
    const int64_t at = i * t.stride[t.ndim - 1];
    return t.dtype == Dtype::i32 ? static_cast<const int32_t *>(t.data)[at] : static_cast<const int64_t *>(t.data)[at];
}

Rows::Rows(const Tensor &t, int64_t batch, int64_t count) : count_(count) {
    if (!t) return;
    require(t.shape[t.ndim - 1] == count, "positions must have one entry a token");
    rows_ = t.ndim == 2 ? t.shape[0] : 1;
    require(rows_ == 1 || rows_ == batch, "positions must have one row a sequence");
    values_.resize(size_t(rows_ * count));
    const int64_t lead = t.ndim == 2 ? t.stride[0] : 0;
    for (int64_t r = 0; r < rows_; ++r) {
        Tensor row = t;
        row.data = static_cast<char *>(t.data) + r * lead * (t.dtype == Dtype::i32 ? 4 : 8);
        for (int64_t i = 0; i < count; ++i) {
            const int64_t value = number(row, i);
            require(value > -(1 << 30) && value < 1 << 30, "positions must lie within 2**30 of 0");
            values_[size_t(r * count + i)] = int32_t(value);
        }
    }
}

Positions Rows::of(int64_t batch, int64_t first, int32_t start) const {
    if (values_.empty()) return {nullptr, start};
    return {values_.data() + (rows_ == 1 ? 0 : batch) * count_ + first, 0};
}

// [batch, heads] or [heads], or with more dimensions: missing leading dimensions have stride 0.
Tensor broadcast(Tensor t, int ndim) {
    if (!t) return t;
    require(t.ndim <= ndim, "too many dimensions");
    Tensor wide = t;
    wide.ndim = ndim;
    for (int i = 0; i < ndim; ++i) {
        const int from = i - (ndim - t.ndim);
        wide.shape[i] = from < 0 ? 1 : t.shape[from];
        wide.stride[i] = from < 0 || t.shape[from] == 1 ? 0 : t.stride[from];
    }
    return wide;
}

// float32 numbers in one run of memory, a copy where they do not lie so.
const float *Call::run(const Tensor &t, std::vector<float> &copy) {
    if (!t) return nullptr;
    require(t.dtype == Dtype::f32, "tables must be float32");
    int64_t expected = 1;
    bool contiguous = true;
    for (int i = t.ndim - 1; i >= 0; --i) {
        contiguous = contiguous && (t.shape[i] == 1 || t.stride[i] == expected);
        expected *= t.shape[i];
    }
    const float *from = static_cast<const float *>(t.data);
    if (contiguous) return from;
    copy.resize(size_t(t.size()));
    for (int64_t i = 0; i < t.size(); ++i) {
        int64_t rest = i, at = 0;
        for (int d = t.ndim - 1; d >= 0; --d) {
            at += rest % t.shape[d] * t.stride[d];
            rest /= t.shape[d];
        }
        copy[size_t(i)] = from[at];
    }
    return copy.data();
}

void Call::read(nb::handle q, nb::handle k, nb::handle v, nb::kwargs options) {
    auto get = [&](const char *name) -> nb::handle {
        PyObject *found = PyDict_GetItemString(options.ptr(), name);
        return found ? nb::handle(found) : nb::handle(Py_None);
    };
    auto array = [&](const char *name) { return borrowed.array(get(name)); };
    auto whole = [&](const char *name, int64_t otherwise) {
        nb::handle h = get(name);
        return h.is_none() ? otherwise : nb::cast<int64_t>(h);
    };
    auto real = [&](const char *name, double otherwise) {
        nb::handle h = get(name);
        return h.is_none() ? otherwise : nb::cast<double>(h);
    };
    auto flag = [&](const char *name) {
        nb::handle h = get(name);
        return !h.is_none() && nb::cast<bool>(h);
    };
    a.q = batched(borrowed.array(q));
    a.k = batched(borrowed.array(k));
    a.v = batched(borrowed.array(v));
    a.heads = int(a.q.shape[2]);
    a.kv_heads = int(a.k.shape[2]);
    a.dim = int(a.q.shape[3]);
    a.value_dim = int(a.v.shape[3]);
    require(a.kv_heads > 0 && a.heads % a.kv_heads == 0, "heads must be a multiple of kv_heads");
    require(a.k.shape[3] == a.dim && a.v.shape[2] == a.kv_heads, "k and v must fit q");
    require(a.k.shape[0] == a.v.shape[0] && a.k.shape[1] == a.v.shape[1], "k and v must have the same tokens");
    require(a.k.dtype == a.q.dtype && a.v.dtype == a.q.dtype, "q, k and v must have one dtype");
    require(a.q.dtype == Dtype::f32 || a.q.dtype == Dtype::bf16 || a.q.dtype == Dtype::f16,
            "q must be float32, bfloat16 or float16");

    a.scale = float(real("softmax_scale", 1));
    a.softcap = float(real("softcap", 0));
    a.causal = flag("causal");
    a.left = int32_t(std::min<int64_t>(whole("left", unlimited), unlimited));
    a.right = int32_t(std::min<int64_t>(whole("right", unlimited), unlimited));
    if (a.left >= 1 << 30) a.left = unlimited;
    if (a.right >= 1 << 30) a.right = unlimited;
    a.keep_first = int32_t(std::min<int64_t>(whole("keep_first", 0), 1 << 30));
    a.sink_logits = run(array("sink_logits"), copies[0]);
    a.query_scale = broadcast(array("query_scale"), 2);
    a.slopes = broadcast(array("slopes"), 2);  // [sequences, heads]
    Tensor table = array("by_distance");
    if (table) {
        require(table.ndim == 2 && table.shape[0] == a.heads && table.shape[1] % 2 == 1, "by_distance must fit");
        a.reach = int32_t(table.shape[1] / 2);
    }
    a.table = run(table, copies[1]);
    a.bias = broadcast(array("bias"), 4);
    a.mask = broadcast(array("mask"), 4);
    require(!a.bias || a.bias.dtype == Dtype::f32, "bias must be float32");
    require(!a.mask || a.mask.dtype == Dtype::b8, "mask must be bool");
    require(!a.slopes || a.slopes.dtype == Dtype::f32, "slopes must be float32");
    require(!a.query_scale || a.query_scale.dtype == Dtype::f32, "query_scale must be float32");

    Tensor cos = array("cos"), sin = array("sin");
    int64_t table_rows = INT64_MAX;
    if (cos) {
        require(sin && cos.ndim == 2 && sin.ndim == 2 && cos.shape[0] == sin.shape[0] && cos.shape[1] == sin.shape[1],
                "cos and sin must be [table, pairs]");
        require(cos.dtype == Dtype::f32 && sin.dtype == Dtype::f32, "cos and sin must be float32");
        Rotation &r = a.rotation;
        r.pairs = int(cos.shape[1]);
        require(2 * r.pairs <= a.dim, "there are more pairs than channels");
        const bool runs = cos.stride[1] == 1 && sin.stride[1] == 1;
        r.cos = runs ? static_cast<const float *>(cos.data) : run(cos, copies[2]);
        r.sin = runs ? static_cast<const float *>(sin.data) : run(sin, copies[3]);
        r.cos_row = runs ? cos.stride[0] : cos.shape[1];
        r.sin_row = runs ? sin.stride[0] : sin.shape[1];
        r.start = flag("last") ? a.dim - 2 * r.pairs : 0;
        r.interleaved_in = flag("interleaved_in");
        r.interleaved_out = flag("interleaved_out");
        table_rows = cos.shape[0];
    }

    // Sequences.
    Tensor pages = array("block_table"), lengths = array("key_lengths");
    Tensor cu_q = array("cu_seqlens_q"), cu_k = array("cu_seqlens_k");
    const int64_t batch = a.q.shape[0], queries = a.q.shape[1], slots = a.k.shape[1];
    int64_t keys = slots;
    if (pages) {
        require(pages.ndim == 2 && pages.shape[0] == batch && lengths, "block_table must have one row a sequence");
        a.page_size = slots;
        keys = pages.shape[1] * slots;
        for (int64_t b = 0; b < batch; ++b)
            for (int64_t i = 0; i < pages.shape[1]; ++i) {
                Tensor row = pages;
                row.data = static_cast<char *>(pages.data) + b * pages.stride[0] * (pages.dtype == Dtype::i32 ? 4 : 8);
                page_numbers.push_back(int32_t(number(row, i)));
            }
    } else {
        require(a.k.shape[0] == batch, "q and k must have one batch");
    }
    rows.emplace_back(array("query_positions"), batch, queries);
    rows.emplace_back(array("key_positions"), batch, keys);
    const Rows &qp = rows[0], &kp = rows[1];
    const int64_t count = cu_q ? cu_q.shape[0] - 1 : batch;
    require(!cu_q || (cu_k && batch == 1 && cu_k.shape[0] == cu_q.shape[0] && !pages), "cu_seqlens must fit");
    for (int64_t i = 0; i < count; ++i) {
        Sequence s{};
        s.index = i;
        s.batch = cu_q ? 0 : i;
        s.first_query = cu_q ? number(cu_q, i) : 0;
        s.first_key = cu_k ? number(cu_k, i) : 0;
        s.queries = int32_t(cu_q ? number(cu_q, i + 1) - s.first_query : queries);
        const int64_t length = lengths ? number(lengths, i) : cu_k ? number(cu_k, i + 1) - s.first_key : keys;
        require(length >= 0 && s.first_key + length <= keys && s.queries >= 0 && s.first_query >= 0 &&
                    s.first_key >= 0 && s.first_query + s.queries <= queries,
                "a sequence lies outside its tokens");
        s.keys = int32_t(length);
        s.query_positions = qp.of(s.batch, s.first_query, int32_t(length - s.queries));
        s.key_positions = kp.of(s.batch, s.first_key, 0);
        if (pages) {
            s.pages = page_numbers.data() + i * pages.shape[1];
            for (int64_t j = 0; j * a.page_size < length; ++j)
                require(s.pages[j] >= 0 && s.pages[j] < a.k.shape[0], "block_table points outside the cache");
        }
        if (cos) {
            for (int64_t j = 0; j < s.queries; ++j)
                require(s.query_positions[j] >= 0 && s.query_positions[j] < table_rows, "a position lies outside the table");
            for (int64_t j = 0; j < s.keys; ++j)
                require(s.key_positions[j] < table_rows, "a position lies outside the table");
        }
        sequences.push_back(s);
    }
    a.sequences = sequences.data();
    a.sequence_count = count;
    auto fits = [&](const Tensor &t, int64_t last, const char *what) {
        if (!t) return;
        const int64_t wanted[4] = {batch, a.heads, queries, last};
        for (int i = 0; i < 4; ++i) require(t.stride[i] == 0 || t.shape[i] == wanted[i], what);
    };
    fits(a.bias, keys, "bias must fit [batch, heads, query, key]");
    fits(a.mask, keys, "mask must fit [batch, heads, query, key]");
    if (a.slopes)
        require((a.slopes.stride[0] == 0 || a.slopes.shape[0] == count) &&
                    (a.slopes.stride[1] == 0 || a.slopes.shape[1] == a.heads),
                "slopes must fit [sequences, heads]");
    if (a.query_scale)
        require((a.query_scale.stride[0] == 0 || a.query_scale.shape[0] == batch) &&
                    (a.query_scale.stride[1] == 0 || a.query_scale.shape[1] == queries),
                "query_scale must fit [batch, query]");
    a.threads = int(whole("threads", available_threads()));
}

}  // namespace ordinate
