// Arrays of the kernels' dtypes, and numbers rounded to them without the kernels' own arithmetic.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "tensor.hpp"

namespace ordinate {

inline std::mt19937_64 generator(20240229);
inline int whole(int low, int high) { return std::uniform_int_distribution<int>(low, high)(generator); }
inline bool chance(double p) { return std::bernoulli_distribution(p)(generator); }
inline float normal() { return std::normal_distribution<float>()(generator); }

template <class To, class From>
To bits(From x) {
    To to;
    static_assert(sizeof to == sizeof x, "a cast of bits keeps their number");
    std::memcpy(&to, &x, sizeof to);
    return to;
}

// A number of 16 bits: `digits` of them after the first, the rest sign and exponent. Compilers differ in what they call
// float16, and some have no such type.
struct Format {
    int digits, least_exponent;
    int bias() const { return 1 - least_exponent; }
};
inline Format format_of(Dtype dtype) { return dtype == Dtype::f16 ? Format{10, -14} : Format{7, -126}; }

inline double decode(Dtype dtype, uint16_t pattern) {
    const Format f = format_of(dtype);
    const int exponent = (pattern & 0x7FFF) >> f.digits, digits = pattern & ((1 << f.digits) - 1);
    double size = exponent ? std::ldexp((1 << f.digits) + digits, exponent - f.bias() - f.digits)
                           : std::ldexp(digits, f.least_exponent - f.digits);
    if (exponent == 0x7FFF >> f.digits) size = digits ? NAN : INFINITY;
    return pattern & 0x8000 ? -size : size;
}

// To the nearest, and of two as near to the even one.
inline uint16_t encode(Dtype dtype, double x) {
    const Format f = format_of(dtype);
    const uint16_t infinite = uint16_t(0x7FFF >> f.digits << f.digits), sign = std::signbit(x) ? 0x8000 : 0;
    if (std::isnan(x)) return infinite | 1 << (f.digits - 1);
    if (x == 0 || std::isinf(x)) return sign | (x == 0 ? 0 : infinite);
    const int exponent = std::max(std::ilogb(x), f.least_exponent);
    const double size = std::nearbyint(std::ldexp(std::abs(x), f.digits - exponent));
    // Digits that are carried over raise the exponent by themselves.
    const int64_t pattern = (int64_t(exponent - f.least_exponent) << f.digits) + int64_t(size);
    return sign | uint16_t(std::min<int64_t>(pattern, infinite));
}

inline float round_to(Dtype dtype, float x) { return dtype == Dtype::f32 ? x : float(decode(dtype, encode(dtype, x))); }

// An array that is its own allocation of exactly its size, so that a read or write beside it is found.
struct Array {
    std::unique_ptr<char, decltype(&free)> memory{nullptr, &free};
    Tensor view;

    Array(Dtype dtype, std::vector<int64_t> shape, bool nan = false) {
        const int64_t bytes = dtype == Dtype::f32 ? 4 : 2;
        view.dtype = dtype;
        view.ndim = int(shape.size());
        int64_t size = 1;
        for (int i = view.ndim - 1; i >= 0; --i) {
            view.shape[i] = shape[size_t(i)];
            view.stride[i] = size;
            size *= shape[size_t(i)];
        }
        memory.reset(static_cast<char *>(malloc(size_t(size ? size * bytes : 1))));
        view.data = memory.get();
        for (int64_t i = 0; i < size; ++i) set(i, nan ? NAN : normal());
    }
    void set(int64_t i, float x) {
        if (view.dtype == Dtype::f32) std::memcpy(memory.get() + 4 * i, &x, 4);
        else set_pattern(i, encode(view.dtype, x));
    }
    void set_pattern(int64_t i, uint16_t pattern) { std::memcpy(memory.get() + 2 * i, &pattern, 2); }
    double operator[](int64_t i) const {
        float x;
        uint16_t pattern;
        std::memcpy(&pattern, memory.get() + 2 * i, 2);
        if (view.dtype != Dtype::f32) return decode(view.dtype, pattern);
        std::memcpy(&x, memory.get() + 4 * i, 4);
        return x;
    }
    double at(int64_t a, int64_t b, int64_t c, int64_t d) const {
        return (*this)[a * view.stride[0] + b * view.stride[1] + c * view.stride[2] + d];
    }
    float *floats() const { return reinterpret_cast<float *>(memory.get()); }
};

inline int failures = 0;

inline void compare(const char *what, double got, double expected, double tolerance, const std::string &problem) {
    if (std::abs(got - expected) <= tolerance * (1 + std::abs(expected)) || (got == expected)) return;
    if (std::isnan(got) && std::isnan(expected)) return;
    if (++failures <= 10) std::printf("%s: got %.9g, expected %.9g (%s)\n", what, got, expected, problem.c_str());
}

}  // namespace ordinate
