#!/bin/sh
# Build the compiled kernels into the source tree, where an editable install finds them. Needs a C++17 compiler.
# usage: build_native.sh PYTHON [cmake options]
set -eu
python=$1
shift
root=$(cd "$(dirname "$0")/.." && pwd)
bin=$(dirname "$python")
"$bin/cmake" -S "$root" -B "$root/build/inplace" -G Ninja -DCMAKE_MAKE_PROGRAM="$bin/ninja" \
  -DPython_EXECUTABLE="$python" -DCMAKE_BUILD_TYPE=Release "$@" >"$root/build/configure.log" 2>&1 ||
  { cat "$root/build/configure.log"; exit 1; }
"$bin/cmake" --build "$root/build/inplace"
"$bin/cmake" --install "$root/build/inplace" --prefix "$root/src" >/dev/null
