"""Small training models as TorchScript, each with something that import must cope with.

    python models.py OUT     writes OUT/<name>.pt and OUT/<name>.safetensors for every model, unless they are newer

Values that a test relies on are PyTorch's own: forward() of the module itself.
"""

import sys
import warnings
from pathlib import Path

import torch
from safetensors.torch import save_file
from torch import nn
from torch.nn import functional as F

warnings.simplefilter("ignore")


class Tied(nn.Module):
    """One weight under two names, and two parameters that are views of one storage."""

    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(16, 8)
        self.head = nn.Linear(8, 16, bias=False)
        self.head.weight = self.embed.weight
        self.frozen = nn.Parameter(torch.ones(8), requires_grad=False)
        whole = torch.randn(24)
        self.first = nn.Parameter(whole[:8])
        self.second = nn.Parameter(whole[8:].view(8, 2)[:, 1])
        self.register_buffer("shift", torch.arange(8.0))

    def forward(self, ids):
        x = self.embed(ids) * self.first + self.second + self.shift * self.frozen
        return F.cross_entropy(self.head(x[:, :-1]).flatten(0, 1), ids[:, 1:].flatten())


class Overlap(nn.Module):
    """Two parameters whose memory overlaps: by rows or, interleaved, by one column."""

    def __init__(self, first, second):
        super().__init__()
        whole = torch.randn(6, 4)
        self.first = nn.Parameter(first(whole))
        self.second = nn.Parameter(second(whole))

    def forward(self, x):
        return (x.sum() * self.first).sum() + (x.mean() * self.second).sum()


class Twice(nn.Module):
    """A module that is called twice, and one whose call returns a tuple."""

    class Pair(nn.Module):
        def __init__(self):
            super().__init__()
            self.lin = nn.Linear(4, 4)

        def forward(self, x):
            y = self.lin(x)
            return y, y * 2

    def __init__(self):
        super().__init__()
        self.pair = Twice.Pair()

    def forward(self, x):
        a, b = self.pair(x)
        c, d = self.pair(a + b)
        return (c * d).mean()


class InPlace(nn.Module):
    """Updates in place: of a fresh tensor, through a view, of a slice, and an activation's own."""

    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(4, 4)
        self.act = nn.ReLU(inplace=True)

    def forward(self, x):
        y = self.act(self.lin(x)).clone()
        y.mul_(2).add_(x)
        shifted = torch.zeros_like(x)
        shifted[:, 1:] = y[:, :-1].clone()
        shifted[:, 0] = 3.0
        row = shifted[0]
        shifted += 1.0
        return (shifted * y).sum() + row.sum()


class Scripted(nn.Module):
    """Scripted: constant branches, a loop over a list, an assertion about sizes."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(4, 4) for _ in range(3)])
        self.deep = True
        self.norm = None

    def forward(self, x: torch.Tensor, scale: float = 2.0):
        assert x.dim() == 2, "x has no two dims"
        outputs = []
        for layer in self.layers:
            x = layer(x)
            if self.deep:
                x = torch.relu(x)
            outputs.append(x)
        total = outputs[0]
        for i in range(1, len(outputs)):
            total = total + outputs[i]
        if x.size(1) == 4:
            total = total * scale
        return total.view(x.shape[0], -1).sum() / total.numel()


class SizeBranches(nn.Module):
    """Branches and assertions that the sizes of the batch decide."""

    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(4, 4)

    def forward(self, x: torch.Tensor):
        rows = x.size(0)
        assert rows != 7, "seven rows"
        if rows * 2 > 8:
            x = x * 2
        if rows <= 5:
            x = x + 1
        if rows == 6:
            x = x - 1
        return self.lin(x).mean()


class Sizes(nn.Module):
    """Sizes as numbers: floor division, a product, a size as a value."""

    def forward(self, x):
        half = x.shape[1] // 2
        pair = torch.cat([x[:, half:], -x[:, :half]], dim=1)
        flat = pair.reshape(x.shape[0] * x.shape[1])
        return (flat * flat).sum() / x.shape[0] + torch.arange(x.shape[1]).sum()


class Unknown(nn.Module):
    """Operators that braid has no op for."""

    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(6, 6)

    def forward(self, x):
        y = torch.special.i1(self.lin(x))
        y = torch.logcumsumexp(y, dim=1)
        y = F.interpolate(y[None, None], scale_factor=(1.0, 2.0), mode="bilinear", antialias=True)[0, 0]
        return y.square().mean()


class Spellings(nn.Module):
    """Second spellings of typed ops, Python numbers that promote, and a value that no gradient may pass."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(2, 3, 3, padding="same")
        self.lin = nn.Linear(4, 4)

    def forward(self, x):
        image = self.conv(x[None, :2, None].expand(1, 2, 5, 4))
        y = self.lin(x)
        y = torch.where(y > 0, y, 0.5) + torch.where(y > 0, 1, 2)
        y = y - y.detach().square().mean() + (1 - y) * y.mT.mT
        z = y.clone()
        z[z > 1] = 0.25
        z[:, 1:3] *= 2
        z[2:1] = 7.0
        z[:, -1:-3] = 7.0
        z[2:2] = 7.0
        count = torch.full((2,), x.shape[0], dtype=torch.float32)
        y = torch.minimum(y, z.view_as(y)) + x.new_ones(4) * count.sum() + torch.arange(4) // 2
        return y.std() + image.swapaxes(0, 1).abs().mean()


