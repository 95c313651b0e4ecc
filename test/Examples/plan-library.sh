#!/bin/sh
# Usage: plan-library.sh CMAKE BUILD. Builds the example against the build folder and against an installed copy, and runs it.
set -eu
cmake=$1 build=$2 source=$(dirname "$0")/plan-library
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
DESTDIR= "$cmake" --install "$build" --prefix "$work/installed" > "$work/log" 2>&1 || { cat "$work/log"; exit 1; }
for package in "$build" "$work/installed"; do
  rm -rf "$work/example"
  { "$cmake" -S "$source" -B "$work/example" -G Ninja -DBraidPlan_DIR="$package/lib/cmake/BraidPlan" &&
    "$cmake" --build "$work/example"; } > "$work/log" 2>&1 || { cat "$work/log"; exit 1; }
  "$work/example/two-times" > "$work/out"
  # 1F1B's time is that of a simulation of its order in Python; zero bubble is shorter in the same memory.
  grep -q '^1f1b   1\.3083 s, bubble .*, at most 8 activations on rank 0$' "$work/out" || { cat "$work/out"; exit 1; }
  grep -q '^zb_h1  1\.[12][0-9]* s, bubble .*, at most 8 activations on rank 0$' "$work/out" || { cat "$work/out"; exit 1; }
done
"$work/installed/bin/braid-sim" list > "$work/out"
grep -q zb_h1 "$work/out"
