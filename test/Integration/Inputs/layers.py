"""Recurrent layers, losses and what user models call beside them, trained with the batch and the model divided.

    python layers.py BRAIDC FOLDER [MODEL ...]

Each model trains for three steps of SGD on one and two stages with one, two and four micro-batches; losses, weights and
gradients equal PyTorch's in float64.
"""

import json
import subprocess
import sys
import warnings
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from torch import nn
from torch.nn import functional as F

STEPS = 3
RATE = 0.05
warnings.simplefilter("ignore")
torch.set_num_threads(1)


class Tagger(nn.Module):
    """A label for each word of a sentence, by two layers of an LSTM in both directions; padding has no label."""

    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(20, 6)
        self.lstm = nn.LSTM(6, 5, num_layers=2, bidirectional=True, batch_first=True)
        self.head = nn.Linear(10, 7)

    def forward(self, words, labels):
        states, (hidden, cell) = self.lstm(self.words(words))
        scores = F.log_softmax(self.head(states), -1)
        return F.nll_loss(scores.transpose(1, 2), labels, ignore_index=-1) + 0.01 * (hidden * cell).square().mean()


class Speech(nn.Module):
    """Steps first: a GRU over features, labels without a place by CTC, the last state by the mean of a plain RNN."""

    def __init__(self):
        super().__init__()
        self.gru = nn.GRU(6, 8)
        self.rnn = nn.RNN(8, 4, nonlinearity="relu", bias=False)
        self.head = nn.Linear(8, 5)

    def forward(self, x, targets, steps, lengths):
        states, last = self.gru(x.transpose(0, 1))
        _, short = self.rnn(states)
        return F.ctc_loss(self.head(states).log_softmax(-1), targets, steps, lengths) + (short.abs().mean() + last.abs().mean())


class Cells(nn.Module):
    """Cells, step by step, and an LSTM whose state is projected and given."""

    def __init__(self):
        super().__init__()
        self.lstm, self.gru, self.rnn = nn.LSTMCell(4, 6), nn.GRUCell(6, 6), nn.RNNCell(6, 6)
        self.projected = nn.LSTM(6, 5, proj_size=3, batch_first=True)

    def forward(self, x, h, c):
        outputs = []
        state, cell = x.new_zeros(x.shape[0], 6), x.new_zeros(x.shape[0], 6)
        second, third = state, state
        for step in x.unbind(1):
            state, cell = self.lstm(step, (state, cell))
            second = self.gru(state, second)
            third = self.rnn(second, third)
            outputs.append(third)
        states, _ = self.projected(torch.stack(outputs, 1), (h.transpose(0, 1).contiguous(), c.transpose(0, 1).contiguous()))
        return F.huber_loss(states, torch.ones_like(states), delta=0.7)


class Losses(nn.Module):
    """Losses of torch.nn.functional that take predictions and targets."""

    def __init__(self):
        super().__init__()
        self.first, self.lin = nn.Linear(6, 6), nn.Linear(6, 6)

    def forward(self, x, y, labels, signs):
        z = self.lin(self.first(x).tanh())
        p = z.sigmoid()
        a, b, c = z, z * y, z + y
        every = (signs[:, :1] * x).sign()
        loss = F.huber_loss(z, y, delta=0.5) + F.smooth_l1_loss(z, y, beta=0.3) + F.l1_loss(z, y)
        loss = loss + F.kl_div(z.log_softmax(-1), y.softmax(-1), reduction="batchmean") + F.kl_div(z, y, log_target=True)
        loss = loss + F.nll_loss(z, labels) + F.binary_cross_entropy(p, y.sigmoid(), weight=y.exp())
        loss = loss + F.soft_margin_loss(z, every) + F.hinge_embedding_loss(z, every, margin=0.5)
        loss = loss + F.margin_ranking_loss(z, y, every, margin=0.1) + F.triplet_margin_loss(a, b, c, swap=True)
        loss = loss + F.cosine_similarity(z, y).mean() + F.cosine_embedding_loss(z, y, signs[:, 0], margin=-0.3)
        loss = loss + F.poisson_nll_loss(z, y.exp(), full=True) + F.poisson_nll_loss(p, y.exp(), log_input=False)
        loss = loss + F.multi_margin_loss(z, labels, weight=torch.arange(1.0, 7.0, dtype=z.dtype)) + F.gaussian_nll_loss(z, y, p)
        return loss + F.multilabel_margin_loss(z, labels[:, None].expand(-1, 6).contiguous()) + F.l1_loss(z, y, reduction="sum") / 10


