"""Models over rows that samples have more or less of, packed in one tensor, beside PyTorch.

    python packed.py make FOLDER                writes captions.pt, tokens.pt, batches, and plans with collate rules
    python packed.py compare FOLDER MODEL RUN   a run of three steps of SGD equals PyTorch's on whole batches
                     [--accumulate N]           a step takes N batches as one of their union
    python packed.py images CASE                the zoo's qwen2_5_vl_dyn: packed.safetensors, with each text's images
"""

import argparse
import json
import warnings
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from torch import nn
from torch.nn import functional as F

warnings.simplefilter("ignore")
torch.set_num_threads(1)
torch.set_default_dtype(torch.float64)
IMAGE, WORDS, HIDDEN, STEPS, RATE = 0, 13, 8, 3, 0.1


def segments_of(ends, rows):
    """The number of each row's segment, as a varlen kernel has it."""
    return (torch.arange(rows)[:, None] >= ends).sum(1)


class Block(nn.Module):
    """Attention inside of segments: one masked product over the packed rows."""

    def __init__(self, fused):
        super().__init__()
        self.norm, self.qkv, self.out = nn.LayerNorm(HIDDEN), nn.Linear(HIDDEN, 3 * HIDDEN), nn.Linear(HIDDEN, HIDDEN)
        self.fused = fused

    def forward(self, x, segment):
        q, k, v = self.qkv(self.norm(x)).view(x.shape[0], 3, 2, HIDDEN // 2).permute(1, 2, 0, 3)
        same = segment[:, None] == segment
        if self.fused:
            seen = F.scaled_dot_product_attention(q[None], k[None], v[None], attn_mask=same)[0]
        else:
            scores = (q @ k.transpose(1, 2)).masked_fill(~same, float("-inf"))
            seen = scores.softmax(-1) @ v
        return x + self.out(seen.transpose(0, 1).reshape(x.shape[0], HIDDEN))


class Captions(nn.Module):
    """Images of any number and size for each text: their patches are packed, and stand among the words."""

    def __init__(self):
        super().__init__()
        self.patch, self.place = nn.Linear(6, HIDDEN), nn.Embedding(16, HIDDEN)
        self.blocks = nn.ModuleList(Block(fused) for fused in (True, False))
        self.box, self.kind, self.many = nn.Linear(HIDDEN, 3), nn.Linear(HIDDEN, 4), nn.Embedding(5, HIDDEN)
        self.embed, self.mix, self.head = nn.Embedding(WORDS, HIDDEN), nn.Linear(HIDDEN, HIDDEN), nn.Linear(HIDDEN, WORDS)

    def forward(self, input_ids, labels, pixels, cu_seqlens, cu_images, boxes, picks, pick_labels, answers):
        ends = cu_seqlens[1:]
        segment = segments_of(ends, pixels.shape[0])
        place = torch.arange(pixels.shape[0]) - cu_seqlens[:-1][segment]
        x = self.patch(pixels) + self.place(place)
        for block in self.blocks:
            x = block(x, segment)
        lengths = (ends - cu_seqlens[:-1])[:, None]
        means = x.new_zeros(boxes.shape[0], HIDDEN).index_add(0, segment, x) / lengths
        loss = F.mse_loss(self.box(means), boxes) + 0.5 * F.cross_entropy(self.kind(x[picks]), pick_labels)
        text = self.embed(input_ids)
        text = text.masked_scatter((input_ids == IMAGE)[..., None].expand_as(text), x)
        text = text + self.many(cu_images[1:] - cu_images[:-1])[:, None]
        text = text + torch.tanh(self.mix(text)).mean(1, keepdim=True)
        asked = text.flatten(0, 1).index_select(0, answers)
        return loss + F.cross_entropy(self.head(text).flatten(0, 1), labels.flatten()) + asked.square().mean()


class Tokens(nn.Module):
    """Texts of any length one behind the other: nothing is stacked."""

    def __init__(self):
        super().__init__()
        self.embed, self.head = nn.Embedding(WORDS, HIDDEN), nn.Linear(HIDDEN, WORDS)
        self.blocks = nn.ModuleList(Block(fused) for fused in (True, False))

    def forward(self, ids, labels, cu):
        segment = segments_of(cu[1:], ids.shape[0])
        x = self.embed(ids)
        for block in self.blocks:
            x = block(x, segment)
        return F.cross_entropy(self.head(x), labels)


def offsets(lengths):
    return torch.tensor([0, *torch.tensor(lengths, dtype=torch.long).cumsum(0).tolist()])


def captions_batch(number):
    """Four texts with none to three images of one to four patches."""
    images = [[[3, 1], [2], [4, 1, 2], []], [[], [1], [2, 2], [3]], [[2], [], [], [4, 4]]][number]
    seq = 14 + number
    ids, labels = torch.randint(1, WORDS, (4, seq)), torch.randint(0, WORDS, (4, seq))
    for row, sizes in zip(ids, images):
        row[torch.randperm(seq)[: sum(sizes)]] = IMAGE
    labels[torch.rand(4, seq) < 0.3 + 0.1 * number] = -100
    sizes = [size for each in images for size in each]
    first, picks, answers = 0, [], []
    for sample, each in enumerate(images):
        rows = torch.randperm(sum(each))[: 1 + number]
        picks += (first + rows).tolist()
        first += sum(each)
        answers += (sample * seq + torch.randint(seq, (sample + 1,))).tolist()
    return dict(
        input_ids=ids, labels=labels, pixels=torch.randn(sum(sizes), 6), cu_seqlens=offsets(sizes),
        cu_images=offsets([len(each) for each in images]), boxes=torch.randn(len(sizes), 3),
        picks=torch.tensor(picks), pick_labels=torch.randint(0, 4, (len(picks),)), answers=torch.tensor(answers),
    )  # fmt: skip


def tokens_batch(number):
    lengths = [[5, 1, 3, 2], [2, 7, 1, 1, 4], [1, 1, 6, 2]][number]
    rows = sum(lengths)
    labels = torch.randint(0, WORDS, (rows,))
    labels[torch.rand(rows) < 0.2] = -100
    return dict(ids=torch.randint(0, WORDS, (rows,)), labels=labels, cu=offsets(lengths))


MODELS = dict(captions=(Captions, captions_batch), tokens=(Tokens, tokens_batch))
PLANS = dict(
    captions="""inputs:
  input_ids:   {dims: [batch, seq], collate: stack}
  labels:      {dims: [batch, seq], collate: pad(-100)}
  pixels:      {dims: [patches, 6], collate: concat(0)}
  cu_seqlens:  {dims: [images + 1], collate: offsets(pixels)}
  cu_images:   {dims: [batch + 1], collate: offsets(cu_seqlens)}
  boxes:       {dims: [images, 3], collate: concat}
  picks:       {dims: [picks], collate: index_into(pixels)}
  pick_labels: {dims: [picks], collate: concat}
  answers:     {dims: [answers], collate: "index_into(input_ids, 2)"}
""",
    tokens="""inputs:
  ids:    {dims: [rows], collate: concat}
  labels: {dims: [rows], collate: concat}
  cu:     {dims: [texts + 1], collate: offsets(ids)}
""",
)


def make(folder):
    folder.mkdir(parents=True, exist_ok=True)
    for name, (build, batch) in MODELS.items():
        torch.manual_seed(1)
        model, batches = build(), [batch(i) for i in range(STEPS)]
        torch.jit.trace(model, tuple(batches[0].values()), check_trace=False).save(str(folder / f"{name}.pt"))
        data = {f"step{i}/{key}": value for i, each in enumerate(batches) for key, value in each.items()}
        save_file(data, folder / f"{name}.safetensors")
        if name == "captions":  # the last step has an image that belongs to no text
            wrong = data | {f"step{STEPS - 1}/cu_images": torch.tensor([0, 1, 1, 1, 2])}
            save_file(wrong, folder / "captions-wrong.safetensors")
        (folder / f"{name}.yaml").write_text(PLANS[name])


def union(batches):
    """One batch of all samples, by the rules of the plan; texts are padded to the longest."""
    if "ids" in batches[0]:
        lengths = [b["cu"].diff().tolist() for b in batches]
        return dict(ids=torch.cat([b["ids"] for b in batches]), labels=torch.cat([b["labels"] for b in batches]),
                    cu=offsets([n for each in lengths for n in each]))  # fmt: skip
    raise SystemExit("captions mean over the words of a text, so texts of other lengths are no union")


def compare(folder, name, run, accumulate):
    build, batch = MODELS[name]
    torch.manual_seed(1)
    model, batches = build(), [batch(i) for i in range(STEPS)]
    optimizer = torch.optim.SGD(model.parameters(), lr=RATE)
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    gradients = load_file(run / "gradients.safetensors")
    assert len(lines) == STEPS, lines
    for step, line in enumerate(lines):
        optimizer.zero_grad()
        chosen = [batches[(step * accumulate + i) % STEPS] for i in range(accumulate)]
        loss = model(**(chosen[0] if accumulate == 1 else union(chosen)))
        loss.backward()
        torch.testing.assert_close(line["loss"], loss.item(), rtol=1e-10, atol=0)
        for key, parameter in model.named_parameters():
            if step == 0:
                torch.testing.assert_close(gradients[key], parameter.grad, rtol=1e-10, atol=1e-13, msg=lambda m: f"{key}: {m}")
        optimizer.step()
    saved = load_file(run / "model.safetensors")
    for key, parameter in model.named_parameters():
        torch.testing.assert_close(saved[key], parameter.detach(), rtol=1e-10, atol=1e-12, msg=lambda m: f"{key}: {m}")
    print(f"{name}: {STEPS} steps equal")


def images(case):
    """The batches with the cumulative number of images of each text, by their start tokens."""
    batches = load_file(case / "batch.safetensors")
    for key in [key for key in batches if key.endswith("/input_ids")]:
        start = 128 - 7  # of the zoo's tiny vocabulary
        counts = (batches[key] == start).sum(1).tolist()
        assert sum(counts) == len(batches[key.replace("input_ids", "cu_seqlens")]) - 1, counts
        batches[key.replace("input_ids", "images")] = offsets(counts)
    save_file(batches, case / "packed.safetensors")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["make", "compare", "images"])
    parser.add_argument("folder", type=Path)
    parser.add_argument("rest", nargs="*")
    parser.add_argument("--accumulate", type=int, default=1)
    args = parser.parse_args()
    if args.what == "make":
        make(args.folder)
    elif args.what == "images":
        images(args.folder)
    else:
        compare(args.folder, args.rest[0], Path(args.rest[1]), args.accumulate)


if __name__ == "__main__":
    main()
