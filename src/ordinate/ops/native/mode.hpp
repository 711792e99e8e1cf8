// What torch says of itself: whether it would run an operation at once and unrecorded, so that a kernel may write to the
// tensors' memory; and how many threads it uses (`available_threads` asks from then on).
#pragma once

#include <nanobind/nanobind.h>

namespace ordinate {

// Remember the functions that say so. Called once, when torch is there.
void register_torch_mode(nanobind::module_ torch);

// False under a dispatch mode, a transform of torch.func, forward differentiation or torch.jit's tracing: there a
// plain-looking tensor may stand for something else.
bool runs_at_once();

// Whether gradients are recorded now.
bool records_gradients();

// Whether a tensor requires a gradient.
bool requires_gradient(nanobind::handle tensor);

// Whether a tensor's values are the negatives of its memory, as those of `z.conj().imag` are.
bool is_negated(nanobind::handle tensor);

// Tell autograd that memory was written. `tensors` is a tuple.
void increment_versions(nanobind::handle tensors);

// New memory for a result, contiguous, of a tensor's shape and dtype.
nanobind::object empty_like(nanobind::handle tensor);

}  // namespace ordinate
