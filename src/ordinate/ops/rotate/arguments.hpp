// The arrays of one call of `rotate`, and whether they fit together.
#pragma once

#include <vector>

#include "call.hpp"

namespace ordinate {

// What few calls have.
struct RotateExtras {
    Tensor axis_of_pair;
    Tensor weight[2];      // of the norms of q and k
    Tensor slots, v, v_to;  // with slots, to[1] and v_to are caches, [pages, page_size, heads, dim]
    double epsilon = 0;

    // What `describe` makes of them; a call points into it.
    std::vector<int32_t> axes;
    std::vector<float> weights[2];
    std::vector<int64_t> rows, value_rows;
};

struct RotateArguments {
    Tensor from[2], to[2];  // q and k; an absent one is empty
    Tensor cos, sin, positions, frequencies;
    double magnitude = 1;
    Layout read = Layout::half, write = Layout::half;
    bool last = false, proportional = false, inverse = false;
    RotateExtras *extras = nullptr;
};

// Fill in a call. Returns what does not fit, or nothing: then every element that the call touches exists.
const char *describe(const RotateArguments &given, RotateCall &call);

// The part of it that writes into caches, for a call with extras: where each token of k, and of v, goes. Nothing has been written yet.
const char *describe_cache(const RotateArguments &given, RotateCall &call);

// Whether an array's elements share no memory, with each other or with those of another: sure for ordinary views,
// false also where it would take a search to know.
bool surely_apart(const Tensor &x);
bool surely_apart(const Tensor &q, const Tensor &k);

// Whether a call is worth more than one thread, and worth giving way to Python's other threads.
bool is_large(const RotateCall &call);

// Run a call on the instruction set in use.
void run(RotateCall &call);

}  // namespace ordinate
