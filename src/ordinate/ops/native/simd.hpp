// One vector of float32 in the width of the instruction set this file is compiled for.
//
// Kernels are written once over `F` and compiled once for each instruction set (ORDINATE_ISA); GCC's and Clang's
// vector extensions turn the operators into that set's instructions. Everything lies in the namespace of its set, and
// no standard template is used here: a copy made for a newer processor must never be linked into an older one's path.
#pragma once

#include <cstdint>
#include <cstring>
#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

#define INLINE inline __attribute__((always_inline))

namespace ordinate {

// 16-bit formats by their bits; arithmetic is float32 only.
struct bf16 {
    uint16_t bits;
};
struct f16 {
    uint16_t bits;
};

namespace ORDINATE_ISA {

#if defined(__AVX512F__)
constexpr int W = 16;
#elif defined(__AVX2__)
constexpr int W = 8;
#else
constexpr int W = 4;
#endif

typedef float F __attribute__((vector_size(4 * W)));
typedef int32_t I __attribute__((vector_size(4 * W)));
typedef uint32_t U __attribute__((vector_size(4 * W)));
typedef uint16_t H __attribute__((vector_size(2 * W)));

template <class To, class From>
INLINE To bits_of(From value) {
    static_assert(sizeof(To) == sizeof(From), "a cast of bits keeps their number");
    To to;
    std::memcpy(&to, &value, sizeof to);
    return to;
}

INLINE F spread(float value) { return value - F{}; }
INLINE I spread(int32_t value) { return value - I{}; }

INLINE F load(const float *p) {
    F v;
    std::memcpy(&v, p, sizeof v);
    return v;
}
INLINE void store(float *p, F v) { std::memcpy(p, &v, sizeof v); }

// bfloat16 is the upper half of float32. Compilers make more of a general conversion than the one instruction there is.
INLINE F load(const bf16 *p) {
    H h;
    std::memcpy(&h, p, sizeof h);
#if defined(__AVX512F__)
    return F(_mm512_slli_epi32(_mm512_cvtepu16_epi32((__m256i)h), 16));
#elif defined(__AVX2__)
    return F(_mm256_slli_epi32(_mm256_cvtepu16_epi32((__m128i)h), 16));
#elif defined(__aarch64__)
    return F(vshll_n_u16((uint16x4_t)h, 16));
#else
    return bits_of<F>(__builtin_convertvector(h, U) << 16);
#endif
}

// Round to nearest even; a NaN stays a NaN (quiet), whatever its payload.
INLINE void store(bf16 *p, F v) {
    U u = bits_of<U>(v);
    U rounded = (u + 0x7FFF + ((u >> 16) & 1)) >> 16;
    U nan = (u >> 16) | 0x40;
    const U kept = v == v ? rounded : nan;
#if defined(__AVX512F__)
    H h = H(_mm512_cvtepi32_epi16((__m512i)kept));
#elif defined(__AVX2__)
    H h = H(_mm_packus_epi32(_mm256_castsi256_si128((__m256i)kept), _mm256_extracti128_si256((__m256i)kept, 1)));
#elif defined(__aarch64__)
    H h = H(vmovn_u32((uint32x4_t)kept));
#else
    H h = __builtin_convertvector(kept, H);
#endif
    std::memcpy(p, &h, sizeof h);
}

INLINE float to_float(float x) { return x; }
INLINE float to_float(bf16 x) { return bits_of<float>(uint32_t(x.bits) << 16); }
INLINE void from_float(float *p, float x) { *p = x; }
INLINE void from_float(bf16 *p, float x) {
    uint32_t u = bits_of<uint32_t>(x);
    p->bits = x == x ? uint16_t((u + 0x7FFF + ((u >> 16) & 1)) >> 16) : uint16_t((u >> 16) | 0x40);
}

#if defined(__AVX512F__)
INLINE F load(const f16 *p) { return F(_mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)p))); }
INLINE void store(f16 *p, F v) { _mm256_storeu_si256((__m256i *)p, _mm512_cvtps_ph((__m512)v, 0)); }
#elif defined(__AVX2__) && defined(__F16C__)
INLINE F load(const f16 *p) { return F(_mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)p))); }
INLINE void store(f16 *p, F v) { _mm_storeu_si128((__m128i *)p, _mm256_cvtps_ph((__m256)v, 0)); }
#else
INLINE F widened(H h) {
#if defined(__aarch64__)
    return F(vcvt_f32_f16(vreinterpret_f16_u16((uint16x4_t)h)));
#else
    // Not every compiler has a type of float16. Its exponent is moved by 112; what is subnormal is fixed by a
    // difference that is exact.
    const U u = __builtin_convertvector(h, U), size = (u & 0x7FFF) << 13;
    const F small = bits_of<F>(size + (113u << 23)) - 0x1p-14f;
    const U special = (size + (224u << 23)) | (size > (31u << 23) ? U{} + 0x400000 : U{});
    const U large = size >= (31u << 23) ? special : size + (112u << 23);
    return bits_of<F>((size < (1u << 23) ? bits_of<U>(small) : large) | (u & 0x8000) << 16);
#endif
}
INLINE H narrowed(F v) {
#if defined(__aarch64__)
    return (H)vreinterpret_u16_f16(vcvt_f16_f32((float32x4_t)v));
#else
    // Round to nearest even: a subnormal by a sum whose last digit is float16's smallest number, others by their bits.
    const U u = bits_of<U>(v), size = u & 0x7FFFFFFF;
    const U small = bits_of<U>(bits_of<F>(size) + 0.5f) - (126u << 23);
    const U normal = (size - (112u << 23) + 0xFFF + ((size >> 13) & 1)) >> 13;
    const U special = size > (255u << 23) ? (size >> 13 & 0x3FF) | 0x7E00 : U{} + 0x7C00;
    const U large = size >= (143u << 23) ? special : normal;
    return __builtin_convertvector((size < (113u << 23) ? small : large) | (u >> 16 & 0x8000), H);
#endif
}
INLINE F load(const f16 *p) {
    H h;
    std::memcpy(&h, p, sizeof h);
    return widened(h);
}
INLINE void store(f16 *p, F v) {
    const H h = narrowed(v);
    std::memcpy(p, &h, sizeof h);
}
#endif

#if defined(__F16C__)
INLINE float to_float(f16 x) { return _mm_cvtss_f32(_mm_cvtph_ps(_mm_cvtsi32_si128(x.bits))); }
INLINE void from_float(f16 *p, float x) { p->bits = uint16_t(_mm_cvtsi128_si32(_mm_cvtps_ph(_mm_set_ss(x), 0))); }
#else
INLINE float to_float(f16 x) { return widened(H{x.bits})[0]; }
INLINE void from_float(f16 *p, float x) { p->bits = narrowed(F{x})[0]; }
#endif

INLINE F maximum(F a, F b) { return a > b ? a : b; }

INLINE float sum(F v) {
#if defined(__AVX512F__)
    return _mm512_reduce_add_ps((__m512)v);
#elif defined(__aarch64__)
    return vaddvq_f32((float32x4_t)v);
#else
    float total = 0;
    for (int i = 0; i < W; ++i) total += v[i];
    return total;
#endif
}
INLINE float largest(F v) {
#if defined(__AVX512F__)
    return _mm512_reduce_max_ps((__m512)v);
#elif defined(__aarch64__)
    return vmaxnmvq_f32((float32x4_t)v);
#else
    float top = v[0];
    for (int i = 1; i < W; ++i) top = v[i] > top ? v[i] : top;
    return top;
#endif
}

}  // namespace ORDINATE_ISA
}  // namespace ordinate
