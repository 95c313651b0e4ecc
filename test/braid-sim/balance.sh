#!/bin/sh
# Usage: balance.sh BRAID_SIM. The balance subcommand as a user runs it.
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

# Every eighth sample is sixteen times as large.
awk 'BEGIN { print "vision_tokens,image_count,text_tokens,audio_rows"
             for (i = 0; i < 400; ++i) print (i % 8 ? 256 + 8 * (i % 7) : 4096) ",1," 20 + i % 13 "," 10 * (i % 5) }' > "$work/s.csv"
"$sim" balance "$work/s.csv" > "$work/out"
expect "128 samples in 32 micro-batches" "$work/out"
for method in random DistTrain-like DIP-like paper even shortest; do expect "$method" "$work/out"; done
expect "lower bound" "$work/out"

# Columns of other names.
printf 'pixels,words\n300,40\n1200,900\n' > "$work/other.csv"
refused "say with --encoder" "$sim" balance "$work/other.csv"
refused "say with --text" "$sim" balance "$work/other.csv" --encoder pixels
"$sim" balance "$work/other.csv" --encoder pixels --text words -n 16 -m 4 > "$work/out"
expect "16 samples in 4 micro-batches" "$work/out"

refused "is too large" "$sim" balance "$work/s.csv" --replicas 1048576 --manifest "$work/a.json"

# The same twice, and a manifest with every sample of the step once on both sides.
"$sim" balance "$work/s.csv" -n 64 -m 8 --replicas 3 --step 5 --manifest "$work/a.json" --format json -o "$work/a"
"$sim" balance "$work/s.csv" -n 64 -m 8 --replicas 3 --step 5 --manifest "$work/b.json" --format json -o "$work/b"
cmp "$work/a" "$work/b"
cmp "$work/a.json" "$work/b.json"
"$sim" balance "$work/s.csv" -n 64 -m 8 --replicas 3 --step 6 --manifest "$work/b.json" > /dev/null
if cmp -s "$work/a.json" "$work/b.json"; then echo "two steps have one manifest"; exit 1; fi
expect '"hash"' "$work/a.json"
python3 - "$work/a.json" "$work/a" <<'EOF'
import json, sys
manifest, steps = (json.load(open(path)) for path in sys.argv[1:])
sides = [sorted(sample for replica in manifest["replicas"] for batch in replica[side] for sample in batch)
         for side in ("encoder", "language")]
assert sides[0] == sides[1] and len(set(sides[0])) == 192, sides
methods = {method["name"]: method for method in steps[0]["methods"]}
assert len(methods) == 6 and steps[0]["bound"] > 0
for name, method in methods.items():
    ran = sorted(sample for batch in method["language"] for sample in batch)
    assert len(ran) == 64 and ran == sorted(sample for batch in method["encoder"] for sample in batch), name
    assert methods["shortest"]["step_time"] <= method["step_time"] * (1 + 1e-9) or name == "paper", name
    assert method["step_time"] >= steps[0]["bound"] * (1 - 1e-9) or name == "paper", name
EOF

# Two encoders, other columns and costs.
"$sim" balance "$work/s.csv" --encoder vision_tokens/image_count --encoder audio_rows --encoder-cost 0,5,1 \
  --encoder-cost 0,2,1 --split 3,1,4 > "$work/out"
expect "stages 3:1:4" "$work/out"
expect "cv audio_rows" "$work/out"
"$sim" balance "$work/s.csv" --tables --draws 2 -n 64 -m 8 > "$work/out"
expect "| s | " "$work/out"
expect "Stable batches" "$work/out"

# What a merge of rows makes: of 4,000 rows of an encoder and 100 words, 1,100 of the language model's, at 1 each.
printf 'vision_tokens,image_count,text_tokens\n4000,1,100\n' > "$work/one.csv"
"$sim" balance "$work/one.csv" -n 4 -m 4 --merge 4 --encoder-cost 0,1,0 --language-cost 0,1,0 --format json > "$work/out"
expect '"language":[1100' "$work/out"
refused "--merge: '0' is no number" "$sim" balance "$work/one.csv" --merge 0

