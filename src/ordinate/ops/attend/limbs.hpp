// float32 numbers as sums of bfloat16 ones, whose products the processor's matrix registers sum in float32.
//
// Cut off, not rounded, three limbs of 8 bits are exactly the 24 bits of a float32; the last limb of fewer is rounded.
// Of the products of two such sums those are kept that a float32 would notice.
#pragma once

#include "simd.hpp"

namespace ordinate::ORDINATE_ISA {

INLINE F upper_half(F x) { return bits_of<F>(bits_of<U>(x) & 0xFFFF0000u); }

// To the nearest, halves away from zero: x must be no NaN, or its loss be known elsewhere.
INLINE F rounded(F x) { return bits_of<F>((bits_of<U>(x) + 0x8000u) & 0xFFFF0000u); }

// Any number; an infinity has no rest, a NaN is one in its last limb.
template <int LIMBS>
INLINE void split(F x, F (&limbs)[LIMBS]) {
    for (int i = 0; i + 1 < LIMBS; ++i) {
        limbs[i] = upper_half(x);
        x = x == limbs[i] ? F{} : x - limbs[i];
    }
    limbs[LIMBS - 1] = x == x ? rounded(x) : bits_of<F>(bits_of<U>(x) | 0x400000u);
}

// Finite numbers.
template <int LIMBS>
INLINE void split_finite(F x, F (&limbs)[LIMBS]) {
    for (int i = 0; i + 1 < LIMBS; ++i) {
        limbs[i] = upper_half(x);
        x -= limbs[i];
    }
    limbs[LIMBS - 1] = rounded(x);
}

// Lane i is the pair (a[i], b[i]).
INLINE U paired(F a, F b) { return (bits_of<U>(b) & 0xFFFF0000u) | (bits_of<U>(a) >> 16); }

}  // namespace ordinate::ORDINATE_ISA
