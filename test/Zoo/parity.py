"""The parity matrix: zoo models, compiled and trained by braid, against what PyTorch computed.

    python parity.py [MODEL ...] [--optimizer sgd adamw] [--layout 1 2 2x2] [--recompute none full] [--vary] [--full] ...

A cell is a model, an optimizer and a layout: `1` is one rank, `2` is two stages on two ranks, `2x2` the same with two
micro-batches. With --recompute also a policy, and every policy must give the bits of `none`. Each is compiled with braidc, trained for three steps and compared by compare.py; one line a cell.
Without names the models of the gate, which must all pass; --full takes the whole zoo. A model outside the gate that
the compiler refuses in words counts as skipped, and the words are printed; a crash is a failure anywhere.
"""

import argparse
import contextlib
import hashlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from compare import compare
from safetensors.torch import load_file

HERE = Path(__file__).resolve().parent
GATE = ["gpt2", "llama", "vit", "llava_dyn", "mlp", "two_tower", "convnet", "rare_ops", "elementwise", "elementwise_f32"]
FLOAT32_ONLY = ["mixtral", "elementwise_f32"]  # the first: PyTorch has no float64 kernel for its experts
# The trace, the loss or an operator that nobody knows holds the batch together: micro-batches are refused.
UNDIVIDED = ["clip", "llava", "qwen2_5_vl", "qwen2_5_vl_dyn", "rare_ops"]
TOLERANCE = {"float64": 1e-10, "float32": 1e-4}
CRASH = "Stack dump:", "PLEASE submit a bug report", "terminate called", "AddressSanitizer", "runtime error:"


@dataclass
class Layout:
    stages: int
    microbatches: int

    @classmethod
    def parse(cls, text):
        stages, _, microbatches = text.partition("x")
        return cls(int(stages), int(microbatches or 1))

    def __str__(self):
        return f"{self.stages}x{self.microbatches}" if self.microbatches > 1 else str(self.stages)

    @property
    def options(self):
        stages = ["--stages", str(self.stages)] if self.stages > 1 else []
        return stages + (["--microbatches", str(self.microbatches)] if self.microbatches > 1 else [])


@dataclass
class Cell:
    """One result, in the form that test/check.py reads."""

    name: str
    status: str  # passed, failed, skipped
    seconds: float
    message: str


class Stop(Exception):
    def __init__(self, status, message):
        self.status, self.message = status, message


def call(command, log, timeout, status_if_refused, cwd=None):
    """Runs a command in a process group of its own, which ends with it. Raises Stop unless it succeeds."""
    environment = os.environ | {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    start = time.perf_counter()
    with open(log, "w") as out:
        out.write("$ " + " ".join(map(str, command)) + "\n")
        out.flush()
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=out, stderr=out, cwd=cwd, env=environment, start_new_session=True
        )
        try:
            code = process.wait(timeout)
        except subprocess.TimeoutExpired:
            code = None
        finally:
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            process.wait()
    seconds = time.perf_counter() - start
    if code == 0:
        return seconds
    lines = Path(log).read_text(errors="replace").splitlines()[1:]
    what = Path(command[0]).name
    if code is None:
        raise Stop("failed", f"{what} did not end within {timeout} s; {log}")
    if code < 0 or code >= 128 or any(mark in line for line in lines for mark in CRASH):
        raise Stop("failed", f"{what} crashed (exit {code}); {log}")
    words = next((line for line in lines if "error" in line.lower() or line.startswith("braid: ")), None)
    if words is None:
        raise Stop("failed", f"{what} exits {code} and prints no error; {log}")
    raise Stop(status_if_refused, f"{what}: {words}")


def digest():
    """Of all that decides what a case holds."""
    text = b"".join((HERE / name).read_bytes() for name in ("models.py", "make_case.py"))
    return hashlib.sha256(text + torch.__version__.encode()).hexdigest()


def make_one(out, name, dtype, optimizer, vary, batch):
    """In a process of its own: makes one case; returns what went wrong, or None."""
    import make_case  # transformers takes seconds to import

    make_case.quiet()
    models = make_case.load_models(HERE / "models.py")
    options = make_case.Options(dtype=dtype, optimizer=optimizer, vary=vary, batch=batch)
    try:
        with contextlib.redirect_stdout(None):
            make_case.make(models, name, out, options)
    except SystemExit as error:
        return str(error)
    (out / "digest").write_text(digest())
    return None


