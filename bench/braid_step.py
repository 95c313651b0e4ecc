"""The same step as single.py's in a binary that braidc made of the same zoo model: one JSON line with the same keys.

    python braid_step.py --build build --model gpt2 --size small [--stages 2 --microbatches 4]
"""

import argparse
import json
import tempfile
from pathlib import Path

from common import Conditions, ROOT, child_cpu_s, export, report, run, stats

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--build", type=Path, default=ROOT / "build")
parser.add_argument("--model", default="gpt2")
parser.add_argument("--size", default="small", choices=["tiny", "small"])
parser.add_argument("--vocabulary", type=int, help="instead of the size's own")
parser.add_argument("--stages", type=int, default=1)
parser.add_argument("--microbatches", type=int, default=1)
parser.add_argument("--threads", type=int, default=1)
parser.add_argument("--matmul", default="auto", choices=["auto", "blas", "onednn"])
parser.add_argument("--steps", type=int, default=30)
parser.add_argument("--warmup", type=int, default=4)
args = parser.parse_args()

with tempfile.TemporaryDirectory(prefix="braid-bench-") as folder:
    out = Path(folder)
    export(out, args.model, args.size, **({"vocab": args.vocabulary} if args.vocabulary else {}))
    compiled, _ = run(
        [args.build.resolve() / "bin" / "braidc", out / "model.pt", "--example", out / "batch.safetensors",
         "--stages", args.stages, "--microbatches", args.microbatches, "-o", out / "train"]
    )  # fmt: skip
    conditions, before = Conditions(), child_cpu_s()
    run(
        [out / "train", *(["--local", args.stages] if args.stages > 1 else []), "--threads", args.threads, "--quiet", "--matmul", args.matmul,
         "--data", out / "batch.safetensors", "--steps", args.warmup + args.steps, "--optimizer", "adamw", "--out", out / "run", "--overwrite"]
    )  # fmt: skip
    conditions = conditions.end(child_cpu_s() - before)
    lines = [json.loads(line) for line in (out / "run" / "metrics.jsonl").read_text().splitlines()]
    steps = [line for line in lines if "loss" in line]
    report(
        bench="braid_step", model=args.model, size=args.size, stages=args.stages, microbatches=args.microbatches,
        compile_s=round(compiled, 2), **stats([step["seconds"] for step in steps[args.warmup :]]), **conditions,
        peak_rss_mib=steps[-1]["peak_mib"], losses=[round(step["loss"], 5) for step in steps[:3]],
    )  # fmt: skip
