"""Compares a run of frozen.yaml with PyTorch: CASE RUN."""

import json
import sys
from pathlib import Path

import torch
from safetensors.torch import load_file

case, run = map(Path, sys.argv[1:])
torch.set_num_threads(1)
model = torch.jit.load(case / "model.pt")
batch = load_file(case / "batch.safetensors")
inputs = [entry["name"] for entry in json.loads((case / "case.json").read_text())["inputs"]]
for name, parameter in model.named_parameters():
    if name.startswith("net.model.vision_tower"):
        parameter.requires_grad_(False)
trained = [p for p in model.parameters() if p.requires_grad]
optimizer = torch.optim.SGD(trained, lr=0.1)
metrics = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
for step, got in enumerate(x for x in metrics if "loss" in x):
    optimizer.zero_grad()
    with torch.jit.optimized_execution(False):
        loss = model(*[batch[f"step{step}/{name}"] for name in inputs])
    loss.backward()
    norm = torch.nn.utils.clip_grad_norm_(trained, 0.5)
    optimizer.step()
    for mine, theirs in (got["loss"], loss.item()), (got["grad_norm"], norm.item()):
        assert abs(mine - theirs) <= 1e-10 * abs(theirs), (step, mine, theirs)
final = load_file(run / "model.safetensors")
worst = max((final[name].double() - p.double()).abs().max().item() for name, p in model.named_parameters())
assert worst < 1e-12, worst
