#include "isa.hpp"

#include <atomic>

namespace ordinate {
namespace {

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
