"""Every schedule that braidc compiles gives PyTorch's losses, gradients and weights.

    python schedules.py FOLDER BRAIDC

Four layers on two ranks, or two for schedules of one stage a rank: as chains, looped (0, 1, 0, 1) and folded (0, 1, 1, 0).
With the first or the last two layers frozen: no backward there, or no weight gradients.
"""

import copy
import json
import subprocess
import sys
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from torch import nn

folder, braidc = Path(sys.argv[1]), sys.argv[2]
PLACES = {
    "chain": ([0, 1], ["1f1b", "gpipe", "zb_h1", "zb_h2"]),
    "looped": ([0, 1, 0, 1], ["1f1b", "gpipe", "interleaved", "looped_bfs"]),
    "folded": ([0, 1, 1, 0], ["1f1b", "zb_v", "v_half", "v_min"]),
}
FROZEN = {"": [], "-front": [0, 1], "-back": [2, 3]}
FROZEN_KINDS = ["zb_h1", "interleaved", "zb_v"]
STEPS, SAMPLES, MICROBATCHES = 3, 12, 6


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Sequential(nn.Linear(6, 6), nn.Tanh(), nn.LayerNorm(6)) for _ in range(4))

    def forward(self, x, y):
        for layer in self.layers:
            x = x + layer(x)
        return nn.functional.mse_loss(x, y)


torch.manual_seed(3)
torch.set_default_dtype(torch.float64)
folder.mkdir(parents=True, exist_ok=True)
net = Net()
batches = [{"x": torch.randn(SAMPLES, 6), "y": torch.randn(SAMPLES, 6)} for _ in range(STEPS)]
torch.jit.trace(net, tuple(batches[0].values()), check_trace=False).save(str(folder / "net.pt"))
save_file({f"step{i}/{k}": v for i, batch in enumerate(batches) for k, v in batch.items()}, folder / "data.safetensors")


def train(frozen):
    """PyTorch's losses and weights."""
    trained = copy.deepcopy(net)
    for layer in frozen:
        trained.layers[layer].requires_grad_(False)
    losses = []
    optimizer = torch.optim.AdamW([p for p in trained.parameters() if p.requires_grad], lr=1e-2)
    for batch in batches:
        optimizer.zero_grad()
        loss = trained(**batch)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, trained.state_dict()


def write_plan(path, ranks, kind, frozen):
    each = 4 // len(ranks)
    lines = ["components:"]
    for stage, rank in enumerate(ranks):
        modules = ", ".join(f"layers.{stage * each + i}" for i in range(each))
        flag = ", frozen: true" if stage * each in frozen else ""
        lines.append(f"  s{stage}: {{modules: [{modules}], mesh: {{ranks: [{rank}]}}{flag}}}")
    lines[-1] = lines[-1].replace("]", ', "*"]', 1)
    path.write_text("\n".join([*lines, f"schedule: {{kind: {kind}, microbatches: {MICROBATCHES}}}", ""]))


# braidc names all kinds that it compiles where it refuses one.
command = [braidc, folder / "net.pt", "--example", folder / "data.safetensors", "--schedule", "zigzag", "-o", folder / "zigzag"]
refused = subprocess.run(command, capture_output=True, text=True).stderr
compiled = set(refused.split("compiles: use ")[1].split("\n")[0].split(", "))
assert compiled == {kind for _, kinds in PLACES.values() for kind in kinds}, compiled

for suffix, frozen in FROZEN.items():
    expected, values = train(frozen)
    for place, (ranks, kinds) in PLACES.items():
        for kind in kinds:
            if frozen and kind not in FROZEN_KINDS:
                continue
            name = f"{place}-{kind}{suffix}"
            plan, binary, run = folder / f"{name}.yaml", folder / name, folder / f"{name}.run"
            write_plan(plan, ranks, kind, frozen)
            subprocess.run([braidc, folder / "net.pt", "--example", folder / "data.safetensors", "--plan", plan, "-o", binary], check=True)
            subprocess.run([binary, "--local", "2", "--data", folder / "data.safetensors", "--steps", str(STEPS), "--optimizer", "adamw",
                            "--lr", "1e-2", "--out", run, "--quiet"], check=True)  # fmt: skip
            losses = [json.loads(line)["loss"] for line in (run / "metrics.jsonl").read_text().splitlines()]
            torch.testing.assert_close(torch.tensor(losses), torch.tensor(expected), rtol=1e-12, atol=0)
            weights = load_file(run / "model.safetensors")
            for key, value in values.items():
                torch.testing.assert_close(weights[key], value, rtol=1e-10, atol=1e-12, msg=lambda text: f"{name} {key}: {text}")
            print(f"{name}: as PyTorch")
