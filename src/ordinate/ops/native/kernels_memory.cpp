// How fast memory itself is: the limits that `rotate` and `attend` are measured against.
#include "parallel.hpp"
#include "simd.hpp"

namespace ordinate::ORDINATE_ISA {
namespace {

constexpr int64_t piece = 1 << 18;    // bytes a unit of work
constexpr int64_t distance = 1 << 13;  // bytes ahead of what is read

INLINE I take(const char *p) {
    I v;
    std::memcpy(&v, p, sizeof v);
    return v;
}

}  // namespace

// Read and write memory in place without changing it: `nothing` is 0, which the compiler does not know.
void touch(char *data, int64_t bytes, int32_t nothing, bool ahead, int threads) {
    parallel_for((bytes + piece - 1) / piece, threads, [&](int64_t i, int) {
        char *p = data + i * piece, *end = data + ((i + 1) * piece < bytes ? (i + 1) * piece : bytes);
        for (; p + sizeof(I) <= end; p += sizeof(I)) {
            if (ahead) __builtin_prefetch(p + distance, 1);
            const I v = take(p) ^ nothing;
            std::memcpy(p, &v, sizeof v);
        }
    });
}

// The exclusive or of all whole vectors of memory, by lane and thread: a number that needs every byte.
void read(const char *data, int64_t bytes, bool ahead, int threads, int32_t *out) {
    parallel_for((bytes + piece - 1) / piece, threads, [&](int64_t i, int thread) {
        const char *p = data + i * piece, *end = data + ((i + 1) * piece < bytes ? (i + 1) * piece : bytes);
        I a{}, b{}, c{}, d{};
        for (; p + 4 * sizeof(I) <= end; p += 4 * sizeof(I)) {
            if (ahead) __builtin_prefetch(p + distance);
            a ^= take(p);
            b ^= take(p + sizeof(I));
            c ^= take(p + 2 * sizeof(I));
            d ^= take(p + 3 * sizeof(I));
        }
        for (; p + sizeof(I) <= end; p += sizeof(I)) a ^= take(p);
        a ^= b ^ c ^ d;
        int32_t all = 0;
        for (int lane = 0; lane < W; ++lane) all ^= a[lane];
        out[thread] ^= all;
    });
}

}  // namespace ordinate::ORDINATE_ISA
