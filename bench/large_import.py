"""Import of a model of many layers and gigabytes: seconds, resident memory, size of the IR. Parameters stay in the file.

    python large_import.py --build build [--gigabytes 2] [--layers 200] [--rounds 3]
"""

import argparse
import math
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from common import ROOT, report

import torch
from safetensors.torch import save_file
from torch import nn


def peak_mib(pid):
    """A running program's largest resident memory; what wait4 gives would count this Python's own before exec."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return max((int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM")), default=0)


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        # Memory that nobody writes to takes no room, and the file's bytes do not matter.
        self.up = nn.utils.skip_init(nn.Linear, width, 4 * width)
        self.down = nn.utils.skip_init(nn.Linear, 4 * width, width)

    def forward(self, x):
        return x + self.down(nn.functional.gelu(self.up(self.norm(x))))


class Model(nn.Module):
    def __init__(self, layers, width):
        super().__init__()
        self.layers = nn.Sequential(*[Block(width) for _ in range(layers)])

    def forward(self, x, y):
        return nn.functional.mse_loss(self.layers(x), y)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=ROOT / "build")
    parser.add_argument("--gigabytes", type=float, default=2, help="of float32 parameters; the folder needs as much room")
    parser.add_argument("--layers", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    width = int(math.sqrt(args.gigabytes * 1e9 / 4 / args.layers / 8))
    with tempfile.TemporaryDirectory(prefix="braid-bench-") as folder:
        out = Path(folder)
        batch = {"x": torch.randn(2, width), "y": torch.randn(2, width)}
        with torch.no_grad():
            traced = torch.jit.trace(Model(args.layers, width), tuple(batch.values()), check_trace=False)
        traced.save(str(out / "model.pt"))
        save_file({f"step0/{name}": value for name, value in batch.items()}, out / "batch.safetensors")
        braidc = args.build.resolve() / "bin" / "braidc"
        command = [braidc, out / "model.pt", "--example", out / "batch.safetensors", "--emit=import", "-o", out / "model.mlir"]
        seconds, resident = [], []
        for _ in range(args.rounds + 1):  # the first one fills the page cache
            start = time.perf_counter()
            process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
            while process.poll() is None:
                resident.append(peak_mib(process.pid))
                time.sleep(0.005)
            seconds.append(time.perf_counter() - start)
            if process.returncode:
                sys.exit(f"braidc failed with exit code {process.returncode}")
        size = (out / "model.pt").stat().st_size / 1e9
        ir = (out / "model.mlir").stat().st_size / 1e6
    median = statistics.median(seconds[1:])
    print(f"{args.layers} layers, {size:.1f} GB: {median:.2f} s, {max(resident):.0f} MiB resident, {ir:.2f} MB of IR")
    figures = dict(seconds=round(median, 3), resident_mib=round(max(resident)), ir_mb=round(ir, 2))
    report(bench="large-import", layers=args.layers, gigabytes=round(size, 2), rounds=args.rounds, **figures)


if __name__ == "__main__":
    main()
