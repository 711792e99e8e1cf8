// Work shared among threads: torch's own pool where both are linked to one OpenMP runtime, std::thread otherwise.
#pragma once

#include <cstdint>
#if defined(_OPENMP)
#include <omp.h>
#endif

namespace ordinate {

// How many threads a region may have: what torch says once it is there, before that all that the system gives.
int available_threads();

// Have torch asked from now on: `count` answers for the thread that calls it.
void ask_for_threads(int (*count)());

// Call run(context, thread) on `threads` threads, this one among them, without OpenMP. Kernels of every instruction set
// are linked to this one copy: a template of the standard library would have one in each.
void run_on_threads(int threads, void (*run)(void *, int), void *context);

// Throw std::bad_alloc: here, once, so that no kernel has a copy of the standard library's code.
[[noreturn]] void out_of_memory();

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
    int64_t next = 0;
    auto run = [&](int thread) {
        for (int64_t i; (i = __atomic_fetch_add(&next, 1, __ATOMIC_RELAXED)) < n;) work(i, thread);
    };
    run_on_threads(threads, [](void *context, int thread) { (*static_cast<decltype(run) *>(context))(thread); }, &run);
#endif
}

}  // namespace ordinate
