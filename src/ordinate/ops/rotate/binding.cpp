// The functions of ordinate.ops._cpu that rotate.
#include <nanobind/nanobind.h>

#include <vector>

#include "arguments.hpp"
#include "arrays.hpp"
#include "isa.hpp"
#include "mode.hpp"
#include "parallel.hpp"

namespace nb = nanobind;

namespace ordinate {
namespace {

bool is(nb::handle text, const char *value) {
    return PyUnicode_Check(text.ptr()) && PyUnicode_CompareWithASCIIString(text.ptr(), value) == 0;
}

// How to rotate. False for a word that is not known.
bool read_turn(RotateArguments &given, nb::handle pairing, nb::handle part, nb::handle inverse) {
    if (is(pairing, "half")) given.read = given.write = Layout::half;
    else if (is(pairing, "interleaved")) given.read = given.write = Layout::interleaved;
    else if (is(pairing, "interleaved-in-half-out")) given.read = Layout::interleaved, given.write = Layout::half;
    else return false;
    given.last = is(part, "last");
    given.proportional = is(part, "proportional");
    if (!given.last && !given.proportional && !is(part, "first")) return false;
    if (!PyBool_Check(inverse.ptr())) return false;
    given.inverse = inverse.ptr() == Py_True;
    return true;
}

void run_with_python_waiting(RotateCall &call) {
    if (!is_large(call)) return run(call);
    nb::gil_scoped_release others_may_run;
    run(call);
}

// Plain tensors of torch, in a plain state of torch, nothing of which needs a gradient.
bool plain(std::initializer_list<nb::handle> tensors) {
    for (nb::handle t : tensors)
        if (!t.is_none() && !plain_torch(t)) return false;
    if (!runs_at_once()) return false;
    if (records_gradients())
        for (nb::handle t : tensors)
            if (requires_gradient(t)) return false;
    return true;
}

// A view with elements beside one another has none of the strides that a negated view has.
bool negated(nb::handle object, const Tensor &t) { return t && t.stride[t.ndim - 1] != 1 && is_negated(object); }

struct Attempt {
    Borrowed borrowed;
    RotateArguments given;
    RotateCall call;

    bool begin(nb::handle q, nb::handle k, nb::handle cos, nb::handle sin, nb::handle positions, nb::handle pairing,
               nb::handle part, nb::handle inverse, nb::handle backend) {
        if (!read_turn(given, pairing, part, inverse) || !(is(backend, "auto") || is(backend, "cpu"))) return false;
        if (cos.is_none() || sin.is_none() || !plain({q, k, cos, sin, positions})) return false;
        given.from[0] = borrowed.array(q);
        given.from[1] = borrowed.array(k);
        given.cos = borrowed.array(cos);
        given.sin = borrowed.array(sin);
        given.positions = borrowed.array(positions);
        return !negated(q, given.from[0]) && !negated(k, given.from[1]) && !negated(cos, given.cos) &&
               !negated(sin, given.sin);
    }
};

// An attempt with several axes of positions, or a norm.
struct ExtraAttempt : Attempt {
    RotateExtras extras;

