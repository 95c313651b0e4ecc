"""Every phase of zoo models, from the text of the phase before it: what braid-opt does with a file, braidc does inside.

    python phases.py [MODEL ...] [--full] [--layout 2] [--build build] [--jobs 2] [--json FILE]

`braidc --emit=PHASE` prints the IR of each phase. braid-opt reads it, verifies it and prints it again, unchanged; and
its pipeline of the next phase makes of it what braidc prints there. One line a model. Without names the models of
parity.py's gate; --full takes the whole zoo, where a model that braidc refuses in words is skipped.
"""

import argparse
import difflib
import json
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from itertools import pairwise
from pathlib import Path

from parity import FLOAT32_ONLY, GATE, HERE, Cell, Layout, Stop, call, make_cases

PHASES = ["import", "shapes", "units", "differentiate", "pipe", "rt", "llvm"]


def compare(got, wanted, what):
    """Raises Stop with the first difference."""
    got, wanted = (file.read_text().rstrip().splitlines() for file in (got, wanted))
    if got != wanted:
        lines = [line for line in difflib.unified_diff(wanted, got, "braidc", "braid-opt", lineterm="", n=0)][3:5]
        raise Stop("failed", f"{what}: " + " | ".join(line[:160] for line in lines))


def check(build, model, layout):
    """How many files were compared. Raises Stop."""
    case = build / "cases" / f"{model}-{'float32' if model in FLOAT32_ONLY else 'float64'}-sgd"
    work = build / "phases" / model
    work.mkdir(parents=True, exist_ok=True)
    braidc = [build / "bin" / "braidc", case / "model.pt", "--example", case / "batch.safetensors", "--print-locations", *layout.options]
    refused = "failed" if model in GATE else "skipped"

    def run(command, name):
        call([*command, "-o", work / f"{name}.mlir"], work / f"{name}.log", 120, refused)
        return work / f"{name}.mlir"

    emitted = {phase: run([*braidc, f"--emit={phase}"], phase) for phase in PHASES}
    opt = [build / "bin" / "braid-opt", "--mlir-print-debuginfo"]
    for phase, text in emitted.items():
        compare(run([*opt, text], f"{phase}-again"), text, phase)
    for before, phase in pairwise(PHASES):
        pipeline = f"--braid-phase-{phase}"
        if phase == "pipe":
            pipeline += f"=stages={layout.stages} microbatches={layout.microbatches}"
        compare(run([*opt, pipeline, emitted[before]], f"{phase}-from-{before}"), emitted[phase], f"{before} to {phase}")
    return 2 * len(PHASES) - 1


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", metavar="MODEL")
    parser.add_argument("--full", action="store_true", help="the whole zoo")
    parser.add_argument("--layout", type=Layout.parse, default=Layout(2, 1))
    parser.add_argument("--build", type=Path, default=HERE.parents[1] / "build")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--json", type=Path, help="write the results there")
    args = parser.parse_args()
    build, models = args.build.resolve(), args.models or GATE
    if args.full:
        import make_case

        models = list(make_case.load_models(HERE / "models.py").MODELS)
    dtypes = {m: "float32" if m in FLOAT32_ONLY else "float64" for m in models}
    cases = {m: build / "cases" / f"{m}-{dtypes[m]}-sgd" for m in models}
    impossible = make_cases({cases[m]: (m, dtypes[m], "sgd", False, None) for m in models}, args.jobs)
    cells = []

    def one(model):
        start = time.perf_counter()
        try:
            if cases[model] in impossible:
                raise Stop("skipped", impossible[cases[model]])
            cell = Cell(f"{model} {args.layout}", "passed", 0, f"{check(build, model, args.layout)} files equal")
        except Stop as stop:
            cell = Cell(f"{model} {args.layout}", stop.status, 0, stop.message)
        cell.seconds = round(time.perf_counter() - start, 2)
        cells.append(cell)
        print(f"{ {'passed': 'ok', 'failed': 'FAIL', 'skipped': 'skip'}[cell.status]:5} {cell.name:28} {cell.message}", flush=True)

    with ThreadPoolExecutor(args.jobs) as pool:
        list(pool.map(one, models))
    counts = [sum(c.status == status for c in cells) for status in ("passed", "failed", "skipped")]
    print("{} passed, {} failed, {} skipped".format(*counts))
    if args.json:
        args.json.write_text(json.dumps([asdict(c) for c in cells]))
    sys.exit(counts[1] > 0)


if __name__ == "__main__":
    main()
