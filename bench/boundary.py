"""What it costs to move a tensor between two ranks: braid over shared memory, and gloo's ways, in turn.

    python boundary.py --build ../build [--rounds 5]

bridge is Megatron's way from two ranks to two (leader send and broadcast), send the same between two ranks alone; copy is
one memcpy in one process. One JSON line for each size: medians of the rounds in us, and the medians over rounds of
(the other / braid).
"""

import argparse
import statistics
import sys
from pathlib import Path

from common import ROOT, Conditions, child_cpu_s, last_json, report, run, wait_quiet
from interleave import usable

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--build", type=Path, default=ROOT / "build")
parser.add_argument("--rounds", type=int, default=5)
parser.add_argument("--quiet", type=float, default=30, help="wait at most this long for an idle machine before each round")
args = parser.parse_args()
sizes = [4 << 10, 256 << 10, 64 << 20]
binary = args.build.resolve() / "bin" / "BraidTransportBench"


def gloo(ranks):
    launch = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", ranks]
    return last_json(run([*launch, Path(__file__).with_name("boundary_torch.py")])[1])["us"]


rounds = []
for _ in range(args.rounds):
    wait_quiet(args.quiet)
    conditions, cpu = Conditions(), child_cpu_s()
    bridge, send, ours = gloo(4), gloo(2), last_json(run([binary])[1])
    values = {
        size: dict(braid=ours[key]["one_way"], copy=ours[key]["copy"], send=send[key], bridge=bridge[key])
        for size, key in zip(sizes, map(str, sizes))
    }
    rounds.append((values, conditions.end(child_cpu_s() - cpu)["clean"]))
for size in sizes:
    used = [values[size] for values in usable(rounds)]
    report(
        bench="boundary", bytes=size, rounds=len(rounds), clean=sum(ok for _, ok in rounds),
        us={way: round(statistics.median(r[way] for r in used), 2) for way in used[0]},
        braid_is_faster={way: round(statistics.median(r[way] / r["braid"] for r in used), 2) for way in used[0]},
    )  # fmt: skip
