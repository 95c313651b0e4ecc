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
for kind in gpipe 1f1b interleaved looped_bfs zb_h1 zb_h2 zb_v v_half v_min chimera dualpipe dualpipev 2bw amdp three_phase; do
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

# Joined components: 1F1B's time of the longest chain, 3 (8 + 5 - 1). Deferral and ports can be verified and drawn.
"$sim" simulate --component vision:0-1:llm --component audio:2:llm --component llm:3-5 -m 8 > "$work/simulated"
expect "makespan        36" "$work/simulated"
"$sim" verify --component vision:0-1:llm:defers --component llm:2-3 -m 8 > "$work/verified"
expect "is right" "$work/verified"
"$sim" convert --component vision:0-1:llm:defers --component llm:2-3 -m 8 -o "$work/deferral.csv"
"$sim" verify --component vision:0-1:llm:defers --component llm:2-3 --table "$work/deferral.csv" > "$work/verified"
expect "is right" "$work/verified"
"$sim" simulate --component vision:0:llm --component audio:1:llm --component llm:2-3 -m 8 --links ports --bytes 1 \
  --time-per-byte 0.8 > "$work/simulated"
expect "makespan        43.6" "$work/simulated"
printf '0F0,5\n0B0,1\n' > "$work/durations"
"$sim" simulate --kind gpipe -p 1 -m 1 --durations "$work/durations" > "$work/simulated"
expect "makespan        6" "$work/simulated"
refused "did you mean 'llm'" "$sim" draw --component vision:0:lmm --component llm:1
refused "is no component" "$sim" draw --component vision

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

# From timed units and sample sizes to a plan. Equal samples are stable at any batch: two images of 512, 1,280 in all.
cat > "$work/model.yaml" <<'YAML'
model:
  vision: {modules: [net.vision], layers: 8, hidden: 1024, heads: 16, samples: vision/images, fused_attention: true}
  language: {layers: 12, hidden: 2048, heads: 16, vocabulary: 32000, samples: text, fused_attention: true}
batch: 16
cluster: {hardware: a100, devices: 8}
YAML
printf 'vision,images,text\n1024,2,256\n1024,2,256\n' > "$work/sizes.csv"
echo '{"profiles": [{"unit": "language", "points": [[512, 0.001], [1024, 0.002], [2048, 0.004]]}]}' > "$work/profile.json"
"$sim" fit --profile "$work/profile.json" -o "$work/curves.json"
"$sim" plan "$work/model.yaml" --samples "$work/sizes.csv" --curves "$work/curves.json" -o "$work/plan.yaml" > "$work/planned"
expect "; 1 are the smallest batch" "$work/planned"
expect "vision: 2 sequences of 512 tokens a sample" "$work/planned"
expect "language: 1 sequences of 1280 tokens a sample" "$work/planned"
expect "schedule: {kind:" "$work/plan.yaml"
refused "give their table with --samples" "$sim" plan "$work/model.yaml"
sed -i 's/language/langage/' "$work/curves.json"
refused "did you mean 'language'?" "$sim" plan "$work/model.yaml" --samples "$work/sizes.csv" --curves "$work/curves.json"
