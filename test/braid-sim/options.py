"""Usage: options.py BRAID_SIM. No option is taken in silence. Every option that --help lists is given to every base
command line below: what the tool prints and writes must change, or the option must be refused. Then every option gets
values that mean nothing, and every example of every help must run."""

import os
import re
import shlex
import subprocess
import shutil
import sys
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor

sim = os.path.abspath(sys.argv[1])
root = tempfile.TemporaryDirectory()  # it goes with the process
os.mkdir(os.path.join(root.name, "files"))
os.chdir(os.path.join(root.name, "files"))
failures = []
local = threading.local()


def run(words):
    """Exit status, and all that is printed and written: what names the output file is no change. Each thread has a
    folder of its own with all files."""
    if not hasattr(local, "folder"):
        local.folder = os.path.join(tempfile.mkdtemp(dir=root.name), "work")
        shutil.copytree(".", local.folder)
    before = set(os.listdir(local.folder))
    done = subprocess.run([sim, *words], capture_output=True, text=True, timeout=120, cwd=local.folder)
    written = ""
    for name in sorted(set(os.listdir(local.folder)) - before):
        path = os.path.join(local.folder, name)
        with open(path) as file:
            written += f"<{name}>" + file.read()
        os.remove(path)
    return done.returncode, done.stdout + written + re.sub(r" in [0-9.]+ s", "", done.stderr), done.stderr


def refused(result, words, what=""):
    code, _, error = result
    good = code == 1 and error.startswith("braid-sim: error: ") and len(error.strip()) > 30
    if not good:
        failures.append(f"{shlex.join(words)}: {what or 'not refused in words'} (exit status {code}): {error.strip()[:300]}")
    return good


def write(name, text):
    with open(name, "w") as file:
        file.write(text)


def convert(name, *words):
    done = subprocess.run([sim, "convert", *words], capture_output=True, text=True, check=True)
    write(name, done.stdout)


# Files that the command lines name.
convert("mine.csv", "-p", "4", "-m", "8", "--to", "messages")
convert("plain.csv", "-p", "4", "-m", "8", "--to", "compute")
convert("again.csv", "-p", "4", "-m", "8", "--recompute", "with_backward", "--to", "compute")
convert("late.csv", "-k", "2bw", "-p", "4", "-m", "16", "--updates", "2")
write("skip.csv", "0F0,0B0\n1F0,1B0\n2F0,2B0\n")
write("durations", "0F0,5\n0F1,7\n")
lines = ["vision_tokens,image_count,text_tokens,audio_rows,words"]
lines += [f"{256 + 8 * (i % 7) if i % 8 else 2048},{1 + i % 2},{20 + i % 13},{10 * (i % 5)},{30 + i % 3}" for i in range(400)]
write("samples.csv", "\n".join(lines) + "\n")
write("more.csv", "\n".join(lines[:200]) + "\n")
model = """model:
  vision: {modules: [net.vision], layers: 8, hidden: 1024, heads: 16, %s, fused_attention: true}
  language: {layers: 12, hidden: 2048, heads: 16, vocabulary: 32000, %s, fused_attention: true}
batch: 16
cluster: {hardware: a100, devices: 8}
"""
write("model.yaml", model % ("sequence: 512", "sequence: 1280"))
write("sampled.yaml", model % ("samples: vision/images", "samples: text"))
write("sizes.csv", "vision,images,text\n1024,2,256\n1024,2,256\n")
write("profile.json", '{"profiles": [{"unit": "language", "points": [[512, 0.001], [1024, 0.002], [2048, 0.004]]}]}')
subprocess.run([sim, "fit", "--profile", "profile.json", "-o", "curves.json"], check=True)
docs = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs", "Reshards.md")
write("boundary.yaml", open(docs).read().split("```yaml\n")[1].split("```")[0])
oracles = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "Plan", "oracles")