# The manifest's own step: what the slowest of its replicas takes, never longer than in random order.
"$sim" balance "$work/s.csv" -n 64 -m 8 --replicas 3 --step 5 --manifest "$work/a.json" > "$work/out"
expect "manifest of 3 replicas, 192 samples" "$work/out"
awk '/^manifest of/ { gsub(/[;,]/, ""); found = 1; if ($(NF - 4) > $NF) exit 1 } END { if (!found) exit 1 }' "$work/out"
"$sim" balance "$work/s.csv" -n 64 -m 8 --manifest "$work/a.json" > "$work/out"
shortest=$(awk '/^shortest  / { print $4 }' "$work/out")
expect "the slowest, 0, takes $shortest;" "$work/out"

printf 'vision_tokens,image_count,text_tokens\n512,0,9\n' > "$work/none.csv"
refused "none.csv:2 has '0' in column 'image_count'" "$sim" balance "$work/none.csv"
rm "$work/none.csv"
# Named twice.
refused "two encoders have the rows of column 'audio_rows'" "$sim" balance "$work/s.csv" --encoder audio_rows --encoder audio_rows
refused "column 'vision_tokens' is an encoder's" "$sim" balance "$work/s.csv" --text vision_tokens
refused "is given twice" "$sim" balance "$work/s.csv" "$work/s.csv"
# More micro-batches than samples, work of minutes, and launches that outweigh all samples: the paper has fewer of them.
refused "4 samples leave 4092 of 4096 micro-batches empty" "$sim" balance "$work/s.csv" -m 4096 -n 4
timeout 2 "$sim" balance "$work/s.csv" -m 4096 -n 4096 --rounds 100000 > "$work/out" 2> "$work/err" || true
expect "minutes; fewer --microbatches" "$work/err"
"$sim" balance "$work/s.csv" -m 8 -n 8 --encoder-cost 0,1,1e6 --language-cost 0,1,1e6 > "$work/out"
awk '/^(random|DistTrain-like|DIP-like|paper|even|shortest) / && NF == 6 { if ($5 < 1) exit 1; ++rows } END { if (rows != 6) exit 1 }' \
  "$work/out"
# Where nothing takes time, nothing is longer than the bound.
refused "take no time" "$sim" balance "$work/s.csv" -m 8 -n 8 --encoder-cost 0,0,0 --language-cost 0,0,0
printf 'vision_tokens,image_count,text_tokens\n0,0,0\n0,0,0\n0,0,0\n9,1,9\n' > "$work/few.csv"
for step in 0 1 2 3 4 5 6 7; do
  "$sim" balance "$work/few.csv" -m 1 -n 1 --step $step --encoder-cost 0,1,0 --language-cost 0,1,0 >> "$work/few"
done
expect "lower bound 0;" "$work/few"
if grep -i nan "$work/few"; then exit 1; fi
refused "cannot be read" "$sim" balance "$work/none.csv"
refused "did you mean 'text_tokens'" "$sim" balance "$work/s.csv" --text text_token
refused "is no cost" "$sim" balance "$work/s.csv" --language-cost 1,2
refused "is no whole number from 1" "$sim" balance "$work/s.csv" --encoder-layers 0
refused "fits the memory of 10; the best needs" "$sim" balance "$work/s.csv" --max-memory 10
refused "--split names 3 components" "$sim" balance "$work/s.csv" --split 1,2,3
printf 'vision_tokens,image_count,text_tokens\n1,1,x\n' > "$work/bad.csv"
refused "bad.csv:2 has 'x' in column 'text_tokens'" "$sim" balance "$work/bad.csv"
printf 'vision_tokens,image_count,text_tokens\n' > "$work/bad.csv"
refused "no samples" "$sim" balance "$work/bad.csv"
