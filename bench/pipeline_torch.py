"""A peer: schedules of torch.distributed.pipelining over gloo, one thread a rank, rank i on core i. One JSON line.

    torchrun --standalone --nproc-per-node 2 pipeline_torch.py --hidden 256

median_ms is the fastest schedule's; alone_ms is the same work, with the same micro-batches, in one process while
the other ranks wait, and efficiency is alone_ms / ranks / median_ms. Memory is that of rank 0's process so far: to compare
it, name one schedule and leave the work alone out (--no-alone).
"""

import argparse
import os
import statistics
import time

os.environ["OMP_NUM_THREADS"] = "1"

import torch
import torch.distributed as dist
from blocks import add_options, batch, loss_of, stack
from common import Conditions, peak_rss_mib, report, stats, timed
from torch.distributed.pipelining import PipelineStage, schedules

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
add_options(parser)
parser.add_argument("--schedules", nargs="+", metavar="NAME",
                    default=["GPipe", "1F1B", "Interleaved1F1B", "InterleavedZeroBubble", "ZBVZeroBubble", "DualPipeV"])  # fmt: skip
parser.add_argument("--no-alone", action="store_true")
args = parser.parse_args()
torch.set_num_threads(1)
dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
cores = sorted(os.sched_getaffinity(0))
os.sched_setaffinity(0, {cores[rank % len(cores)]})
x, y = batch(args.microbatches, args.seq, args.hidden)


def adamw(modules):
    return torch.optim.AdamW([p for module in modules for p in module.parameters()], lr=1e-4, fused=True)


def alone():
    net = stack(args.layers, args.hidden)
    optimizer = adamw([net])

    def step():
        total = 0.0
        for x_part, y_part in zip(x.split(1), y.split(1)):
            loss = loss_of(net(x_part), y_part) / args.microbatches
            loss.backward()
            total += loss.item()
        optimizer.step()
        optimizer.zero_grad()
        return total

    wall, cpu, losses = timed(step, args.warmup, args.steps)
    return stats(wall, cpu)["median_ms"], losses


def pipelined(name):
    kind = getattr(schedules, "Schedule" + name)
    several = issubclass(kind, schedules.PipelineScheduleMulti)
    count = world * (2 if several else 1)
    v = name in ("ZBVZeroBubble", "DualPipeV")
    own = [rank, count - 1 - rank] if v else list(range(rank, count, world))
    layers = args.layers // count
    net = stack(args.layers, args.hidden)
    modules = [net[i * layers : (i + 1) * layers] for i in own]
    stages = [PipelineStage(module, i, count, torch.device("cpu")) for module, i in zip(modules, own)]
    optimizer = adamw(modules)
    schedule = kind(stages if several else stages[0], args.microbatches, loss_fn=loss_of)

    def step():
        losses = []
        last = dict(target=y, losses=losses) if count - 1 in own else {}
        schedule.step(*([x] if 0 in own else []), **last)
        optimizer.step()
        optimizer.zero_grad()
        return sum(loss.item() for loss in losses) / args.microbatches

    dist.barrier()
    conditions, before = Conditions(), time.process_time()
    wall, cpu, losses = timed(step, args.warmup, args.steps)
    sums = torch.tensor([*losses, time.process_time() - before])
    dist.all_reduce(sums)
    return stats(wall, cpu) | conditions.end(sums[-1].item()), sums[:3].tolist()


times_alone = rank == 0 and not args.no_alone
first, losses = alone() if times_alone else (0, [])
dist.barrier()
results, wrong = {}, {}
for name in args.schedules:
    try:
        results[name], own = pipelined(name)
        losses = losses or own
        wrong[name] = max((abs(a - b) for a, b in zip(own, losses)), default=0)
    except Exception as error:  # a schedule that gloo or the CPU cannot run
        results[name] = dict(error=f"{type(error).__name__}: {error}"[:200])
again, _ = alone() if times_alone else (0, [])  # the machine may have changed meanwhile
dist.barrier()
if rank == 0:
    ran = {name: result for name, result in results.items() if "median_ms" in result}
    best = min(ran, key=lambda name: ran[name]["median_ms"])
    alone_ms = statistics.mean([first, again])
    report(
        bench="pipeline_torch", ranks=world, hidden=args.hidden, seq=args.seq, microbatches=args.microbatches,
        median_ms=ran[best]["median_ms"], best=best, clean=ran[best]["clean"], peak_rss_mib=peak_rss_mib(),
        **(dict(alone_ms=round(alone_ms, 3), efficiency=round(alone_ms / world / ran[best]["median_ms"], 3)) if times_alone else {}),
        schedules=results, largest_loss_error=max(wrong.values()), losses=[round(loss, 6) for loss in losses[:3]],
    )  # fmt: skip
dist.destroy_process_group()