class Images(nn.Module):
    """Second spellings of what image models use: pools of rows, activations, shuffled channels, norms of samples."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3, padding=1)
        self.row = nn.Conv1d(8, 8, 3)
        self.prelu, self.single = nn.PReLU(8), nn.PReLU()
        self.own = nn.InstanceNorm2d(8, affine=True)
        self.register_buffer("mean", torch.randn(8))
        self.register_buffer("variance", torch.rand(8) + 0.5)

    def forward(self, x):
        y = self.own(self.conv(x)) + F.instance_norm(self.conv(x), self.mean, self.variance, use_input_stats=False)
        # celu's alpha is a binary fraction: PyTorch's gradient rounds 1 / alpha to float32.
        y = self.prelu(y) + F.relu6(y) + F.selu(y) + F.celu(y, 0.75) + F.logsigmoid(y) + F.glu(torch.cat([y, y], 1), 1)
        y = F.channel_shuffle(F.pixel_unshuffle(F.pixel_shuffle(y, 2), 2), 4)
        y = F.hardtanh_(F.leaky_relu(y, 0.1) + F.softplus(y, 2, 5), -2, 2)
        for size, mode in ((7, "nearest"), ((5, 6), "nearest-exact"), ((9, 4), "bicubic"), (6, "bilinear")):
            y = F.interpolate(y, size, mode=mode) * self.single(y).mean()
        z = self.row(y.flatten(2))
        z = F.max_pool1d(z, 2) + F.avg_pool1d(z, 3, 2, 1, ceil_mode=True)[..., :17]
        z = F.adaptive_avg_pool1d(z, 4) + F.adaptive_max_pool1d(z, 4)
        z = z + F.interpolate(z, 4, mode="linear", align_corners=True) + F.interpolate(z, scale_factor=2.0)[..., ::2]
        v = F.avg_pool3d(F.max_pool3d(y[None], (1, 2, 3), 2, 1 - 1), 2)
        v = F.interpolate(v, size=(2, 3, 4), mode="trilinear") + F.interpolate(v, size=(2, 3, 4))
        w = F.fold(F.unfold(y, 3, padding=1), (6, 6), 3, padding=1) + y.unfold(2, 2, 2).sum()
        return z.square().mean() + v.mean() + w.square().mean()


class Einsums(nn.Module):
    """Products with batches, ellipses, labels that are summed, three operands, and those that stay opaque."""

    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = (nn.Parameter(torch.randn(4, 4)) for _ in range(3))

    def forward(self, x):
        y = torch.einsum("bij,jk->bik", x, self.a)
        scores = torch.einsum("bqd,bkd->bqk", y, x).softmax(-1)
        y = torch.einsum("bqk,bkd", scores, y).mT + torch.einsum("...d,de->...e", x, self.b)
        y = y + torch.einsum("bij,jk,kl->bil", x, self.a, self.c) + torch.einsum("bij->bji", x).mT[:, :1]
        outer = torch.einsum("i,j->ij", self.a[0], self.b[0]) + torch.einsum("...", self.c)
        sums = torch.einsum("bij,bij->b", x, y).sum() + torch.einsum("ij->", self.a) + torch.einsum("bij,k->j", x, self.a[1]).sum()
        return (y * outer.sum()).square().mean() + sums + torch.einsum("ii->i", self.c).sum()


class Branch(nn.Module):
    def forward(self, x):
        if bool(x.sum() > 0):
            x = x * 2
        return x.mean()


class Nonzero(nn.Module):
    def forward(self, x):
        return x[x > 0].mean()


class NotScalar(nn.Module):
    def forward(self, x):
        return x * 2


class Pair(nn.Module):
    def forward(self, x):
        return x.mean(), x


class Norm(nn.Module):
    """Running statistics, which the forward pass updates."""

    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(4)

    def forward(self, x):
        return self.norm(x).square().mean()


class States(nn.Module):
    """Buffers that are updated in place, through a view, and by assignment, and read before and after."""

    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(4, 4)
        self.register_buffer("average", torch.ones(2, 4))
        self.register_buffer("last", torch.zeros(4))
        self.register_buffer("count", torch.tensor(3))

    def forward(self, x: torch.Tensor):
        y = self.lin(x) * self.average[0] + self.last
        self.average[0].mul_(0.9).add_(y.detach().mean(0), alpha=0.1)
        self.last = x[0] * 2
        self.count += 1
        return (y * self.average[0]).mean() + self.last.sum() + self.count


class Number(nn.Module):
    def __init__(self):
        super().__init__()
        self.count = 0

    def forward(self, x: torch.Tensor):
        self.count += 1
        return x.mean() * self.count


class Clamped(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(4))

    def forward(self, x):
        with torch.no_grad():
            self.weight.clamp_(-1, 1)
        return (x * self.weight).mean()


class Grows(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("seen", torch.zeros(4))

    def forward(self, x: torch.Tensor):
        self.seen = torch.cat([self.seen, x[0]])
        return (x * x).mean() + self.seen.sum()


class Shared(nn.Module):
    """A buffer that forward updates, and another that stands on the same storage."""

    def __init__(self, first, second):
        super().__init__()
        storage = torch.arange(8.0)
        whole = first(storage)
        self.register_buffer("whole", whole)
        self.register_buffer("other", second(whole, storage))

    def forward(self, x):
        self.whole += 1
        return (x * self.other.sum()).mean()


class Rows(nn.Module):
    """Three samples are a case of their own, and the example has three."""

    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(4, 4)

    def forward(self, x: torch.Tensor):
        if x.size(0) == 3:
            x = x * 2
        return self.lin(x).square().sum()


class Strided(nn.Module):
    """An update through a reshape, which may or may not share the tensor's memory."""

    def forward(self, x):
        y = x * 2
        z = y.t().reshape(-1)
        z.add_(1)
        return (y * 3).mean() + z.mean()


