#!/bin/sh
# The kernels' own tests for Arm's NEON: built by a cross compiler, run under qemu's user emulation. Emulation says
# whether results are right, nothing about speed. usage: neon.sh BIN [rounds]
set -eu
bin=$1
rounds=${2:-30}
root=$(cd "$(dirname "$0")/.." && pwd)
triple=aarch64-linux-gnu
compiler=$(command -v "$triple-g++" || true)
emulator=$(command -v qemu-aarch64-static || command -v qemu-aarch64 || true)
if [ "$(uname -m)" = aarch64 ]; then
  echo "skipped: this processor is an Arm, where make sanitize runs the same tests without emulation"
  exit 0
fi
if [ -z "$compiler" ]; then
  echo "skipped: no $triple-g++ was found; Debian's package is g++-$triple"
  exit 0
fi
if [ -z "$emulator" ]; then
  echo "skipped: no qemu-aarch64 was found; Debian's package is qemu-user-static"
  exit 0
fi
build=$root/build/neon
mkdir -p "$build"
"$bin/cmake" -S "$root" -B "$build" -G Ninja -DCMAKE_MAKE_PROGRAM="$bin/ninja" -DORDINATE_KERNEL_TESTS=ON \
  -DORDINATE_OPENMP=OFF -DCMAKE_BUILD_TYPE=Release -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR=aarch64 \
  -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_EXE_LINKER_FLAGS=-static >"$build/configure.log" 2>&1 ||
  { cat "$build/configure.log"; exit 1; }
"$bin/cmake" --build "$build" >"$build/build.log" 2>&1 || { cat "$build/build.log"; exit 1; }
echo "neon, emulated by $("$emulator" --version | head -1)"
"$emulator" "$build/kernels_test" "$rounds"
