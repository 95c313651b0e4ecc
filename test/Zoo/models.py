"""The zoo: each function below builds one training model of a given Size.

A model is a Case: a module whose forward returns the scalar loss, a function that draws a batch, and the dims of that
batch. The HuggingFace models are built from a config, with random weights and no dropout.
"""

import inspect
from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
import transformers as hf
from torch import nn
from transformers import vision_utils
from transformers.modeling_outputs import BaseModelOutputWithPooling


@dataclass
class Size:
    hidden: int
    ffn: int
    layers: int
    heads: int
    kv_heads: int
    vocab: int
    batch: int
    seq: int  # text length; in a vision-language model it counts the image tokens too
    image: int  # image side, in pixels
    patch: int

    @property
    def patches(self):
        return (self.image // self.patch) ** 2

    @property
    def image_token(self):  # ids from vocab - 10 up are special: text() never draws them
        return self.vocab - 8

    @property
    def dims(self):
        return dict(batch=self.batch, seq=self.seq)

    @property
    def longer(self):  # changes for models whose trace fixes the number of sequences
        return dict(seq=self.seq * 3 // 4), dict(seq=self.seq * 2)

    @property
    def vary(self):
        return dict(seq=self.seq * 3 // 4), dict(batch=self.batch + 1), dict(batch=1, seq=self.seq * 2)


SIZES = {
    "tiny": Size(32, 64, 2, 4, 2, vocab=128, batch=2, seq=32, image=32, patch=8),
    "small": Size(256, 1024, 4, 8, 4, vocab=8192, batch=4, seq=128, image=64, patch=8),
}


@dataclass
class Case:
    module: nn.Module
    batch: Callable  # batch(**dims) -> {input name: tensor}, in the order of the forward's arguments
    dims: dict  # the dims that are traced
    vary: tuple = ()  # changes of dims under which the traced module stays right (dynamic.py proves it)
    script: bool = False  # torch.jit.script instead of torch.jit.trace
    double: bool = True  # False: an op of it has no float64 kernel


MODELS = {}


def model(build):
    MODELS[build.__name__] = build
    return build


def training(net, inputs, forward=None, **fixed):
    """A module that holds `net` and maps the named inputs to the loss: net's own, or what forward(net, ...) gives."""
    names = inputs.split()

    def call(self, *values):
        given = dict(zip(names, values, strict=True)) | fixed
        return forward(self.net, **given) if forward else self.net(**given).loss

    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD  # torch.jit.trace names the graph's inputs after these
    call.__signature__ = inspect.Signature([inspect.Parameter(n, kind) for n in ["self", *names]])
    module = type("Training", (nn.Module,), {"forward": call})()
    module.net = net
    return module


# Batches -------------------------------------------------------------------------------------------------------------


def text(s, batch, seq):
    return torch.randint(10, s.vocab - 10, (batch, seq))


def image(s, *lead, side=None):
    side = side or s.image
    return torch.randn(*lead, 3, side, side)


def padded(ids):
    """Pads the last quarter of the last sequence with id 0; returns the attention mask."""
    mask = torch.ones_like(ids)
    mask[-1, ids.shape[1] * 3 // 4 :] = 0
    ids[mask == 0] = 0
    return mask


def put_images(s, ids, count, length, before=2):
    """Overwrites ids with `count` runs of `length` image tokens per sequence, each run after `before` text tokens."""
    for i in range(count):
        at = before + i * (length + before)
        assert at + length <= ids.shape[1] * 3 // 4, "the sequence is too short for its images"
        ids[:, at : at + length] = s.image_token
    return ids


def labels(ids, *ignored, mask=None):
    out = ids.clone()
    for token in ignored:
        out[ids == token] = -100
    return out if mask is None else out.masked_fill(mask == 0, -100)


# Configs -------------------------------------------------------------------------------------------------------------


def text_config(s, **more):
    return dict(
        hidden_size=s.hidden, intermediate_size=s.ffn, num_hidden_layers=s.layers, num_attention_heads=s.heads,
        num_key_value_heads=s.kv_heads, vocab_size=s.vocab, max_position_embeddings=4 * s.seq,
        bos_token_id=1, eos_token_id=2, pad_token_id=0, attention_dropout=0.0,
    ) | more  # fmt: skip


def vision_config(s, **more):
    return dict(
        hidden_size=s.hidden, intermediate_size=s.ffn, num_hidden_layers=s.layers, num_attention_heads=s.heads,
        image_size=s.image, patch_size=s.patch, attention_dropout=0.0,
    ) | more  # fmt: skip


# HuggingFace models --------------------------------------------------------------------------------------------------


@model
def gpt2(s):
    config = hf.GPT2Config(
        n_embd=s.hidden, n_inner=s.ffn, n_layer=s.layers, n_head=s.heads, vocab_size=s.vocab, n_positions=4 * s.seq,
        resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0, bos_token_id=1, eos_token_id=2,
    )  # fmt: skip
    module = training(hf.GPT2LMHeadModel(config), "input_ids labels", use_cache=False)

    def batch(batch, seq):
        ids = text(s, batch, seq)
        return dict(input_ids=ids, labels=ids.clone())

    return Case(module, batch, s.dims, s.vary)


@model
def llama(s):
    config = hf.LlamaConfig(**text_config(s))
    module = training(hf.LlamaForCausalLM(config), "input_ids attention_mask labels", use_cache=False)

    def batch(batch, seq):
        ids = text(s, batch, seq)
        mask = padded(ids)
        return dict(input_ids=ids, attention_mask=mask, labels=labels(ids, mask=mask))

    return Case(module, batch, s.dims, s.vary)


@model
def vit(s):
    config = hf.ViTConfig(**vision_config(s, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0, num_labels=10))
    module = training(hf.ViTForImageClassification(config), "pixel_values labels")

    def batch(batch):
        return dict(pixel_values=image(s, batch), labels=torch.randint(10, (batch,)))

    return Case(module, batch, dict(batch=s.batch), (dict(batch=s.batch + 1), dict(batch=1)))


@model
def clip(s):
    end = s.vocab - 1  # CLIP pools the text at its end token
    words = text_config(s, eos_token_id=end)
    del words["num_key_value_heads"]
    config = hf.CLIPConfig(text_config=words, vision_config=vision_config(s), projection_dim=s.hidden // 2)
    module = training(hf.CLIPModel(config), "input_ids pixel_values", return_loss=True)

    def batch(batch, seq):
        ids = text(s, batch, seq)
        ids[:, -1] = end
        return dict(input_ids=ids, pixel_values=image(s, batch))

    return Case(module, batch, s.dims, s.longer)


def llava_net(s):
    return hf.LlavaForConditionalGeneration(
        hf.LlavaConfig(
            vision_config=hf.CLIPVisionConfig(**vision_config(s)),
            text_config=hf.LlamaConfig(**text_config(s)),
            image_token_id=s.image_token,
        )
    )


def llava_batch(s):
    def batch(batch, seq, images):
        ids = put_images(s, text(s, batch, seq), images, s.patches)
        mask = padded(ids)
        return dict(
            input_ids=ids,
            pixel_values=image(s, batch * images),
            attention_mask=mask,
            labels=labels(ids, s.image_token, mask=mask),
        )

    return batch


@model
def llava(s):
    module = training(llava_net(s), "input_ids pixel_values attention_mask labels", use_cache=False)
    return Case(module, llava_batch(s), s.dims | dict(images=1), s.longer)


@model
def llava_dyn(s):
    """llava with the image features kept in one tensor: the list that llava makes of them fixes their number."""

    def forward(net, pixel_values, **given):
        seen = net.model.vision_tower(pixel_values, output_hidden_states=True).hidden_states[-2][:, 1:]
        seen = BaseModelOutputWithPooling(pooler_output=[net.model.multi_modal_projector(seen).flatten(0, 1)])
        return net(mm_encoder_outputs=dict(image=seen), **given).loss

    return Case(
        training(llava_net(s), "input_ids pixel_values attention_mask labels", forward, use_cache=False),
        llava_batch(s),
        s.dims | dict(images=1),
        (*s.vary, dict(images=2, seq=s.seq * 2), dict(batch=s.batch + 1, images=2, seq=s.seq * 3)),
    )


@model
def whisper(s):
    config = hf.WhisperConfig(
        vocab_size=s.vocab, d_model=s.hidden, num_mel_bins=16, max_source_positions=s.seq,
        max_target_positions=4 * s.seq, encoder_layers=s.layers, decoder_layers=s.layers,
        encoder_attention_heads=s.heads, decoder_attention_heads=s.heads, encoder_ffn_dim=s.ffn, decoder_ffn_dim=s.ffn,
        dropout=0.0, pad_token_id=0, bos_token_id=1, eos_token_id=2, decoder_start_token_id=1,
    )  # fmt: skip
    module = training(hf.WhisperForConditionalGeneration(config), "input_features labels", use_cache=False)

    def batch(batch, seq):
        return dict(input_features=torch.randn(batch, 16, 2 * s.seq), labels=text(s, batch, seq))

    return Case(module, batch, s.dims, s.vary)


@model
def t5(s):
    config = hf.T5Config(
        vocab_size=s.vocab, d_model=s.hidden, d_kv=s.hidden // s.heads, d_ff=s.ffn, num_layers=s.layers,
        num_heads=s.heads, dropout_rate=0.0, decoder_start_token_id=0,
    )  # fmt: skip
    module = training(hf.T5ForConditionalGeneration(config), "input_ids attention_mask labels", use_cache=False)

    def batch(batch, seq):
        ids = text(s, batch, seq)
        return dict(input_ids=ids, attention_mask=padded(ids), labels=text(s, batch, seq // 2))

    return Case(module, batch, s.dims, s.vary)


QWEN_WINDOW = 16  # pixels


def qwen_net(s):
    half = s.hidden // s.heads // 2
    sections = [half // 2, half // 4, half // 4]
    return hf.Qwen2_5_VLForConditionalGeneration(
        hf.Qwen2_5_VLConfig(
            vision_config=dict(
                depth=s.layers, hidden_size=s.hidden, intermediate_size=s.ffn, num_heads=s.heads // 2,
                out_hidden_size=s.hidden, patch_size=4, spatial_merge_size=2, temporal_patch_size=2,
                window_size=QWEN_WINDOW, fullatt_block_indexes=[s.layers - 1],
            ),
            text_config=text_config(
                s, rope_parameters=dict(rope_type="default", rope_theta=10000.0, mrope_section=sections)
            ),
            image_token_id=s.image_token, video_token_id=s.vocab - 5,
            vision_start_token_id=s.vocab - 7, vision_end_token_id=s.vocab - 6,
        )
    )  # fmt: skip


def qwen_batch(s):
    """`grids` gives, for each sequence, the (height, width) of its images in patches of 4 pixels; 2x2 patches make a
    token. A sequence is text with <start> image tokens <end> in it; the images' patches are packed in one tensor."""

    def batch(seq, grids):
        ids = text(s, len(grids), seq)
        for row, images in zip(ids, grids, strict=True):
            at = 1
            for h, w in images:
                n = h * w // 4
                assert at + n + 2 <= seq * 3 // 4, "the sequence is too short for its images"
                row[at], row[at + 1 : at + 1 + n], row[at + 1 + n] = s.vocab - 7, s.image_token, s.vocab - 6
                at += n + 3
        mask = padded(ids)
        grid = torch.tensor([(1, h, w) for images in grids for h, w in images])
        return dict(
            input_ids=ids,
            pixel_values=torch.randn(int(grid.prod(1).sum()), 3 * 2 * 4 * 4),
            image_grid_thw=grid,
            attention_mask=mask,
            labels=labels(ids, *range(s.vocab - 8, s.vocab - 5), mask=mask),
        )

    return batch


def qwen_dims(s):
    side = s.image // 4
    return dict(seq=s.seq, grids=(((side, side),),) * s.batch)


def qwen_vary(s):
    side = s.image // 4
    first, *others = qwen_dims(s)["grids"]
    return (
        dict(seq=s.seq * 7 // 8),
        dict(grids=(((side, side // 2),), *others)),  # one image of another size
        dict(grids=(((side, side // 2), (side // 2, side)), *others)),  # one image more, two of them smaller
        dict(grids=((), first, *others), seq=s.seq * 2),  # one sequence more, without an image
    )


@model
def qwen2_5_vl(s):
    """As HuggingFace has it: the trace makes constants of image_grid_thw and of where the images are."""

    def forward(net, **given):
        kind = (given["input_ids"] == net.config.image_token_id).int()
        return net(mm_token_type_ids=kind, **given).loss

    names = "input_ids pixel_values image_grid_thw attention_mask labels"
    return Case(training(qwen_net(s), names, forward, use_cache=False), qwen_batch(s), qwen_dims(s))


def packed_attention(module, query, key, value, attention_mask, scaling=None, cu_seq_lens_q=None, **_):
    """What flash attention computes on segments packed in one row, as one masked product."""
    place = torch.arange(query.shape[2])
    segment = (place[:, None] >= cu_seq_lens_q[1:]).sum(1)
    out = F.scaled_dot_product_attention(query, key, value, attn_mask=segment[:, None] == segment, scale=scaling)
    return out.transpose(1, 2), None


hf.AttentionInterface.register("packed_flash", packed_attention)


@model
def qwen2_5_vl_dyn(s):
    """qwen2_5_vl with all that depends on the images' grids left to the data loader, so that they may vary."""
    net = qwen_net(s)
    net.model.visual.config._attn_implementation = "packed_flash"  # "flash": one call for all the segments

    def batch(seq, grids):
        made = qwen_batch(s)(seq, grids)
        grid = made.pop("image_grid_thw")
        ids, mask = made["input_ids"], made["attention_mask"]
        kind = (ids == s.image_token).int()
        window_index, cu_window_seqlens = vision_utils.get_vision_window_index(grid, 2, QWEN_WINDOW, 4)
        return made | dict(
            position_ids=net.model.get_rope_index(ids, kind, image_grid_thw=grid, attention_mask=mask)[0],
            vision_position_ids=vision_utils.get_vision_position_ids(grid, 2),
            cu_seqlens=vision_utils.get_vision_cu_seqlens(grid),
            window_index=window_index,
            cu_window_seqlens=cu_window_seqlens,
        )

    def forward(net, pixel_values, vision_position_ids, cu_seqlens, window_index, cu_window_seqlens, **given):
        seen = net.model.visual(
            pixel_values, grid_thw=None, position_ids=vision_position_ids, cu_seqlens=cu_seqlens, max_seqlen=0,
            window_index=window_index, cu_window_seqlens=cu_window_seqlens, max_window_seqlen=0,
        )  # fmt: skip
        seen = BaseModelOutputWithPooling(pooler_output=[seen.pooler_output])
        return net(mm_encoder_outputs=dict(image=seen), **given).loss

    names = (
        "input_ids pixel_values attention_mask labels "
        "position_ids vision_position_ids cu_seqlens window_index cu_window_seqlens"
    )
    return Case(training(net, names, forward, use_cache=False), batch, qwen_dims(s), qwen_vary(s))


def moe(s, net, **more):
    def batch(batch, seq):
        ids = text(s, batch, seq)
        return dict(input_ids=ids, labels=ids.clone())

    return Case(training(net, "input_ids labels", use_cache=False), batch, s.dims, s.vary, **more)


@model
def mixtral(s):
    """Experts as one grouped product, which PyTorch has for float32 but not for float64."""
    config = hf.MixtralConfig(
        **text_config(s, num_local_experts=4, num_experts_per_tok=2, head_dim=s.hidden // s.heads)
    )
    return moe(s, hf.MixtralForCausalLM(config), double=False)


# Written by hand -----------------------------------------------------------------------------------------------------


class Mlp(nn.Module):
    def __init__(self, s):
        super().__init__()
        self.up = nn.Linear(s.hidden, s.ffn)
        self.down = nn.Linear(s.ffn, s.hidden)

    def forward(self, x, y):
        return F.mse_loss(self.down(F.gelu(self.up(x))), y)


class ScriptedMlp(nn.Module):
    """Scripted, so its graph keeps the branch on `training`; the list of layers is unrolled."""

    def __init__(self, s):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(s.hidden, s.hidden) for _ in range(s.layers))
        self.head = nn.Linear(s.hidden, 10)

    def forward(self, x, y):
        for layer in self.layers:
            x = x + F.relu(layer(x))
        if self.training:
            x = x * 0.5
        return F.cross_entropy(self.head(x), y)


class RareOps(nn.Module):
    """Operators that hardly any model uses: one elementwise, one with a dim, one with two results."""

    def __init__(self, s):
        super().__init__()
        self.up = nn.Linear(s.hidden, s.ffn)
        self.down = nn.Linear(s.ffn, s.hidden)

    def forward(self, x, y):
        x = torch.special.i0e(self.up(x))
        x = torch.logcumsumexp(x, dim=1)
        x, _ = torch.cummax(x.sin(), dim=1)
        return F.mse_loss(self.down(x), y)


class Elementwise(nn.Module):
    """Every operator that braid compiles into loops of its own: broadcast, transposed, reduced along the last dim."""

    def __init__(self, s):
        super().__init__()
        self.up = nn.Linear(s.hidden, s.ffn)
        self.scale = nn.Parameter(torch.rand(s.ffn) + 0.5)
        self.rows = nn.Parameter(torch.rand(4, 1))
        self.square = nn.Parameter(torch.randn(4, 4))
        self.down = nn.Linear(s.ffn, s.hidden)

    def forward(self, x, y):
        h = self.up(x)
        a = F.gelu(h, approximate="tanh") + F.gelu(h) * F.silu(h)
        b = torch.tanh(a) - 0.5 * torch.sigmoid(h * self.scale)
        c = torch.exp(-b.abs()) / (1 + b**2) + torch.log(b * b + 1) + torch.sqrt(b * b + 2) * torch.rsqrt(b**2 + 3)
        c = c + (b**2 + 1).reciprocal() - (c**3).clamp(-4, 4) * 0.01 + torch.erf(b) + (2 - c) / 3
        d = torch.where((c > 0) & ~(h <= 0.1), F.relu(c), torch.maximum(a, torch.minimum(b, c)) - c)
        d = torch.sub(d, b, alpha=0.25) + (h != 0).to(h.dtype) + (d * 0 + 3).long().to(h.dtype)
        # A square, where a sum that drops its dim could pass for one that keeps it.
        q = torch.sigmoid(self.square)
        d = torch.cat([d[:, :16] + (q / q.sum(-1) - q.mean(-1)).flatten(), d[:, 16:]], 1)
        # Rows: a norm, a softmax by hand, a reduction that drops the dim.
        n = d * torch.rsqrt(d.pow(2).mean(-1, keepdim=True) + 1e-5) * self.scale
        e = torch.exp(n - n.detach().amax(-1, keepdim=True))
        n = n + e / e.sum(-1, keepdim=True)
        # Three dims, one operand transposed, one a row of its own.
        t = n.unflatten(1, (4, -1))
        u = t + t.transpose(1, 2).reshape(t.shape).tanh() * self.rows + t.mean(-1, keepdim=True).expand_as(t)
        v = u.transpose(0, 1).sigmoid() * u.transpose(0, 1) + u.sum(-1).t().unsqueeze(-1) / t.shape[-1]
        return F.mse_loss(self.down(v.transpose(0, 1).flatten(1)), y)


class TwoTower(nn.Module):
    """A convolutional image encoder feeds a causal text transformer; `bridge` is the boundary between them."""

    def __init__(self, s):
        super().__init__()
        self.vision = nn.Sequential(
            nn.Conv2d(3, s.hidden // 2, 4, stride=4),
            nn.GELU(),
            nn.Conv2d(s.hidden // 2, s.hidden, 3, stride=2, padding=1),
            nn.GELU(),
        )
        self.bridge = nn.Linear(s.hidden, s.hidden)
        self.embed = nn.Embedding(s.vocab, s.hidden)
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(s.hidden, s.heads, s.ffn, dropout=0.0, batch_first=True, norm_first=True)
            for _ in range(s.layers)
        )
        self.head = nn.Linear(s.hidden, s.vocab)

    def forward(self, pixels, tokens):
        seen = self.bridge(self.vision(pixels).flatten(2).transpose(1, 2))
        x = torch.cat([seen, self.embed(tokens)], dim=1)
        mask = torch.ones(x.shape[1], x.shape[1]).triu(1).bool()
        for layer in self.layers:
            x = layer(x, src_mask=mask)
        x = self.head(x[:, seen.shape[1] :])
        return F.cross_entropy(x[:, :-1].flatten(0, 1), tokens[:, 1:].flatten())


class GivenNorm(nn.BatchNorm2d):
    """Normalises with statistics that are given, as in fine-tuning: samples do not mix, and nothing is updated."""

    def __init__(self, channels):
        super().__init__(channels)
        self.running_mean.normal_(0, 0.1)
        self.running_var.uniform_(0.5, 1.5)

    def train(self, mode=True):
        return super().train(False)


class Inverted(nn.Module):
    """MobileNetV3's block: expand, depthwise convolution, squeeze and excite, project; the sum where sizes allow it."""

    def __init__(self, channels, wide):
        super().__init__()
        self.expand = nn.Sequential(nn.Conv2d(channels, wide, 1, bias=False), GivenNorm(wide), nn.Hardswish())
        self.depth = nn.Sequential(
            nn.Conv2d(wide, wide, 3, padding=1, groups=wide, bias=False), GivenNorm(wide), nn.ReLU6()
        )
        self.squeeze = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Conv2d(wide, 4, 1), nn.LeakyReLU())
        self.excite = nn.Sequential(nn.Conv2d(4, wide, 1), nn.Hardsigmoid())
        self.project = nn.Sequential(nn.Conv2d(wide, channels, 1, bias=False), nn.GroupNorm(2, channels))

    def forward(self, x):
        h = self.depth(self.expand(x))
        return x + self.project(h * self.excite(self.squeeze(h)))


class ConvNet(nn.Module):
    """What image models are made of: a residual stem, inverted blocks, a decoder that upsamples, a pooled head."""

    def __init__(self, s):
        super().__init__()
        width = s.hidden // 2
        self.stem = nn.Sequential(
            nn.Conv2d(3, width, 3, stride=2, padding=1, bias=False), GivenNorm(width), nn.ReLU(inplace=True),
            nn.MaxPool2d(3, stride=2, padding=1),
        )  # fmt: skip
        self.blocks = nn.ModuleList(Inverted(width, 2 * width) for _ in range(s.layers))
        self.down = nn.Sequential(
            GivenNorm(width), nn.ELU(), nn.AvgPool2d(2, ceil_mode=True), nn.Conv2d(width, width, 1), nn.Mish()
        )
        self.mix = nn.Sequential(nn.InstanceNorm2d(width, affine=True), nn.Softplus())
        self.head = nn.Linear(2 * width, 10)

    def forward(self, images, labels):
        x = self.stem(images)
        for block in self.blocks:
            x = block(x)
        small = self.down(x)
        large = F.interpolate(small, scale_factor=2, mode="bilinear") + F.interpolate(small, scale_factor=2)
        x = self.mix(x + large[:, :, : x.shape[2], : x.shape[3]])
        pooled = torch.cat([F.adaptive_max_pool2d(x, 2).mean((2, 3)), F.adaptive_avg_pool2d(x, (1, 1)).flatten(1)], 1)
        return F.cross_entropy(self.head(pooled), labels)


@model
def mlp(s):
    def batch(batch):
        return dict(x=torch.randn(batch, s.hidden), y=torch.randn(batch, s.hidden))

    return Case(Mlp(s), batch, dict(batch=4 * s.batch), (dict(batch=3), dict(batch=1)))


@model
def rare_ops(s):
    case = mlp(s)
    case.module = RareOps(s)
    return case


@model
def elementwise(s):
    case = mlp(s)
    case.module = Elementwise(s)
    return case


@model
def elementwise_f32(s):
    return elementwise(s)


@model
def scripted_mlp(s):
    def batch(batch):
        return dict(x=torch.randn(batch, s.hidden), y=torch.randint(10, (batch,)))

    return Case(ScriptedMlp(s), batch, dict(batch=4 * s.batch), (dict(batch=3), dict(batch=1)), script=True)


@model
def convnet(s):
    def batch(batch):
        return dict(images=image(s, batch), labels=torch.randint(10, (batch,)))

    return Case(ConvNet(s), batch, dict(batch=2 * s.batch), (dict(batch=3), dict(batch=1)))


@model
def two_tower(s):
    def batch(batch, seq, side):
        return dict(pixels=image(s, batch, side=side), tokens=text(s, batch, seq))

    vary = *s.vary, dict(side=s.image // 2), dict(side=s.image * 2, batch=1)
    return Case(TwoTower(s), batch, s.dims | dict(side=s.image), vary)
