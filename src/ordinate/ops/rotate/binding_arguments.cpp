#include "arguments.hpp"

#include <cmath>
#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace ordinate {

namespace {

bool kernels_take(Dtype dtype) { return dtype == Dtype::f32 || dtype == Dtype::bf16 || dtype == Dtype::f16; }

// Not every compiler has a type of float16.
float of_half(uint32_t bits) {
    const int exponent = int(bits >> 10 & 31), digits = int(bits & 1023);
    float size = exponent ? std::ldexp(float(1024 + digits), exponent - 25) : std::ldexp(float(digits), -24);
    if (exponent == 31) size = digits ? NAN : INFINITY;
    return bits & 0x8000 ? -size : size;
}

// The channels' weights of a norm, as float32.
bool read_weight(const Tensor &weight, std::vector<float> &floats) {
    floats.resize(size_t(weight.shape[0]));
    for (int64_t i = 0; i < weight.shape[0]; ++i) {
        const char *at = static_cast<const char *>(weight.data) + i * weight.stride[0] * bytes_of(weight.dtype);
        uint32_t bits = 0;
        switch (weight.dtype) {
            case Dtype::f32: std::memcpy(&floats[size_t(i)], at, 4); break;
            case Dtype::bf16:
                std::memcpy(reinterpret_cast<char *>(&bits) + 2, at, 2);
                std::memcpy(&floats[size_t(i)], &bits, 4);
                break;
            case Dtype::f16:
                std::memcpy(&bits, at, 2);
                floats[size_t(i)] = of_half(bits);
                break;
            default: return false;
        }
    }
    return true;
}

const char *describe_norm(int which, RotateExtras &extras, Heads &h) {
    const Tensor &weight = extras.weight[which];
    if (!weight) return nullptr;
    if (weight.ndim != 1 || weight.shape[0] != h.dim) return "a norm has a weight for every channel";
    if (!read_weight(weight, extras.weights[which])) return "the weights of a norm must be floats";
    h.weight = extras.weights[which].data();
    return nullptr;
}

const char *describe_heads(int which, const RotateArguments &given, RotateCall &call) {
    const Tensor &from = given.from[which], &to = given.to[which];
    const bool cached = which == 1 && given.extras && given.extras->slots;
    if (from.ndim != 3 && from.ndim != 4) return "q and k must have three or four axes";
    if (!kernels_take(from.dtype) || to.dtype != from.dtype) return "kernels take float32, bfloat16 and float16";
    const int token = from.ndim - 3, head = token + 1, channel = token + 2;
    if (to.ndim != (cached ? 4 : from.ndim)) return "the output must have the axes of the input, a cache four";
    for (int i = cached ? head : 0; i < from.ndim; ++i)
        if (to.shape[i + to.ndim - from.ndim] != from.shape[i]) return "the output must have the shape of the input";
    const int64_t batch = token ? from.shape[0] : 1, tokens = from.shape[token], width = 2 * call.pairs;
    if (call.count && (batch != call.batch || tokens != call.tokens))
        return "q and k must have the same batch and tokens";
    if (from.shape[channel] < width) return "too few channels";
    if (given.proportional && from.shape[channel] != width) return "a proportional table turns every channel";
    call.batch = batch;
    call.tokens = tokens;
    Heads &h = call.x[call.count++];
    h.dtype = from.dtype;
    h.from = static_cast<const char *>(from.data);
    h.to = static_cast<char *>(to.data);
    h.heads = from.shape[head];
    h.dim = from.shape[channel];
    h.start = given.last ? h.dim - width : 0;
    h.from_batch = token ? from.stride[0] : 0;
    h.from_token = from.stride[token];
    h.from_head = from.stride[head];
    h.from_channel = from.stride[channel];
    h.to_batch = to.ndim == 4 ? to.stride[0] : 0;
    h.to_token = to.stride[to.ndim - 3];
    h.to_head = to.stride[to.ndim - 2];
    h.to_channel = to.stride[to.ndim - 1];
    return given.extras ? describe_norm(which, *given.extras, h) : nullptr;
}

const char *describe_axes(RotateExtras &extras, const Tensor &positions, RotateCall &call) {
    const Tensor &axis = extras.axis_of_pair;
    if (!axis) return nullptr;
    if (axis.dtype != Dtype::i64 && axis.dtype != Dtype::i32) return "axis_of_pair must be int32 or int64";
    if (axis.ndim != 1 || axis.shape[0] != call.pairs) return "axis_of_pair must be [pairs]";
    if (!positions || positions.ndim < 2) return "axes need positions, [axes, ...]";
    const int64_t axes = positions.shape[0];
    extras.axes.resize(size_t(call.pairs));
    for (int64_t i = 0; i < call.pairs; ++i) {
        const int64_t value = axis.dtype == Dtype::i64 ? static_cast<const int64_t *>(axis.data)[i * axis.stride[0]]
                                                       : static_cast<const int32_t *>(axis.data)[i * axis.stride[0]];
        if (value < 0 || value >= axes) return "axis_of_pair must name axes of positions";
        extras.axes[size_t(i)] = int32_t(value);
    }
    call.angles.axis_of_pair = extras.axes.data();
    call.angles.axes = axes;
    return nullptr;
}

template <class Integer>
bool inside(const Integer *p, int64_t count, int64_t stride, int64_t rows) {
    Integer lowest = 0, highest = 0;
    for (int64_t i = 0; i < count; ++i) {
        lowest = std::min(lowest, p[i * stride]);
        highest = std::max(highest, p[i * stride]);
    }
    return lowest >= 0 && highest < rows;
}

const char *describe_positions(const RotateArguments &given, RotateCall &call, int64_t rows) {
    const Tensor &p = given.positions;
    Angles &a = call.angles;
    if (!p) return call.tokens > rows ? "the table is too short" : nullptr;
    if (p.dtype != Dtype::i64 && p.dtype != Dtype::i32) return "positions must be int32 or int64";
    const Tensor &x = given.from[0] ? given.from[0] : given.from[1];
    const char *wrong = "positions must be [tokens] or [batch, tokens], with [axes] before it where there are some";
    const int lead = a.axis_of_pair ? 1 : 0, token = p.ndim - 1;
    const bool batched = p.ndim == lead + 2;
    if ((p.ndim != lead + 1 && !batched) || p.shape[token] != call.tokens) return wrong;
    if (batched && (x.ndim != 4 || p.shape[lead] != call.batch)) return wrong;
    a.positions = p.data;
    a.wide = p.dtype == Dtype::i64;
    a.position_axis = lead ? p.stride[0] : 0;
    a.position_batch = batched ? p.stride[lead] : 0;
    a.position_token = p.stride[token];
    if (given.frequencies || p.size() == 0) return nullptr;
    for (int64_t axis = 0; axis < a.axes; ++axis)
        for (int64_t batch = 0; batch < (batched ? call.batch : 1); ++batch) {
            const int64_t at = axis * a.position_axis + batch * a.position_batch;
            if (!(a.wide ? inside(static_cast<const int64_t *>(p.data) + at, call.tokens, a.position_token, rows)
                         : inside(static_cast<const int32_t *>(p.data) + at, call.tokens, a.position_token, rows)))
                return "positions must lie in the table";
        }
    return nullptr;
}

}  // namespace

