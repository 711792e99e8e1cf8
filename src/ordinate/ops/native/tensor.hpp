// An array as kernels see it: memory, dtype, shape and strides (in elements). It owns nothing.
#pragma once

#include <cstdint>

// Shared by translation units of different instruction sets: a copy made for a newer processor must not be linked.
#define ORDINATE_INLINE inline __attribute__((always_inline))

namespace ordinate {

enum class Dtype : uint8_t { none, f16, bf16, f32, f64, i32, i64, b8 };

struct Tensor {
    void *data = nullptr;
    Dtype dtype = Dtype::none;
    int ndim = 0;
    int64_t shape[6] = {};
    int64_t stride[6] = {};

    ORDINATE_INLINE explicit operator bool() const { return dtype != Dtype::none; }
    ORDINATE_INLINE int64_t size() const {
        int64_t n = 1;
        for (int i = 0; i < ndim; ++i) n *= shape[i];
        return n;
    }
};

}  // namespace ordinate