class Random(nn.Module):
    """Dropout that is on, off, and of nothing; a layer twice."""

    def __init__(self):
        super().__init__()
        self.drop = nn.Dropout(0.25)
        self.off = nn.Dropout(0.0)

    def forward(self, x):
        x = self.off(self.drop(x)) + F.dropout(x, 0.5, False)
        return self.drop(F.dropout(x * 2, 1.0, inplace=True)).mean()


class Permuted(nn.Module):
    def forward(self, x):
        return (x * torch.randperm(4)).mean()


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.LSTM(4, 4, 2, dropout=0.5)

    def forward(self, x):
        return self.rnn(x)[0].mean()


class Windows(nn.Module):
    """Shifted windows over an image that is padded to a multiple of them, whose regions a mask numbers (as Swin does)."""

    def __init__(self):
        super().__init__()
        self.mix = nn.Linear(4, 4)
        self.scale = nn.Parameter(torch.ones(4))

    def forward(self, x):
        height, width = x.shape[1:3]
        x = nn.functional.pad(x, (0, 0, 0, (4 - width % 4) % 4, 0, (4 - height % 4) % 4))
        height, width = x.shape[1:3]
        mask = x.new_zeros((height, width))
        for row, rows in enumerate((slice(0, -4), slice(-4, -2), slice(-2, None))):
            for column, columns in enumerate((slice(0, -4), slice(-4, -2), slice(-2, None))):
                mask[rows, columns] = 3 * row + column
        mask = mask.view(height // 4, 4, width // 4, 4).permute(0, 2, 1, 3).reshape(-1, 16)
        mask = (mask.unsqueeze(1) - mask.unsqueeze(2)).ne(0).to(x.dtype) * -100
        x = torch.roll(x, (-2, -2), (1, 2)).view(-1, height // 4, 4, width // 4, 4, 4)
        x = x.permute(0, 1, 3, 2, 4, 5).reshape(-1, mask.shape[0], 16, 4)
        attention = (self.mix(x) @ x.transpose(-2, -1) + mask).softmax(-1)
        out = attention @ x
        out[..., ::2] = out[..., 1::2].clone() * self.scale[:2]
        return (out * self.scale).square().mean()


class Large(nn.Module):
    """A constant of the trace that is too large to be written out."""

    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(256, 256)

    def forward(self, x):
        return (self.lin(x) @ Large.table).mean()


Large.table = torch.randn(256, 256)  # no buffer: the tracer makes a constant of it


def floats(*shape, dtype=torch.float32):
    return {"x": torch.randn(*shape, dtype=dtype)}


MODELS = {
    "tied": (Tied(), {"ids": torch.randint(0, 16, (2, 5))}, "trace"),
    "overlap": (Overlap(lambda w: w[:4], lambda w: w[3:]), floats(3, 4), "trace"),
    "columns": (Overlap(lambda w: w[:, :2], lambda w: w[:, 1:]), floats(3, 4), "trace"),
    "apart": (Overlap(lambda w: w[:, :2], lambda w: w[:, 2:]), floats(3, 4), "trace"),
    "same": (Overlap(lambda w: w, lambda w: w), floats(3, 4), "trace"),
    "expanded": (Overlap(lambda w: w, lambda w: torch.zeros(1).expand(4)), floats(3, 4), "trace"),
    "twice": (Twice(), floats(3, 4), "trace"),
    "inplace": (InPlace(), floats(3, 4), "trace"),
    "scripted": (Scripted(), floats(3, 4), "script"),
    "size_branches": (SizeBranches(), floats(3, 4), "script"),
    "sizes": (Sizes(), floats(3, 6), "trace"),
    "unknown": (Unknown(), floats(3, 6), "trace"),
    "spellings": (Spellings().double(), floats(3, 4, dtype=torch.float64), "trace"),
    "images": (Images().double(), floats(2, 3, 6, 6, dtype=torch.float64), "trace"),
    "einsums": (Einsums().double(), floats(2, 3, 4, dtype=torch.float64), "trace"),
    "branch": (Branch(), floats(3, 4), "script"),
    "nonzero": (Nonzero(), floats(3, 4), "trace"),
    "not_scalar": (NotScalar(), floats(3, 4), "trace"),
    "pair": (Pair(), floats(3, 4), "trace"),
    "norm": (Norm(), floats(3, 4), "trace"),
    "states": (States(), floats(3, 4), "script"),
    "number": (Number(), floats(3, 4), "script"),
    "clamped": (Clamped(), floats(3, 4), "trace"),
    "grows": (Grows(), floats(3, 4), "script"),
    "strided": (Strided(), floats(3, 4), "trace"),
    "random": (Random(), floats(3, 4), "trace"),
    "random_scripted": (Random(), floats(3, 4), "script"),
    "permuted": (Permuted(), floats(3, 4), "trace"),
    "recurrent": (Recurrent(), floats(3, 4), "trace"),
    "windows": (Windows().double(), floats(2, 6, 9, 4, dtype=torch.float64), "trace"),
    "large": (Large(), floats(3, 256), "trace"),
    "rows": (Rows(), floats(3, 4), "script"),
    "part": (Shared(lambda s: s, lambda whole, s: s[:4]), floats(3, 4), "trace"),
    "alias": (Shared(lambda s: s, lambda whole, s: whole), floats(3, 4), "script"),
    "beside": (Shared(lambda s: s[:4], lambda whole, s: s[4:]), floats(3, 4), "trace"),
}


def main():
    out = Path(sys.argv[1])
    stamp = out / "stamp"
    if stamp.exists() and stamp.stat().st_mtime > Path(__file__).stat().st_mtime:
        return
    out.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(0)
    for name, (model, batch, how) in MODELS.items():
        model.train()
        if how == "script":
            module = torch.jit.script(model)
        else:
            module = torch.jit.trace(model, tuple(batch.values()), check_trace=False)
        module.save(str(out / f"{name}.pt"))
        save_file({f"step0/{key}": value for key, value in batch.items()}, out / f"{name}.safetensors")
    x = torch.randn(5, 4)
    save_file({"step0/x": torch.randn(3, 4), "step1/x": x}, out / "vary.safetensors")
    save_file({"step0/y": x}, out / "wrong_name.safetensors")
    stamp.touch()


if __name__ == "__main__":
    main()
