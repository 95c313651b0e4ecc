"""Memory and time of a training step under each policy of recomputation: gpt2 small, one rank, float32, AdamW.

    python recompute.py --build ../build [--batch 16] [--microbatches 1] [--steps 10] [--rounds 3]

Prints one JSON line a policy. The policies take turns; tensor_mib is the most that tensors of rank 0's process held at
once (parameters, gradients and optimizer state included), step_ms a median over the steps of all rounds but each run's
first two.
"""

import argparse
import json
import statistics
from pathlib import Path

from common import ROOT, Conditions, child_cpu_s, export, report, run

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--build", type=Path, default=ROOT / "build")
parser.add_argument("--model", default="gpt2")
parser.add_argument("--size", default="small", choices=["tiny", "small"])
parser.add_argument("--batch", type=int, default=16)
parser.add_argument("--microbatches", type=int, default=1)
parser.add_argument("--stages", type=int, default=1)
parser.add_argument("--steps", type=int, default=10)
parser.add_argument("--rounds", type=int, default=3)
args = parser.parse_args()
build = args.build.resolve()
work = build / "bench" / "recompute"
export(work, args.model, args.size, batch=args.batch)
policies = ["none", "selective", "full"]
for policy in policies:
    run([build / "bin" / "braidc", work / "model.pt", "--example", work / "batch.safetensors", "--recompute", policy,
         "--stages", args.stages, "--microbatches", args.microbatches, "-o", work / policy])  # fmt: skip

seconds, losses, peak = {p: [] for p in policies}, {}, {}
conditions, cpu = Conditions(), child_cpu_s()
for _ in range(args.rounds):
    for policy in policies:
        out = work / f"run-{policy}"
        local = ["--local", args.stages] if args.stages > 1 else []
        run([work / policy, *local, "--data", work / "batch.safetensors", "--steps", args.steps + 2, "--out", out,
             "--overwrite", "--quiet", "--threads", 1], OMP_NUM_THREADS="1")  # fmt: skip
        lines = [json.loads(line) for line in (out / "metrics.jsonl").open()]
        seconds[policy] += [line["seconds"] for line in lines[2:]]
        losses[policy] = [line["loss"] for line in lines]
        peak[policy] = max(line["tensor_mib"] for line in lines)
clean = conditions.end(child_cpu_s() - cpu)
for policy in policies:
    report(
        bench="recompute", model=args.model, size=args.size, batch=args.batch, microbatches=args.microbatches,
        stages=args.stages, policy=policy, tensor_mib=peak[policy],
        step_ms=round(1e3 * statistics.median(seconds[policy]), 1),
        fastest_ms=round(1e3 * min(seconds[policy]), 1),
        same_losses=losses[policy] == losses["none"], **clean,
    )  # fmt: skip
