#include "parallel.hpp"

#include <atomic>
#include <new>
#if !defined(_OPENMP)
#include <system_error>
#include <thread>
#include <vector>
#endif

namespace ordinate {
namespace {

std::atomic<int (*)()> asked{nullptr};

}  // namespace

void out_of_memory() { throw std::bad_alloc(); }

void ask_for_threads(int (*count)()) { asked = count; }

int available_threads() {
#if defined(_OPENMP)
    if (omp_in_parallel()) return 1;
#endif
    if (int (*count)() = asked) return count();
#if defined(_OPENMP)
    return omp_get_max_threads();
#else
    const unsigned n = std::thread::hardware_concurrency();
    return n ? int(n) : 1;
#endif
}

#if !defined(_OPENMP)
void run_on_threads(int threads, void (*run)(void *, int), void *context) {
    std::vector<std::thread> others;
    try {
        for (int t = 1; t < threads; ++t) others.emplace_back(run, context, t);
    } catch (const std::system_error &) {
        // The system has no more: those that are there do all the work.
    }
    run(context, 0);
    for (auto &other : others) other.join();
}
#endif

}  // namespace ordinate
