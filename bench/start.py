"""From the start of a process to the end of its first training step: a compiled binary beside Python, in turn.

    python start.py --build ../build --model gpt2 [--size small] [--rounds 7]

Python imports torch and transformers, builds the model and takes one eager step (single.py --steps 0); its time ends with
that step. braid's is that of the whole process with --steps 1, its end included. One JSON line.
"""

import argparse
import subprocess
import sys
import time
from pathlib import Path

from common import ROOT, Conditions, child_cpu_s, export, report, run, wait_quiet
from interleave import summarise, table, usable

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--build", type=Path, default=ROOT / "build")
parser.add_argument("--model", default="gpt2")
parser.add_argument("--size", default="small", choices=["tiny", "small"])
parser.add_argument("--rounds", type=int, default=7)
parser.add_argument("--quiet", type=float, default=30, help="wait at most this long for an idle machine before each round")
args = parser.parse_args()
build = args.build.resolve()
work = build / "bench" / "start" / f"{args.model}-{args.size}"
export(work, args.model, args.size)
run([build / "bin" / "braidc", work / "model.pt", "--example", work / "batch.safetensors", "-o", work / "train"])


def until_first_line(command):
    start = time.perf_counter()
    with subprocess.Popen([str(word) for word in command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True) as process:
        if not process.stdout.readline():
            sys.exit(f"{command} printed nothing")
        seconds = time.perf_counter() - start
        process.stdout.read()
    return seconds


def once():
    single = [sys.executable, Path(__file__).with_name("single.py"), "--model", args.model, "--size", args.size, "--steps", 0]
    train = [work / "train", "--data", work / "batch.safetensors", "--steps", 1, "--optimizer", "adamw", "--threads", 1, "--quiet"]
    return dict(python=until_first_line(single), braid=run(train)[0])


once()  # files into the page cache
rounds = []
for _ in range(args.rounds):
    wait_quiet(args.quiet)
    conditions, cpu = Conditions(), child_cpu_s()
    values = once()
    rounds.append((values, conditions.end(child_cpu_s() - cpu)["clean"]))
    print(f"round {len(rounds)}", *rounds[-1], file=sys.stderr, flush=True)
results = summarise(usable(rounds), "python")
table(results)
report(bench="start", model=args.model, size=args.size, rounds=args.rounds, clean=sum(ok for _, ok in rounds), results=results)
