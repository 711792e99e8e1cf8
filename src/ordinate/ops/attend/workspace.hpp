// Memory that a kernel works in: aligned to a cache line, not initialised, given back at the end of its scope.
#pragma once

#include <cstdint>
#include <cstdlib>

#include "parallel.hpp"
#include "sight.hpp"

namespace ordinate::ORDINATE_ISA {

INLINE void *aligned(int64_t bytes) {
    void *p = nullptr;
    if (posix_memalign(&p, 64, bytes > 0 ? (bytes + 63) / 64 * 64 : 64)) out_of_memory();
    return p;
}

template <class T>
class Memory {
public:
    explicit Memory(int64_t count) : at_(static_cast<T *>(aligned(count * int64_t(sizeof(T))))) {}
    Memory(const Memory &) = delete;
    Memory &operator=(const Memory &) = delete;
    ~Memory() { free(at_); }
    T *at() const { return at_; }
    T &operator[](int64_t i) const { return at_[i]; }

private:
    T *at_;
};

INLINE PaddedTables padded_tables(const Attention &a, int pad) {
    PaddedTables tables;
    if (!a.table) return tables;
    tables.pad = pad;
    tables.reach = a.reach;
    tables.width = 2 * int64_t(a.reach) + 1 + 2 * pad;
    tables.values = static_cast<float *>(aligned(a.heads * tables.width * 4));
    for (int h = 0; h < a.heads; ++h) {
        float *to = tables.values + h * tables.width;
        const float *from = a.table + h * (2 * int64_t(a.reach) + 1);
        for (int64_t i = 0; i < tables.width; ++i) {
            int64_t j = i - pad;
            to[i] = from[j < 0 ? 0 : j > 2 * int64_t(a.reach) ? 2 * int64_t(a.reach) : j];
        }
    }
    return tables;
}

}  // namespace ordinate::ORDINATE_ISA