def make_cases(wanted, jobs):
    """wanted: {folder: (name, dtype, optimizer, vary, batch)}. Returns {folder: why there is no such case}."""
    current = digest()
    stale = {
        out: options
        for out, options in wanted.items()
        if not (out / "digest").exists() or (out / "digest").read_text() != current
    }
    if not stale:
        return {}
    with ProcessPoolExecutor(min(jobs, len(stale))) as pool:
        made = {out: pool.submit(make_one, out, *options) for out, options in stale.items()}
        return {out: why for out, future in made.items() if (why := future.result())}


def unequal_bits(out, reference):
    """Of two runs: the first loss or tensor whose bits differ, or None."""
    if not (reference / "metrics.jsonl").exists():
        return "that run failed"
    losses = [[json.loads(line)["loss"] for line in (at / "metrics.jsonl").open()] for at in (out, reference)]
    if losses[0] != losses[1]:
        return f"losses {losses[0]} and {losses[1]}"
    for name in "gradients.safetensors", "model.safetensors":
        own, other = load_file(out / name), load_file(reference / name)
        if set(own) != set(other):
            return f"names in {name}"
        for key in own:
            if own[key].numpy().tobytes() != other[key].numpy().tobytes():
                return f"{key} in {name}"
    return None


class Matrix:
    def __init__(self, args):
        self.args = args
        self.build = args.build.resolve()
        self.cells = []
        self.lock = threading.Lock()

    def dtype(self, model):
        return "float32" if model in FLOAT32_ONLY else self.args.dtype

    def case(self, model, optimizer):
        return self.build / "cases" / f"{model}-{self.dtype(model)}-{optimizer}{self.variant}"

    @property
    def variant(self):
        return "-vary" * self.args.vary + (f"-batch{self.args.batch}" if self.args.batch else "")

    def note(self, model, optimizer, layout, policy, status, start, message):
        again = "" if policy == "none" else f" {policy}"
        name = f"{model} {optimizer} {layout}{again}{self.variant.replace('-', ' ')}"
        with self.lock:
            self.cells.append(Cell(name, status, round(time.perf_counter() - start, 2), message))
            word = {"passed": "ok", "failed": "FAIL", "skipped": "skip"}[status]
            print(f"{word:5} {name:28} {message}", flush=True)

    def folder(self, model, layout, policy):
        again = "" if policy == "none" else f"-{policy}"
        return self.build / "parity" / f"{model}-{self.dtype(model)}{self.variant}-{layout}{again}"

    def programs(self, model, layout):
        # Others are compared with none, which comes first.
        for policy in self.args.recompute:
            self.program(model, layout, policy)

    def program(self, model, layout, policy):
        """Compiles one program and trains it once for each optimizer."""
        work = self.folder(model, layout, policy)
        work.mkdir(parents=True, exist_ok=True)
        refused = "failed" if model in GATE else "skipped"
        if layout.microbatches > 1 and model in UNDIVIDED:
            refused = "skipped"
        binary, case = work / "train", self.case(model, self.args.optimizer[0])
        binary.unlink(missing_ok=True)
        braidc = [self.build / "bin" / "braidc", case / "model.pt", "--example", case / "batch.safetensors"]
        start = time.perf_counter()
        try:
            compiled = call(
                [*braidc, *layout.options, "--recompute", policy, *self.args.braidc_options, "-o", binary],
                work / "compile.log", self.args.timeout, refused,
            )  # fmt: skip
        except Stop as stop:
            for optimizer in self.args.optimizer:
                self.note(model, optimizer, layout, policy, stop.status, start, stop.message)
            return
        for optimizer in self.args.optimizer:
            start = time.perf_counter()
            try:
                result = self.train(model, optimizer, layout, policy, binary, compiled, refused)
                self.note(model, optimizer, layout, policy, result[0], start, result[1])
            except Stop as stop:
                # A varied batch may have fewer samples than there are micro-batches.
                few = self.args.vary and "give at least as many samples" in stop.message
                self.note(model, optimizer, layout, policy, "skipped" if few else stop.status, start, stop.message)

    def train(self, model, optimizer, layout, policy, binary, compiled, refused):
        case, out = self.case(model, optimizer), binary.parent / optimizer
        for stale in "metrics.jsonl", "gradients.safetensors", "model.safetensors":
            (out / stale).unlink(missing_ok=True)
        local = ["--local", str(layout.stages)] if layout.stages > 1 else []
        rates = {"sgd": "0.1", "adamw": "1e-3"}
        trained = call(
            [binary, *local, "--data", case / "batch.safetensors", "--steps", "3", "--optimizer", optimizer,
             "--lr", rates[optimizer], "--out", out, "--dump-gradients"],
            binary.parent / f"{optimizer}.log", self.args.timeout, refused,
        )  # fmt: skip
        result = compare(case, out, TOLERANCE[self.dtype(model)])
        times = f"compile {compiled:.1f} s, train {trained:.1f} s"
        lacks = f"  missing or wrong: {result.lacks()}" if result.missing else ""
        bits = ""
        if result.same and policy != "none":
            unequal = unequal_bits(out, self.folder(model, layout, "none") / optimizer)
            bits = f"  not the bits of none: {unequal}" if unequal else "  the bits of none"
        status = "passed" if result.same and not bits.startswith("  not") else "failed"
        return status, f"{result.differences()}  {times}{lacks}{bits}"

    def run(self, models):
        wanted = {
            self.case(m, o): (m, self.dtype(m), o, self.args.vary, self.args.batch)
            for m in models
            for o in self.args.optimizer
        }
        start = time.perf_counter()
        impossible = make_cases(wanted, self.args.jobs)
        print(f"{len(wanted)} cases ready after {time.perf_counter() - start:.0f} s", flush=True)
        programs = []
        for model in models:
            why = next((impossible[c] for o in self.args.optimizer if (c := self.case(model, o)) in impossible), None)
            for layout in self.args.layout:
                if why:
                    self.note(model, "/".join(self.args.optimizer), layout, "none", "skipped", start, why)
                else:
                    programs.append((model, layout))
        with ThreadPoolExecutor(self.args.jobs) as pool:
            list(pool.map(lambda program: self.programs(*program), programs))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", metavar="MODEL")
    parser.add_argument("--optimizer", nargs="+", default=["sgd", "adamw"], choices=["sgd", "adamw"])
    parser.add_argument("--layout", nargs="+", type=Layout.parse, default=[Layout(1, 1), Layout(2, 1), Layout(2, 2)])
    parser.add_argument("--recompute", nargs="+", default=["none"], choices=["none", "selective", "full"])
    parser.add_argument("--dtype", default="float64", choices=list(TOLERANCE))
    parser.add_argument("--vary", action="store_true", help="batches whose dims change from step to step")
    parser.add_argument("--batch", type=int, help="samples a batch, instead of the model's own number")
    parser.add_argument("--full", action="store_true", help="the whole zoo")
    parser.add_argument("--build", type=Path, default=HERE.parents[1] / "build")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--timeout", type=float, default=120, help="seconds for one compilation or one training")
    parser.add_argument("--braidc-options", nargs="*", default=[], metavar="OPTION")
    parser.add_argument("--json", type=Path, help="write the results there")
    args = parser.parse_args()
    braidc = args.build / "bin" / "braidc"
    if not braidc.exists():
        parser.error(f"{braidc} is missing; ./run build makes it")
    args.recompute = ["none", *(policy for policy in args.recompute if policy != "none")]
    torch.set_num_threads(1)
    matrix = Matrix(args)
    models = args.models or GATE
    if args.full or set(models) - set(GATE):
        import make_case

        known = make_case.load_models(HERE / "models.py").MODELS
        if unknown := set(models) - set(known):
            parser.error(f"no model {', '.join(sorted(unknown))}; there are {', '.join(known)}")
        if args.full and not args.models:
            models = list(known)
    matrix.run(models)
    if args.json:
        args.json.write_text(json.dumps([asdict(cell) for cell in matrix.cells], indent=1))
    count = {s: sum(c.status == s for c in matrix.cells) for s in ("passed", "failed", "skipped")}
    print(f"{count['passed']} passed, {count['failed']} failed, {count['skipped']} skipped")
    sys.exit(count["failed"] > 0 or count["passed"] == 0)


if __name__ == "__main__":
    main()
