// The Python module ordinate.ops._cpu.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "arrays.hpp"
#include "isa.hpp"
#include "parallel.hpp"

namespace nb = nanobind;

namespace ordinate {
void bind_rotate(nb::module_ &m);
void bind_attend(nb::module_ &m);
void bind_memory(nb::module_ &m);
}  // namespace ordinate

NB_MODULE(_cpu, m) {
    m.doc() = "Compiled kernels of rotate and attend for the CPU.";
    m.def("register_torch", &ordinate::register_torch, nb::arg("tensor"), nb::arg("parameter"),
          nb::arg("capsule").none());
    m.def("instruction_sets", &ordinate::instruction_sets, "What this processor runs, best last.");
    m.def("instruction_set", &ordinate::instruction_set_name, "What is used.");
    m.def("use_instruction_set", &ordinate::use_instruction_set, nb::arg("name"), "For tests: use another.");
    m.def("threads", &ordinate::available_threads, "How many threads a large call may use.");
    ordinate::bind_rotate(m);
    ordinate::bind_attend(m);
    ordinate::bind_memory(m);
}
