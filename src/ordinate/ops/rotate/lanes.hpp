// Vectors of a chosen number of float32 lanes: a row is worked off by the widest, and what is left by narrower ones.
#pragma once

#include "simd.hpp"

namespace ordinate::ORDINATE_ISA {

template <int N>
struct Lanes {
    typedef float F __attribute__((vector_size(4 * N)));
    typedef int32_t I __attribute__((vector_size(4 * N)));
    typedef uint32_t U __attribute__((vector_size(4 * N)));
    typedef uint16_t H __attribute__((vector_size(2 * N)));
};
template <int N>
using Floats = typename Lanes<N>::F;
template <int N>
using Bits = typename Lanes<N>::U;

template <class To>
INLINE To take(const void *p) {
    To v;
    std::memcpy(&v, p, sizeof v);
    return v;
}

// A product that is rounded on its own, never fused with the sum it goes into: every processor then gives the bits
// that PyTorch's separate operations give. The empty instruction costs nothing and hides the product's origin.
template <class Value>
INLINE Value apart(Value product) {
#if defined(__AVX512F__)
    __asm__("" : "+v"(product));
#elif defined(__x86_64__)
    __asm__("" : "+x"(product));
#elif defined(__aarch64__)
    __asm__("" : "+w"(product));
#endif
    return product;
}

// Ask for memory `ahead` bytes on: the processor's own prefetching stops at the end of a page. Where arithmetic takes
// as long as memory the nearest cache is worth asking for.
INLINE void fetch_ahead(const void *p, int64_t ahead) {
    __builtin_prefetch(static_cast<const char *>(p) + ahead, 0, 2);
}
INLINE void fetch_ahead(const bf16 *p, int64_t ahead) {
    __builtin_prefetch(reinterpret_cast<const char *>(p) + ahead / 2, 0, 3);
}

template <int N>
INLINE Floats<N> get(const float *p) {
    return take<Floats<N>>(p);
}

template <int N>
INLINE Floats<N> get(const f16 *p) {
#if defined(__AVX512F__)
    if constexpr (N == 16) return Floats<N>(_mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)p)));
#endif
#if defined(__F16C__)
    if constexpr (N == 8) return Floats<N>(_mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)p)));
    if constexpr (N == 4) return Floats<N>(_mm_cvtph_ps(_mm_loadl_epi64((const __m128i *)p)));
#endif
    if constexpr (N == W) return load(p);
    Floats<N> v;
    for (int i = 0; i < N; ++i) v[i] = to_float(p[i]);
    return v;
}

template <int N>
INLINE Floats<N> get(const bf16 *p) {
    if constexpr (N == W) return load(p);
#if defined(__AVX512F__)
    if constexpr (N == 8)
        return Floats<N>(_mm256_slli_epi32(_mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)p)), 16));
#endif
    return Floats<N>(__builtin_convertvector(take<typename Lanes<N>::H>(p), Bits<N>) << 16);
}

// Write a vector, around the caches where `stream` says so: then the address is a multiple of the vector's size.
template <bool stream, class Vector>
INLINE void give(void *p, Vector v) {
    if constexpr (stream) {
#if defined(__AVX512F__)
        if constexpr (sizeof v == 64) return _mm512_stream_si512((__m512i *)p, __m512i(v));
#endif
#if defined(__AVX2__)
        if constexpr (sizeof v == 32) return _mm256_stream_si256((__m256i *)p, __m256i(v));
#endif
#if defined(__x86_64__)
        if constexpr (sizeof v == 16) return _mm_stream_si128((__m128i *)p, __m128i(v));
#endif
    }
    std::memcpy(p, &v, sizeof v);
}

template <bool stream, int N>
INLINE void put(float *p, Floats<N> v) {
    give<stream>(p, v);
}

template <bool stream, int N>
INLINE void put(f16 *p, Floats<N> v) {
#if defined(__AVX512F__)
    if constexpr (N == 16) return give<stream>(p, _mm512_cvtps_ph(__m512(v), 0));
#endif
#if defined(__F16C__)
    if constexpr (N == 8) return give<stream>(p, _mm256_cvtps_ph(__m256(v), 0));
    if constexpr (N == 4) return _mm_storel_epi64((__m128i *)p, _mm_cvtps_ph(__m128(v), 0));
#endif
    if constexpr (N == W) return store(p, v);
    for (int i = 0; i < N; ++i) from_float(p + i, v[i]);
}

// Vectors of which `split` and `zip` make one another: a = (e0 o0 e1 ...), b = the rest; and pairs that change places.
#if defined(__clang__) || __GNUC__ >= 12
#define ORDINATE_SHUFFLE(N, name, ...) \
    INLINE Floats<N> name(Floats<N> a, Floats<N> b) { return __builtin_shufflevector(a, b, __VA_ARGS__); }
