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
for kind in gpipe 1f1b interleaved looped_bfs zb_h1 zb_h2 zb_v v_half v_min chimera dualpipe dualpipev 2bw amdp amdp_split \
  three_phase; do
  expect "$kind" "$work/list"
  "$sim" verify --kind $kind -p 4 -m 8 > "$work/verified"
  expect "is right" "$work/verified"
  # A table that is written and read again is the same.
  for to in messages compute; do
    "$sim" convert --kind $kind -p 4 -m 8 --to $to -o "$work/$kind.csv"
    "$sim" convert --table "$work/$kind.csv" --to $to -o "$work/again.csv"
    cmp "$work/$kind.csv" "$work/again.csv"
  done
done

# 1F1B of 4 ranks and 8 micro-batches: (8 + 3) (1 + 2) = 33.
"$sim" simulate --kind 1f1b -p 4 -m 8 > "$work/simulated"
expect "makespan        33" "$work/simulated"
expect "bubble          0.2727" "$work/simulated"

# Empty cells are no actions: a forward and a backward of two micro-batches on each of two ranks.
printf '0F0,0F1,,,0B0,,0B1\n,1F0,1B0,1F1,,1B1\n' > "$work/idle.csv"
"$sim" verify --table "$work/idle.csv" > "$work/verified"
expect "8 actions on 2 ranks" "$work/verified"

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
for wrong in 0F0,inf 0F0,1x 0F0,-1; do
  echo "$wrong" > "$work/durations"
  refused "is no duration" "$sim" simulate --kind gpipe -p 1 -m 1 --durations "$work/durations"
done
printf '0F0,5\n0F0,6\n' > "$work/durations"
refused "comes twice" "$sim" simulate --kind gpipe -p 1 -m 1 --durations "$work/durations"
echo 0F1,6 > "$work/durations"
refused "0F1 is not in the table" "$sim" simulate --kind gpipe -p 1 -m 1 --durations "$work/durations"
refused "did you mean 'llm'" "$sim" draw --component vision:0:lmm --component llm:1
refused "'llm' of its readers comes twice" "$sim" draw --component vision:0:llm,llm --component llm:1
refused "is no component" "$sim" draw --component vision

printf '0F0,0B0,0F1,0B1\n1F0,1F1,1B0,1B1\n' > "$work/bad.csv"
refused "deadlock" "$sim" verify --table "$work/bad.csv"
expect ">>1F1<<" "$work/err"
printf '0F0,0Q0\n' > "$work/bad.csv"
refused "row 1, cell 2" "$sim" verify --table "$work/bad.csv"
refused "did you mean 'chimera'" "$sim" draw --kind chimaera
refused "cannot be read" "$sim" verify --table "$work/none.csv"
refused "no directions" "$sim" convert --kind chimera --to pytorch

# Mistyped and misplaced words. options.py tries all options.
refused "did you mean 'simulate'" "$sim" simulat
refused "simulate has no option '--lateny'; did you mean '--latency'" "$sim" simulate --lateny 3
refused "'--links', which is one of draw, simulate" "$sim" search --links serial
refused "no option '--version' before the subcommand" "$sim" --version
refused "--ranks stands before the subcommand" "$sim" --ranks 4 simulate
refused "nothing of simulate takes '1f1b'" "$sim" simulate 1f1b
refused "did you mean 'interleaved'" "$sim" simulate --kind interlaved
refused "--ranks is given more than once" "$sim" simulate -p 4 -p 5
refused "--ranks lacks its value" "$sim" simulate -p
refused "'010' is no whole number" "$sim" simulate -p 010
refused "--forwards: '' is no number" "$sim" simulate --forwards 1,,2,3
refused "--chunks is read only for --kind interleaved or looped_bfs" "$sim" simulate --chunks 3
refused "is there already" "$sim" verify --table "$work/1f1b.csv" --edge 0:1
refused "frozen already" "$sim" verify --table "$work/1f1b.csv" --frozen 0,0
refused "it is a folder" "$sim" verify --table "$work"
refused "it is a pipe, a device" "$sim" verify --table /dev/zero
refused "there is no folder" "$sim" draw -o "$work/none/picture"
timeout 1 "$sim" search -p 1024 -m 1024 > "$work/out" 2> "$work/err" || true
expect "minutes; fewer --evaluations" "$work/err"
refused "is no edge" "$sim" verify --table "$work/1f1b.csv" --edge 0:2x
refused "more than the 1 that a forward makes" "$sim" simulate --kind zb_h1 --kept 5

