"""A peer: moving a tensor of float32 from the ranks that hold it to those that need it, over gloo. One JSON line.

    torchrun --standalone --nproc-per-node 4 boundary_torch.py

With 4 ranks, ranks 0 and 1 hold a replica and ranks 2 and 3 want one: leader 0 sends to leader 2, which broadcasts
(Megatron's bridge communicator), and the same way back, as the gradient goes. With 2 ranks it is send and receive. us is
half of there and back, the median of ten batches, of the slowest rank.
"""

import argparse
import os
import statistics
import time

os.environ["OMP_NUM_THREADS"] = "1"

import torch
import torch.distributed as dist
from common import report

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--sizes", type=int, nargs="+", default=[4 << 10, 256 << 10, 64 << 20], help="bytes")
parser.add_argument("--budget", type=float, default=1.0, help="seconds for each size")
args = parser.parse_args()
torch.set_num_threads(1)
dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
# The two sides: the leader is the first of each.
sides = [[0, 1], [2, 3]] if world == 4 else [[0], [1]]
groups = [dist.new_group(side) for side in sides]


def there_and_back(tensor):
    for source, destination, group in ((sides[0], sides[1], groups[1]), (sides[1], sides[0], groups[0])):
        if rank == source[0]:
            dist.send(tensor, destination[0])
        elif rank == destination[0]:
            dist.recv(tensor, source[0])
        if rank in destination and len(destination) > 1:
            dist.broadcast(tensor, destination[0], group=group)


def measure(size):
    tensor = torch.full((size // 4,), float(rank))
    there_and_back(tensor)
    start = time.perf_counter()
    for _ in range(3):
        there_and_back(tensor)
    each = torch.tensor((time.perf_counter() - start) / 3)
    dist.all_reduce(each, op=dist.ReduceOp.MAX)
    count = max(1, int(args.budget / each.item() / 10))
    times = []
    for _ in range(10):
        dist.barrier()
        start = time.perf_counter()
        for _ in range(count):
            there_and_back(tensor)
        times.append((time.perf_counter() - start) / count)
    if tensor[0] != 0 or tensor[-1] != 0:
        raise SystemExit(f"rank {rank} holds another tensor than rank 0 sent")
    median = torch.tensor(statistics.median(times))
    dist.all_reduce(median, op=dist.ReduceOp.MAX)
    return round(median.item() / 2 * 1e6, 2)


results = {size: measure(size) for size in args.sizes}
if rank == 0:
    report(bench="boundary_torch", ranks=world, us=results)
dist.barrier()
dist.destroy_process_group()
