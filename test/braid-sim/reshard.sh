#!/bin/sh
# Usage: reshard.sh BRAID_SIM. Plans the example of docs/Reshards.md, and checks the JSON against the table.
set -eu
sim=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

expect() { # TEXT FILE
  grep -qF -- "$1" "$2" || { echo "'$1' is not in:"; cat "$2"; exit 1; }
}

docs=$(dirname "$0")/../../docs/Reshards.md
sed -n '/^```yaml$/,/^```$/p' "$docs" | sed '1d;$d' > "$work/boundary.yaml"
"$sim" reshard "$work/boundary.yaml" --json "$work/plan.json" > "$work/table"
# 1575 rows of 4096 elements of 2 bytes, each sent once.
expect "bytes            12902400 over all links" "$work/table"
expect "backwards (adjoint)" "$work/table"
expect "time forwards" "$work/table"
expect "time backwards" "$work/table"
expect "leader+broadcast 12902400 bytes" "$work/table"
python3 - "$work/plan.json" <<'CHECK'
import json, sys
plan = json.load(open(sys.argv[1]))
assert plan["bytes"] == 12902400
messages = [m for step in plan["forwards"] for m in step.get("messages", [])]
back = [m for step in plan["backwards"] for m in step.get("messages", [])]
assert sum(m["bytes"] for m in messages) == 12902400
assert sorted((m["to"], m["from"], m["bytes"]) for m in back) == sorted((m["from"], m["to"], m["bytes"]) for m in messages)
for m in messages:
    elements = 0
    for box in m["slices"]:
        product = 1
        for _, _, size in box:
            product *= size
        elements += product
    assert elements * 2 == m["bytes"]
CHECK

sed 's/\[0, 1\], \[2, 3\]/[0, 1], [2]/' "$work/boundary.yaml" > "$work/bad.yaml"
if "$sim" reshard "$work/bad.yaml" > "$work/out" 2> "$work/err"; then echo "accepted"; exit 1; fi
expect "lane 2 of the destination wants sample 3, and no lane of the source holds it" "$work/err"
sed 's/dp: 3/dp: 4/' "$work/boundary.yaml" > "$work/bad.yaml"
if "$sim" reshard "$work/bad.yaml" > "$work/out" 2> "$work/err"; then echo "accepted"; exit 1; fi
expect "let the sizes of the axes multiply to the number of ranks" "$work/err"
if "$sim" reshard "$work/none.yaml" > "$work/out" 2> "$work/err"; then echo "accepted"; exit 1; fi
expect "cannot be read" "$work/err"
