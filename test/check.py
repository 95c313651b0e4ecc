"""Runs every test of a build and adds them up: what ./run check calls.

    python check.py --build build [--full] [--only unit lit parity phases]
    python check.py --asan build-asan --tsan build-tsan --fuzz build-fuzz

The parts are the C++ tests (ctest), lit, and of test/Zoo the parity matrix and the phases' texts. Prints a line a part,
then every failure with the end of its output, then `N passed, N failed, N skipped` alone on the last line. Exits 1 if
anything failed or nothing ran.
"""

import argparse
import json
import os
import subprocess
import sys
import time
import xml.etree.ElementTree as xml
from dataclasses import dataclass
from pathlib import Path

TESTS = Path(__file__).resolve().parent
LINES = 25  # of a failure's output

# LLVM and LibTorch are not instrumented: their containers and leaks are not ours to report, and arenas that their headers
# poison here are filled there.
SANITIZER_OPTIONS = {
    "ASAN_OPTIONS": "detect_leaks=0:detect_container_overflow=0:detect_odr_violation=0:allow_user_poisoning=0:verify_asan_link_order=0",
    "UBSAN_OPTIONS": "print_stacktrace=1",
    "TSAN_OPTIONS": "ignore_noninstrumented_modules=1",
}


@dataclass
class Result:
    name: str
    status: str  # passed, failed, skipped
    output: str = ""


def stream(command, **more):
    """Runs a command whose output goes where ours goes; its exit code."""
    return subprocess.run([str(word) for word in command], stdin=subprocess.DEVNULL, **more).returncode


def broken(part, command, code):
    """A part that left no results is a failure of its own, never an absence of tests."""
    return [Result(part, "failed", f"{' '.join(map(str, command))}\nexit {code}, and no results")]


def unit(build, args, label="unit"):
    report = build / "unit.xml"
    report.unlink(missing_ok=True)
    command = ["ctest", "--test-dir", build, "--parallel", args.jobs, "--timeout", 300, "--output-junit", report.resolve()]
    code = stream([*command, "--quiet"])
    if not report.exists():
        return broken(label, command, code)
    results = []
    for case in xml.parse(report).getroot().iter("testcase"):
        status = {"run": "passed", "fail": "failed"}.get(case.get("status"), "skipped")
        if status == "skipped" and case.get("status") != "notrun" and case.find("skipped") is None:
            status = "failed"
        if "_NOT_BUILT" in case.get("name"):
            status = "failed"
        out = case.findtext("system-out") or ""
        results.append(Result(f"{label} {case.get('name')}", status, out))
    return results


def lit(build, args, label="lit"):
    report = build / "lit.json"
    report.unlink(missing_ok=True)
    site = build / "test" / "lit.site.cfg.py"
    if not site.exists():
        return broken(label, ["read", site], 1)
    tools = next(line.split('"')[1] for line in site.read_text().splitlines() if "llvm_tools_dir" in line)
    command = [f"{tools}/lit", "--quiet", "--workers", args.jobs, "--output", report, build / "test"]
    code = stream(command, stdout=subprocess.DEVNULL)
    if not report.exists():
        return broken(label, command, code)
    kinds = {"PASS": "passed", "XFAIL": "passed", "FLAKYPASS": "passed", "UNSUPPORTED": "skipped", "SKIPPED": "skipped"}
    tests = json.loads(report.read_text())["tests"]
    return [Result(f"{label} {t['name']}", kinds.get(t["code"], "failed"), t["output"]) for t in tests]


