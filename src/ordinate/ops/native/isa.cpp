#include "isa.hpp"

#include <atomic>
#if defined(ORDINATE_HAS_TILES) && !defined(ORDINATE_IMITATE_TILES)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace ordinate {
namespace {

// Whether the processor has matrix registers of bfloat16 and the system lets this process use them: Linux reserves
// their 8 KiB a thread only for those that ask.
bool tiles_are_here() {
#if defined(ORDINATE_IMITATE_TILES)
    return true;
#elif defined(ORDINATE_HAS_TILES)
    unsigned a, b, c, d;
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || !(d >> 22 & 1) || !(d >> 24 & 1)) return false;
    constexpr long request_permission = 0x1023, tile_data = 18;
    return syscall(SYS_arch_prctl, request_permission, tile_data) == 0;
#else
    return false;
#endif
}

struct Known {
    Isa isa;
    const char *name;
    bool present;
};

std::vector<Known> known() {
    std::vector<Known> sets;
#if defined(__aarch64__)
    sets.push_back({Isa::portable, "neon", true});
#else
    sets.push_back({Isa::portable, "portable", true});
#endif
#if defined(ORDINATE_HAS_X86)
    __builtin_cpu_init();
    bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c");
    bool avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                  __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
    sets.push_back({Isa::avx2, "avx2", avx2});
    sets.push_back({Isa::avx512, "avx512", avx512});
    static const bool tiles = avx512 && tiles_are_here();
    if (tiles) sets.push_back({Isa::amx, "amx", true});
#endif
    return sets;
}

Isa best() {
    Isa isa = Isa::portable;
    for (const Known &k : known())
        if (k.present) isa = k.isa;
    return isa;
}

std::atomic<Isa> current{best()};

}  // namespace

std::vector<std::string> instruction_sets() {
    std::vector<std::string> names;
    for (const Known &k : known())
        if (k.present) names.push_back(k.name);
    return names;
}

Isa instruction_set() { return current.load(std::memory_order_relaxed); }

std::string instruction_set_name() {
    for (const Known &k : known())
        if (k.isa == instruction_set()) return k.name;
    return "";
}

bool use_instruction_set(const std::string &name) {
    for (const Known &k : known())
        if (k.present && name == k.name) {
            current = k.isa;
            return true;
        }
    return false;
}

}  // namespace ordinate
