// Where the tokens of k and v go in a cache: a dense one, [batch, length, heads, dim], is one of pages as long as itself.
#include <algorithm>

#include "arguments.hpp"

namespace ordinate {
namespace {

int64_t slot_of(const Tensor &slots, int64_t batch, int64_t token) {
    const bool batched = slots.ndim == 2;
    const int64_t at = (batched ? batch * slots.stride[0] : 0) + token * slots.stride[batched];
    if (slots.dtype == Dtype::i64) return static_cast<const int64_t *>(slots.data)[at];
    return static_cast<const int32_t *>(slots.data)[at];
}

// A token that goes nowhere has a negative slot. Slots that rise, as those of a prompt in whole pages do, are apart
// without a search.
bool all_apart(const std::vector<int64_t> &slots) {
    int64_t highest = -1;
    for (int64_t slot : slots) {
        if (slot < 0) continue;
        if (slot <= highest) {
            std::vector<int64_t> sorted(slots);
            std::sort(sorted.begin(), sorted.end());
            for (size_t i = 1; i < sorted.size(); ++i)
                if (sorted[i] >= 0 && sorted[i] == sorted[i - 1]) return false;
            return true;
        }
        highest = slot;
    }
    return true;
}

const char *describe_values(const RotateArguments &given, RotateCall &call) {
    const Tensor &v = given.extras->v, &to = given.extras->v_to, &cache = given.to[1];
    if (bool(v) != bool(to)) return "v and its cache belong together";
    if (!v) return nullptr;
    if (v.dtype != Dtype::f32 && v.dtype != Dtype::bf16 && v.dtype != Dtype::f16)
        return "kernels take float32, bfloat16 and float16";
    if (to.dtype != v.dtype) return "v and its cache must have one dtype";
    const Tensor &k = given.from[1];
    if (v.ndim != k.ndim || to.ndim != 4) return "v must have the axes of k, its cache four";
    const int token = v.ndim - 3;
    for (int i = 0; i <= token; ++i)
        if (v.shape[i] != k.shape[i]) return "v must have the tokens of k";
    if (to.shape[0] != cache.shape[0] || to.shape[1] != cache.shape[1]) return "both caches must have the same pages";
    if (to.shape[2] != v.shape[token + 1] || to.shape[3] != v.shape[token + 2])
        return "v and its cache must have the same heads and channels";
    Heads &h = call.copied;
    h.dtype = v.dtype;
    h.from = static_cast<const char *>(v.data);
    h.to = static_cast<char *>(to.data);
    h.heads = to.shape[2];
    h.dim = h.start = to.shape[3];
    h.from_batch = token ? v.stride[0] : 0;
    h.from_token = v.stride[token];
    h.from_head = v.stride[token + 1];
    h.from_channel = v.stride[token + 2];
    h.to_head = to.stride[2];
    h.to_channel = to.stride[3];
    return nullptr;
}

}  // namespace

const char *describe_cache(const RotateArguments &given, RotateCall &call) {
    RotateExtras &extras = *given.extras;
    const Tensor &slots = extras.slots;
    if (!slots) return extras.v || extras.v_to ? "v goes to a cache by slots" : nullptr;
    if (!given.from[1]) return "slots are those of k";
    if (slots.dtype != Dtype::i64 && slots.dtype != Dtype::i32) return "slots must be int32 or int64";
    const bool batched = slots.ndim == 2;
    if (slots.ndim < 1 || slots.ndim > 2 || slots.shape[batched] != call.tokens)
        return "slots must be [tokens] or [batch, tokens]";
    if (batched ? slots.shape[0] != call.batch : call.batch != 1) return "every token needs a slot of its own";
    if (const char *wrong = describe_values(given, call)) return wrong;
    const int64_t pages = given.to[1].shape[0], page = given.to[1].shape[1];
    std::vector<int64_t> &rows = extras.rows, &value_rows = extras.value_rows;
    rows.clear();
    rows.reserve(size_t(call.batch * call.tokens));
    for (int64_t b = 0; b < call.batch; ++b)
        for (int64_t t = 0; t < call.tokens; ++t) {
            const int64_t slot = slot_of(slots, b, t);
            if (slot >= pages * page) return "slots must lie in the cache";
            rows.push_back(slot < 0 ? -1 : slot);
        }
    if (!all_apart(rows)) return "two tokens have the same slot";
    if (call.copied.dtype != Dtype::none) {
        value_rows = rows;
        for (int64_t &row : value_rows)
            if (row >= 0) row = row / page * extras.v_to.stride[0] + row % page * extras.v_to.stride[1];
        call.copied.rows = value_rows.data();
    }
    for (int64_t &row : rows)
        if (row >= 0) row = row / page * given.to[1].stride[0] + row % page * given.to[1].stride[1];
    call.x[call.count - 1].rows = rows.data();
    return nullptr;
}

}  // namespace ordinate
