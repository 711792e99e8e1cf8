#include <nanobind/nanobind.h>
namespace ordinate { void bind_rotate(nanobind::module_ &) {} }
