// One call of attend's kernels: what it borrows from Python, and the kernels' view of it.
//
// The arguments are checked in Python already (ops/attend/arguments.py); what is checked here is what memory safety
// needs.
#pragma once

#include <nanobind/nanobind.h>

#include <vector>

#include "arrays.hpp"
#include "attend.hpp"

namespace ordinate {

// Throws nanobind::value_error unless it holds.
void require(bool holds, const char *what);

// A packed [tokens, heads, dim] seen as a batch of one.
Tensor batched(Tensor t);

// An array with fewer dimensions or dimensions of 1, seen as one of `ndim`: those have stride 0.
Tensor broadcast(Tensor t, int ndim);

// [count] or [batch, count] integers as int32, one row a batch.
class Rows {
public:
    Rows(const Tensor &t, int64_t batch, int64_t count);
    Positions of(int64_t batch, int64_t first, int32_t start) const;

private:
    std::vector<int32_t> values_;
    int64_t count_ = 0, rows_ = 0;
};

struct Call {
    Borrowed borrowed;
    Attention a;
    std::vector<Sequence> sequences;
    std::vector<Rows> rows;
    std::vector<int32_t> page_numbers;  // of every sequence, one after another
    std::vector<float> copies[4];

    // Everything but what a call writes.
    void read(nanobind::handle q, nanobind::handle k, nanobind::handle v, nanobind::kwargs options);

private:
    const float *run(const Tensor &t, std::vector<float> &copy);
};

}  // namespace ordinate
