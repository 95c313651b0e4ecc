"""The random numbers of a compiled program, by what docs/Training.md says, in numpy.

`Draws` stands in for PyTorch's dropout, attention with dropout, rand and bernoulli_ while a model runs on a whole batch,
and counts them as import does.
"""

import contextlib
import math

import numpy as np
import torch
from torch.nn import functional as F

EVALUATION = 2**32 - 1
LOW = np.uint64(0xFFFFFFFF)


def philox4x32(counter, key):
    """Ten rounds on an array of counters [..., 4]; words are kept in 64 bits."""
    c = [np.array(counter[..., i], np.uint64) for i in range(4)]
    k = [np.uint64(key[0]), np.uint64(key[1])]
    for _ in range(10):
        a, b = c[0] * np.uint64(0xD2511F53), c[2] * np.uint64(0xCD9E8D57)
        c = [(b >> np.uint64(32)) ^ c[1] ^ k[0], b & LOW, (a >> np.uint64(32)) ^ c[3] ^ k[1], a & LOW]
        k = [(k[0] + np.uint64(0x9E3779B9)) & LOW, (k[1] + np.uint64(0xBB67AE85)) & LOW]
    return np.stack(c, -1)


def words(seed, step, sample, stream, count):
    """The first words of one sample."""
    block = np.arange((count + 3) // 4, dtype=np.uint64)
    counter = np.zeros((len(block), 4), np.uint64)
    counter[:, 0] = block & LOW
    counter[:, 1] = (block >> np.uint64(32)) | np.uint64(stream << 8)
    counter[:, 2] = sample
    counter[:, 3] = step
    return philox4x32(counter, (seed & 0xFFFFFFFF, seed >> 32)).reshape(-1)[:count]


def fractions(seed, step, sample, stream, count, dtype):
    """Uniform numbers of one sample, as rand has them."""
    if dtype == np.float64:
        pairs = words(seed, step, sample, stream, 2 * count).reshape(-1, 2)
        return ((pairs[:, 1] << np.uint64(32) | pairs[:, 0]) >> np.uint64(11)).astype(np.float64) * 2.0**-53
    return ((words(seed, step, sample, stream, count) >> np.uint64(8)).astype(np.float64) * 2.0**-24).astype(dtype)


class Draws:
    def __init__(self, samples, seed=0, training=True):
        self.samples, self.seed, self.training = samples, seed, training
        self.step, self.stream = 0, 0
        self.dim = 0  # that holds the samples

    def by_sample(self, shape, make):
        """A tensor [before, samples, inside], or the same for all samples where none of its dims holds them."""
        stream, self.stream = self.stream, self.stream + 1
        shape = tuple(shape)
        dim = next((d for d in (self.dim, 0) if d < len(shape) and shape[d] and shape[d] % self.samples == 0), None)
        count = math.prod(shape)
        if dim is None:
            return torch.from_numpy(make(0, stream, count)).reshape(shape)
        before = math.prod(shape[:dim])
        each = [make(s, stream, count // self.samples).reshape(before, 1, -1) for s in range(self.samples)]
        return torch.from_numpy(np.concatenate(each, 1)).reshape(shape)

    def now(self):
        return self.step if self.training else EVALUATION

    def keep(self, shape, p):
        limit = math.ceil(math.ldexp(p, 32))
        return self.by_sample(shape, lambda s, stream, n: words(self.seed, self.now(), s, stream, n) >= limit)

    def uniform(self, shape, dtype):
        kind = np.float64 if dtype == torch.float64 else np.float32
        return self.by_sample(shape, lambda s, stream, n: fractions(self.seed, self.now(), s, stream, n, kind))

    def noise(self, shape, p, like):
        factors = self.keep(shape, p).to(like.dtype) * (1 / (1 - p) if p < 1 else 0)
        return factors if self.training else torch.ones_like(factors)

    def dropout(self, x, p=0.5, training=True, inplace=False):
        return x if p == 0 or not training else x * self.noise(x.shape, p, x)

    def feature_dropout(self, x, p=0.5, training=True, inplace=False):
        return x if p == 0 or not training else x * self.noise(x.shape[:2] + (1,) * (x.dim() - 2), p, x)

    def attention(self, query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False):
        scores = query @ key.transpose(-2, -1) * (scale or query.shape[-1] ** -0.5)
        if is_causal:
            scores = scores.masked_fill(~torch.ones(scores.shape[-2:]).tril().bool(), -math.inf)
        if attn_mask is not None:
            scores = scores.masked_fill(~attn_mask, -math.inf) if attn_mask.dtype == torch.bool else scores + attn_mask
        return self.dropout(scores.softmax(-1), dropout_p) @ value

    def rand(self, *size, dtype=None, device=None):
        return self.uniform(size[0] if isinstance(size[0], (tuple, list, torch.Size)) else size, dtype or torch.get_default_dtype())

    def bernoulli(self, x, p=None):
        return (self.uniform(x.shape, x.dtype) < (x if p is None else p)).to(x.dtype)

    def normal(self, shape, dtype):
        radius, angle = self.uniform(shape, dtype), self.uniform(shape, dtype)
        return torch.sqrt(-2 * torch.log1p(-radius)) * torch.cos(2 * math.pi * angle)

    def native_dropout(self, x, p, train):
        factors = self.noise(x.shape, p, x)
        return x * factors, factors != 0

    def randint(self, *bounds_and_size):
        *bounds, size = bounds_and_size
        low, high = (0, *bounds)[-2:]
        return (self.uniform(size, torch.float64) * (high - low)).long() + low

    @contextlib.contextmanager
    def in_place_of_torch(self, step=0):
        self.step, self.stream = step, 0
        patches = [
            (F, "dropout", self.dropout),
            (F, "dropout1d", self.feature_dropout),
            (F, "dropout2d", self.feature_dropout),
            (F, "scaled_dot_product_attention", self.attention),
            (torch, "rand", self.rand),
            (torch, "rand_like", lambda x: self.rand(x.shape, dtype=x.dtype)),
            (torch, "randn", lambda *size, dtype: self.normal(size, dtype)),
            (torch, "randn_like", lambda x: self.normal(x.shape, x.dtype)),
            (torch, "randint", self.randint),
            (torch, "bernoulli", self.bernoulli),
            (torch, "native_dropout", self.native_dropout),
            (torch.Tensor, "bernoulli_", lambda x, p=0.5: x.copy_(self.bernoulli(x, p))),
            (torch.Tensor, "uniform_", lambda x, a=0, b=1: x.copy_(self.uniform(x.shape, x.dtype) * (b - a) + a)),
            (torch.Tensor, "normal_", lambda x, mean=0, std=1: x.copy_(self.normal(x.shape, x.dtype) * std + mean)),
            (torch.Tensor, "exponential_", lambda x, rate: x.copy_(-torch.log1p(-self.uniform(x.shape, x.dtype)) / rate)),
        ]
        originals = [(owner, name, getattr(owner, name)) for owner, name, _ in patches]
        for owner, name, stand_in in patches:
            setattr(owner, name, stand_in)
        try:
            yield self
        finally:
            for owner, name, original in originals:
                setattr(owner, name, original)


def check():
    """The known answers that come with Random123, the library of Philox's authors (philox4x32 10)."""
    ones = 0xFFFFFFFF
    answers = [
        ((0, 0, 0, 0), (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
        ((ones,) * 4, (ones,) * 2, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
        (
            (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
            (0xA4093822, 0x299F31D0),
            (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
        ),
    ]
    for counter, key, answer in answers:
        assert tuple(philox4x32(np.array(counter, np.uint64), key)) == answer


check()
