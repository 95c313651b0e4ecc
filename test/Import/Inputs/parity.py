"""Compiles small models, runs one step, and compares loss and gradients with PyTorch's.

python parity.py BRAIDC FOLDER MODEL.pt ...     each with an example batch beside it
"""

import json
import subprocess
import sys
import warnings
from pathlib import Path

import torch
from safetensors.torch import load_file

warnings.simplefilter("ignore")
torch.set_num_threads(1)


def check(braidc, folder, model):
    batch = model.with_suffix(".safetensors")
    folder.mkdir(parents=True, exist_ok=True)
    train = folder / f"{model.stem}.train"
    run = folder / model.stem
    quiet = dict(check=True, stdout=subprocess.DEVNULL)
    subprocess.run([braidc, model, "--example", batch, "-o", train], stderr=subprocess.DEVNULL, **quiet)
    subprocess.run([train, "--data", batch, "--steps", "1", "--optimizer", "sgd", "--out", run, "--overwrite", "--dump-gradients", "--quiet"], **quiet)

    loaded = torch.jit.load(str(model))
    inputs = load_file(batch)
    names = [argument.name for argument in loaded.forward.schema.arguments[1:]]
    with torch.jit.optimized_execution(False):
        loss = loaded(*[inputs[f"step0/{name}"] for name in names if f"step0/{name}" in inputs])
    loss.backward()
    got = json.loads((run / "metrics.jsonl").read_text().splitlines()[0])["loss"]
    rtol, atol = (1e-10, 1e-12) if loss.dtype == torch.float64 else (1e-5, 1e-6)
    assert abs(got - loss.item()) <= rtol * abs(loss.item()), f"{model.stem}: loss {got}, PyTorch's is {loss.item()}"
    gradients = load_file(run / "gradients.safetensors")
    wanted = {name: p.grad for name, p in loaded.named_parameters() if p.grad is not None}
    assert wanted.keys() <= gradients.keys(), f"{model.stem}: no gradient of {wanted.keys() - gradients.keys()}"
    for name, gradient in wanted.items():
        torch.testing.assert_close(gradients[name], gradient, rtol=rtol, atol=atol, msg=lambda m: f"{model.stem} {name}: {m}")
    for name in gradients.keys() - wanted.keys():
        assert not gradients[name].any(), f"{model.stem}: {name} has no gradient in PyTorch"
    print(f"{model.stem}: loss and {len(wanted)} gradients equal")


if __name__ == "__main__":
    for path in sys.argv[3:]:
        check(sys.argv[1], Path(sys.argv[2]), Path(path))
