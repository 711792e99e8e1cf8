// What is used of DLPack 1.3's binary interface: a view of a tensor, and torch's table of functions that gives one.
#pragma once

#include <cstdint>

namespace ordinate::dlpack {

struct Version {
    uint32_t major, minor;
};

struct View {
    void *data;
    struct {
        int32_t type, id;
    } device;
    int32_t ndim;
    struct {
        uint8_t code, bits;
        uint16_t lanes;
    } dtype;
    int64_t *shape;
    int64_t *strides;
    uint64_t byte_offset;
};

constexpr int32_t cpu = 1;
enum Code : uint8_t { integer = 0, unsigned_integer = 1, floating = 2, bfloat = 4, boolean = 6 };

struct Exchange {
    Version version;
    void *previous;
    void *allocate;
    void *managed_from_object;
    void *object_from_managed;
    int (*view_from_object)(void *object, View *out);
    void *current_stream;
};

}  // namespace ordinate::dlpack