deferring = ["--component", "vision:0-1:llm:defers", "--component", "llm:2-3"]
tables = [
    ["-k", "1f1b"], ["-k", "zb_h1"], ["-k", "interleaved"], ["-k", "dualpipe"], ["-k", "amdp"], deferring,
    ["-k", "three_phase", *deferring], ["--recompute", "with_backward"], ["-t", "mine.csv"], ["-t", "plain.csv"],
    ["-t", "again.csv"], ["-t", "skip.csv"],
]
few = [tables[i] for i in (0, 3, 5, 7, 9, 10)]
costs = ["-c", "0.1", "--bytes", "1", "--time-per-byte", "0.3"]
search = ["--evaluations", "60", "-c", "0.1"]
balance = ["samples.csv", "-n", "32", "-m", "8"]
bases = {
    "list": [[]],
    "simulate": tables + [[*base, *costs] for base in few] + [["-k", "dualpipe", "--overlap", "early"]],
    "verify": tables + [["-t", "late.csv", "--staleness", "1", "--weight-versions", "2"]],
    "draw": [[*base, "--format", to] for base in few for to in ("text", "grid", "svg", "html", "trace")]
            + [[*base, *costs, "--format", to] for base in few for to in ("text", "html")],
    "convert": [[*base, "--to", to] for base in tables for to in ("full", "compute")],
    "search": [[*search, *base] for base in (["-k", "1f1b"], ["-k", "zb_v"], ["-k", "amdp", "-p", "4"], deferring,
                                             ["-t", "plain.csv"], ["--directions", "2", "-m", "24"])],
    "compare": [["-p", "4", "-m", "8", "--evaluations", "0"], ["-p", "4", "-m", "8", "--evaluations", "40"]],
    "reshard": [["boundary.yaml"], ["boundary.yaml", "--json", "-"]],
    "balance": [balance, [*balance, "--format", "json"], [*balance, "--manifest", "new.json"],
                [*balance, "--split", "4,4"], [*balance, "--tables", "--draws", "1"], ["more.csv", *balance]],
    "costs": [["--oracles", oracles, "--table", table] for table in ("vtrain", "allreduce", "megatron", "amdp")],
    "fit": [["--profile", "profile.json"]],
    "plan": [["model.yaml"], ["sampled.yaml", "--samples", "sizes.csv"]],
}
# Another value for each option than its usual one and than those of the bases.
values = {
    "--kind": ["gpipe"], "--ranks": ["8"], "--microbatches": ["16"], "--chunks": ["3"], "--updates": ["2"],
    "--component": ["llm:0,2"], "--table": ["plain.csv"], "--edge": ["0:2"], "--frozen": ["0"], "--eager": ["6"],
    "--recompute": ["early", "with_backward"], "--forward": ["3"], "--input": ["3"], "--weight": ["3"], "--forwards": ["3,1,1,1"],
    "--inputs": ["3,1,1,1"], "--weights": ["3,1,1,1"], "--latency": ["0.7"], "--activation": ["3"], "--kept": ["0.25"],
    "--checkpoint": ["0.125"], "--replayed": ["0.125"], "--recomputation": ["4"], "--links": ["serial", "ports"],
    "--bytes": ["4"], "--boundary-bytes": ["9"], "--time-per-byte": ["0.7"], "--deferred-share": ["0.1"],
    "--durations": ["durations"], "--input-release": ["0.25"], "--forward-release": ["0.25"],
    "--backward-release": ["0.25"], "--overlap": ["sequential"], "--format": ["svg", "json"], "--output": ["written"],
    "--title": ["mine"], "--width": ["700"], "--columns": ["40"], "--to": ["messages"], "--staleness": ["7"],
    "--weight-versions": ["7"], "--buffers": ["3"], "--max-activations": ["2"], "--max-memory": ["3.5", "700"],
    "--evaluations": ["2"], "--seconds": ["0"], "--directions": ["1"], "--seed": ["7"], "--state": ["3"], "--objective": ["span"],
    "--json": ["plan.json"], "--messages": ["1"], "--encoder": ["audio_rows"], "--text": ["words"],
    "--merge": ["4"], "--encoder-cost": ["0,9,1"], "--language-cost": ["0,9,1"], "--encoder-layers": ["5"],
    "--language-layers": ["5"],
    "--stages": ["6"], "--split": ["2,5"], "--backward": ["3"], "--samples": ["64", "sizes.csv"], "--aim": ["even"],
    "--rounds": ["3"], "--step": ["3"], "--replicas": ["2"], "--manifest": ["new2.json"], "--tables": [None],
    "--draws": ["3"], "--rows": [None], "--oracles": [oracles + "/"], "--hardware": ["v100"], "--profile": ["profile.json"],
    "--curves": ["curves.json"], "--keep": ["2"],
}
# What is read, and need not change what these command lines print; the reason behind each.
sometimes = {
    "--links": "messages that do not meet", "--kept": "the peak is elsewhere", "--input-release": "nothing waits for it",
    "--forward-release": "nothing waits for it", "--backward-release": "nothing waits for it",
    "--updates": "no rank waits at the reduction", "--deferred-share": "the parts run one after the other",
    "--edge": "a longer way leads there too", "--max-activations": "it holds no more", "--seed": "nothing better is found",
    "--seconds": "nothing better is found", "--columns": "the line is shorter", "--bytes": "no message waits", "--frozen": "another rank is as busy", "--table": "it has the same placement",
}
always = {  # what changes nothing, and should not
    ("verify", "--buffers"): "a right table stays right", ("verify", "--staleness"): "a right table stays right",
    ("verify", "--weight-versions"): "a right table stays right", ("costs", "--oracles"): "the same folder",
}


