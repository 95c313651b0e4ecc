"""Compares runs of precision.yaml with the same program under torch.autocast: CASE RUN ..."""

import contextlib
import json
import sys
from pathlib import Path

import torch
from safetensors.torch import load_file

case, *runs = map(Path, sys.argv[1:])
torch.set_num_threads(1)
batch = load_file(case / "batch.safetensors")
inputs = [entry["name"] for entry in json.loads((case / "case.json").read_text())["inputs"]]


def train(context):
    """Losses and parameters of three steps of SGD."""
    model = torch.jit.load(case / "model.pt")
    optimizer = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=0.1)
    losses = []
    for step in range(3):
        optimizer.zero_grad()
        with context(), torch.jit.optimized_execution(False):
            loss = model(*[batch[f"step{step}/{name}"] for name in inputs])
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, {name: p.detach() for name, p in model.named_parameters()}


def distance(a, b):
    """Of all parameters together."""
    return sum((a[name].double() - b[name].double()).square().sum().item() for name in a) ** 0.5


start = {name: p.detach() for name, p in torch.jit.load(case / "model.pt").named_parameters()}
losses, parameters = train(lambda: torch.autocast("cpu", torch.bfloat16))
exact_losses, exact = train(contextlib.nullcontext)
moved, rounding = distance(parameters, start), distance(parameters, exact)
for run in runs:
    got = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    got = [line["loss"] for line in got if "loss" in line]
    final = load_file(run / "model.safetensors")
    assert all(final[name].dtype == torch.float32 for name in parameters)
    for mine, theirs in zip(got, losses, strict=True):
        assert abs(mine - theirs) <= 2e-3 * abs(theirs), (run, got, losses)
    # It rounds as bf16 does, no less (it would be float32) and no more; autocast's lists for CPU round more than ours.
    off, from_exact = distance({name: final[name] for name in parameters}, parameters), distance(exact, final)
    print(f"{run.name}: losses {got} autocast {losses} float32 {exact_losses}; off {off / moved:.4f} of the way, float32 {from_exact / moved:.4f}")
    assert off <= 0.05 * moved, (run, off, moved)
    assert from_exact >= 0.2 * rounding, (run, from_exact, rounding)
