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
# Prints a command, and keeps what it prints as JSON. It ends with 1 where models differ, as these two are meant to.
keep() {
  out=$1
  shift
  printf '\n$ %s > %s\n' "$*" "$out"
  "$@" > "$out" || test $? = 1
}
run ordinate describe smollm2
run ordinate extend smollm2 --to 16384 --method yarn --out demo/smollm2-16k
run ordinate prove smollm2 demo/smollm2-16k
keep demo/original.json ordinate describe smollm2 --format json
keep demo/extended.json ordinate describe demo/smollm2-16k --format json
keep demo/difference.json ordinate diff smollm2 demo/smollm2-16k --format json
keep demo/plan.json ordinate plan demo/smollm2-16k --context 4k,8k,16k --batch 1,16 --format json
run ordinate report report.json demo/plan.json demo/original.json demo/extended.json demo/difference.json \
  --out report.html
