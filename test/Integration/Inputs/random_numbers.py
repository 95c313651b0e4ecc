"""Models that draw random numbers, beside PyTorch with the same numbers (philox.py).

    python random_numbers.py make FOLDER             writes MODEL.pt of each model, and batches to train and evaluate on
    python random_numbers.py compare FOLDER MODEL RUN [--seed S] [--accumulate N] [--evaluated]
                                             losses, first gradients and weights of a run equal PyTorch's
    python random_numbers.py layers FOLDER           what the layers of layers.pt drop is not the same
"""

import argparse
import json
import sys
import warnings
from pathlib import Path

import torch
from philox import Draws
from safetensors.torch import load_file, save_file
from torch import nn
from torch.nn import functional as F

STEPS, SAMPLES, RATE = 3, 6, 0.1
warnings.simplefilter("ignore")
torch.set_num_threads(1)
torch.set_default_dtype(torch.float64)


def drop_path(x, p):
    """Leaves the whole of a sample out, as timm and torchvision do it."""
    keep = x.new_empty((x.shape[0],) + (1,) * (x.dim() - 1)).bernoulli_(1 - p)
    return x * keep.div_(1 - p)


class Layer(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm = nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.body = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Dropout(0.3), nn.Linear(2 * width, width))
        self.drop = nn.Dropout(0.1)

    def forward(self, x, mask):
        batch, length, width = x.shape
        q, k, v = (
            part.view(batch, length, self.heads, -1).transpose(1, 2) for part in self.qkv(self.norm(x)).chunk(3, -1)
        )
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, dropout_p=0.2)
        x = x + self.drop(self.out(y.transpose(1, 2).reshape(batch, length, width)))
        return x + drop_path(self.body(x), 0.25)


class Layers(nn.Module):
    """Equal layers with dropout, dropped attention and stochastic depth; rows of samples that are merged; noise."""

    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(13, 8)
        self.position = nn.Parameter(torch.randn(5, 8))
        self.layers = nn.ModuleList([Layer(8, 2) for _ in range(3)])
        self.head = nn.Linear(8, 13)

    def forward(self, x, y):
        place = torch.arange(x.shape[1])
        mask = torch.logical_or((x != 0)[:, None, None, :], place[:, None] == place)
        h = F.dropout1d(self.embed(x), 0.2) + F.dropout(self.position, 0.3)  # of a parameter: the same for all samples
        h = h + 0.1 * torch.rand_like(h) + torch.rand(x.shape[0], 1, 8, dtype=h.dtype)
        for layer in self.layers:
            h = layer(h, mask)
        rows = F.dropout(h.reshape(-1, 8), 0.4)
        return F.cross_entropy(self.head(rows), y.reshape(-1), ignore_index=0)


class SeqFirst(nn.Module):
    """PyTorch's own layers, with the samples in dim 1, and in dim 0 merged with the heads."""

    def __init__(self):
        super().__init__()
        self.embed = nn.Linear(4, 8)
        self.layers = nn.ModuleList([nn.TransformerEncoderLayer(8, 2, 16, dropout=0.2) for _ in range(2)])
        self.attend = nn.MultiheadAttention(8, 2, dropout=0.3)

    def forward(self, x, y):
        h = self.embed(x.transpose(0, 1))
        for layer in self.layers:
            h = layer(h)
        h = self.attend(h, h, h)[0]  # with weights, by its own softmax and dropout
        return F.mse_loss(h.mean(0), y)


class Images(nn.Module):
    """Channels that are dropped whole, in float32's words too."""

    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(3, 6, 3)
        self.second = nn.Conv2d(6, 6, 3)
        self.head = nn.Linear(6, 4)

    def forward(self, x, y):
        h = F.dropout2d(F.relu(self.first(x)), 0.5)
        h = F.relu(self.second(h)) * (torch.rand(x.shape[0], 6, 1, 1, dtype=torch.float32) < 0.8)
        return F.cross_entropy(self.head(F.dropout(h, 1.0).mean((2, 3)) + h.mean((2, 3))), y)


