#!/bin/sh
# Usage: commands.sh BRAID_SIM. Each line of output that matters is checked.
set -eu
sim=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

expect() { # TEXT FILE
  grep -qF -- "$1" "$2" || { echo "'$1' is not in:"; cat "$2"; exit 1; }
}
refused() { # TEXT COMMAND...
  words=$1; shift
  if "$@" > "$work/out" 2> "$work/err"; then echo "accepted: $*"; exit 1; fi
  expect "$words" "$work/err"
}

"$sim" list > "$work/list"
for kind in gpipe 1f1b interleaved looped_bfs zb_h1 zb_h2 zb_v v_half v_min chimera dualpipe dualpipev 2bw amdp; do
  expect "$kind" "$work/list"
  "$sim" verify --kind $kind -p 4 -m 8 > "$work/verified"
  expect "is right" "$work/verified"
  # A table that is written and read again is the same.
  "$sim" convert --kind $kind -p 4 -m 8 --to compute -o "$work/$kind.csv"
  "$sim" convert --table "$work/$kind.csv" --to compute -o "$work/again.csv"
  cmp "$work/$kind.csv" "$work/again.csv"
done

# 1F1B of 4 ranks and 8 micro-batches: (8 + 3) (1 + 2) = 33.
"$sim" simulate --kind 1f1b -p 4 -m 8 > "$work/simulated"
expect "makespan        33" "$work/simulated"
expect "bubble          0.2727" "$work/simulated"

"$sim" draw --kind zb_h1 -p 4 -m 8 > "$work/drawn"
expect "rank 0  |F0 F1 F2 F3 .  .  .  I0 W0 F4" "$work/drawn"
for format in svg trace html grid; do
  "$sim" draw --kind amdp -p 4 -m 8 --format $format -o "$work/picture.$format"
  test -s "$work/picture.$format"
done

printf '0F0,0B0,0F1,0B1\n1F0,1F1,1B0,1B1\n' > "$work/bad.csv"
refused "deadlock" "$sim" verify --table "$work/bad.csv"
expect ">>1F1<<" "$work/err"
printf '0F0,0Q0\n' > "$work/bad.csv"
refused "row 1, cell 2" "$sim" verify --table "$work/bad.csv"
refused "did you mean 'chimera'" "$sim" draw --kind chimaera
refused "cannot be read" "$sim" verify --table "$work/none.csv"
refused "no directions" "$sim" convert --kind chimera --to pytorch

"$sim" search --kind 1f1b -p 4 -m 12 --max-memory 8 --evaluations 300 -o "$work/found.csv" 2> "$work/err"
expect "lower bound" "$work/err"
"$sim" verify --table "$work/found.csv" > "$work/verified"
expect "is right" "$work/verified"
