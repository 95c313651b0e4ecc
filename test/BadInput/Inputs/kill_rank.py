"""Runs a local training, kills one of its ranks once it makes steps, and says how the rest ends.

    python kill_rank.py [--rank R] --within SECONDS -- ./train --local N ... --out RUN

Prints the rank that it killed, the training's own output, and its exit code and how long it took to end. Exits 1 if
the training is not through in time; ends only processes that it started.
"""

import argparse
import os
import signal
import subprocess
import sys
import time
from pathlib import Path


def children(pid):
    """In the order in which they were forked, which is that of their ranks."""
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rank", type=int, default=1)
    parser.add_argument("--within", type=float, required=True)
    parser.add_argument("command", nargs=argparse.REMAINDER)
    args = parser.parse_args()
    command = [word for word in args.command if word != "--"]
    metrics = Path(command[command.index("--out") + 1]) / "metrics.jsonl"
    process = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
    )
    try:
        started = time.monotonic()
        while not metrics.exists() or metrics.stat().st_size == 0:
            if process.poll() is not None or time.monotonic() - started > 60:
                sys.exit(f"the training made no step:\n{process.communicate(timeout=5)[0]}")
            time.sleep(0.05)
        os.kill(children(process.pid)[args.rank], signal.SIGKILL)
        killed = time.monotonic()
        print(f"killed rank {args.rank}", flush=True)
        try:
            output, _ = process.communicate(timeout=args.within)
        except subprocess.TimeoutExpired:
            sys.exit(f"the training still runs after {args.within} s")
        print(output[-4000:])
        print(f"ended with exit code {process.returncode} after {time.monotonic() - killed:.1f} s")
    finally:
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass


if __name__ == "__main__":
    main()
