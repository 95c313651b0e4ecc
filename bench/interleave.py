"""Runs commands in turn and compares them.

    python interleave.py --rounds 5 'NAME=COMMAND' 'NAME=COMMAND' ...

Each command prints JSON as its last line; --key picks the number. Prints a table on stderr and one JSON line. ratio is
the median over rounds of (first command / this one): above 1, this one is faster than the first. Rounds in which other
programs were busy are counted, and left out if enough clean ones are there.
"""

import argparse
import statistics
import subprocess
import sys

from common import Conditions, child_cpu_s, last_json, report, wait_quiet


def run(command, key, quiet):
    wait_quiet(quiet)
    conditions, before = Conditions(), child_cpu_s()
    done = subprocess.run(command, shell=True, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    conditions = conditions.end(child_cpu_s() - before)
    if done.returncode:
        sys.exit(f"failed: {command}\n{done.stderr[-2000:]}")
    value = last_json(done.stdout)
    for part in key.split("."):
        value = value[part]
    return value, conditions["clean"]


def usable(rounds):
    """The values of rounds (values, clean): of the clean ones if there are three, of all otherwise."""
    clean = [values for values, is_clean in rounds if is_clean]
    return clean if len(clean) >= min(3, len(rounds)) else [values for values, _ in rounds]


def summarise(rounds, first):
    """{name: median, spread and ratio to the first} of rounds {name: value}."""
    out = {}
    for name in rounds[0]:
        values = [r[name] for r in rounds]
        ratios = [r[first] / r[name] for r in rounds]
        out[name] = dict(
            median=statistics.median(values), min=min(values), max=max(values),
            ratio=round(statistics.median(ratios), 3), ratio_min=round(min(ratios), 3), ratio_max=round(max(ratios), 3),
        )  # fmt: skip
    return out


def table(results, out=sys.stderr):
    for name, r in results.items():
        print(
            f"{name:28} median {r['median']:10.3f}  min {r['min']:10.3f}  max {r['max']:10.3f}"
            f"  ratio {r['ratio']:.3f} [{r['ratio_min']}, {r['ratio_max']}]",
            file=out, flush=True,
        )  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--key", default="median_ms", help="dots go deeper")
    parser.add_argument("--quiet", type=float, default=30, help="wait at most this long for an idle machine before each")
    parser.add_argument("commands", nargs="+", metavar="NAME=COMMAND")
    args = parser.parse_args()
    commands = dict(command.split("=", 1) for command in args.commands)
    rounds = []
    for i in range(args.rounds):
        rounds.append({name: run(command, args.key, args.quiet) for name, command in commands.items()})
        print(f"round {i}", {n: v if ok else f"{v} unclean" for n, (v, ok) in rounds[-1].items()}, file=sys.stderr, flush=True)
    judged = [({n: v for n, (v, _) in r.items()}, all(ok for _, ok in r.values())) for r in rounds]
    clean, used = sum(ok for _, ok in judged), usable(judged)
    results = summarise(used, next(iter(commands)))
    table(results)
    report(bench="interleave", key=args.key, rounds=len(rounds), clean=clean, used=len(used), results=results)


if __name__ == "__main__":
    main()
