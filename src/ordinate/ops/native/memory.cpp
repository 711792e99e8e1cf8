// The limits of memory, for benchmarks.
#include <nanobind/nanobind.h>

#include <vector>

#include "arrays.hpp"
#include "isa.hpp"
#include "parallel.hpp"

namespace nb = nanobind;

namespace ordinate {

ORDINATE_DECLARE(void touch(char *data, int64_t bytes, int32_t nothing, bool ahead, int threads))
ORDINATE_DECLARE(void read(const char *data, int64_t bytes, bool ahead, int threads, int32_t *out))

namespace {

int64_t bytes_in(const Tensor &t) {
    int64_t expected = 1;
    for (int i = t.ndim - 1; i >= 0; --i) {
        if (t.shape[i] > 1 && t.stride[i] != expected) throw nb::value_error("memory is timed for contiguous arrays");
        expected *= t.shape[i];
    }
    switch (t.dtype) {
        case Dtype::b8: return t.size();
        case Dtype::f16: case Dtype::bf16: return 2 * t.size();
        case Dtype::f64: case Dtype::i64: return 8 * t.size();
        default: return 4 * t.size();
    }
}

void touch_arrays(nb::args arrays, bool ahead) {
    Borrowed borrowed;
    for (nb::handle array : arrays) {
        const Tensor t = borrowed.array(array, true);
        ORDINATE_CALL(touch(static_cast<char *>(t.data), bytes_in(t), 0, ahead, available_threads()));
    }
}

int read_arrays(nb::args arrays, bool ahead) {
    Borrowed borrowed;
    const int threads = available_threads();
    std::vector<int32_t> found(static_cast<size_t>(threads));
    for (nb::handle array : arrays) {
        const Tensor t = borrowed.array(array);
        ORDINATE_CALL(read(static_cast<const char *>(t.data), bytes_in(t), ahead, threads, found.data()));
    }
    int all = 0;
    for (int32_t x : found) all ^= x;
    return all;
}

}  // namespace

void bind_memory(nb::module_ &m) {
    using nb::arg;
    m.def("touch", &touch_arrays, arg("arrays"), arg("ahead") = false,
          "Read and write arrays in place without changing them: the limit of memory in place.");
    m.def("read", &read_arrays, arg("arrays"), arg("ahead") = false,
          "Read arrays once; the exclusive or of their words: the limit of memory that is read.");
}

}  // namespace ordinate
