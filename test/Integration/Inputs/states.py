"""Models whose forward updates buffers, as PyTorch trains them.

    python states.py make FOLDER               writes batchnorm.pt, counter.pt, shift.pt and a batch for each
    python states.py compare FOLDER NAME RUN   losses, parameters and buffers of a run equal PyTorch's
"""

import json
import sys
import warnings
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from torch import nn

STEPS = 3
warnings.simplefilter("ignore")
torch.set_num_threads(1)


class BatchNormNet(nn.Module):
    """Convolutions with batch norm, one of them called twice."""

    def __init__(self):
        super().__init__()
        self.first = nn.Sequential(nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU())
        self.second = nn.Sequential(nn.Conv2d(4, 4, 3, padding=1), nn.BatchNorm2d(4, momentum=0.3), nn.ReLU())
        self.head = nn.Linear(4, 5)
        self.norm = nn.BatchNorm1d(5, affine=False)

    def forward(self, x, y):
        x = self.second(self.second(self.first(x)))
        statistics = self.first[1].running_mean.square().sum()  # carries no gradient
        return nn.functional.cross_entropy(self.norm(self.head(x.mean((2, 3)))), y) + statistics


class Counter(nn.Module):
    """Buffers that no sample enters: a counter, and a running average of a weight that the loss uses."""

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 8))
        self.head = nn.Linear(8, 3)
        self.register_buffer("steps", torch.zeros((), dtype=torch.int64))
        self.register_buffer("average", torch.zeros(3, 8))

    def forward(self, x, y):
        self.steps += 1
        self.average.lerp_(self.head.weight.detach(), 0.25)
        x = self.layers(x) / self.steps
        return nn.functional.mse_loss(self.head(x) + x @ self.average.t(), y)


class Shift(nn.Module):
    """A buffer that the first layer reads and the head's outputs update."""

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 8))
        self.head = nn.Linear(8, 3)
        self.register_buffer("shift", torch.zeros(3))

    def forward(self, x, y):
        x = self.head(self.layers(x + self.shift.sum()))
        self.shift.lerp_(x.detach().mean(0), 0.25)
        return nn.functional.mse_loss(x, y)


MODELS = {
    "batchnorm": (BatchNormNet, lambda: {"x": torch.randn(6, 3, 8, 8), "y": torch.randint(0, 5, (6,))}),
    "counter": (Counter, lambda: {"x": torch.randn(6, 6), "y": torch.randn(6, 3)}),
    "shift": (Shift, lambda: {"x": torch.randn(6, 6), "y": torch.randn(6, 3)}),
}


def make(folder):
    folder.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(0)
    torch.set_default_dtype(torch.float64)
    for name, (build, batch) in MODELS.items():
        model = build()
        batches = [batch() for _ in range(STEPS)]
        state = {key: value.clone() for key, value in model.state_dict().items()}
        traced = torch.jit.trace(model, tuple(batches[0].values()), check_trace=False)
        traced.load_state_dict(state)  # tracing has run forward
        traced.save(str(folder / f"{name}.pt"))
        save_file({f"step{i}/{key}": value for i, b in enumerate(batches) for key, value in b.items()}, folder / f"{name}.safetensors")


def compare(folder, name, run):
    model = torch.jit.load(str(folder / f"{name}.pt"))
    batch = load_file(folder / f"{name}.safetensors")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    metrics = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    losses = [entry["loss"] for entry in metrics if "loss" in entry]
    assert len(losses) == STEPS
    for step, got in enumerate(losses):
        optimizer.zero_grad()
        with torch.jit.optimized_execution(False):
            loss = model(batch[f"step{step}/x"], batch[f"step{step}/y"])
        loss.backward()
        optimizer.step()
        assert abs(got - loss.item()) <= 1e-10 * abs(loss.item()), (step, got, loss.item())
    final = load_file(run / "model.safetensors")
    wanted = model.state_dict()
    assert final.keys() == wanted.keys(), final.keys() ^ wanted.keys()
    for key, value in wanted.items():
        torch.testing.assert_close(final[key], value, rtol=1e-10, atol=1e-12, msg=lambda m: f"{key}: {m}")
    print(f"{name}: {STEPS} losses, {len(wanted)} tensors equal")


if __name__ == "__main__":
    if sys.argv[1] == "make":
        make(Path(sys.argv[2]))
    else:
        compare(Path(sys.argv[2]), sys.argv[3], Path(sys.argv[4]))