    bool begin_extras(nb::handle axis_of_pair, nb::handle q_norm, nb::handle k_norm, nb::handle norm_eps) {
        if (!plain({axis_of_pair, q_norm, k_norm}) || !PyFloat_Check(norm_eps.ptr())) return false;
        extras.epsilon = PyFloat_AS_DOUBLE(norm_eps.ptr());
        if (!(extras.epsilon >= 0 && extras.epsilon < 1e300)) return false;
        if (q_norm.is_none() && k_norm.is_none() && extras.epsilon != 1e-6) return false;
        extras.axis_of_pair = borrowed.array(axis_of_pair);
        extras.weight[0] = borrowed.array(q_norm);
        extras.weight[1] = borrowed.array(k_norm);
        given.extras = &extras;
        return !negated(q_norm, extras.weight[0]) && !negated(k_norm, extras.weight[1]);
    }
};

nb::tuple tuple_of(std::initializer_list<nb::handle> tensors) {
    nb::list given;
    for (nb::handle t : tensors)
        if (!t.is_none()) given.append(t);
    return nb::tuple(given);
}

// Whatever goes wrong before anything is written, Python looks closer.
template <class Work>
bool attempted(Work &&work) {
    try {
        return work();
    } catch (const nb::builtin_exception &) {
        return false;
    } catch (nb::python_error &) {
        return false;
    }
}

bool turn_in_place(Attempt &a) {
    for (int i = 0; i < 2; ++i) {
        a.given.to[i] = a.given.from[i];
        if (a.given.from[i] && !surely_apart(a.given.from[i])) return false;
    }
    if (!surely_apart(a.given.from[0], a.given.from[1]) || describe(a.given, a.call)) return false;
    run_with_python_waiting(a.call);
    return true;
}

bool turn_to_new(Attempt &a, nb::handle q, nb::handle k, nb::object (&made)[2]) {
    // Whether it fits is known before memory is asked for.
    for (int i = 0; i < 2; ++i) a.given.to[i] = a.given.from[i];
    RotateCall trial;
    if (describe(a.given, trial)) return false;
    for (int i = 0; i < 2; ++i) {
        if (!a.given.from[i]) continue;
        made[i] = empty_like(i ? k : q);
        a.given.to[i] = a.borrowed.array(made[i], true);
    }
    if (describe(a.given, a.call)) return false;
    run_with_python_waiting(a.call);
    return true;
}

// Rotate in place if this is a usual call, checked in full; False where Python has to look closer, nothing done.
bool rotate_in_place(nb::handle q, nb::handle k, nb::handle cos, nb::handle sin, nb::handle positions,
                     nb::handle pairing, nb::handle part, nb::handle inverse, nb::handle backend) {
    if (!attempted([&] {
            Attempt a;
            return a.begin(q, k, cos, sin, positions, pairing, part, inverse, backend) && turn_in_place(a);
        }))
        return false;
    increment_versions(q.is_none() ? nb::make_tuple(k) : k.is_none() ? nb::make_tuple(q) : nb::make_tuple(q, k));
    return true;
}

bool rotate_in_place_with(nb::handle q, nb::handle k, nb::handle cos, nb::handle sin, nb::handle positions,
                          nb::handle pairing, nb::handle part, nb::handle inverse, nb::handle backend,
                          nb::handle axis_of_pair, nb::handle q_norm, nb::handle k_norm, nb::handle norm_eps) {
    if (!attempted([&] {
            ExtraAttempt a;
            return a.begin(q, k, cos, sin, positions, pairing, part, inverse, backend) &&
                   a.begin_extras(axis_of_pair, q_norm, k_norm, norm_eps) && turn_in_place(a);
        }))
        return false;
    increment_versions(tuple_of({q, k}));
    return true;
}

// The same into new memory; None where Python has to look closer.
nb::object rotate_to_new(nb::handle q, nb::handle k, nb::handle cos, nb::handle sin, nb::handle positions,
                         nb::handle pairing, nb::handle part, nb::handle inverse, nb::handle backend) {
    nb::object made[2] = {nb::none(), nb::none()};
    if (!attempted([&] {
            Attempt a;
            return a.begin(q, k, cos, sin, positions, pairing, part, inverse, backend) && turn_to_new(a, q, k, made);
        }))
        return nb::none();
    return nb::make_tuple(made[0], made[1]);
}

nb::object rotate_to_new_with(nb::handle q, nb::handle k, nb::handle cos, nb::handle sin, nb::handle positions,
                              nb::handle pairing, nb::handle part, nb::handle inverse, nb::handle backend,
                              nb::handle axis_of_pair, nb::handle q_norm, nb::handle k_norm, nb::handle norm_eps) {
    nb::object made[2] = {nb::none(), nb::none()};
    if (!attempted([&] {
            ExtraAttempt a;
            return a.begin(q, k, cos, sin, positions, pairing, part, inverse, backend) &&
                   a.begin_extras(axis_of_pair, q_norm, k_norm, norm_eps) && turn_to_new(a, q, k, made);
        }))
        return nb::none();
    return nb::make_tuple(made[0], made[1]);
}

// Rotate q in place, and k into a cache with v beside it, if this is a usual call; False where Python has to look
// closer, nothing done.
bool rotate_into_cache(nb::handle q, nb::handle k, nb::handle v, nb::handle k_cache, nb::handle v_cache,
                       nb::handle slots, nb::handle cos, nb::handle sin, nb::handle positions, nb::handle pairing,
                       nb::handle part, nb::handle backend, nb::handle axis_of_pair, nb::handle q_norm,
                       nb::handle k_norm, nb::handle norm_eps) {
    if (!attempted([&] {
            ExtraAttempt a;
            nb::object forward = nb::bool_(false);
            if (k.is_none() || slots.is_none() || !plain({v, k_cache, v_cache, slots}) ||
                !a.begin(q, k, cos, sin, positions, pairing, part, forward, backend) ||
                !a.begin_extras(axis_of_pair, q_norm, k_norm, norm_eps))
                return false;
            const Tensor &tokens = a.given.from[1], &turned = a.given.from[0], &v_tokens = a.extras.v;
            a.given.to[0] = turned;
            a.given.to[1] = a.borrowed.array(k_cache, true);
            a.extras.slots = a.borrowed.array(slots);
            a.extras.v = a.borrowed.array(v);
            a.extras.v_to = a.borrowed.array(v_cache, true);
            const Tensor &keys = a.given.to[1], &values = a.extras.v_to;
            if (negated(k_cache, keys) || negated(v, a.extras.v) || negated(v_cache, values)) return false;
            if (a.extras.slots.ndim != tokens.ndim - 2) return false;
            for (const Tensor *written : {&turned, &keys, &values}) {
                if (*written && !surely_apart(*written)) return false;
                for (const Tensor *other : {&turned, &keys, &values, &tokens, &v_tokens})
                    if (other != written && !surely_apart(*written, *other)) return false;
            }
            if (describe(a.given, a.call)) return false;
            run_with_python_waiting(a.call);
            return true;
        }))
        return false;
    increment_versions(tuple_of({q, k_cache, v_cache}));
    return true;
}

// Rotate `q` and `k` into `to_q` and `to_k`, which may be the same memory; the caller has checked what they mean.
// With slots `to_k` and `v_to` are caches.
void rotate_into(nb::handle q, nb::handle k, nb::handle to_q, nb::handle to_k, nb::handle cos, nb::handle sin,
                 nb::handle positions, nb::handle frequencies, double magnitude, nb::handle pairing, nb::handle part,
                 nb::handle inverse, nb::handle axis_of_pair, nb::handle q_norm, nb::handle k_norm, double epsilon,
                 nb::handle slots, nb::handle v, nb::handle v_to) {
    Borrowed borrowed;
    RotateArguments given;
    RotateCall call;
    if (!read_turn(given, pairing, part, inverse)) throw nb::value_error("an unknown pairing or part");
    given.from[0] = borrowed.array(q);
    given.from[1] = borrowed.array(k);
    given.to[0] = borrowed.array(to_q, true);
    given.to[1] = borrowed.array(to_k, true);
    given.cos = borrowed.array(cos);
    given.sin = borrowed.array(sin);
    given.positions = borrowed.array(positions);
    given.frequencies = borrowed.array(frequencies);
    given.magnitude = magnitude;
    RotateExtras extras;
    extras.axis_of_pair = borrowed.array(axis_of_pair);
    extras.weight[0] = borrowed.array(q_norm);
    extras.weight[1] = borrowed.array(k_norm);
    extras.epsilon = epsilon;
    extras.slots = borrowed.array(slots);
    extras.v = borrowed.array(v);
    extras.v_to = borrowed.array(v_to, true);
    given.extras = &extras;
    for (int i = 0; i < 2; ++i)
        if (bool(given.from[i]) != bool(given.to[i])) throw nb::value_error("every input needs an output");
    if (const char *wrong = describe(given, call)) throw nb::value_error(wrong);
    run_with_python_waiting(call);
}

// Whether a kernel may read and write these tensors' memory.
bool plain_tensors(nb::args tensors) {
    for (nb::handle t : tensors)
        if (!t.is_none() && !plain_torch(t)) return false;
    return runs_at_once();
}

}  // namespace

void bind_rotate(nb::module_ &m) {
    using nb::arg;
    m.def("register_torch_mode", &register_torch_mode, "Remember how torch says what it does with operations.");
    m.def("rotate_in_place", &rotate_in_place, arg("q").none(), arg("k").none(), arg("cos").none(), arg("sin").none(),
          arg("positions").none(), arg("pairing"), arg("part"), arg("inverse"), arg("backend"),
          "Rotate in place if it is a usual call; whether it was.");
    m.def("rotate_to_new", &rotate_to_new, arg("q").none(), arg("k").none(), arg("cos").none(), arg("sin").none(),
          arg("positions").none(), arg("pairing"), arg("part"), arg("inverse"), arg("backend"),
          "Rotate into new memory if it is a usual call; None if not.");
    m.def("rotate_in_place_with", &rotate_in_place_with, arg("q").none(), arg("k").none(), arg("cos").none(),
          arg("sin").none(), arg("positions").none(), arg("pairing"), arg("part"), arg("inverse"), arg("backend"),
          arg("axis_of_pair").none(), arg("q_norm").none(), arg("k_norm").none(), arg("norm_eps"),
          "rotate_in_place with several axes of positions, or a norm.");
    m.def("rotate_to_new_with", &rotate_to_new_with, arg("q").none(), arg("k").none(), arg("cos").none(),
          arg("sin").none(), arg("positions").none(), arg("pairing"), arg("part"), arg("inverse"), arg("backend"),
          arg("axis_of_pair").none(), arg("q_norm").none(), arg("k_norm").none(), arg("norm_eps"),
          "rotate_to_new with several axes of positions, or a norm.");
    m.def("rotate_into_cache", &rotate_into_cache, arg("q").none(), arg("k").none(), arg("v").none(),
          arg("k_cache").none(), arg("v_cache").none(), arg("slots").none(), arg("cos").none(), arg("sin").none(),
          arg("positions").none(), arg("pairing"), arg("part"), arg("backend"), arg("axis_of_pair").none(),
          arg("q_norm").none(), arg("k_norm").none(), arg("norm_eps"),
          "Rotate q in place and k into a cache, v beside it, if it is a usual call; whether it was.");
    m.def("rotate_into", &rotate_into, arg("q").none(), arg("k").none(), arg("to_q").none(), arg("to_k").none(),
          arg("cos").none(), arg("sin").none(), arg("positions").none(), arg("frequencies").none(), arg("magnitude"),
          arg("pairing"), arg("part"), arg("inverse"), arg("axis_of_pair") = nb::none(), arg("q_norm") = nb::none(),
          arg("k_norm") = nb::none(), arg("epsilon") = 0.0, arg("slots") = nb::none(), arg("v") = nb::none(),
          arg("v_to") = nb::none(), "Rotate from memory to memory.");
    m.def("plain_tensors", &plain_tensors, "Whether a kernel may read and write these tensors' memory.");
}

}  // namespace ordinate