def parity(build, args):
    report = build / "parity.json"
    results = []
    # With --full also batches whose dims change (models whose trace is right for one size only are skipped there), and
    # more stages and micro-batches.
    more_of_both = ["--full", "--batch", "8", "--layout", "4", "2x4", "4x4"]
    recompute = ["--optimizer", "sgd", "--recompute", "selective", "full"]
    again = [*recompute, "--full", "--layout", "1", "2x2"] if args.full else ["gpt2", *recompute, "--layout", "2x2"]
    for more in [*([["--full"], ["--full", "--vary"], more_of_both] if args.full else [[]]), again]:
        report.unlink(missing_ok=True)
        command = [sys.executable, TESTS / "Zoo" / "parity.py", "--build", build, "--jobs", args.jobs, "--json", report, *more]
        code = stream(command)
        if not report.exists():
            results += broken("parity", command, code)
            continue
        for cell in json.loads(report.read_text()):
            results.append(Result(f"parity {cell['name']}", cell["status"], cell["message"]))
    return results


def phases(build, args):
    report = build / "phases.json"
    report.unlink(missing_ok=True)
    more = ["--full"] if args.full else []
    command = [sys.executable, TESTS / "Zoo" / "phases.py", "--build", build, "--jobs", args.jobs, "--json", report, *more]
    code = stream(command)
    if not report.exists():
        return broken("phases", command, code)
    return [Result(f"phases {cell['name']}", cell["status"], cell["message"]) for cell in json.loads(report.read_text())]


def fuzz(build, args):
    """Every fuzzer over its corpus, then half a minute of its own."""
    results = []
    for fuzzer in sorted((build / "bin").glob("*Fuzzer")):
        corpus = [c for c in [TESTS / "Fuzz" / "corpus" / fuzzer.name] if c.exists()]
        found = build / "fuzz" / fuzzer.name
        found.mkdir(parents=True, exist_ok=True)
        command = [fuzzer, "-max_total_time=30", "-timeout=10", f"-artifact_prefix={found}/crash-", found, *corpus]
        run = subprocess.run([str(w) for w in command], capture_output=True, text=True, errors="replace")
        results.append(Result(f"fuzz {fuzzer.name}", "failed" if run.returncode else "passed", run.stderr))
    return results or broken("fuzz", [build / "bin" / "*Fuzzer"], 1)


PARTS = {"unit": unit, "lit": lit, "parity": parity, "phases": phases}


def plural(results):
    count = {s: sum(r.status == s for r in results) for s in ("passed", "failed", "skipped")}
    skipped = f", {count['skipped']} skipped" if count["skipped"] else ""
    return count, f"{count['passed']} passed, {count['failed']} failed{skipped}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path)
    parser.add_argument("--asan", type=Path)
    parser.add_argument("--tsan", type=Path)
    parser.add_argument("--fuzz", type=Path)
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--only", nargs="+", choices=list(PARTS), default=list(PARTS))
    parser.add_argument("--jobs", default=str(os.cpu_count()))
    args = parser.parse_args()
    parts = []
    if args.build:
        parts += [(name, PARTS[name], args.build.resolve()) for name in args.only]
    if args.asan:
        parts += [(f"{name} (asan)", {"unit": unit, "lit": lit}[name], args.asan.resolve()) for name in ("unit", "lit")]
    if args.tsan:
        parts.append(("unit (tsan)", unit, args.tsan.resolve()))
    if args.fuzz:
        parts.append(("fuzz", fuzz, args.fuzz.resolve()))
    if args.asan or args.tsan or args.fuzz:
        os.environ.update(SANITIZER_OPTIONS)

    everything, lines = [], []
    for name, run, build in parts:
        start = time.perf_counter()
        results = run(build, args)
        lines.append(f"{name:12} {plural(results)[1]}  ({time.perf_counter() - start:.0f} s)")
        print(lines[-1], flush=True)
        everything += results
    failed = [r for r in everything if r.status == "failed"]
    for result in failed:
        print(f"\n--- FAILED {result.name}")
        print("\n".join("    " + line for line in result.output.strip().splitlines()[-LINES:]))
    if failed:
        print("\nFailed:", *(f"  {r.name}" for r in failed), sep="\n")
    print("", *lines, "", sep="\n")
    count, line = plural(everything)
    if count["passed"] + count["failed"] == 0:
        print("No test ran.")
    print(line)
    sys.exit(count["failed"] > 0 or count["passed"] == 0)


if __name__ == "__main__":
    main()
