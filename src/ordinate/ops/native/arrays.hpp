// Python's arrays as `Tensor`s, without a copy: torch through DLPack's exchange table, NumPy through its buffers.
#pragma once

#include <nanobind/nanobind.h>

#include "dlpack.hpp"
#include "tensor.hpp"

namespace ordinate {

// What a Python call borrows: the views are released at the end of the call.
class Borrowed {
public:
    Borrowed() = default;
    Borrowed(const Borrowed &) = delete;
    Borrowed &operator=(const Borrowed &) = delete;
    ~Borrowed() {
        for (int i = 0; i < used_; ++i) PyBuffer_Release(&buffers_[i]);
    }

    // None gives an empty Tensor. Throws nanobind::type_error for what is neither a torch tensor on the cpu nor a
    // NumPy array, and nanobind::value_error for a dtype that no kernel takes or more than six dimensions.
    Tensor array(nanobind::handle object, bool writable = false);

private:
    Tensor numpy(nanobind::handle object, bool writable);
    static constexpr int most_ = 24;
    Py_buffer buffers_[most_];
    int used_ = 0;
};

// Remember torch's class and exchange table; until then torch tensors are not known. Called once, when torch is there.
void register_torch(nanobind::type_object tensor, nanobind::object parameter, nanobind::object capsule);

// Whether this is exactly a torch.Tensor (or Parameter): no subclass that means something else by its operators.
bool plain_torch(nanobind::handle object);

}  // namespace ordinate
