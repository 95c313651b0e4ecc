"""Usage: pytorch.py BRAID_SIM. Loads our tables into torch.distributed.pipelining's own schedules, checks and dry run,
loads the files that these schedules write with ours, and compares both verdicts on broken tables."""

import os
import random
import subprocess
import sys
import tempfile

try:
    import torch
    from torch.distributed.pipelining import PipelineStage, schedules as torch_schedules
    from torch.testing._internal.distributed.fake_pg import FakeStore
except ImportError as error:
    print(f"skipped: no torch here ({error})")
    sys.exit(77)

sim = sys.argv[1]
folder = tempfile.TemporaryDirectory()  # it goes with the process
work = folder.name


def run(*arguments):
    return subprocess.run([sim, *arguments], capture_output=True, text=True)


def parse(text):
    return {rank: [torch_schedules._Action.from_str(cell) for cell in line.split(",")]
            for rank, line in enumerate(text.splitlines())}


def torch_accepts(table, stages, microbatches):
    """PyTorch's validation, its insertion of messages, and its dry run."""
    try:
        mapping = torch_schedules._validate_schedule(table, len(table), stages, microbatches)
        plain = {rank: [action for action in row if action is not None] for rank, row in table.items()}
        blocks = any(action.sub_actions for row in plain.values() for action in row)
        lowered = torch_schedules._add_send_recv(plain, lambda stage: mapping[stage], stages)
        if blocks:
            return True  # the dry run knows no overlapped blocks
        torch_schedules._simulate_comms_compute(lowered, lambda stage: mapping[stage], stages)
    except Exception:
        return False
    return True


def write(name, text):
    path = os.path.join(work, name)
    with open(path, "w") as file:
        file.write(text)
    return path


def csv(table):
    return "".join(",".join("" if action is None else str(action) for action in row) + "\n"
                   for _, row in sorted(table.items()))


# Stages of a kind's rank r, of p ranks with v chunks.
PLACED = {"chain": lambda r, p, v: [r], "looped": lambda r, p, v: [r + p * chunk for chunk in range(v)],
          "folded": lambda r, p, v: [r, 2 * p - 1 - r]}
OURS = {"chain": ["gpipe", "1f1b", "zb_h1", "zb_h2"], "looped": ["interleaved", "looped_bfs"],
        "folded": ["zb_v", "v_half", "v_min", "dualpipev"]}
THEIRS = {"looped": ["ScheduleInterleaved1F1B", "ScheduleLoopedBFS", "ScheduleInterleavedZeroBubble"],
          "folded": ["ScheduleZBVZeroBubble", "ScheduleDualPipeV"]}


def schedule(kind, placed, ranks, microbatches, chunks=2):
    """A schedule of theirs on rank 0, in a group of processes that are not there."""
    torch.distributed.init_process_group("fake", store=FakeStore(), rank=0, world_size=ranks)
    stages = PLACED[placed](0, ranks, chunks)
    stages = [PipelineStage(torch.nn.Linear(1, 1), stage, ranks * len(stages), torch.device("cpu")) for stage in stages]
    made = kind(stages, microbatches, loss_fn=lambda output, target: output.sum())
    torch.distributed.destroy_process_group()
    return made


# Ours in theirs.
loaded = 0
for placed, kinds in OURS.items():
    for kind in kinds:
        for ranks, microbatches in [(2, 4), (4, 8), (4, 16)]:
            out = run("convert", "--kind", kind, "-p", str(ranks), "-m", str(microbatches), "--to", "pytorch")
            assert out.returncode == 0, out.stderr
            table = parse(out.stdout)
            stages = 1 + max(action.stage_index for row in table.values() for action in row
                             if action is not None and action.stage_index is not None and not action.sub_actions)
            assert torch_accepts(table, stages, microbatches), (kind, ranks, microbatches)
            assert csv(table) == out.stdout, kind
            theirs = schedule(torch_schedules._PipelineScheduleRuntime, placed, ranks, microbatches)
            theirs._load_csv(write("ours.csv", out.stdout), format="compute_only")
            assert theirs.pipeline_order == table, kind
            # What they add to it, their messages too, is right for us.
            lowered = os.path.join(work, "lowered.csv")
            theirs._dump_csv(lowered, format="compute_comms")
            out = run("verify", "--table", lowered)
            assert out.returncode == 0, (kind, out.stderr)
            loaded += 1
print(f"{loaded} of our tables load in PyTorch")

# The same order as theirs, also where the ranks do not divide the micro-batches.
for ranks, chunks, microbatches in [(4, 2, 8), (4, 2, 6), (4, 3, 7), (4, 2, 10), (3, 2, 9), (2, 4, 6)]:
    theirs = schedule(torch_schedules.ScheduleInterleaved1F1B, "looped", ranks, microbatches, chunks).pipeline_order
    theirs = csv({rank: [action for action in row if action is not None] for rank, row in theirs.items()})
    ours = run("convert", "--kind", "interleaved", "-p", str(ranks), "-m", str(microbatches), "--chunks", str(chunks),
               "--to", "pytorch").stdout
    assert ours == theirs, (ranks, chunks, microbatches)

# Theirs in ours, with computations only and with their messages.
read = 0
for placed, names in THEIRS.items():
    for name in names:
        theirs = schedule(getattr(torch_schedules, name), placed, 4, 8)
        for form in ["compute_only", "compute_comms"]:
            path = os.path.join(work, f"{name}.{form}.csv")
            theirs._dump_csv(path, format=form)
            out = run("verify", "--table", path)
            assert out.returncode == 0, (name, out.stderr)
            read += 1
print(f"{read} files of PyTorch's schedules are right for us")

# Changed tables: swap two cells of a row, drop one, move one to another rank. Doubled cells are apart: PyTorch counts
# sets and does not see them, ours must.
random.seed(5)
agreed = broken = 0
for trial in range(400):
    kind = random.choice(["gpipe", "1f1b", "zb_h1", "zb_v", "interleaved"])
    text = run("convert", "--kind", kind, "-p", "3", "-m", "6", "--to", "pytorch").stdout
    rows = [line.split(",") for line in text.splitlines()]
    for _ in range(random.choice([1, 1, 2])):
        row = random.choice(rows)
        at, other = random.randrange(len(row)), random.randrange(len(row))
        how = random.choice(["swap", "swap", "swap", "drop", "move"])
        if how == "swap":
            row[at], row[other] = row[other], row[at]
        elif how == "drop":
            del row[at]
        else:
            random.choice(rows).append(row.pop(at))
    text = "".join(",".join(row) + "\n" for row in rows)
    stages = 3 if kind in ("gpipe", "1f1b", "zb_h1") else 6
    theirs = torch_accepts(parse(text), stages, 6)
    out = run("verify", "--table", write("broken.csv", text))
    ours = out.returncode == 0
    assert ours == theirs, f"ours {ours}, theirs {theirs}:\n{text}{out.stderr}"
    broken += not ours
    agreed += 1
    row = random.choice(rows)
    row.insert(random.randrange(len(row)), random.choice(row))
    out = run("verify", "--table", write("doubled.csv", "".join(",".join(row) + "\n" for row in rows)))
    assert out.returncode != 0, "a doubled action is accepted"
print(f"both agree on {agreed} changed tables, {broken} of them broken")