class Recurrent(nn.Module):
    """An LSTM that drops values between its layers: PyTorch's own, and beside it one layer after the other."""

    def __init__(self):
        super().__init__()
        self.rnn = nn.LSTM(4, 6, num_layers=3, dropout=0.4, bidirectional=True)
        self.head = nn.Linear(12, 8)

    def forward(self, x, y):
        h = x.transpose(0, 1)
        if torch.jit.is_tracing():
            h, (last, _) = self.rnn(h)
        else:
            states = []
            for layer in range(3):
                weights = self.rnn._flat_weights[8 * layer : 8 * layer + 8]
                zeros = torch.zeros(2, x.shape[0], 6)
                h = F.dropout(h, 0.4) if layer else h
                h, state, _ = torch._VF.lstm(h, (zeros, zeros), weights, True, 1, 0.0, True, True, False)
                states.append(state)
            last = torch.cat(states)
        return F.mse_loss(self.head(h.mean(0)), y) + last.square().mean()


class Spellings(nn.Module):
    """The other ways to draw, and a count of the loss that depends on what was drawn."""

    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(4, 5)

    def forward(self, x, y):
        h, kept = torch.native_dropout(self.lin(x), 0.25, True)
        h = h + kept * 0.5 + torch.bernoulli(h.detach().sigmoid()) + torch.bernoulli(h.detach(), 0.75)
        h = h * torch.empty_like(h).uniform_(0.5, 2) + torch.randn(x.shape[0], 1, dtype=h.dtype)
        h = h + torch.randn_like(h) * torch.empty_like(h).normal_(1, 0.5) * torch.zeros_like(h).exponential_(2.0)
        h = h * torch.randint(-1, 3, (x.shape[0], 5)) + torch.randint(4, (5,)) * torch.rand((), dtype=h.dtype)
        target = torch.where(torch.rand(x.shape[0], dtype=torch.float32) < 0.5, -100, y)
        return F.cross_entropy(F.dropout(h, 0.5, inplace=True), target)


def gpt2():
    """As a person would train it: dropout of embeddings, attention and both branches of each block, at its defaults."""
    from transformers import GPT2Config, GPT2LMHeadModel

    class Training(nn.Module):
        def __init__(self):
            super().__init__()
            sizes = dict(n_embd=16, n_layer=2, n_head=2, vocab_size=32, n_positions=16, bos_token_id=1, eos_token_id=2)
            self.net = GPT2LMHeadModel(GPT2Config(**sizes))

        def forward(self, x, y):
            logits = self.net(input_ids=x, use_cache=False).logits  # its own loss casts them to float32
            return F.cross_entropy(logits.flatten(0, 1), y.flatten())

    return Training()


def layers_batch(samples):
    x, y = torch.randint(1, 13, (samples, 5)), torch.randint(0, 13, (samples, 5))
    x[::2, 3:] = 0
    return {"x": x, "y": y}


MODELS = {
    "layers": (Layers, layers_batch, 0),
    "seqfirst": (SeqFirst, lambda n: {"x": torch.randn(n, 5, 4), "y": torch.randn(n, 8)}, 1),
    "recurrent": (Recurrent, lambda n: {"x": torch.randn(n, 5, 4), "y": torch.randn(n, 8)}, 1),
    "spellings": (Spellings, lambda n: {"x": torch.randn(n, 4), "y": torch.randint(0, 5, (n,))}, 0),
    "gpt2": (gpt2, lambda n: {"x": torch.randint(3, 32, (n, 7)), "y": torch.randint(3, 32, (n, 7))}, 0),
    "images": (Images, lambda n: {"x": torch.randn(n, 3, 8, 8), "y": torch.randint(0, 4, (n,))}, 0),
}


def build(name):
    torch.manual_seed(1)
    return MODELS[name][0]().train()


def make(folder):
    folder.mkdir(parents=True, exist_ok=True)
    for name, (_, batch, _) in MODELS.items():
        model = build(name)
        torch.manual_seed(2)
        steps = [batch(SAMPLES) for _ in range(2 * STEPS)]
        torch.jit.trace(model, tuple(steps[0].values()), strict=False, check_trace=False).save(str(folder / f"{name}.pt"))
        for kind, batches in ("", steps), ("-eval", [batch(SAMPLES), batch(SAMPLES - 2)]):
            values = {f"step{i}/{key}": value for i, b in enumerate(batches) for key, value in b.items()}
            save_file(values, folder / f"{name}{kind}.safetensors")


