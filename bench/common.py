"""Timing, memory, what else the machine did, and the one JSON line: shared by the benchmarks."""

import json
import os
import resource
import statistics
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
ZOO = ROOT / "test" / "Zoo"
sys.path.insert(0, str(ZOO))
TICK = os.sysconf("SC_CLK_TCK")


def peak_rss_mib():
    # getrusage would give that of the process which started this one, if that had more.
    with open("/proc/self/status") as f:
        return round(int(next(line for line in f if line.startswith("VmHWM")).split()[1]) / 1024, 1)


def busy_s():
    """Seconds of CPU this whole machine has spent working since boot."""
    with open("/proc/stat") as f:
        user, nice, system, _, _, irq, soft, steal = map(int, f.readline().split()[1:9])
    return (user + nice + system + irq + soft + steal) / TICK


def child_cpu_s():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def wait_quiet(limit_s):
    """Waits, at most limit_s, until the machine has been idle for a second."""
    end = time.time() + limit_s
    while time.time() < end:
        before = busy_s()
        time.sleep(1)
        if busy_s() - before < 0.05:
            return


class Conditions:
    """What other programs did during a measurement; leave the run out when clean is false."""

    def __init__(self):
        self.busy, self.start = busy_s(), time.perf_counter()

    def end(self, our_cpu_s):
        others = max(0.0, (busy_s() - self.busy - our_cpu_s) / (time.perf_counter() - self.start))
        return dict(others_cores=round(others, 2), clean=others < 0.1)


def timed(step, warmup, steps):
    """Runs step() warmup+steps times; wall and CPU seconds of the last `steps`, with every result."""
    wall, cpu, out = [], [], []
    for i in range(warmup + steps):
        c, t = time.process_time(), time.perf_counter()
        out.append(step())
        t, c = time.perf_counter() - t, time.process_time() - c
        if i >= warmup:
            wall.append(t)
            cpu.append(c)
    return wall, cpu, out


def stats(wall, cpu=None):
    """Milliseconds. cpu_ms is what a busy machine disturbs least: it leaves out time spent preempted."""
    q = statistics.quantiles(wall, n=4) if len(wall) > 1 else [wall[0]] * 3
    d = dict(median_ms=q[1], min_ms=min(wall), iqr_ms=q[2] - q[0])
    if cpu:
        d["cpu_ms"] = statistics.median(cpu)
    return {k: round(v * 1e3, 3) for k, v in d.items()}


def report(**values):
    print(json.dumps(values), flush=True)


def last_json(text):
    return json.loads([line for line in text.splitlines() if line.startswith("{")][-1])


def run(command, **environment):
    """Runs a command to its end; (wall seconds, its standard output). Ends the benchmark where it fails."""
    start = time.perf_counter()
    done = subprocess.run(
        [str(word) for word in command], stdin=subprocess.DEVNULL, capture_output=True, text=True, env=os.environ | environment
    )
    seconds = time.perf_counter() - start
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}\nended with exit code {done.returncode}:\n{done.stderr[-2000:]}")
    return seconds, done.stdout


def export(out, model, size, batches=4, **changes):
    """model.pt and batch.safetensors of a zoo model in the folder `out`; what braid and PyTorch both start from."""
    import dataclasses

    import make_case
    import torch
    from safetensors.torch import save_file

    make_case.quiet()
    models = make_case.load_models(ZOO / "models.py")
    case = make_case.build(models, model, dataclasses.replace(models.SIZES[size], **changes), torch.float32)
    drawn = [make_case.draw(case, torch.float32, step, case.dims) for step in range(batches)]
    out.mkdir(parents=True, exist_ok=True)
    make_case.compile_to(str(out / "model.pt"), case, drawn[0], torch.float32)
    save_file({f"step{i}/{k}": v for i, b in enumerate(drawn) for k, v in b.items()}, out / "batch.safetensors")
    return case, drawn