def options(command):
    text = subprocess.run([sim, command, "--help"], capture_output=True, text=True, check=True).stdout
    found = re.findall(r"^  (?:-\w,)?(--[\w-]+)", text, re.M)
    assert "--help" in found, command
    return [name for name in found if name != "--help"], text


pool = ThreadPoolExecutor(os.cpu_count())
tried = changed = 0
for command, lines in bases.items():
    names, text = options(command)
    read = set()
    for name in names:
        if name not in values:
            failures.append(f"{command} has an option {name}, and this test no value for it")
    work = {base: [(name, [command, *lines[base], name] + ([] if value is None else [value]))
                   for name in names for value in values.get(name, [])] for base in range(len(lines))}
    for base, tries in work.items():
        usual, *results = pool.map(run, [[command, *lines[base]], *(words for _, words in tries)])
        if usual[0] != 0:
            failures.append(f"{command} {shlex.join(lines[base])} fails: {usual[2].strip()[:300]}")
            continue
        tried += len(tries)
        good = {name: False for name in names}
        for (name, words), result in zip(tries, results):
            good[name] |= result[1] != usual[1] if result[0] == 0 else refused(result, words)
        changed += sum(good.values())
        read |= {name for name in names if good[name]}
        for name in names:
            if not good[name] and name not in sometimes and (command, name) not in always:
                failures.append(f"{command} {shlex.join(lines[base])} {name}: the option changes nothing and is not refused")
    for name in set(names) - read:
        if (command, name) not in always:
            failures.append(f"{command}: {name} never changes anything")

# Values that mean nothing. A title may be any text, and --text '' is none.
anything = {"--title", "--text"}
nonsense = []
for command, lines in bases.items():
    names, text = options(command)
    for name in names:
        if values.get(name) == [None] or name in anything:
            continue
        number = re.search(rf"{name}(?: (?:INT|FLOAT|UINT|LIST))", text) is not None
        nonsense.append([command, *lines[0], name, ""])
        for value in ["nan", "inf", "1x", "-7", "1e400", "99999999999999999999", "0x10"] if number else []:
            nonsense.append([command, *lines[0], f"{name}={value}"])
    for word in ["--no-such-option", "--kindd=1f1b", "no_such_word"]:
        nonsense.append([command, *lines[0], word])
for words, result in zip(nonsense, pool.map(run, nonsense)):
    tried += 1
    refused(result, words)

# Each help ends with its own examples, and they run.
seen = {}
for command in bases:
    examples = re.findall(r"^  braid-sim (.+)$", options(command)[1], re.M)
    if not examples:
        failures.append(f"{command} --help has no examples")
    for example in examples:
        words = shlex.split(example)
        if words[0] != command or example in seen:
            failures.append(f"{command} --help has the example of another subcommand: {example}")
        seen[example] = command
        if command == "costs":
            words += ["--oracles", oracles]
        code, _, error = run(words)
        if code != 0:
            failures.append(f"the example {example} fails: {error.strip()[:300]}")

print(f"{tried} command lines, {changed} options changed something or were refused, {len(seen)} examples")
if failures:
    print("\n".join(failures))
    sys.exit(1)
