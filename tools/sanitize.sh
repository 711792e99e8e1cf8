#!/bin/sh
# The kernels' own tests under AddressSanitizer with UndefinedBehaviorSanitizer, and under ThreadSanitizer on std::thread
# (OpenMP's runtime gives false reports). usage: sanitize.sh BIN [rounds]
set -eu
bin=$1
rounds=${2:-60}
root=$(cd "$(dirname "$0")/.." && pwd)
check() {
  name=$1
  shift
  build=$root/build/$name
  "$bin/cmake" -S "$root" -B "$build" -G Ninja -DCMAKE_MAKE_PROGRAM="$bin/ninja" -DORDINATE_KERNEL_TESTS=ON \
    -DORDINATE_OPENMP=OFF -DORDINATE_IMITATE_TILES=ON -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_FLAGS="$*" >/dev/null
  "$bin/cmake" --build "$build" >"$build/build.log" 2>&1 || { cat "$build/build.log"; exit 1; }
  echo "$name"
  "$build/kernels_test" "$rounds"
}
check address -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer -g1
check thread -fsanitize=thread -g1