class Masked(nn.Module):
    """Means over what a mask of the batch leaves, and sums over the number of samples."""

    def __init__(self):
        super().__init__()
        self.first, self.lin = nn.Linear(6, 6), nn.Linear(6, 6)

    def forward(self, x, keep):
        z = self.lin(self.first(x).tanh()).square()
        mask = keep > 0
        some = (z * mask).sum() / mask.float().sum() + (z[:, 0] * keep[:, 0]).sum() / (2 * keep.sum() + 1e-3)
        return some + z.sum() / x.shape[0] + (z.sqrt() * mask).sum() / mask.sum().clamp(min=1)


class Weighted(nn.Module):
    """Losses that learn how they weigh, over samples that have weights, with penalties on the parameters and numbers."""

    def __init__(self):
        super().__init__()
        self.first, self.lin, self.value = nn.Linear(6, 6), nn.Linear(6, 6), nn.Linear(6, 1)
        self.scales = nn.Parameter(torch.tensor([0.3, -0.2], dtype=torch.float64))

    def forward(self, x, labels, y, weights, nothing):
        h = self.first(x).tanh()
        scores = F.cross_entropy(self.lin(h), labels, reduction="none")
        named = (scores * weights).sum() / weights.sum() + (scores * weights).sum() / weights.square().sum().clamp(min=1)
        named = named + (scores * nothing).sum() / nothing.sum().clamp(min=1)
        both = torch.stack([named, F.mse_loss(self.value(h)[:, 0], y)])
        penalty = 1e-2 * sum(p.square().sum() for p in self.lin.parameters())
        return (torch.exp(-self.scales) * both + self.scales).sum() + penalty + (1 - F.cosine_similarity(h, x).mean())


class Spatial(nn.Module):
    """A spatial transformer, and pools of volumes."""

    def __init__(self):
        super().__init__()
        self.place = nn.Linear(48, 6)
        self.conv = nn.Conv3d(1, 2, 3, padding=1)

    def forward(self, x, y):
        theta = self.place(x.flatten(1)).view(-1, 2, 3)
        grid = F.affine_grid(theta, (x.shape[0], 3, 5, 6), align_corners=False)
        x = F.grid_sample(x, grid, padding_mode="border", align_corners=False)
        v = self.conv(x[:, None])
        pooled = F.adaptive_avg_pool3d(v, (2, 2, 3)) + F.adaptive_max_pool3d(v, (2, 2, 3))
        return F.smooth_l1_loss(pooled.flatten(1).mean(1), y)


class Functions(nn.Module):
    """Functions of one and two tensors, norms, products and views that have a second spelling or ATen's gradient."""

    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(6, 6)
        self.both = nn.Bilinear(6, 6, 4)

    def forward(self, x, y):
        z = self.lin(x)
        p = z.sigmoid() * 0.9 + 0.05
        out = p.log2() + p.log10() + z.expm1() + z.exp2() + p.tan() + z.sinh() + z.cosh() + p.asin() + p.acos()
        out = out + z.atan() + z.asinh() + (z.exp() + 1).acosh() + (p / 2).atanh() + z.erfc() + p.erfinv() + p.lgamma() + p.digamma()
        out = out + F.softshrink(z) + F.hardshrink(z) + F.threshold(z, 0.1, 0.2) + z.frac() + z.floor() + z.ceil() + z.round() + z.trunc()
        out = out + torch.atan2(z, p) + torch.hypot(z, y) + torch.logaddexp(z, y) + torch.fmod(z, 0.7) + torch.fmod(y, p)
        out = out + torch.lerp(z, y, 0.3) + torch.addcmul(z, z, y, value=2) + torch.addcdiv(z, y, p) + torch.clamp(z, max=y, min=-p)
        out = out + torch.nan_to_num(z) + torch.where(torch.isnan(z) | ~torch.isfinite(z), y, z) + p.logit() + p.logit(0.2)
        out = out * ((z > 0) | (y > 0)) + z * ((z > 0) ^ (y > 0)) + y * torch.logical_xor(z > 0, y > 0)
        out = F.normalize(out) + out / out.norm(dim=1, keepdim=True) + torch.linalg.norm(out, 1, dim=1, keepdim=True)
        out = out + out.std(1, keepdim=True) + torch.var_mean(out, 1, keepdim=True)[0] + p.prod(1, keepdim=True) + p.cumprod(1)
        out = out + z.median(1, keepdim=True)[0] + torch.count_nonzero(z > 0, 1)[:, None] + z[:, z.shape[1] - 1 :].tile(1, 6)
        out = out + torch.hstack(torch.tensor_split(z, 4, 1)) + z[:, None].movedim(1, 2)[..., 0] + torch.take_along_dim(z, y.argsort(1), 1)
        c = torch.cross(z.view(-1, 2, 3), y.view(-1, 2, 3), dim=2).flatten(1) + torch.tensordot(z, torch.ones(6, 6, dtype=z.dtype), dims=1)
        d = torch.cdist(out.view(-1, 3, 2), y.view(-1, 2, 3).mT)
        return (out * c).mean() / 500 + self.both(z, y).square().mean() + d.mean() / 500 + torch.inner(z, y.new_ones(6)).mean() + (z @ y.new_ones(6)).mean()