# A table does not say how late its gradients may be, nor how many versions of the weights there are.
"$sim" convert --kind amdp -p 4 -m 16 --updates 2 -o "$work/late.csv"
refused "meant for --staleness 1" "$sim" verify --table "$work/late.csv"
"$sim" verify --table "$work/late.csv" --staleness 1 > "$work/verified"
expect "is right" "$work/verified"
"$sim" convert --kind 2bw -p 4 -m 16 --updates 4 -o "$work/late.csv"
refused "meant for --staleness 1 --weight-versions 2" "$sim" verify --table "$work/late.csv"
"$sim" verify --table "$work/late.csv" --staleness 1 --weight-versions 2 > "$work/verified"
expect "is right" "$work/verified"

# Recomputation comes once for each backward: early before the gradient is received, else right before the backward.
"$sim" convert -p 2 -m 2 --recompute early -o "$work/again.csv"
expect "0SEND_F1,0RECOMPUTE0,0RECV_B0,0B0," "$work/again.csv"
"$sim" verify --table "$work/again.csv" > "$work/verified"
"$sim" convert -p 2 -m 2 --recompute with_backward -o "$work/again.csv"
expect "0SEND_F1,0RECV_B0,0RECOMPUTE0,0B0," "$work/again.csv"
# A table with messages gets the end of the step, too.
"$sim" convert -p 2 -m 2 --to messages -o "$work/messages.csv"
"$sim" convert --table "$work/messages.csv" --to full -o "$work/full.csv"
"$sim" convert -p 2 -m 2 | cmp - "$work/full.csv"

# What would not fit, numbers that are none, and options that do not go together.
refused "is too large" "$sim" simulate -m 1000000000
refused "is too large" "$sim" verify --component a:0-99 -m 1000000000
refused "in half as many directions" "$sim" verify --kind amdp -p 46344 -m 4
small() { (ulimit -v 200000; exec "$sim" "$@"); }
if small list > "$work/out" 2>&1; then # instrumented builds do not start there
  refused "does not fit into memory" small verify -p 1024 -m 16384
fi
refused "above 0" "$sim" search --directions 2 -p 4 -m 24 -f 0
refused "too many for --directions" "$sim" search --directions 2 -p 5000
refused "choose --directions N" "$sim" search --kind chimera
awk 'BEGIN { for (i = 0; i <= 65536; ++i) print i "F0," i "B0" }' > "$work/long.csv"
refused "65537 rows" "$sim" verify --table "$work/long.csv"
printf '0F0,0F1,0B0\n1F0,1B0,1F1,1B1\n' > "$work/lost.csv"
refused "0B1 is missing from rank 0" "$sim" simulate --table "$work/lost.csv"
"$sim" convert --kind amdp -p 4 -m 8 --updates 2 -o "$work/late.csv"
"$sim" simulate --table "$work/late.csv" > "$work/simulated"
"$sim" simulate --kind amdp -p 4 -m 8 --updates 2 | grep makespan > "$work/err"
expect "$(cat "$work/err")" "$work/simulated"
"$sim" convert --kind amdp -p 4 -m 8 --updates 2 --to compute -o "$work/late.csv"
"$sim" simulate --table "$work/late.csv" > "$work/simulated"
expect "$(cat "$work/err")" "$work/simulated"
: > "$work/empty.csv"
refused "is empty" "$sim" verify --table "$work/empty.csv"
echo '{"profiles": []}' > "$work/none.json"
refused "has no profiles" "$sim" fit --profile "$work/none.json"
for command in list simulate verify draw; do
  if "$sim" $command > /dev/full 2> "$work/err"; then echo "accepted: $command > /dev/full"; exit 1; fi
  expect "cannot write to standard output" "$work/err"
done

"$sim" search --kind 1f1b -p 4 -m 12 --max-memory 8 --evaluations 300 -o "$work/found.csv" 2> "$work/err"
expect "lower bound" "$work/err"
"$sim" verify --table "$work/found.csv" > "$work/verified"
expect "is right" "$work/verified"
# Where nothing takes time, nothing is above the lower bound.
"$sim" search -p 4 -m 8 -f 0 -i 0 -w 0 -o "$work/found.csv" 2> "$work/err"
expect "gap 0.000 %" "$work/err"

"$sim" compare -p 4 -m 8 --max-memory 4 > "$work/compared"
expect "4 ranks, 8 micro-batches a step: a rank computes 24" "$work/compared"
expect "more memory than 4:" "$work/compared"
"$sim" compare -p 6 -m 7 --evaluations 0 > "$work/compared"
expect "not for these numbers:" "$work/compared"
refused "'-1' is no number" "$sim" compare -f -1
refused "a multiple of 4" "$sim" verify --kind amdp -p 1

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
