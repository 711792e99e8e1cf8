#include <nanobind/nanobind.h>
namespace ordinate { void bind_attend(nanobind::module_ &) {} }
