// attend's kernels for Python: forward and backward.
#include <algorithm>

#include "binding_call.hpp"
#include "isa.hpp"

namespace nb = nanobind;

namespace ordinate {

ORDINATE_DECLARE_TILES(void attend_forward(const Attention &))
ORDINATE_DECLARE(void attend_decode(const Attention &))
ORDINATE_DECLARE_TILES(void attend_backward(const Attention &))

namespace {

void forward(nb::handle q, nb::handle k, nb::handle v, nb::handle out, nb::handle lse, nb::kwargs options) {
    Call call;
    call.read(q, k, v, options);
    Attention &a = call.a;
    a.out = batched(call.borrowed.array(out, true));
    require((a.out.dtype == a.q.dtype || a.out.dtype == Dtype::f32) && a.out.shape[0] == a.q.shape[0] && a.out.shape[1] == a.q.shape[1] &&
                a.out.shape[2] == a.heads && a.out.shape[3] == a.value_dim,
            "out must fit q and v");
    a.lse = call.borrowed.array(lse, true);
    if (a.lse) {
        a.lse = broadcast(a.lse, 3);
        require(a.lse.dtype == Dtype::f32 && a.lse.shape[1] == a.heads && a.lse.shape[2] == a.q.shape[1],
                "lse must be float32 [batch, heads, query]");
    }
    int64_t rows = 0;
    for (const Sequence &s : call.sequences) rows = std::max<int64_t>(rows, int64_t(a.group()) * s.queries);
    if (call.sequences.empty()) return;
    nb::gil_scoped_release release;
    if (rows <= decoded_rows) {
        ORDINATE_CALL(attend_decode(a));
    } else {
        ORDINATE_CALL_TILES(attend_forward(a));
    }
}

void same_shape(const Tensor &gradient, const Tensor &of, const char *what) {
    require(gradient.dtype == of.dtype, what);
    for (int i = 0; i < 4; ++i) require(gradient.shape[i] == of.shape[i], what);
}

// Sums of gradients, filled with zeros by the caller: float32, contiguous.
float *total_of(const Tensor &t, int64_t size, const char *what) {
    if (!t) return nullptr;
    require(t.dtype == Dtype::f32 && t.size() == size, what);
    int64_t expected = 1;
    for (int i = t.ndim - 1; i >= 0; --i) {
        require(t.shape[i] == 1 || t.stride[i] == expected, what);
        expected *= t.shape[i];
    }
    return static_cast<float *>(t.data);
}

void backward(nb::handle q, nb::handle k, nb::handle v, nb::handle out, nb::handle lse, nb::handle grad_out, nb::handle grad_lse,
              nb::handle grad_q, nb::handle grad_k, nb::handle grad_v, nb::handle grad_slopes, nb::handle grad_table,
              nb::handle grad_sinks, nb::kwargs options) {
    Call call;
    call.read(q, k, v, options);
    Attention &a = call.a;
    require(!a.page_size, "a paged cache has no gradient");
    a.out = batched(call.borrowed.array(out));
    a.grad_out = batched(call.borrowed.array(grad_out));
    a.lse = broadcast(call.borrowed.array(lse), 3);
    require(a.lse && a.lse.dtype == Dtype::f32 && a.lse.shape[1] == a.heads && a.lse.shape[2] == a.q.shape[1],
            "lse must be float32 [batch, heads, query]");
    Tensor like_out = a.q;
    like_out.shape[3] = a.value_dim;
    same_shape(a.grad_out, like_out, "the gradient of out must fit q and v");
    if (a.out.dtype == Dtype::f32) like_out.dtype = Dtype::f32;
    same_shape(a.out, like_out, "out must fit q and v");
    a.grad_lse = broadcast(call.borrowed.array(grad_lse), 3);
    require(!a.grad_lse || (a.grad_lse.dtype == Dtype::f32 && a.grad_lse.ndim == 3), "the gradient of lse must be float32");
    for (int i = 0; a.grad_lse && i < 3; ++i)
        require(a.grad_lse.stride[i] == 0 || a.grad_lse.shape[i] == a.lse.shape[i], "the gradient of lse must fit lse");
    a.grad_q = batched(call.borrowed.array(grad_q, true));
    a.grad_k = batched(call.borrowed.array(grad_k, true));
    a.grad_v = batched(call.borrowed.array(grad_v, true));
    same_shape(a.grad_q, a.q, "the gradient of q must fit q");
    same_shape(a.grad_k, a.k, "the gradient of k must fit k");
    same_shape(a.grad_v, a.v, "the gradient of v must fit v");
    const int64_t slope_rows = a.slopes && a.slopes.stride[0] ? a.slopes.shape[0] : 1;
    a.grad_slopes = total_of(call.borrowed.array(grad_slopes, true), slope_rows * a.heads, "the gradient of slopes must fit");
    a.grad_table = total_of(call.borrowed.array(grad_table, true), a.heads * (2 * int64_t(a.reach) + 1),
                            "the gradient of by_distance must fit");
    a.grad_sinks = total_of(call.borrowed.array(grad_sinks, true), a.heads, "the gradient of sink_logits must fit");
    require((!a.grad_slopes || a.slopes) && (!a.grad_table || a.table) && (!a.grad_sinks || a.sink_logits),
            "a gradient was asked for of what is not given");
    if (call.sequences.empty()) return;
    nb::gil_scoped_release release;
    ORDINATE_CALL_TILES(attend_backward(a));
}

}  // namespace

void bind_attend(nb::module_ &m) {
    m.def("attend", &forward, nb::arg("q"), nb::arg("k"), nb::arg("v"), nb::arg("out"), nb::arg("lse").none(),
          nb::arg("options"));
    m.def("attend_backward", &backward, nb::arg("q"), nb::arg("k"), nb::arg("v"), nb::arg("out"), nb::arg("lse"),
          nb::arg("grad_out"), nb::arg("grad_lse").none(), nb::arg("grad_q"), nb::arg("grad_k"), nb::arg("grad_v"), nb::arg("grad_slopes").none(),
          nb::arg("grad_table").none(), nb::arg("grad_sinks").none(), nb::arg("options"));
}

}  // namespace ordinate
