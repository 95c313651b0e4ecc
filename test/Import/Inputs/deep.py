"""Writes models whose graph is one long chain.

    python deep.py FOLDER                     chain.pt: 2,500 ops one after the other; terms.pt: a loss of 1,000 terms;
                                              views.pt: views of views, written to at the end; sizes.pt: a size that is
                                              halved 100 times
    python deep.py FOLDER compare NAME RUN    the loss of a run's first step equals PyTorch's
"""

import json
import math
import sys
import warnings
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from torch import nn

warnings.simplefilter("ignore")


class Chain(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(4))

    def forward(self, x):
        x = x * self.weight
        for _ in range(2500):
            x = torch.sin(x)
        return x.mean()


class Terms(Chain):
    def forward(self, x):
        loss = (x * self.weight).mean()
        for i in range(1000):
            loss = loss + (x * self.weight).sum()
        return loss


class Views(Chain):
    def forward(self, x):
        x = x * self.weight
        view = x
        for _ in range(500):
            view = view.unsqueeze(0).squeeze(0)
        view.add_(1)
        return x.mean()


class Sizes(Chain):
    def forward(self, x):
        n = x.shape[0]
        for _ in range(100):
            n = (n + 3) // 2
        return (x * self.weight)[:n].mean()


def make(folder):
    folder.mkdir(parents=True, exist_ok=True)
    x = torch.randn(3, 4)
    save_file({"step0/x": x}, folder / "batch.safetensors")
    for model in Chain, Terms, Views, Sizes:
        torch.jit.trace(model(), x, check_trace=False).save(str(folder / f"{model.__name__.lower()}.pt"))


def compare(folder, name, run):
    model = torch.jit.load(str(folder / f"{name}.pt"))
    with torch.jit.optimized_execution(False):
        wanted = model(load_file(folder / "batch.safetensors")["step0/x"]).item()
    got = json.loads((run / "metrics.jsonl").read_text().splitlines()[0])["loss"]
    assert math.isclose(got, wanted, rel_tol=1e-5), (got, wanted)
    print(f"{name}: loss equal")


if __name__ == "__main__":
    if len(sys.argv) == 2:
        make(Path(sys.argv[1]))
    else:
        compare(Path(sys.argv[1]), sys.argv[3], Path(sys.argv[4]))
