"""Makes a test case of a zoo model: the TorchScript file, its batches and what PyTorch computes from them.

    python make_case.py NAME OUTDIR [options]     one model, into OUTDIR
    python make_case.py all OUTDIR [options]      every model, each into OUTDIR/NAME

README.md says what the files hold.
"""

import argparse
import contextlib
import dataclasses
import importlib.util
import json
import sys
import time
import traceback
import warnings
from collections import Counter
from pathlib import Path

import torch
import transformers
from safetensors.torch import save_file

SEED = 0
OPTIMIZERS = {
    "sgd": lambda params: torch.optim.SGD(params, lr=0.1, foreach=False),
    "adamw": lambda params: torch.optim.AdamW(
        params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01, foreach=False
    ),
}
DTYPES = {"float32": torch.float32, "float64": torch.float64}


@dataclasses.dataclass
class Options:
    """What a case is made with; main() says what each means."""

    size: str = "tiny"
    dtype: str = "float32"
    optimizer: str = "adamw"
    steps: int = 3
    batch: int | None = None
    seq: int | None = None
    vary: bool = False


def quiet():
    """One thread, no warnings: for this process only."""
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    transformers.logging.set_verbosity_error()


def load_models(path):
    """The models file as a module; the zoo's own models.py can be imported from any other."""
    sys.path.insert(0, str(Path(__file__).parent))
    spec = importlib.util.spec_from_file_location(f"zoo_{Path(path).resolve().parent.name}", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@contextlib.contextmanager
def precision(dtype):
    """Under float64 the casts to float32 inside a model become casts to float64: no float32 is left in the case."""
    names = torch.float, torch.float32, torch.Tensor.float, torch.get_default_dtype()
    if dtype == torch.float64:
        torch.float = torch.float32 = torch.float64
        torch.Tensor.float = torch.Tensor.double
        torch.set_default_dtype(torch.float64)
    try:
        yield
    finally:
        torch.float, torch.float32, torch.Tensor.float = names[:3]
        torch.set_default_dtype(names[3])


@contextlib.contextmanager
def same_buffers(module):
    """Undoes what a run does to the buffers, such as running statistics."""
    before = {name: b.clone() for name, b in module.named_buffers()}
    yield
    with torch.no_grad():
        for name, b in module.named_buffers():
            b.copy_(before[name])


@torch.no_grad()
def spread(module):
    """Draws the parameters anew, wider than HuggingFace does: with its std of 0.02, zero biases and zero gates a
    narrow model is nearly linear, and wrong attention or a lost bias would hardly show in the loss."""
    for part in module.modules():
        for p in part.parameters(recurse=False):
            if p.dim() > 1:
                fan = p[0].numel() if isinstance(part, torch.nn.modules.conv._ConvNd) else p.shape[-1]
                p.normal_(std=fan**-0.5)
            elif p.dim() == 1:
                p.add_(torch.randn_like(p), alpha=0.1)


def build(models, name, size, dtype):
    torch.manual_seed(SEED)
    case = models.MODELS[name](size)
    spread(case.module)
    case.module.train().to(dtype)
    return case


def draw(case, dtype, step, dims):
    torch.manual_seed(SEED + 1 + step)
    batch = case.batch(**dims)
    return {k: (v.to(dtype) if v.is_floating_point() else v).contiguous() for k, v in batch.items()}


def compile_to(path, case, batch, dtype):
    """Saves the module as TorchScript and loads it back."""
    with precision(dtype), same_buffers(case.module):
        if case.script:
            module = torch.jit.script(case.module)
        else:
            module = torch.jit.trace(case.module, tuple(batch.values()), strict=False, check_trace=False)
    module.save(path)
    return torch.jit.load(path)


def run(module, batch):
    """The loss, as plain PyTorch computes it: TorchScript's own optimisations stay off."""
    with torch.jit.optimized_execution(False):
        return module(*batch.values())


def count_nodes(block):
    kinds = Counter()
    for node in block.nodes():
        kinds[node.kind()] += 1
        if node.kind() == "prim::Constant" and node.outputsAt(0).type().kind() == "TensorType":
            kinds["tensor constant"] += 1
        for inner in node.blocks():
            kinds += count_nodes(inner)
    return kinds


def check_against_eager(case, loaded, batches, dtype):
    """The loaded module must give the eager module's loss on every batch, and twice the same; returns its dtype."""
    tolerance = 1e-8 if dtype == torch.float64 else 1e-5  # a trace may keep a scalar in float32
    for step, batch in enumerate(batches):
        with torch.no_grad(), precision(dtype), same_buffers(case.module):
            want = case.module(*batch.values())
        with torch.no_grad(), same_buffers(loaded):
            got = run(loaded, batch)
        with torch.no_grad(), same_buffers(loaded):
            again = run(loaded, batch)
        assert got.dim() == 0, f"the loss has shape {tuple(got.shape)}"
        assert torch.equal(got, again), "two runs of the loaded module differ: is a dropout left?"
        assert abs(got - want) <= tolerance * abs(want), f"step {step}: eager {want}, loaded {got}"
    return str(got.dtype).removeprefix("torch.")


def train(module, batches, optimizer):
    """Trains the loaded module; returns the per-step records and the tensors of reference.safetensors."""
    params = dict(module.named_parameters())
    buffers = {name: b.clone() for name, b in module.named_buffers()}
    optimizer = OPTIMIZERS[optimizer]([p for p in params.values() if p.requires_grad])
    records, tensors, largest = [], {}, Counter()
    for step, batch in enumerate(batches):
        start = time.perf_counter()
        optimizer.zero_grad()
        loss = run(module, batch)
        loss.backward()
        grads = {name: p.grad for name, p in params.items() if p.grad is not None}
        norm = torch.stack([g.norm() for g in grads.values()]).norm().item()
        for name, g in grads.items():
            largest[name] = max(largest[name], g.abs().max().item() / norm)
            if step == 0:
                tensors[f"grad/{name}"] = g.clone().contiguous()
        optimizer.step()
        seconds = round(time.perf_counter() - start, 4)
        no_grad = [name for name in params if name not in grads]
        records.append(dict(loss=loss.item(), grad_norm=norm, seconds=seconds, no_grad=no_grad))
    for name, p in params.items():
        tensors[f"param/{name}"] = p.detach().clone().contiguous()
    for name, b in module.named_buffers():
        if not torch.equal(b, buffers[name]):
            tensors[f"buffer/{name}"] = b.clone().contiguous()
    noise = [name for name, share in largest.items() if share < 1e-6]
    return records, tensors, noise


def write_json(path, values):
    """One line for each key."""
    path.write_text("{\n" + ",\n".join(f" {json.dumps(k)}: {json.dumps(v)}" for k, v in values.items()) + "\n}\n")


def make(models, name, out, args):
    """One case into the folder `out`; args are Options."""
    dtype = DTYPES[args.dtype]
    size = models.SIZES[args.size]
    size = dataclasses.replace(size, batch=args.batch or size.batch, seq=args.seq or size.seq)
    case = build(models, name, size, dtype)
    if args.vary and not case.vary:
        raise SystemExit(f"{name}: its trace is right for the traced dims only")
    if dtype == torch.float64 and not case.double:
        raise SystemExit(f"{name}: PyTorch cannot run it in float64")
    dims = [case.dims | (case.vary[(i - 1) % len(case.vary)] if args.vary and i else {}) for i in range(args.steps)]
    batches = [draw(case, dtype, i, d) for i, d in enumerate(dims)]
    out.mkdir(parents=True, exist_ok=True)

    start = time.perf_counter()
    loaded = compile_to(str(out / "model.pt"), case, batches[0], dtype)
    traced = time.perf_counter() - start
    nodes = count_nodes(loaded.inlined_graph)
    constants = nodes.pop("tensor constant", 0)
    loss_dtype = check_against_eager(case, loaded, batches, dtype)
    records, tensors, noise = train(loaded, batches, args.optimizer)

    params = dict(loaded.named_parameters())
    aliases = {}
    for alias, p in loaded.named_parameters(remove_duplicate=False):
        aliases.setdefault(id(p), []).append(alias)
    tied = [names for names in aliases.values() if len(names) > 1]
    no_grad = records[0]["no_grad"]
    for record in records:  # said again only where another step differs from the first
        if record["no_grad"] == no_grad:
            del record["no_grad"]
    inputs = [
        dict(name=k, dtype=str(v.dtype).removeprefix("torch."), shapes=[list(b[k].shape) for b in batches])
        for k, v in batches[0].items()
    ]
    describe = dict(
        name=name, size=args.size, dtype=args.dtype, loss_dtype=loss_dtype, steps=args.steps, dims=dims, inputs=inputs,
        parameters={n: list(p.shape) for n, p in params.items()}, tied=tied,
        frozen=[n for n, p in params.items() if not p.requires_grad], no_grad=no_grad, noise_grad=noise,
        changed_buffers=[k.removeprefix("buffer/") for k in tensors if k.startswith("buffer/")],
        tensor_constants=constants, nodes=dict(nodes.most_common()),
    )  # fmt: skip
    write_json(out / "case.json", describe)
    write_json(out / "reference.json", dict(optimizer=args.optimizer, torch=torch.__version__, steps=records))
    save_file({f"step{i}/{k}": v for i, b in enumerate(batches) for k, v in b.items()}, out / "batch.safetensors")
    save_file(tensors, out / "reference.safetensors")
    print(
        f"{name:20} loss {records[0]['loss']:.5f} -> {records[-1]['loss']:.5f}  params {len(params)}"
        f"  no_grad {len(no_grad)}  tied {len(tied)}  nodes {nodes.total()}"
        f"  ops {sum(k.startswith('aten') for k in nodes)}  trace {traced:.2f}s  step {records[-1]['seconds']:.3f}s",
        flush=True,
    )


def main():
    here = Path(__file__).parent
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name")
    parser.add_argument("outdir", type=Path)
    parser.add_argument("--models", default=here / "models.py", help="the file that defines the models")
    parser.add_argument("--size", default="tiny", choices=["tiny", "small"])
    parser.add_argument("--dtype", default="float32", choices=DTYPES)
    parser.add_argument("--optimizer", default="adamw", choices=OPTIMIZERS)
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--batch", type=int, help="instead of the size's batch")
    parser.add_argument("--seq", type=int, help="instead of the size's text length")
    parser.add_argument("--vary", action="store_true", help="other dims from the second step on")
    args = parser.parse_args()
    quiet()
    models = load_models(args.models)
    if args.name not in {"all", *models.MODELS}:
        parser.error(f"no model {args.name}; there are {', '.join(models.MODELS)}")
    if args.name != "all":
        make(models, args.name, args.outdir, args)
        return
    failed = []
    for name in models.MODELS:
        try:
            make(models, name, args.outdir / name, args)
        except SystemExit as error:  # not possible with these options
            print(error)
        except Exception:
            failed.append(name)
            print(f"{name} failed:", flush=True)
            traceback.print_exc(limit=-3, file=sys.stdout)
    sys.exit(f"failed: {', '.join(failed)}" if failed else 0)


if __name__ == "__main__":
    main()
