"""The same stack as pipeline_torch.py's in a binary of braid: 1F1B on two ranks over shared memory. One JSON line.

    python pipeline_braid.py --build build --hidden 256

alone_ms is a binary of one stage with the same micro-batches, timed before and after; efficiency is alone_ms / ranks /
median_ms. peak_rss_mib is that of rank 0's process, in the run of all ranks.
"""

import argparse
import json
import statistics
import tempfile
from pathlib import Path

import torch
from blocks import add_options, batch, loss_of, stack
from common import ROOT, Conditions, child_cpu_s, report, run, stats
from safetensors.torch import save_file

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
add_options(parser)
parser.add_argument("--build", type=Path, default=ROOT / "build")
parser.add_argument("--stages", type=int, default=2)
parser.add_argument("--schedule", default="1f1b")
args = parser.parse_args()


class Trained(torch.nn.Module):
    def __init__(self, net):
        super().__init__()
        self.net = net

    def forward(self, x, y):
        return loss_of(self.net(x), y)


def train(folder, stages):
    """Seconds of the timed steps, the losses, and the most memory of rank 0."""
    binary = folder / f"train{stages}"
    run(
        [args.build.resolve() / "bin" / "braidc", folder / "model.pt", "--example", folder / "batch.safetensors",
         "--stages", stages, "--microbatches", args.microbatches, *(["--schedule", args.schedule] if stages > 1 else []), "-o", binary]
    )  # fmt: skip
    run(
        [binary, *(["--local", stages] if stages > 1 else []), "--threads", 1, "--quiet", "--data", folder / "batch.safetensors",
         "--steps", args.warmup + args.steps, "--optimizer", "adamw", "--lr", "1e-4", "--out", folder / "run", "--overwrite"]
    )  # fmt: skip
    steps = [line for text in (folder / "run" / "metrics.jsonl").read_text().splitlines() if "loss" in (line := json.loads(text))]
    return [step["seconds"] for step in steps[args.warmup :]], [step["loss"] for step in steps], max(step["peak_mib"] for step in steps)


with tempfile.TemporaryDirectory(prefix="braid-bench-") as scratch:
    folder = Path(scratch)
    x, y = batch(args.microbatches, args.seq, args.hidden)
    module = Trained(stack(args.layers, args.hidden))
    torch.jit.trace(module, (x, y), check_trace=False).save(str(folder / "model.pt"))
    save_file({"step0/x": x, "step0/y": y}, folder / "batch.safetensors")
    before, _, _ = train(folder, 1)
    conditions, cpu = Conditions(), child_cpu_s()
    seconds, losses, peak = train(folder, args.stages)
    conditions = conditions.end(child_cpu_s() - cpu)
    after, _, _ = train(folder, 1)
    alone_ms = 1e3 * statistics.mean([statistics.median(before), statistics.median(after)])
    timing = stats(seconds)
    report(
        bench="pipeline_braid", ranks=args.stages, hidden=args.hidden, seq=args.seq, microbatches=args.microbatches,
        **timing, **conditions, peak_rss_mib=peak, alone_ms=round(alone_ms, 3), efficiency=round(alone_ms / args.stages / timing["median_ms"], 3),
        losses=[round(loss, 6) for loss in losses[:3]],
    )  # fmt: skip