const char *describe(const RotateArguments &given, RotateCall &call) {
    int64_t rows = INT64_MAX;
    Angles &a = call.angles;
    if (given.frequencies) {
        if (given.frequencies.dtype != Dtype::f64 || given.frequencies.ndim != 1)
            return "frequencies must be float64, [pairs]";
        call.pairs = given.frequencies.shape[0];
        a.frequencies = static_cast<const double *>(given.frequencies.data);
        a.frequency_stride = given.frequencies.stride[0];
        a.magnitude = given.magnitude;
    } else {
        const Tensor &c = given.cos, &s = given.sin;
        if (c.dtype != Dtype::f32 || s.dtype != Dtype::f32) return "cos and sin must be float32";
        if (c.ndim != 2 || s.ndim != 2 || c.shape[0] != s.shape[0] || c.shape[1] != s.shape[1])
            return "cos and sin must be [table, pairs]";
        rows = c.shape[0];
        call.pairs = c.shape[1];
        a.cos = static_cast<const float *>(c.data);
        a.sin = static_cast<const float *>(s.data);
        a.cos_row = c.stride[0];
        a.cos_pair = c.stride[1];
        a.sin_row = s.stride[0];
        a.sin_pair = s.stride[1];
    }
    if (call.pairs < 1) return "there must be a pair";
    for (int i = 0; i < 2; ++i) {
        if (!given.from[i]) continue;
        if (const char *wrong = describe_heads(i, given, call)) return wrong;
    }
    if (!call.count) return "q or k must be given";
    call.read = given.inverse ? given.write : given.read;
    call.write = given.inverse ? given.read : given.write;
    call.inverse = given.inverse;
    if (given.extras)
        if (const char *wrong = describe_axes(*given.extras, given.positions, call)) return wrong;
    if (const char *wrong = describe_positions(given, call, rows)) return wrong;
    if (!given.extras) return nullptr;
    for (int i = 0; i < 2; ++i)
        if (given.extras->weight[i] && !given.from[i]) return "a norm needs what it normalises";
    call.epsilon = float(given.extras->epsilon);
    return describe_cache(given, call);
}

