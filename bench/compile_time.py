"""braidc against torch.compile: seconds from the model to something that trains, in turn, in one run.

    python compile_time.py --build build [--rounds 3] [--models gpt2 llava_dyn] [--size small]

braidc: from the TorchScript file to the linked executable, in a process of its own, files in the page cache.
torch.compile: from the module to the end of its first training step, with an empty inductor cache (single.py's
first_s; importing torch is not counted). Tracing, which a user of braid does once, is given beside them.
"""

import argparse
import sys
import tempfile
import time
from pathlib import Path

from common import Conditions, ROOT, child_cpu_s, export, last_json, report, run, wait_quiet
from interleave import summarise, table

HERE = Path(__file__).resolve().parent


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=ROOT / "build")
    parser.add_argument("--models", nargs="+", default=["gpt2", "llava_dyn"])
    parser.add_argument("--size", default="small", choices=["tiny", "small"])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--quiet", type=float, default=30, help="wait at most this long for an idle machine before each")
    args = parser.parse_args()
    braidc = args.build.resolve() / "bin" / "braidc"
    for model in args.models:
        with tempfile.TemporaryDirectory(prefix="braid-bench-") as folder:
            out = Path(folder)
            start = time.perf_counter()
            export(out, model, args.size)
            exported = time.perf_counter() - start
            ours = [braidc, out / "model.pt", "--example", out / "batch.safetensors", "-o", out / "train"]
            theirs = [sys.executable, HERE / "single.py", "--model", model, "--size", args.size, "--mode", "compile", "--steps", 0]
            run(ours)  # fills the page cache
            rounds, clean = [], 0
            for _ in range(args.rounds):
                wait_quiet(args.quiet)
                conditions, before = Conditions(), child_cpu_s()
                rounds.append({"torch.compile": last_json(run(theirs)[1])["first_s"], "braidc": run(ours)[0]})
                clean += conditions.end(child_cpu_s() - before)["clean"]
            results = summarise(rounds, "torch.compile")
            print(f"{model}, {args.size}: seconds to compile")
            table(results, sys.stdout)
            report(
                bench="compile_time", model=model, size=args.size, rounds=len(rounds), clean=clean,
                build_and_trace_s=round(exported, 2), binary_kb=round((out / "train").stat().st_size / 1e3), results=results,
            )  # fmt: skip


if __name__ == "__main__":
    main()
