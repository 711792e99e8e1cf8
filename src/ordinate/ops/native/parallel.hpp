// Work shared among threads: torch's own pool where both are linked to one OpenMP runtime.
#pragma once

#include <cstdint>
#if defined(_OPENMP)
#include <omp.h>
#else
#include <atomic>
#include <thread>
#include <vector>
#endif

namespace ordinate {

// How many threads a region may have: what torch.set_num_threads says, since it sets OpenMP's own number.
inline int available_threads() {
#if defined(_OPENMP)
    return omp_in_parallel() ? 1 : omp_get_max_threads();
#else
    unsigned n = std::thread::hardware_concurrency();
    return n ? int(n) : 1;
#endif
}

// Call work(i, thread) for every i in [0, n), in any order, on at most `threads` threads; the next free one takes the
// next i. `work` must not throw.
template <class Work>
void parallel_for(int64_t n, int threads, Work &&work) {
    if (threads > n) threads = int(n);
    if (threads <= 1) {
        for (int64_t i = 0; i < n; ++i) work(i, 0);
        return;
    }
#if defined(_OPENMP)
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
    for (int64_t i = 0; i < n; ++i) work(i, omp_get_thread_num());
#else
    std::atomic<int64_t> next{0};
    auto run = [&](int thread) {
        for (int64_t i; (i = next.fetch_add(1)) < n;) work(i, thread);
    };
    std::vector<std::thread> pool;
    for (int t = 1; t < threads; ++t) pool.emplace_back(run, t);
    run(0);
    for (auto &t : pool) t.join();
#endif
}

}  // namespace ordinate