def load(path, count):
    data = load_file(path)
    return [{key: data[f"step{i}/{key}"] for key in ("x", "y")} for i in range(count)]


def near(got, wanted, what):
    wanted = torch.as_tensor(wanted, dtype=got.dtype if isinstance(got, torch.Tensor) else torch.float64).detach()
    got = torch.as_tensor(got, dtype=wanted.dtype)
    torch.testing.assert_close(got, wanted, rtol=1e-10, atol=1e-12, msg=lambda m: f"{what}: {m}")


def joined(batches):
    return {key: torch.cat([batch[key] for batch in batches]) for key in batches[0]}


def compare(args):
    model = build(args.model)
    batches = load(args.folder / f"{args.model}.safetensors", STEPS * args.accumulate)
    lines = [json.loads(line) for line in (args.run / "metrics.jsonl").read_text().splitlines()]
    losses = {line["step"]: line["loss"] for line in lines if "loss" in line}
    assert losses.keys() == set(range(STEPS)), losses
    draws = Draws(SAMPLES * args.accumulate, args.seed)
    draws.dim = MODELS[args.model][2]
    gradients = args.run / "gradients.safetensors"
    for step in range(STEPS):
        batch = joined(batches[step * args.accumulate : (step + 1) * args.accumulate])
        with draws.in_place_of_torch(step):
            loss = model(**batch)
        model.zero_grad()
        loss.backward()
        near(losses[step], loss, f"loss of step {step}")
        if step == 0 and gradients.exists():
            saved = load_file(gradients)
            assert saved.keys() == {name for name, _ in model.named_parameters()}
            for name, parameter in model.named_parameters():
                near(saved[name], parameter.grad, f"gradient of {name}")
        with torch.no_grad():
            for parameter in model.parameters():
                parameter -= RATE * parameter.grad
    saved = load_file(args.run / "model.safetensors")
    for name, parameter in model.named_parameters():
        near(saved[name], parameter, name)
    if args.evaluated:
        union = joined(load(args.folder / f"{args.model}-eval.safetensors", 2))
        draws = Draws(2 * SAMPLES - 2, args.seed, training=False)
        draws.dim = MODELS[args.model][2]
        with draws.in_place_of_torch(), torch.no_grad():
            loss = model(**union)
        near([line["eval_loss"] for line in lines if "eval_loss" in line][-1], loss, "evaluation")
    print(f"{args.model}: {STEPS} steps, {draws.stream} streams equal")


def layers(folder):
    """The masks of equal layers, of steps, of samples and of seeds have nothing in common: correlations of 4000 elements
    are below 5 standard deviations."""
    kept = {}
    for seed, step, stream in (0, 0, 0), (0, 0, 1), (0, 1, 0), (1, 0, 0), (2**40, 0, 0):
        draws = Draws(2, seed)
        draws.step, draws.stream = step, stream
        for sample, mask in enumerate(draws.keep((2, 4000), 0.5)):
            kept[seed, step, stream, sample] = mask.double() - 0.5
    keys = list(kept)
    for i, a in enumerate(keys):
        for b in keys[:i]:
            correlation = float((kept[a] * kept[b]).mean() * 4)
            assert abs(correlation) < 5 / 4000**0.5, (a, b, correlation)
    print(f"{len(keys)} masks are independent")


parser = argparse.ArgumentParser()
parser.add_argument("what", choices=["make", "compare", "layers"])
parser.add_argument("folder", type=Path)
parser.add_argument("model", nargs="?")
parser.add_argument("run", nargs="?", type=Path)
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--accumulate", type=int, default=1)
parser.add_argument("--evaluated", action="store_true")
arguments = parser.parse_args()
if arguments.what == "compare":
    compare(arguments)
else:
    {"make": make, "layers": layers}[arguments.what](arguments.folder)