def floats(*shape):
    return torch.randn(*shape)


def tagged():
    labels = torch.randint(0, 7, (8, 5))
    labels[:, 3:] = torch.where(torch.rand(8, 2) < 0.6, -1, labels[:, 3:])
    return {"words": torch.randint(0, 20, (8, 5)), "labels": labels}


def spoken():
    steps, lengths = torch.randint(5, 8, (8,)), torch.randint(1, 3, (8,))
    return {"x": floats(8, 7, 6), "targets": torch.randint(1, 5, (8, 2)), "steps": steps, "lengths": lengths}


MODELS = {
    "tagger": (Tagger, tagged),
    "speech": (Speech, spoken),
    "cells": (Cells, lambda: {"x": floats(8, 3, 4), "h": floats(8, 1, 3), "c": floats(8, 1, 5)}),
    "losses": (Losses, lambda: {"x": floats(8, 6), "y": floats(8, 6), "labels": torch.randint(0, 6, (8,)), "signs": floats(8, 2).sign()}),
    "masked": (Masked, lambda: {"x": floats(8, 6), "keep": torch.randint(0, 2, (8, 6)) + torch.eye(8, 6, dtype=torch.int64)}),
    "weighted": (Weighted, lambda: {"x": floats(8, 6), "labels": torch.randint(0, 6, (8,)), "y": floats(8), "weights": torch.rand(8), "nothing": torch.zeros(8)}),
    "spatial": (Spatial, lambda: {"x": floats(8, 3, 4, 4), "y": floats(8)}),
    "functions": (Functions, lambda: {"x": floats(8, 6), "y": floats(8, 6)}),
}


def reference(traced, batches):
    """Losses, the first step's gradients, and weights."""
    optimizer = torch.optim.SGD(traced.parameters(), lr=RATE)
    losses, gradients = [], {}
    for batch in batches:
        optimizer.zero_grad()
        with torch.jit.optimized_execution(False):
            loss = traced(*batch.values())
        loss.backward()
        gradients = gradients or {name: p.grad.clone() for name, p in traced.named_parameters()}
        optimizer.step()
        losses.append(loss.item())
    return losses, gradients, traced.state_dict()


def compare(run, losses, gradients, weights):
    metrics = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    for step, (got, wanted) in enumerate(zip([entry["loss"] for entry in metrics], losses, strict=True)):
        assert abs(got - wanted) <= 1e-10 * abs(wanted), f"step {step}: loss {got}, PyTorch's is {wanted}"
    for file, wanted in (("gradients", gradients), ("model", weights)):
        found = load_file(run / f"{file}.safetensors")
        for name, value in wanted.items():
            torch.testing.assert_close(found[name], value, rtol=1e-10, atol=1e-12, msg=lambda m: f"{file} {name}: {m}")


def main():
    braidc, folder = sys.argv[1], Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    torch.set_default_dtype(torch.float64)
    for name in sys.argv[3:] or MODELS:
        torch.manual_seed(0)
        build, batch = MODELS[name]
        model, batches = build(), [batch() for _ in range(STEPS)]
        path, data = folder / f"{name}.pt", folder / f"{name}.safetensors"
        torch.jit.trace(model, tuple(batches[0].values()), check_trace=False).save(str(path))
        save_file({f"step{i}/{key}": value for i, b in enumerate(batches) for key, value in b.items()}, data)
        wanted = reference(torch.jit.load(str(path)), batches)
        opaque = subprocess.run([braidc, path, "--example", data, "--report-opaque"], check=True, capture_output=True, text=True).stdout
        for stages in (1, 2):
            for parts in (1, 2, 4):
                train, run = folder / f"{name}-{stages}-{parts}", folder / f"{name}-{stages}-{parts}-run"
                options = ["--microbatches", str(parts)] + (["--stages", "2"] if stages == 2 else [])
                subprocess.run([braidc, path, "--example", data, *options, "-o", train], check=True, stderr=subprocess.DEVNULL)
                local = ["--local", "2"] if stages == 2 else []
                command = [train, *local, "--data", data, "--steps", str(STEPS), "--optimizer", "sgd", "--lr", str(RATE)]
                subprocess.run([*command, "--dump-gradients", "--out", run, "--overwrite", "--quiet"], check=True)
                compare(run, *wanted)
        names = [line.split(",")[0] for line in opaque.splitlines() if line.startswith("aten::")]
        print(f"{name}: {STEPS} losses, {len(wanted[2])} tensors equal; opaque: {', '.join(names) or 'none'}")


if __name__ == "__main__":
    main()
