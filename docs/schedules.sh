#!/usr/bin/env bash
# Draws the pictures of docs/Schedules.md: docs/schedules.sh BRAID_SIM docs/images
set -euo pipefail
sim=$1 folder=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

picture() { # NAME TITLE OPTION...
  "$sim" draw "${@:3}" --title "$2" --width 900 --format svg -o "$folder/schedule-$1.svg"
}

picture one "one batch, 4 ranks" -k gpipe -p 4 -m 1
for kind in gpipe 1f1b zb_h1 zb_h2 chimera dualpipe; do
  picture "$kind" "$kind, 4 ranks, 8 micro-batches" -k "$kind" -p 4 -m 8
done
picture latency "1f1b, 4 ranks, 8 micro-batches, latency 0.3" -k 1f1b -p 4 -m 8 -c 0.3
half=(-p 4 -m 8 -f 0.5 -i 0.5 -w 0.5 --activation 0.5)
for kind in interleaved looped_bfs zb_v v_half v_min dualpipev; do
  picture "$kind" "$kind, 4 ranks, 8 micro-batches, half-size chunks" -k "$kind" "${half[@]}"
done
for kind in 2bw amdp amdp_split; do
  picture "$kind" "$kind, 4 ranks, 16 micro-batches" -k "$kind" -p 4 -m 16
done
"$sim" search --directions 2 -p 4 -m 8 --max-memory 4 -o "$work/step.csv" 2> "$work/log"
picture directions "searched, 2 directions, 4 ranks, 8 micro-batches" -t "$work/step.csv"
"$sim" search --directions 2 -p 4 -m 16 --updates 2 -c 0.1 --evaluations 200 -o "$work/pattern.csv" 2> "$work/log"
picture pattern "a pattern in 2 directions, 4 ranks, 16 micro-batches, latency 0.1" -t "$work/pattern.csv" -c 0.1
picture joined "1f1b, two encoders of different depth" --component vision:0-1:llm --component audio:2:llm \
  --component llm:3-5 -m 8
times=0.5,0.5,0.5,0.5,1,1,1,1 # an encoder's stage takes half as long as one of the model
picture three_phase "three_phase" -k three_phase -p 4 -m 8 --forwards $times --inputs $times --weights $times
picture deferral "1f1b with deferral" --component vision:0-1:llm:defers --component llm:2-3 -m 8
picture contention "1f1b, one message at a time through each port" --component vision:0:llm --component audio:1:llm \
  --component llm:2-3 -m 8 --links ports --bytes 1 --time-per-byte 0.8
"$sim" search -k v_half "${half[@]}" --max-memory 3 -o "$work/searched.csv" 2> "$work/log"
picture search "found in the memory of v_half" -t "$work/searched.csv" -f 0.5 -i 0.5 -w 0.5 --activation 0.5
for when in with_backward early; do
  picture "recompute_$when" "1f1b, recomputation ${when/_/ the }" -k 1f1b -p 4 -m 8 --recompute $when
done
