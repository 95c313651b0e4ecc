"""What ./run demo shows: a LLaVA, compiled and trained on two local ranks, beside PyTorch.

    python demo.py [--build build] [--steps 60] [--size small] [--batch 4] [--out build/demo]

HuggingFace's LLaVA with random weights (test/Zoo's llava_dyn) becomes TorchScript; braidc compiles it by plan.yaml,
vision tower and projector on rank 0, language model on rank 1; the binary trains it on a few batches over and over, so
that the loss falls; then PyTorch trains the same file on the same batches, and both losses stand side by side.
"""

import argparse
import dataclasses
import json
import os
import subprocess
import sys
import time
import warnings
from pathlib import Path

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # PyTorch's threads would spin where others need the cores

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
BATCHES = 4
TOLERANCE = 1e-3  # float32, and AdamW makes steps of rounding


def say(text):
    print(f"\n\033[1m{text}\033[0m" if sys.stdout.isatty() else f"\n{text}", flush=True)


def export(out, size, batch):
    """The model as TorchScript, and its batches; what a user does in Python, once."""
    sys.path.insert(0, str(ROOT / "test" / "Zoo"))
    import make_case
    import torch
    from safetensors.torch import save_file

    make_case.quiet()
    models = make_case.load_models(ROOT / "test" / "Zoo" / "models.py")
    size = dataclasses.replace(models.SIZES[size], batch=batch)
    case = make_case.build(models, "llava_dyn", size, torch.float32)
    batches = [make_case.draw(case, torch.float32, step, case.dims) for step in range(BATCHES)]
    make_case.compile_to(str(out / "model.pt"), case, batches[0], torch.float32)
    save_file({f"step{i}/{k}": v for i, b in enumerate(batches) for k, v in b.items()}, out / "batch.safetensors")
    parameters = sum(p.numel() for p in case.module.parameters())
    print(f"{parameters / 1e6:.1f} million parameters, {(out / 'model.pt').stat().st_size / 1e6:.0f} MB")
    return list(batches[0])


def call(command):
    print("$", " ".join(str(Path(w).relative_to(ROOT)) if str(w).startswith(str(ROOT)) else str(w) for w in command), flush=True)
    start = time.perf_counter()
    code = subprocess.run(command, stdin=subprocess.DEVNULL).returncode
    if code:
        sys.exit(f"demo: {Path(command[0]).name} ended with exit code {code}")
    return time.perf_counter() - start


def beside(out, inputs, steps, every):
    """Trains the same file in PyTorch; prints both losses; the largest relative difference and the seconds."""
    import torch
    from safetensors.torch import load_file

    torch.set_num_threads(os.cpu_count())
    lines = [json.loads(line) for line in (out / "run" / "metrics.jsonl").read_text().splitlines()]
    ours = {line["step"]: line["loss"] for line in lines if "loss" in line}
    module = torch.jit.load(str(out / "model.pt"))
    data = load_file(out / "batch.safetensors")
    optimizer = torch.optim.AdamW([p for p in module.parameters() if p.requires_grad], lr=1e-3, weight_decay=0.01)
    print(f"{'step':>6} {'braid':>12} {'PyTorch':>12} {'relative difference':>21}")
    largest = seconds = 0.0
    for step in range(steps):
        start = time.perf_counter()
        optimizer.zero_grad()
        with torch.jit.optimized_execution(False):
            loss = module(*(data[f"step{step % BATCHES}/{name}"] for name in inputs))
        loss.backward()
        optimizer.step()
        loss = loss.item()
        seconds += time.perf_counter() - start
        difference = abs(ours[step] - loss) / abs(loss)
        largest = max(largest, difference)
        if step % every == 0 or step == steps - 1:
            print(f"{step:6} {ours[step]:12.6f} {loss:12.6f} {difference:21.1e}", flush=True)
    return ours, largest, seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=ROOT / "build")
    parser.add_argument("--out", type=Path, help="default: BUILD/demo")
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--size", default="small", choices=["tiny", "small"])
    parser.add_argument("--batch", type=int, default=4)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    build = args.build.resolve()
    out = (args.out or build / "demo").resolve()
    out.mkdir(parents=True, exist_ok=True)
    (out / "run" / "metrics.jsonl").unlink(missing_ok=True)

    say("1. Export: HuggingFace LLaVA to TorchScript")
    inputs = export(out, args.size, args.batch)

    say("2. Compile: vision tower and projector on rank 0, language model on rank 1")
    print((HERE / "plan.yaml").read_text().rstrip())
    compiled = call(
        [build / "bin" / "braidc", out / "model.pt", "--example", out / "batch.safetensors",
         "--plan", HERE / "plan.yaml", "-o", out / "train"]
    )  # fmt: skip
    size = (out / "train").stat().st_size / 1e6
    print(f"compiled in {compiled:.1f} s: an executable of {size:.1f} MB")

    say("3. Train: two local ranks, no Python")
    trained = call([out / "train", "--local", "2", "--data", out / "batch.safetensors", "--steps", str(args.steps), "--out", out / "run", "--overwrite"])

    say("4. Compare: the same file and batches in PyTorch")
    ours, largest, seconds = beside(out, inputs, args.steps, max(args.steps // 10, 1))
    first, last = ours[0], ours[args.steps - 1]
    print(f"\nthe loss fell from {first:.3f} to {last:.3f} in {args.steps} steps; braid took {trained:.0f} s for them, PyTorch {seconds:.0f} s")
    print(f"compile time {compiled:.1f} s; largest relative difference from PyTorch's loss {largest:.1e}")
    if not largest < TOLERANCE or not last < first:
        sys.exit("demo: the losses should fall and agree")


if __name__ == "__main__":
    main()
