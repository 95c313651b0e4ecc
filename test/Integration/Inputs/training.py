"""Training as people do it, beside PyTorch: schedules, groups, accumulation, evaluation, checkpoints.

    python training.py make FOLDER      writes net.pt, norm.pt, and batches to train and evaluate on
    python training.py compare FOLDER   the runs "whole" and "norm-whole" in it, and their checkpoints, equal PyTorch's
    python training.py same A B         two runs have the same metrics, bit for bit, from the first step of B on
"""

import json
import sys
import warnings
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from torch import nn
from transformers import get_cosine_with_min_lr_schedule_with_warmup

STEPS, ACCUMULATE = 6, 2
warnings.simplefilter("ignore")
torch.set_num_threads(1)


class Net(nn.Module):
    """A loss over the targets that are not ignored: batches weigh by how many they have."""

    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(11, 6)
        self.frozen = nn.Linear(6, 6)
        self.body = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 6), nn.LayerNorm(6))
        self.head = nn.Linear(6, 11)

    def forward(self, x, y):
        h = self.body(torch.tanh(self.frozen(self.embed(x))))
        return nn.functional.cross_entropy(self.head(h).flatten(0, 1), y.flatten())


class Norm(nn.Module):
    """Buffers that forward updates."""

    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(5, 8), nn.BatchNorm1d(8), nn.Tanh(), nn.Linear(8, 3))

    def forward(self, x, y):
        return nn.functional.cross_entropy(self.body(x), y)


def net_batch(number):
    x, y = torch.randint(0, 11, (4, 7)), torch.randint(0, 11, (4, 7))
    y[:, : 1 + number] = -100
    return {"x": x, "y": y}


def norm_batch(number):
    return {"x": torch.randn(6, 5), "y": torch.randint(0, 3, (6,))}


def save_batches(path, batches):
    save_file({f"step{i}/{key}": value for i, batch in enumerate(batches) for key, value in batch.items()}, path)


def make(folder):
    folder.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(0)
    torch.set_default_dtype(torch.float64)
    for name, build, batch in ("net", Net, net_batch), ("norm", Norm, norm_batch):
        model = build()
        batches = [batch(i) for i in range(5)]
        state = {key: value.clone() for key, value in model.state_dict().items()}
        traced = torch.jit.trace(model, tuple(batches[0].values()), check_trace=False)
        traced.load_state_dict(state)  # tracing has run forward
        traced.save(str(folder / f"{name}.pt"))
        save_batches(folder / f"{name}.safetensors", batches)
        save_batches(folder / f"{name}-eval.safetensors", [batch(i) for i in range(3)])
    batches[2]["x"][0, 0] = float("nan")
    save_batches(folder / "norm-nan.safetensors", batches)


