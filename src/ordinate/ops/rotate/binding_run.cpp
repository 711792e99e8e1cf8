// A call on its way to the kernels: how its memory is written, by how many threads, and with what scratch.
#include <algorithm>
#include <cstdlib>
#include <memory>

#if defined(__linux__)
#include <sys/mman.h>
#endif

#include "arguments.hpp"
#include "isa.hpp"
#include "parallel.hpp"

namespace ordinate {

ORDINATE_DECLARE(void rotate(const RotateCall &call))

namespace {

constexpr int64_t one_thread_below = 512 << 10;  // bytes: waking another thread takes longer than such a call
constexpr int64_t stream_from = 4 << 20;         // bytes: what is smaller may still be in a cache when it is read next

constexpr int64_t system_memory_from = 4 << 20;  // bytes: allocators may have the system make what is larger

// Whether every vector that is written lies on a cache line's border.
bool lines_up(const Heads &h, const RotateCall &call) {
    const int64_t size = bytes_of(h.dtype);
    auto even = [&](int64_t elements) { return elements * size % 64 == 0; };
    return reinterpret_cast<uintptr_t>(h.to) % 64 == 0 && h.to_channel == 1 && even(h.to_batch) && even(h.to_token) &&
           even(h.to_head) && even(h.start) && even(call.pairs);
}

// New memory of this size comes from the system page by page, and each page's first use takes longer than its rotation.
// Where the system lets a program ask for large pages there are fewer of them; NumPy asks for its own arrays too.
// Returns whether the memory is new: the system then leaves each page in the caches, where it is quickest written.
bool ask_for_large_pages(const Heads &h, const RotateCall &call) {
#if defined(__linux__) && defined(MADV_HUGEPAGE)
    const int64_t elements = call.batch * call.tokens * h.heads * h.dim, large = 2 << 20;
    const bool whole = h.to_channel == 1 && h.to_head == h.dim && h.to_token == h.heads * h.dim &&
                       (call.batch == 1 || h.to_batch == call.tokens * h.to_token);
    const int64_t bytes = elements * bytes_of(h.dtype);
    if (h.from == h.to || h.rows || !whole || bytes < system_memory_from) return false;
    const uintptr_t begin = (reinterpret_cast<uintptr_t>(h.to) + large - 1) / large * large;
    const uintptr_t end = (reinterpret_cast<uintptr_t>(h.to) + uintptr_t(bytes)) / large * large;
    if (begin >= end) return false;
    madvise(reinterpret_cast<void *>(begin), end - begin, MADV_HUGEPAGE);
    unsigned char resident = 1;
    return mincore(reinterpret_cast<void *>(end - large), 1, &resident) == 0 && !(resident & 1);
#else
    (void)h, (void)call;
    return false;
#endif
}

int64_t bytes_to_write(const RotateCall &call) {
    int64_t bytes = 0;
    for (int i = 0; i < call.count; ++i)
        bytes += call.batch * call.tokens * call.x[i].heads * call.x[i].dim * bytes_of(call.x[i].dtype);
    if (call.copied.dtype != Dtype::none)
        bytes += call.batch * call.tokens * call.copied.heads * call.copied.dim * bytes_of(call.copied.dtype);
    return bytes;
}

}  // namespace

bool is_large(const RotateCall &call) { return bytes_to_write(call) >= one_thread_below; }

void run(RotateCall &call) {
    const int64_t bytes = bytes_to_write(call);
    bool streams = true;
    int64_t width = 2 * call.pairs;
    for (int i = 0; i < call.count; ++i) {
        Heads &h = call.x[i];
        const bool fresh = ask_for_large_pages(h, call);
        streams = streams && !fresh && h.from != h.to && !h.rows && lines_up(h, call);
        if (h.weight) width = std::max(width, h.dim);
        h.heads_apart = h.heads > 1 && call.tokens > 1 && std::abs(h.from_head) > std::abs(h.from_token);
        if (h.heads_apart) call.block = std::min<int64_t>(16, call.tokens);
    }
    if (bytes == 0) return;
    call.ahead = bytes < fetched_ahead_from ? 0 : fetched_ahead;
    call.stream = streams && bytes >= stream_from;
    call.threads = is_large(call) ? available_threads() : 1;
    call.shared = call.batch > 1 && call.angles.position_batch == 0 && call.tokens >= 16 * call.threads;
    if (call.shared) call.block = 16;
    call.scratch_bytes = rounded_up(scratch_needed(call.pairs, call.block, width), 64);
    alignas(64) char small[16 << 10];
    std::unique_ptr<char[]> large;
    call.scratch = small;
    if (call.scratch_bytes * call.threads > int64_t(sizeof small)) {
        large.reset(new char[size_t(call.scratch_bytes * call.threads + 64)]);
        call.scratch = large.get() + (64 - reinterpret_cast<uintptr_t>(large.get()) % 64);
    }
    ORDINATE_CALL(rotate(call));
}

}  // namespace ordinate