ORDINATE_SHUFFLE(4, evens, 0, 2, 4, 6)
ORDINATE_SHUFFLE(4, odds, 1, 3, 5, 7)
ORDINATE_SHUFFLE(4, zip_low, 0, 4, 1, 5)
ORDINATE_SHUFFLE(4, zip_high, 2, 6, 3, 7)
ORDINATE_SHUFFLE(4, swap_neighbours, 1, 0, 3, 2)
#if defined(__AVX2__)
ORDINATE_SHUFFLE(8, evens, 0, 2, 4, 6, 8, 10, 12, 14)
ORDINATE_SHUFFLE(8, odds, 1, 3, 5, 7, 9, 11, 13, 15)
ORDINATE_SHUFFLE(8, zip_low, 0, 8, 1, 9, 2, 10, 3, 11)
ORDINATE_SHUFFLE(8, zip_high, 4, 12, 5, 13, 6, 14, 7, 15)
ORDINATE_SHUFFLE(8, swap_neighbours, 1, 0, 3, 2, 5, 4, 7, 6)
#endif
#if defined(__AVX512F__)
ORDINATE_SHUFFLE(16, evens, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30)
ORDINATE_SHUFFLE(16, odds, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31)
ORDINATE_SHUFFLE(16, zip_low, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23)
ORDINATE_SHUFFLE(16, zip_high, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31)
ORDINATE_SHUFFLE(16, swap_neighbours, 1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14)
#endif
#undef ORDINATE_SHUFFLE
#else
#define ORDINATE_SHUFFLE(name, index)                       \
    template <class Vector>                                 \
    INLINE Vector name(Vector a, Vector b) {                \
        constexpr int N = sizeof(Vector) / 4;               \
        Vector v;                                           \
        for (int i = 0; i < N; ++i) {                       \
            const int j = index;                            \
            v[i] = j < N ? a[j % N] : b[j % N];             \
        }                                                   \
        return v;                                           \
    }
ORDINATE_SHUFFLE(evens, 2 * i)
ORDINATE_SHUFFLE(odds, 2 * i + 1)
ORDINATE_SHUFFLE(zip_low, i / 2 + i % 2 * N)
ORDINATE_SHUFFLE(zip_high, N / 2 + i / 2 + i % 2 * N)
ORDINATE_SHUFFLE(swap_neighbours, i ^ 1)
#undef ORDINATE_SHUFFLE
#endif

// A lane of 32 bits holds two bfloat16, the one at the lower address in its lower half.
template <int N>
INLINE Floats<N> lower(Bits<N> both) {
    return Floats<N>(both << 16);
}
template <int N>
INLINE Floats<N> upper(Bits<N> both) {
    return Floats<N>(both & 0xFFFF0000u);
}

// Round two vectors to nearest even and pack them. No NaN can become another value here: a NaN that comes of bfloat16
// inputs and of a prepared row has a zero lower half, so that the addition carries nothing into its upper half.
template <int N>
INLINE Bits<N> packed(Floats<N> low, Floats<N> high) {
    Bits<N> l = Bits<N>(low), h = Bits<N>(high);
#if defined(__AVX512F__)
    if constexpr (N == 16) {
        const __m512i below = _mm512_set1_epi32(0x7FFF), half = _mm512_set1_epi32(0x8000),
                       odd = _mm512_set1_epi32(0x10000);
        __m512i a = __m512i(l), b = __m512i(h);
        a = _mm512_add_epi32(a, _mm512_mask_mov_epi32(below, _mm512_test_epi32_mask(a, odd), half));
        b = _mm512_add_epi32(b, _mm512_mask_mov_epi32(below, _mm512_test_epi32_mask(b, odd), half));
        // (b and the upper half) or (a in the lower half)
        return Bits<N>(_mm512_mask_mov_epi16(b, 0x55555555u, _mm512_srli_epi32(a, 16)));
    }
#endif
    l += 0x7FFF + ((l >> 16) & 1);
    h += 0x7FFF + ((h >> 16) & 1);
#if defined(__AVX2__)
    if constexpr (N == 8) return Bits<N>(_mm256_blend_epi16(__m256i(h), __m256i(l >> 16), 0x55));
#endif
    return (l >> 16) | (h & 0xFFFF0000u);
}

// The same rounding, without packing.
template <bool stream, int N>
INLINE void put(bf16 *p, Floats<N> v) {
    Bits<N> u = Bits<N>(v);
    u += 0x7FFF + ((u >> 16) & 1);
#if defined(__aarch64__)
    if constexpr (N == 4) return give<stream>(p, vshrn_n_u32(uint32x4_t(u), 16));
#endif
#if defined(__AVX512F__)
    if constexpr (N == 16) return give<stream>(p, _mm512_cvtepi32_epi16(__m512i(u >> 16)));
#endif
#if defined(__AVX2__)
    if constexpr (N == 8) {
        const __m256i upper = __m256i(u >> 16);
        return give<stream>(p, _mm_packus_epi32(_mm256_castsi256_si128(upper), _mm256_extracti128_si256(upper, 1)));
    }
#endif
    give<stream>(p, __builtin_convertvector(u >> 16, typename Lanes<N>::H));
}

}  // namespace ordinate::ORDINATE_ISA
