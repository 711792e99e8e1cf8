#include "simd.hpp"
