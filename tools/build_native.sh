#!/bin/sh
# Build the compiled kernels into the source tree, where an editable install finds them.
# Without a C++17 compiler nothing is built and the package is pure Python, as an install is.
# usage: build_native.sh PYTHON [cmake options]
set -eu
python=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
shift
bin=$(dirname "$python")
root=$(cd "$(dirname "$0")/.." && pwd)
if ! command -v "${CXX:-c++}" >/dev/null; then
  echo "no C++ compiler: the kernels are not built; install g++ and run this again"
  exit 0
fi
mkdir -p "$root/build"
"$bin/cmake" -S "$root" -B "$root/build/inplace" -G Ninja -DCMAKE_MAKE_PROGRAM="$bin/ninja" \
  -DPython_EXECUTABLE="$python" -DCMAKE_BUILD_TYPE=Release "$@" >"$root/build/configure.log" 2>&1 ||
  { cat "$root/build/configure.log"; exit 1; }
"$bin/cmake" --build "$root/build/inplace" >"$root/build/build.log" 2>&1 || { cat "$root/build/build.log"; exit 1; }
"$bin/cmake" --install "$root/build/inplace" --prefix "$root/src" >/dev/null
