"""What ./run bench runs: all benchmarks, or those that are named. docs/Benchmarks.md says how each is measured.

    python run.py [--build build] [--list] [NAME ...]
"""

import argparse
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent


def step(build, model, size, steps, *more):
    """A training step of braid, also with PyTorch's BLAS, beside PyTorch's, eager and compiled, on one core."""
    python = f"{sys.executable} {HERE}"
    what = " ".join([f"--model {model} --size {size} --steps {steps}", *more])
    return ["interleave.py", "--rounds", "5",
            f"eager={python}/single.py {what}",
            f"compile={python}/single.py {what} --mode compile --cache {build}/inductor/{'-'.join([model, size, *more]).replace(' ', '')}",
            f"blas={python}/braid_step.py --build {build} {what} --matmul blas",
            f"braid={python}/braid_step.py --build {build} {what}"]  # fmt: skip


def pipeline(build, hidden, seq, *more):
    """Two ranks of braid beside the fastest schedule of torch.distributed.pipelining."""
    python = f"{sys.executable} {HERE}"
    what = " ".join([f"--hidden {hidden} --seq {seq}", *more])
    return ["interleave.py", "--rounds", "5",
            f"torch={sys.executable} -m torch.distributed.run --standalone --nproc-per-node 2 {HERE}/pipeline_torch.py {what}",
            f"zb_h1={python}/pipeline_braid.py --build {build} {what} --schedule zb_h1",
            f"braid={python}/pipeline_braid.py --build {build} {what}"]  # fmt: skip


def pipeline_memory(build, hidden, seq):
    """The most memory of rank 0, each schedule in processes of its own."""
    python = f"{sys.executable} {HERE}"
    what = f"--hidden {hidden} --seq {seq}"
    torch = f"{sys.executable} -m torch.distributed.run --standalone --nproc-per-node 2 {HERE}/pipeline_torch.py {what} --no-alone --schedules"
    schedules = ["GPipe", "1F1B", "Interleaved1F1B", "InterleavedZeroBubble", "ZBVZeroBubble", "DualPipeV"]
    return ["interleave.py", "--rounds", "2", "--quiet", "5", "--key", "peak_rss_mib", *[f"{name}={torch} {name}" for name in schedules],
            f"braid={python}/pipeline_braid.py --build {build} {what}"]  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--build", type=Path, default=ROOT / "build")
    parser.add_argument("--list", action="store_true")
    args = parser.parse_args()
    build = args.build.resolve()
    benchmarks = {
        "compile-time": ("braidc against torch.compile's cold first call", ["compile_time.py", "--build", build]),
        "depth": ("compile time and binary size for 4, 16, 64 equal layers", ["depth.py", "--build", build]),
        "large-import": ("import of 200 layers and 2 GB", ["large_import.py", "--build", build]),
        "recompute": ("memory and time of a step under each policy of recomputation", ["recompute.py", "--build", build]),
        "step-gpt2": ("a training step beside PyTorch's, eager and torch.compile", step(build, "gpt2", "small", 30)),
        "step-llava": ("the same for the multimodal model", step(build, "llava_dyn", "small", 30)),
        "step-tiny-llama": ("the same where small operators dominate", step(build, "llama", "tiny", 300)),
        "step-tiny-llava": ("the same, multimodal", step(build, "llava_dyn", "tiny", 300)),
        "step-vocabulary": ("the same with 32768 words", step(build, "gpt2", "small", 15, "--vocabulary 32768")),
        "pipeline-256": ("two stages beside torch.distributed.pipelining on gloo, hidden 256", pipeline(build, 256, 128)),
        "pipeline-64": ("the same where overheads dominate, hidden 64", pipeline(build, 64, 32, "--steps 60 --warmup 10")),
        "pipeline-memory": ("the memory of rank 0 at hidden 256", pipeline_memory(build, 256, 128)),
        "boundary": ("a tensor between two ranks beside gloo's ways, 4 KiB to 64 MiB", ["boundary.py", "--build", build]),
        "start": ("from process start to the end of the first step beside Python, gpt2", ["start.py", "--build", build]),
        "start-llava": ("the same for the multimodal model", ["start.py", "--build", build, "--model", "llava_dyn"]),
    }
    if args.list:
        for name, (what, _) in benchmarks.items():
            print(f"{name:15} {what}")
        return
    if unknown := set(args.names) - set(benchmarks):
        parser.error(f"no benchmark {', '.join(sorted(unknown))}; there are {', '.join(benchmarks)}")
    failed = []
    for name in args.names or benchmarks:
        what, command = benchmarks[name]
        print(f"\n-- {name}: {what}", flush=True)
        if subprocess.run([sys.executable, *map(str, [HERE / command[0], *command[1:]])], stdin=subprocess.DEVNULL).returncode:
            failed.append(name)
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
