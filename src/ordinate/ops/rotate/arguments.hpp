// The arrays of one call of `rotate`, and whether they fit together.
#pragma once

#include "call.hpp"

namespace ordinate {

struct RotateArguments {
    Tensor from[2], to[2];  // q and k; an absent one is empty
    Tensor cos, sin, positions, frequencies;
    double magnitude = 1;
    Layout read = Layout::half, write = Layout::half;
    bool last = false, proportional = false, inverse = false;
};

// Fill in a call. Returns what does not fit, or nothing: then every element that the call touches exists.
const char *describe(const RotateArguments &given, RotateCall &call);

// Whether an array's elements share no memory, with each other or with those of another: sure for ordinary views,
// false also where it would take a search to know.
bool surely_apart(const Tensor &x);
bool surely_apart(const Tensor &q, const Tensor &k);

// Whether a call is worth more than one thread, and worth giving way to Python's other threads.
bool is_large(const RotateCall &call);

// Run a call on the instruction set in use.
void run(RotateCall &call);

}  // namespace ordinate