def load(folder, name):
    data = load_file(folder / f"{name}.safetensors")
    return [{key: data[f"step{i}/{key}"] for key in ("x", "y")} for i in range(len(data) // 2)]


def loss_of(model, batches):
    """Of the union of the batches."""
    counts = [(batch["y"] >= 0).sum() for batch in batches]
    with torch.jit.optimized_execution(False):
        losses = [model(**batch) * count for batch, count in zip(batches, counts)]
    return sum(losses) / sum(counts)


def near(got, wanted, what):
    if not isinstance(got, torch.Tensor):
        got, wanted = torch.tensor(got, dtype=torch.float64), torch.as_tensor(wanted, dtype=torch.float64)
    torch.testing.assert_close(got, wanted.detach(), rtol=1e-10, atol=1e-12, msg=lambda m: f"{what}: {m}")


def metrics(run):
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    return {line["step"]: line for line in lines if "loss" in line}, {line["step"]: line["eval_loss"] for line in lines if "eval_loss" in line}


def compare_model(model, path):
    saved, wanted = load_file(path), model.state_dict()
    assert saved.keys() == wanted.keys(), saved.keys() ^ wanted.keys()
    for key, value in wanted.items():
        near(saved[key], value, f"{path}: {key}")


def net_optimizer(model):
    """What training.yaml says."""
    named = dict(model.named_parameters())
    trained = {key: value for key, value in named.items() if not key.startswith("frozen")}
    groups = {"embed": [], "bias": [], "rest": []}
    for key in trained:
        groups["embed" if key.startswith("embed") else "bias" if key.endswith("bias") else "rest"].append(key)
    optimizer = torch.optim.AdamW(
        [
            {"params": [trained[key] for key in groups["embed"]], "lr": 0.01},
            {"params": [trained[key] for key in groups["bias"]], "weight_decay": 0.0},
            {"params": [trained[key] for key in groups["rest"]]},
        ],
        lr=0.05,
        weight_decay=0.1,
        betas=(0.8, 0.99),
    )
    return optimizer, [key for group in groups.values() for key in group]


def train_net(model, optimizer, batches, first, lines, evaluation=None, losses=None):
    """Steps `first` and on; the schedule has been moved there."""
    rates = get_cosine_with_min_lr_schedule_with_warmup(optimizer, 2, STEPS, min_lr_rate=0.1)
    for _ in range(first):
        rates.step()
    trained = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    for step in range(first, STEPS):
        optimizer.zero_grad()
        loss = loss_of(model, [batches[(step * ACCUMULATE + i) % len(batches)] for i in range(ACCUMULATE)])
        loss.backward()
        norm = nn.utils.clip_grad_norm_(trained, 0.5)
        near(lines[step]["loss"], loss, f"loss of step {step}")
        near(lines[step]["grad_norm"], norm, f"norm of step {step}")
        near(lines[step]["lr"], optimizer.param_groups[2]["lr"], f"rate of step {step}")
        optimizer.step()
        rates.step()
        if evaluation and step in losses:
            with torch.no_grad():
                near(losses[step], loss_of(model, evaluation), f"evaluation after step {step}")


def compare_net(folder):
    batches, evaluation = load(folder, "net"), load(folder, "net-eval")
    lines, losses = metrics(folder / "whole")
    assert list(lines) == list(range(STEPS)) and list(losses) == [1, 3, 5], (lines, losses)
    model = torch.jit.load(str(folder / "net.pt"))
    optimizer, names = net_optimizer(model)
    train_net(model, optimizer, batches, 0, lines, evaluation, losses)
    compare_model(model, folder / "whole" / "model.safetensors")

    # PyTorch goes on from a checkpoint of braid's.
    checkpoint = folder / "part" / "checkpoints" / "step4"
    model = torch.jit.load(str(folder / "net.pt"))
    model.load_state_dict(load_file(checkpoint / "model.safetensors"))
    optimizer, names = net_optimizer(model)
    saved = load_file(checkpoint / "optimizer.safetensors")
    assert saved.keys() == {f"{name}.{part}" for name in names for part in ("exp_avg", "exp_avg_sq", "step")}
    state = {i: {part: saved[f"{name}.{part}"] for part in ("exp_avg", "exp_avg_sq", "step")} for i, name in enumerate(names)}
    optimizer.load_state_dict({"state": state, "param_groups": optimizer.state_dict()["param_groups"]})
    train_net(model, optimizer, batches, 4, lines)
    compare_model(model, folder / "whole" / "model.safetensors")
    print(f"net: {STEPS} steps, 3 evaluations, a checkpoint taken up by PyTorch")


def compare_norm(folder):
    batches, evaluation = load(folder, "norm"), load(folder, "norm-eval")
    lines, losses = metrics(folder / "norm-part")
    model = torch.jit.load(str(folder / "norm.pt"))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for step in range(4):
        optimizer.zero_grad()
        loss = loss_of(model, [batches[step]])
        loss.backward()
        optimizer.step()
        near(lines[step]["loss"], loss, f"loss of step {step}")
        buffers = {key: value.clone() for key, value in model.state_dict().items()}
        with torch.no_grad():
            near(losses[step], sum(loss_of(model, [batch]) for batch in evaluation) / len(evaluation), f"evaluation after step {step}")
        model.load_state_dict(buffers)  # what evaluation in training mode has changed
        if step == 1:
            compare_model(model, folder / "norm-part" / "checkpoints" / "step2" / "model.safetensors")
    compare_model(model, folder / "norm-part" / "model.safetensors")
    print("norm: 4 steps, 4 evaluations, buffers of a checkpoint")


def same(one, other):
    (lines, evaluations), (others, otherEvaluations) = metrics(one), metrics(other)
    assert others and others.keys() <= lines.keys()
    for step, line in others.items():
        for key in ("loss", "grad_norm", "lr", "samples"):
            assert line[key] == lines[step][key], (step, key, line[key], lines[step][key])
    for step in evaluations.keys() & otherEvaluations.keys():
        assert evaluations[step] == otherEvaluations[step], step
    print(f"same from step {min(others)}")


if __name__ == "__main__":
    if sys.argv[1] == "make":
        make(Path(sys.argv[2]))
    elif sys.argv[1] == "compare":
        compare_net(Path(sys.argv[2]))
        compare_norm(Path(sys.argv[2]))
    else:
        same(Path(sys.argv[2]), Path(sys.argv[3]))
