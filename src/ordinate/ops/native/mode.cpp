#include "mode.hpp"

#include "parallel.hpp"

namespace nb = nanobind;

namespace ordinate {
namespace {

// References that live as long as the process.
PyObject *torch = nullptr, *contiguous = nullptr, *memory_format = nullptr;
PyObject *grad_enabled = nullptr, *dispatch_modes = nullptr, *transforms = nullptr, *tracing = nullptr;
PyObject *forward_mode = nullptr, *increment = nullptr, *num_threads = nullptr;
PyObject *name_level = nullptr, *name_requires_grad = nullptr, *name_is_neg = nullptr, *name_empty_like = nullptr;

PyObject *kept(nb::object object) { return object.release().ptr(); }

PyObject *name(const char *text) {
    PyObject *made = PyUnicode_InternFromString(text);
    if (!made) throw nb::python_error();
    return made;
}

nb::object call(PyObject *function) {
    PyObject *made = PyObject_CallNoArgs(function);
    if (!made) throw nb::python_error();
    return nb::steal(made);
}

nb::object attribute(PyObject *object, PyObject *named) {
    PyObject *made = PyObject_GetAttr(object, named);
    if (!made) throw nb::python_error();
    return nb::steal(made);
}

// torch's number is one of each thread; it also holds where torch and the kernels have each their own OpenMP runtime,
// or none. Called with or without the interpreter's lock.
int threads_of_torch() {
    nb::gil_scoped_acquire lock;
    const long n = PyLong_AsLong(call(num_threads).ptr());
    if (n < 0 && PyErr_Occurred()) throw nb::python_error();
    return n > 1 ? int(n) : 1;
}

}  // namespace

void register_torch_mode(nb::module_ module) {
    nb::object c = module.attr("_C");
    contiguous = kept(module.attr("contiguous_format"));
    grad_enabled = kept(c.attr("is_grad_enabled"));
    dispatch_modes = kept(c.attr("_len_torch_dispatch_stack"));
    transforms = kept(c.attr("_functorch").attr("peek_interpreter_stack"));
    tracing = kept(c.attr("_get_tracing_state"));
    // The public function is a thin wrapper of this one, where it is there.
    nb::object public_increment = module.attr("autograd").attr("graph").attr("increment_version");
    increment = kept(nb::getattr(c, "_increment_version", public_increment));
    forward_mode = kept(nb::module_::import_("torch.autograd.forward_ad"));
    name_level = name("_current_level");
    name_requires_grad = name("requires_grad");
    name_is_neg = name("is_neg");
    name_empty_like = name("empty_like");
    memory_format = kept(nb::make_tuple("memory_format"));
    torch = kept(module);
    num_threads = kept(module.attr("get_num_threads"));
    ask_for_threads(&threads_of_torch);
}

bool runs_at_once() {
    return PyLong_AsLong(call(dispatch_modes).ptr()) == 0 && call(transforms).is_none() && call(tracing).is_none() &&
           PyLong_AsLong(attribute(forward_mode, name_level).ptr()) < 0;
}

bool records_gradients() { return call(grad_enabled).ptr() == Py_True; }

bool requires_gradient(nb::handle tensor) {
    return !tensor.is_none() && attribute(tensor.ptr(), name_requires_grad).ptr() == Py_True;
}

bool is_negated(nb::handle tensor) {
    PyObject *made = PyObject_CallMethodNoArgs(tensor.ptr(), name_is_neg);
    if (!made) throw nb::python_error();
    return nb::steal(made).ptr() == Py_True;
}

void increment_versions(nb::handle tensors) {
    PyObject *made = PyObject_CallOneArg(increment, tensors.ptr());
    if (!made) throw nb::python_error();
    Py_DECREF(made);
}

nb::object empty_like(nb::handle tensor) {
    nb::object function = attribute(torch, name_empty_like);
    PyObject *given[] = {tensor.ptr(), contiguous};
    PyObject *made = PyObject_Vectorcall(function.ptr(), given, 1, memory_format);
    if (!made) throw nb::python_error();
    return nb::steal(made);
}

}  // namespace ordinate
