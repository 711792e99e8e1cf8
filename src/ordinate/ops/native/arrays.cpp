#include "arrays.hpp"

#include <string>

namespace nb = nanobind;

namespace ordinate {
namespace {

PyTypeObject *tensor_type = nullptr;
PyTypeObject *parameter_type = nullptr;
const dlpack::Exchange *exchange = nullptr;

Dtype dtype_of(uint8_t code, int bits) {
    switch (code) {
        case dlpack::floating: return bits == 16 ? Dtype::f16 : bits == 32 ? Dtype::f32 : bits == 64 ? Dtype::f64 : Dtype::none;
        case dlpack::bfloat: return bits == 16 ? Dtype::bf16 : Dtype::none;
        case dlpack::integer: return bits == 32 ? Dtype::i32 : bits == 64 ? Dtype::i64 : Dtype::none;
        case dlpack::boolean: return bits == 8 ? Dtype::b8 : Dtype::none;
        default: return Dtype::none;
    }
}

void check(const Tensor &t) {
    if (t.dtype == Dtype::none) throw nb::value_error("this dtype has no kernel on the cpu");
}

Tensor from_view(const dlpack::View &view) {
    if (view.device.type != dlpack::cpu) throw nb::type_error("kernels of the cpu take tensors on the cpu");
    if (view.ndim > 6) throw nb::value_error("kernels take at most six dimensions");
    Tensor t;
    t.data = static_cast<char *>(view.data) + view.byte_offset;
    t.dtype = dtype_of(view.dtype.code, view.dtype.bits);
    t.ndim = view.ndim;
    for (int i = 0; i < view.ndim; ++i) {
        t.shape[i] = view.shape[i];
        t.stride[i] = view.strides[i];
    }
    return t;
}

// torch before 2.10 has no exchange table: the attributes say the same, more slowly.
Tensor from_attributes(nb::handle object) {
    if (nb::cast<std::string>(object.attr("device").attr("type")) != "cpu")
        throw nb::type_error("kernels of the cpu take tensors on the cpu");
    Tensor t;
    t.data = reinterpret_cast<void *>(nb::cast<uintptr_t>(object.attr("data_ptr")()));
    std::string name = nb::cast<std::string>(nb::str(object.attr("dtype")));
    t.dtype = name == "torch.float32"    ? Dtype::f32
              : name == "torch.float16"  ? Dtype::f16
              : name == "torch.bfloat16" ? Dtype::bf16
              : name == "torch.float64"  ? Dtype::f64
              : name == "torch.int32"    ? Dtype::i32
              : name == "torch.int64"    ? Dtype::i64
              : name == "torch.bool"     ? Dtype::b8
                                         : Dtype::none;
    nb::object shape = object.attr("shape"), stride = object.attr("stride")();
    t.ndim = int(nb::len(shape));
    if (t.ndim > 6) throw nb::value_error("kernels take at most six dimensions");
    for (int i = 0; i < t.ndim; ++i) {
        t.shape[i] = nb::cast<int64_t>(shape[i]);
        t.stride[i] = nb::cast<int64_t>(stride[i]);
    }
    return t;
}

}  // namespace

void register_torch(nb::type_object tensor, nb::object parameter, nb::object capsule) {
    tensor_type = reinterpret_cast<PyTypeObject *>(tensor.ptr());
    parameter_type = reinterpret_cast<PyTypeObject *>(parameter.ptr());
    if (capsule.is_none()) return;
    auto *table = static_cast<const dlpack::Exchange *>(PyCapsule_GetPointer(capsule.ptr(), "dlpack_exchange_api"));
    if (!table) throw nb::python_error();
    if (table->version.major == 1 && table->view_from_object) exchange = table;
}

bool plain_torch(nb::handle object) {
    PyTypeObject *type = Py_TYPE(object.ptr());
    return tensor_type && (type == tensor_type || type == parameter_type);
}

Tensor Borrowed::array(nb::handle object, bool writable) {
    if (object.is_none()) return {};
    Tensor t;
    if (tensor_type && PyType_IsSubtype(Py_TYPE(object.ptr()), tensor_type)) {
        if (exchange) {
            dlpack::View view;
            if (exchange->view_from_object(object.ptr(), &view)) throw nb::python_error();
            t = from_view(view);
        } else {
            t = from_attributes(object);
        }
    } else {
        t = numpy(object, writable);
    }
    check(t);
    return t;
}

Tensor Borrowed::numpy(nb::handle object, bool writable) {
    if (used_ == most_) throw nb::value_error("too many arrays in one call");
    Py_buffer &b = buffers_[used_];
    if (PyObject_GetBuffer(object.ptr(), &b, PyBUF_STRIDES | PyBUF_FORMAT | (writable ? PyBUF_WRITABLE : 0)))
        throw nb::python_error();
    ++used_;
    if (b.ndim > 6) throw nb::value_error("kernels take at most six dimensions");
    Tensor t;
    t.data = b.buf;
    t.ndim = b.ndim;
    const char *format = b.format ? b.format : "B";
    if (*format == '=' || *format == '@' || *format == '<') ++format;
    bool one = format[0] && !format[1];
    switch (one ? *format : 0) {
        case 'e': t.dtype = Dtype::f16; break;
        case 'f': t.dtype = Dtype::f32; break;
        case 'd': t.dtype = Dtype::f64; break;
        case '?': t.dtype = Dtype::b8; break;
        case 'i': case 'l': case 'q':
            t.dtype = b.itemsize == 4 ? Dtype::i32 : b.itemsize == 8 ? Dtype::i64 : Dtype::none;
            break;
        default: break;
    }
    for (int i = 0; i < b.ndim; ++i) {
        t.shape[i] = b.shape[i];
        if (b.strides[i] % b.itemsize) throw nb::value_error("strides must be whole elements");
        t.stride[i] = b.strides[i] / b.itemsize;
    }
    return t;
}

}  // namespace ordinate
