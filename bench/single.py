"""A peer: one training step of a zoo model in PyTorch, in one process (forward, backward, fused AdamW), float32.

    python single.py --model gpt2 --size small --mode eager|jit|compile|compile-cpp|export

Prints one JSON line. first_s is tracing or compilation plus the first step; with --mode compile it is cold, unless
--cache names a folder with inductor's earlier results.
"""

import argparse
import os
import tempfile
import time

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--model", default="gpt2")
parser.add_argument("--size", default="small", choices=["tiny", "small"])
parser.add_argument("--mode", default="eager", choices=["eager", "jit", "compile", "compile-cpp", "export"])
parser.add_argument("--threads", type=int, default=1)
parser.add_argument("--steps", type=int, default=30)
parser.add_argument("--warmup", type=int, default=4)
parser.add_argument("--batch", type=int)
parser.add_argument("--vocabulary", type=int, help="instead of the size's own")
parser.add_argument("--cache", help="inductor's cache folder, kept between runs (default: a new one)")
args = parser.parse_args()
os.environ["OMP_NUM_THREADS"] = str(args.threads)
scratch = tempfile.TemporaryDirectory(prefix="inductor-")
os.environ["TORCHINDUCTOR_CACHE_DIR"] = args.cache or scratch.name

import dataclasses

import torch
from common import ZOO, Conditions, peak_rss_mib, report, stats, timed

import make_case

make_case.quiet()
torch.set_num_threads(args.threads)
models = make_case.load_models(ZOO / "models.py")
size = models.SIZES[args.size]
size = dataclasses.replace(size, batch=args.batch or size.batch, vocab=args.vocabulary or size.vocab)
case = make_case.build(models, args.model, size, torch.float32)
batches = [tuple(make_case.draw(case, torch.float32, step, case.dims).values()) for step in range(4)]
module = case.module
optimizer = torch.optim.AdamW(module.parameters(), lr=1e-3, fused=True)

start = time.perf_counter()
forward, prepare = module, None
if args.mode == "jit":
    forward = torch.jit.trace(module, batches[0], check_trace=False, strict=False)
elif args.mode == "export":
    forward = torch.export.export(module, batches[0]).module()
elif args.mode.startswith("compile"):
    torch._inductor.config.cpp_wrapper = args.mode == "compile-cpp"
    forward = torch.compile(module)
if args.mode in ("jit", "export"):
    prepare = time.perf_counter() - start  # before the first step

steps_done = 0


def step():
    global steps_done
    loss = forward(*batches[steps_done % len(batches)])
    steps_done += 1
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    return loss.item()


step()
first = time.perf_counter() - start
conditions, cpu_before = Conditions(), time.process_time()
wall, cpu, losses = timed(step, args.warmup, args.steps) if args.steps else ([], [], [])
report(
    bench="single", model=args.model, size=args.size, mode=args.mode, threads=args.threads,
    parameters=sum(p.numel() for p in module.parameters()), first_s=round(first, 2),
    prepare_s=prepare and round(prepare, 2), **(stats(wall, cpu) if wall else {}),
    **conditions.end(time.process_time() - cpu_before), peak_rss_mib=peak_rss_mib(),
    losses=[round(loss, 5) for loss in losses[:3]],
)  # fmt: skip
