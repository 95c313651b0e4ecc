"""Compares a run of a compiled program with what PyTorch computed for the same case.

    python compare.py CASE RUN [--tolerance 1e-10] [--no-gradients] [--no-parameters]

CASE is a folder of make_case.py, RUN a folder with metrics.jsonl, gradients.safetensors, model.safetensors (README.md).
Losses and norms differ relatively; a gradient by its largest entry against the norm of all gradients; a parameter or
buffer by its largest entry against its own largest entry. Prints the worst of each; exits 1 past the tolerance or
where something is missing.
"""

import argparse
import json
import math
import sys
from dataclasses import dataclass, field
from pathlib import Path

import torch
from safetensors.torch import load_file


@dataclass
class Comparison:
    name: str
    tolerance: float
    worst: dict = field(default_factory=dict)  # kind -> (difference, where)
    missing: list = field(default_factory=list)

    @property
    def same(self):
        return not self.missing and all(value <= self.tolerance for value, _ in self.worst.values())

    def note(self, kind, value, where):
        if value >= self.worst.get(kind, (-1, ""))[0]:
            self.worst[kind] = (value, where)

    def differences(self):
        return "  ".join(f"{kind} {value:.1e} ({where})" for kind, (value, where) in self.worst.items())

    def lacks(self):
        more = f" ... {len(self.missing)} in all" if len(self.missing) > 8 else ""
        return ", ".join(self.missing[:8]) + more


def off(a, b, scale):
    if a.shape != b.shape:
        return math.inf
    d = (a.double() - b.double()).abs().max().item() if b.numel() else 0.0
    return math.inf if math.isnan(d) else d / max(scale, 1e-300)


def read_metrics(run):
    lines = [json.loads(x) for x in (run / "metrics.jsonl").read_text().splitlines() if x.strip()]
    return {x["step"]: x for x in lines if "loss" in x}


def compare(case, run, tolerance=1e-10, gradients=True, parameters=True):
    about = json.loads((case / "case.json").read_text())
    want = json.loads((case / "reference.json").read_text())
    tensors = load_file(case / "reference.safetensors")
    result = Comparison(about["name"], tolerance)
    try:
        got = read_metrics(run)
        grads = load_file(run / "gradients.safetensors") if gradients else {}
        params = load_file(run / "model.safetensors") if parameters else {}
    except FileNotFoundError as error:
        result.missing.append(error.filename if isinstance(error.filename, str) else str(error))
        return result

    for i, step in enumerate(want["steps"]):
        if i not in got:
            result.missing.append(f"step {i}")
            continue
        for key in "loss", "grad_norm":
            a, b = got[i].get(key), step[key]
            if a is None or not math.isfinite(a):
                result.missing.append(f"{key} of step {i}")
            else:
                result.note(key, abs(a - b) / max(abs(b), 1e-300), f"step {i}")

    alias = {n: names for names in about["tied"] for n in names}

    def find(tensors, name):
        return next((tensors[n] for n in [name, *alias.get(name, [])] if n in tensors), None)

    norm = want["steps"][0]["grad_norm"]
    adam = want["optimizer"] == "adamw"  # makes lr-sized steps of the rounding of a gradient that is truly zero
    for key, b in tensors.items():
        kind, name = key.split("/", 1)
        if kind == "grad" and gradients:
            a = find(grads, name)
            result.missing.append(key) if a is None else result.note("gradient", off(a, b, norm), name)
        elif kind in ("param", "buffer") and parameters:
            a = find(params, name)
            if a is None:
                result.missing.append(key)
            elif adam and kind == "param" and (about["dtype"] == "float32" or name in about["noise_grad"]):
                if not torch.isfinite(a).all() or (a.double() - b.double()).abs().max() > 2e-3 * len(want["steps"]):
                    result.missing.append(f"{key} is further off than AdamW's own steps")
            else:
                result.note(kind, off(a, b, b.abs().max().item()), name)
    given = [n for n in about["no_grad"] if n in grads and grads[n].abs().max() > 0]
    result.missing += [f"no gradient expected for {n}" for n in given]
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("case", type=Path)
    parser.add_argument("run", type=Path)
    parser.add_argument("--tolerance", type=float, default=1e-10)
    parser.add_argument("--no-gradients", action="store_true")
    parser.add_argument("--no-parameters", action="store_true")
    args = parser.parse_args()
    result = compare(args.case, args.run, args.tolerance, not args.no_gradients, not args.no_parameters)
    print(result.name, "ok" if result.same else "FAIL", result.differences())
    if result.missing:
        print("  missing or wrong:", result.lacks())
    sys.exit(not result.same)


if __name__ == "__main__":
    torch.set_num_threads(1)
    main()
