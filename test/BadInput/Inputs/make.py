"""Makes the files of test/BadInput: good ones, and each broken in one way.

    python make.py FOLDER      does nothing when FOLDER is newer than this script
"""

import io
import json
import sys
import warnings
import zipfile
from pathlib import Path

import torch
from safetensors.torch import save_file
from torch import nn


class Mlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.up = nn.Linear(8, 16)
        self.down = nn.Linear(16, 8)

    def forward(self, x, y):
        return nn.functional.mse_loss(self.down(torch.relu(self.up(x))), y)


class NotScalar(Mlp):
    def forward(self, x, y):
        return (self.down(torch.relu(self.up(x))) - y).square().mean(1)


class Pair(Mlp):
    def forward(self, x, y):
        out = self.down(torch.relu(self.up(x)))
        return nn.functional.mse_loss(out, y), out


class Integer(Mlp):
    def forward(self, x, y):
        return (self.down(self.up(x)) > y).sum()


class Branch(Mlp):
    def forward(self, x, y):
        x = self.up(x)
        if bool(x.sum() > 0):
            x = torch.relu(x)
        return nn.functional.mse_loss(self.down(x), y)


class Loop(Mlp):
    def forward(self, x, y):
        x = self.up(x)
        while bool(x.abs().max() > 1):
            x = x / 2
        return nn.functional.mse_loss(self.down(x), y)


class SizeBranch(Mlp):
    def forward(self, x, y):
        if x.size(0) > 2:
            x = x * 2
        return nn.functional.mse_loss(self.down(torch.relu(self.up(x))), y)


class Rounded(Mlp):
    def forward(self, x, y):
        return nn.functional.mse_loss(self.down(torch.relu(self.up(x))), y).half().float()


def rewrite(archive, change):
    """The zip archive with each record as change(name, data) gives it; None leaves it out."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(archive)) as old, zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as new:
        for entry in old.infolist():
            data = change(entry.filename, old.read(entry))
            if data is not None:
                new.writestr(entry.filename, data)
    return out.getvalue()


def main():
    out = Path(sys.argv[1])
    stamp = out / "stamp"
    if stamp.exists() and stamp.stat().st_mtime > Path(__file__).stat().st_mtime:
        return
    out.mkdir(parents=True, exist_ok=True)
    warnings.simplefilter("ignore")
    torch.manual_seed(0)
    example = torch.randn(4, 8), torch.randn(4, 8)
    torch.jit.trace(Mlp(), example).save(str(out / "model.pt"))
    torch.jit.trace(NotScalar(), example).save(str(out / "not_scalar.pt"))
    torch.jit.trace(Pair(), example).save(str(out / "pair.pt"))
    torch.jit.trace(Integer(), example).save(str(out / "integer.pt"))
    torch.jit.script(Branch()).save(str(out / "branch.pt"))
    torch.jit.script(Loop()).save(str(out / "loop.pt"))
    torch.jit.script(SizeBranch()).save(str(out / "size_branch.pt"))
    torch.jit.trace(Rounded(), example).save(str(out / "rounded.pt"))
    torch.save(Mlp().state_dict(), out / "state_dict.pt")

    model = (out / "model.pt").read_bytes()
    (out / "empty.pt").write_bytes(b"")
    (out / "text.pt").write_text("These are no weights.\n" * 100)
    (out / "truncated.pt").write_bytes(model[: len(model) // 2])
    (out / "no_weights.pt").write_bytes(rewrite(model, lambda name, data: None if name.endswith("/data/0") else data))
    (out / "no_code.pt").write_bytes(rewrite(model, lambda name, data: None if "/code/" in name else data))
    with zipfile.ZipFile(out / "model.pt") as archive:
        weights = archive.read(next(name for name in archive.namelist() if name.endswith("/data/0")))
    flipped = bytearray(model)
    flipped[model.index(weights)] ^= 1
    (out / "flipped.pt").write_bytes(flipped)

    x, y = example
    good = {f"step{i}/{name}": torch.randn(4, 8) for i in range(3) for name in "xy"}
    save_file(good, out / "batch.safetensors")
    save_file({f"step{i}/{n}": torch.randn(4, 8) for i in range(3) for n in ("x", "labels")}, out / "wrong_name.safetensors")
    save_file({f"step{i}/x": torch.randn(4, 8) for i in range(3)}, out / "missing_input.safetensors")
    save_file({k: v.long() if k.endswith("x") else v for k, v in good.items()}, out / "wrong_dtype.safetensors")
    save_file({k: v[0, 0] if k.endswith("x") else v for k, v in good.items()}, out / "wrong_rank.safetensors")
    save_file({k: v[:, :7].contiguous() if k.endswith("x") else v for k, v in good.items()}, out / "wrong_size.safetensors")
    save_file({k: v[:2].contiguous() for k, v in good.items()}, out / "two_samples.safetensors")
    save_file({"x": x, "y": y}, out / "no_steps.safetensors")
    batch = (out / "batch.safetensors").read_bytes()
    (out / "truncated.safetensors").write_bytes(batch[: len(batch) - 64])
    (out / "header.safetensors").write_bytes(b"\xff" * 16 + batch)
    text = b'{"x":' * 200000
    (out / "nested.safetensors").write_bytes(len(text).to_bytes(8, "little") + text)
    for name, change in {
        "overlap": {"data_offsets": [4, 132]},
        "outside": {"data_offsets": [128, 1 << 40]},
        "negative": {"shape": [-4, -8]},
        "miscounted": {"shape": [4, 9]},
    }.items():
        entries = {n: {"dtype": "F32", "shape": [4, 8], "data_offsets": [i * 128, i * 128 + 128]} for i, n in enumerate(["step0/x", "step0/y"])}
        entries["step0/y"].update(change)
        text = json.dumps(entries).encode()
        (out / f"{name}.safetensors").write_bytes(len(text).to_bytes(8, "little") + text + bytes(256))
    stamp.write_text("")


if __name__ == "__main__":
    main()
