#!/bin/sh
# The main job on the embedded model. Each command is printed, so that it can be typed by hand.
set -eu
cd "$(dirname "$0")/.."
rm -rf demo
mkdir demo
run() {
  printf '\n$ %s\n' "$*"
  "$@"
}
run ordinate describe smollm2
run ordinate extend smollm2 --to 16384 --method yarn --out demo/smollm2-16k
run ordinate prove smollm2 demo/smollm2-16k
