"""A plain stack of llama's blocks (RMSNorm, causal attention, SwiGLU) with a mean square as its loss, so that no stage
is heavier than another: what pipeline_torch.py and pipeline_braid.py train."""

import torch
import torch.nn.functional as F
from torch import nn


class Block(nn.Module):
    """[batch, seq, hidden] to the same."""

    def __init__(self, hidden, heads=4):
        super().__init__()
        self.head_dim = hidden // heads
        self.norm1, self.norm2 = nn.RMSNorm(hidden), nn.RMSNorm(hidden)
        self.q, self.k, self.v, self.o = (nn.Linear(hidden, hidden, bias=False) for _ in range(4))
        self.gate, self.up = (nn.Linear(hidden, 4 * hidden, bias=False) for _ in range(2))
        self.down = nn.Linear(4 * hidden, hidden, bias=False)

    def forward(self, x):
        h = self.norm1(x)
        q, k, v = (f(h).unflatten(-1, (-1, self.head_dim)).transpose(1, 2) for f in (self.q, self.k, self.v))
        x = x + self.o(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2))
        h = self.norm2(x)
        return x + self.down(F.silu(self.gate(h)) * self.up(h))


def stack(layers, hidden):
    torch.manual_seed(0)
    return nn.Sequential(*[Block(hidden) for _ in range(layers)])


def loss_of(out, target):
    return (out - target).square().mean()


def batch(samples, seq, hidden):
    """Inputs and targets, the same for every step."""
    generator = torch.Generator().manual_seed(1)
    return [torch.randn(samples, seq, hidden, generator=generator) for _ in range(2)]


def add_options(parser):
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--hidden", type=int, default=256)
    parser.add_argument("--seq", type=int, default=128)
    parser.add_argument("--microbatches", type=int, default=8)
    parser.add_argument("--steps", type=int, default=12)
    parser.add_argument("--warmup", type=int, default=3)
