"""Compile time and binary size of models with more and more equal layers: both should follow distinct layers.

    python depth.py --build build [--layers 4 16 64] [--model gpt2] [--rounds 3]
"""

import argparse
import statistics
import tempfile
from pathlib import Path

from common import ROOT, export, report, run


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=ROOT / "build")
    parser.add_argument("--layers", nargs="+", type=int, default=[4, 16, 64])
    parser.add_argument("--model", default="gpt2")
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    braidc = args.build.resolve() / "bin" / "braidc"
    print(f"{'layers':>6} {'braidc s':>10} {'binary kB':>10} {'model.pt kB':>12}")
    rows = []
    with tempfile.TemporaryDirectory(prefix="braid-bench-") as folder:
        cases = {layers: Path(folder) / str(layers) for layers in args.layers}
        for layers, out in cases.items():
            export(out, args.model, "tiny", layers=layers)
        command = {n: [braidc, c / "model.pt", "--example", c / "batch.safetensors", "-o", c / "train"] for n, c in cases.items()}
        for words in command.values():
            run(words)  # fills the page cache
        seconds = [{layers: run(words)[0] for layers, words in command.items()} for _ in range(args.rounds)]
        for layers, out in cases.items():
            median = statistics.median(r[layers] for r in seconds)
            sizes = [round((out / name).stat().st_size / 1e3) for name in ("train", "model.pt")]
            print(f"{layers:6} {median:10.2f} {sizes[0]:10} {sizes[1]:12}")
            rows.append(dict(layers=layers, seconds=round(median, 3), binary_kb=sizes[0], model_kb=sizes[1]))
    report(bench="depth", model=args.model, rounds=args.rounds, rows=rows)


if __name__ == "__main__":
    main()
