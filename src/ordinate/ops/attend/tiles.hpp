// The processor's matrix registers (AMX): eight tiles of 16 rows of 64 bytes, and products of bfloat16 summed in float32.
//
// Written as instructions, so that no compiler moves a load or store of memory across one of theirs. The build for
// tests of the kernels alone imitates them, on processors that have none and for sanitizers, which see no instruction's
// reads.
#pragma once

#include "simd.hpp"

namespace ordinate::ORDINATE_ISA {

constexpr int TILE_BYTES = 1024;

#if defined(ORDINATE_IMITATE_TILES)

struct Imitation {
    uint32_t tiles[8][16][16];
};
inline Imitation &imitation() {
    static thread_local Imitation own;
    return own;
}

struct TileScope {
    TileScope() {}
};

template <int T>
INLINE void tile_zero() {
    std::memset(imitation().tiles[T], 0, TILE_BYTES);
}
template <int T>
INLINE void tile_load(const void *p) {
    std::memcpy(imitation().tiles[T], p, TILE_BYTES);
}
template <int T>
INLINE void tile_store(void *p, int64_t lead) {
    for (int r = 0; r < 16; ++r) std::memcpy(static_cast<char *>(p) + r * lead, imitation().tiles[T][r], 64);
}
template <int SUM, int A, int B>
INLINE void tile_multiply() {
    Imitation &t = imitation();
    for (int r = 0; r < 16; ++r)
        for (int k = 0; k < 16; ++k)
            for (int half = 0; half < 2; ++half)
                for (int c = 0; c < 16; ++c) {
                    const uint32_t a = t.tiles[A][r][k], b = t.tiles[B][k][c];
                    const float product = bits_of<float>(half ? a & 0xFFFF0000u : a << 16) *
                                          bits_of<float>(half ? b & 0xFFFF0000u : b << 16);
                    t.tiles[SUM][r][c] = bits_of<uint32_t>(bits_of<float>(t.tiles[SUM][r][c]) + product);
                }
}

#else

// The tiles are a thread's own; whoever used them before finds them as he left them, but for their numbers.
class TileScope {
public:
    TileScope() {
        struct alignas(64) {
            uint8_t palette = 1, start_row = 0, reserved[14] = {};
            uint16_t row_bytes[16] = {};
            uint8_t rows[16] = {};
        } wanted;
        for (int i = 0; i < 8; ++i) wanted.row_bytes[i] = 64, wanted.rows[i] = 16;
        asm volatile("sttilecfg (%0)" ::"r"(before_) : "memory");
        asm volatile("ldtilecfg (%0)" ::"r"(&wanted) : "memory");
    }
    TileScope(const TileScope &) = delete;
    TileScope &operator=(const TileScope &) = delete;
    ~TileScope() {
        asm volatile("tilerelease\n\tldtilecfg (%0)" ::"r"(before_) : "memory");
    }

private:
    alignas(64) unsigned char before_[64];
};

template <int T>
INLINE void tile_zero() {
    asm volatile("tilezero %%tmm%c0" ::"i"(T));
}
// 16 rows that follow each other.
template <int T>
INLINE void tile_load(const void *p) {
    asm volatile("tileloadd (%0,%1,1), %%tmm%c2" ::"r"(p), "r"(int64_t(64)), "i"(T) : "memory");
}
// 16 rows of float32, `lead` bytes apart.
template <int T>
INLINE void tile_store(void *p, int64_t lead) {
    asm volatile("tilestored %%tmm%c2, (%0,%1,1)" ::"r"(p), "r"(lead), "i"(T) : "memory");
}
// sum[r][c] += over p: low(a[r][p]) low(b[p][c]) + high(a[r][p]) high(b[p][c])
template <int SUM, int A, int B>
INLINE void tile_multiply() {
    asm volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(SUM), "i"(A), "i"(B));
}

#endif

}  // namespace ordinate::ORDINATE_ISA
