"""Usage: pytorch.py BRAID_SIM. Loads our tables with torch.distributed.pipelining's reader, checks and dry run, loads
its tables with ours, and compares both verdicts on broken tables."""

import os
import random
import subprocess
import sys
import tempfile

try:
    from torch.distributed.pipelining import schedules as torch_schedules
except ImportError as error:
    print(f"skipped: no torch here ({error})")
    sys.exit(77)

sim = sys.argv[1]
work = tempfile.mkdtemp()


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


# Ours in theirs.
loaded = 0
for kind in ["gpipe", "1f1b", "interleaved", "looped_bfs", "zb_h1", "zb_h2", "zb_v", "v_half", "v_min", "dualpipev"]:
    for ranks, microbatches in [(2, 4), (4, 8), (4, 16)]:
        out = run("convert", "--kind", kind, "-p", str(ranks), "-m", str(microbatches), "--to", "pytorch")
        assert out.returncode == 0, out.stderr
        table = parse(out.stdout)
        stages = 1 + max(action.stage_index for row in table.values() for action in row
                         if action is not None and action.stage_index is not None and not action.sub_actions)
        assert torch_accepts(table, stages, microbatches), (kind, ranks, microbatches)
        assert csv(table) == out.stdout, kind
        loaded += 1
print(f"{loaded} of our tables load in PyTorch")


# Theirs in ours: their generators, run without processes or stages.
class Order:
    """What the generators read of a schedule object."""

    def __init__(self, ranks, local, microbatches):
        self.pp_group_size, self.n_local_stages, self._n_microbatches = ranks, local, microbatches
        self._num_stages = ranks * local
        self._stages = [None] * local
        self.rank = 0
        self.number_of_rounds = max(1, microbatches // ranks)
        self.microbatches_per_round = microbatches // self.number_of_rounds


# The same order as theirs, also where the ranks do not divide the micro-batches.
for ranks, chunks, microbatches in [(4, 2, 8), (4, 2, 6), (4, 3, 7), (4, 2, 10), (3, 2, 9), (2, 4, 6)]:
    order = Order(ranks, chunks, microbatches)
    try:
        kind = torch_schedules.ScheduleInterleaved1F1B
        table = {rank: kind._calculate_single_rank_operations(order, rank) for rank in range(ranks)}
    except AttributeError:
        break
    theirs = csv({rank: [action for action in row if action is not None] for rank, row in table.items()})
    ours = run("convert", "--kind", "interleaved", "-p", str(ranks), "-m", str(microbatches), "--chunks", str(chunks),
               "--to", "pytorch").stdout
    assert ours == theirs, (ranks, chunks, microbatches)

read = 0
for name, local in [("ScheduleInterleaved1F1B", 2), ("ScheduleLoopedBFS", 2), ("ScheduleInterleavedZeroBubble", 2),
                    ("ScheduleZBVZeroBubble", 2), ("ScheduleDualPipeV", 2)]:
    kind = getattr(torch_schedules, name)
    order = Order(4, local, 8)
    order.num_stages = order._num_stages
    try:
        table = {rank: kind._calculate_single_rank_operations(order, rank) for rank in range(4)}
        if hasattr(kind, "_add_bubbles_to_actions"):
            order.pipeline_order = table
            table = kind._add_bubbles_to_actions(order, 8)
    except AttributeError as error:
        print(f"{name}: this PyTorch's generator wants more than a rank ({error}); left out")
        continue
    out = run("verify", "--table", write(name + ".csv", csv(table)))
    assert out.returncode == 0, (name, out.stderr)
    read += 1
assert read >= 3, "most of PyTorch's generators could not be run"
print(f"{read} tables of PyTorch's generators are right for us")

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