bool surely_apart(const Tensor &x) {
    int64_t shape[6], stride[6];
    int n = 0;
    for (int i = 0; i < x.ndim; ++i) {
        if (x.shape[i] == 0) return true;
        if (x.shape[i] == 1) continue;
        // Axes in the order of their strides.
        int at = n++;
        for (; at > 0 && std::abs(stride[at - 1]) > std::abs(x.stride[i]); --at) {
            stride[at] = stride[at - 1];
            shape[at] = shape[at - 1];
        }
        stride[at] = x.stride[i];
        shape[at] = x.shape[i];
    }
    int64_t reach = 0;
    for (int i = 0; i < n; ++i) {
        if (std::abs(stride[i]) <= reach) return false;
        reach += std::abs(stride[i]) * (shape[i] - 1);
    }
    return true;
}

bool surely_apart(const Tensor &q, const Tensor &k) {
    if (!q || !k || q.size() == 0 || k.size() == 0) return true;
    const Tensor *both[2] = {&q, &k};
    char *low[2], *high[2];
    for (int i = 0; i < 2; ++i) {
        const Tensor &x = *both[i];
        low[i] = high[i] = static_cast<char *>(x.data);
        for (int j = 0; j < x.ndim; ++j) {
            if (x.stride[j] < 0) return false;
            high[i] += x.stride[j] * (x.shape[j] - 1) * bytes_of(x.dtype);
        }
        high[i] += bytes_of(x.dtype);
    }
    if (high[0] <= low[1] || high[1] <= low[0]) return true;
    // Parts of one array, a fused projection or a cache of both: the same steps along an outer axis, and within such a
    // step one before the other.
    if (q.ndim != k.ndim || q.dtype != k.dtype) return false;
    const int first = low[0] <= low[1] ? 0 : 1;
    for (int axis = 0; axis <= q.ndim - 3; ++axis) {
        if (q.stride[axis] != k.stride[axis]) return false;
        if (axis && q.shape[axis - 1] > 1 && q.stride[axis - 1] < q.stride[axis] * q.shape[axis]) return false;
        int64_t within[2];  // bytes that one step's elements span
        for (int i = 0; i < 2; ++i) {
            within[i] = bytes_of(q.dtype);
            for (int j = axis + 1; j < q.ndim; ++j)
                within[i] += both[i]->stride[j] * (both[i]->shape[j] - 1) * bytes_of(q.dtype);
        }
        const int64_t step = q.stride[axis] * bytes_of(q.dtype);
        if (low[first] + within[first] <= low[1 - first] && low[1 - first] + within[1 - first] <= low[first] + step)
            return true;
    }
    return false;
}

}  // namespace ordinate
