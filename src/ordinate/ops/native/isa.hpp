// The instruction sets that kernels are compiled for, and which of them this processor runs.
#pragma once

#include <string>
#include <vector>

namespace ordinate {

// `amx` is AVX-512 with matrix registers: the kernels that use these, and those of `avx512` for all else.
enum class Isa { portable, avx2, avx512, amx };

// Best last.
std::vector<std::string> instruction_sets();

// The one in use: the best that the processor has, unless `use_instruction_set` chose another.
Isa instruction_set();
std::string instruction_set_name();

// For tests: run another set's kernels from now on. False where the processor has no such set.
bool use_instruction_set(const std::string &name);

// Declare a kernel in every namespace it is compiled into, and call that of the set in use; ..._TILES for kernels that
// are also compiled for the matrix registers.
#if defined(ORDINATE_HAS_X86)
#define ORDINATE_DECLARE(declaration)                                                      \
    namespace portable { declaration; }                                                    \
    namespace avx2 { declaration; }                                                        \
    namespace avx512 { declaration; }
#define ORDINATE_CALL(call)                                                                \
    do switch (::ordinate::instruction_set()) {                                            \
        case ::ordinate::Isa::amx:                                                         \
        case ::ordinate::Isa::avx512: ::ordinate::avx512::call; break;                     \
        case ::ordinate::Isa::avx2: ::ordinate::avx2::call; break;                         \
        default: ::ordinate::portable::call; break;                                        \
    } while (0)
#else
#define ORDINATE_DECLARE(declaration) namespace portable { declaration; }
#define ORDINATE_CALL(call) ::ordinate::portable::call
#endif
#if defined(ORDINATE_HAS_TILES)
#define ORDINATE_DECLARE_TILES(declaration) ORDINATE_DECLARE(declaration) namespace amx { declaration; }
#define ORDINATE_CALL_TILES(call)                                                          \
    do                                                                                     \
        if (::ordinate::instruction_set() == ::ordinate::Isa::amx)                         \
            ::ordinate::amx::call;                                                         \
        else                                                                               \
            ORDINATE_CALL(call);                                                           \
    while (0)
#else
#define ORDINATE_DECLARE_TILES(declaration) ORDINATE_DECLARE(declaration)
#define ORDINATE_CALL_TILES(call) ORDINATE_CALL(call)
#endif

}  // namespace ordinate
