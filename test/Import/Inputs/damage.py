"""Imports copies of a model that are cut off or have single bytes flipped: each ends in a worded error or, where the
flip hits nothing that import looks at, in success; never in a crash.

python damage.py BRAID_IMPORT MODEL.pt BATCH.safetensors FOLDER
"""

import random
import subprocess
import sys
from pathlib import Path

tool, model, batch, folder = sys.argv[1:]
data = Path(model).read_bytes()
random.seed(0)
folder = Path(folder)
folder.mkdir(parents=True, exist_ok=True)
file = folder / "damaged.pt"

directory = data.rfind(b"PK\x05\x06")
cuts = [0, 1, 3, 30, 64, len(data) // 3, len(data) // 2, directory, directory + 10, len(data) - 1]
flips = [random.randrange(len(data)) for _ in range(12)] + [random.randrange(directory - 2000, len(data)) for _ in range(12)]
cases = [(f"cut to {n} bytes", data[:n]) for n in cuts]
for at in flips:
    changed = bytearray(data)
    changed[at] ^= 1 << random.randrange(8)
    cases.append((f"bit flipped at {at}", bytes(changed)))

refused = 0
for what, content in cases:
    file.write_bytes(content)
    run = subprocess.run([tool, str(file), "--example", batch, "-o", "/dev/null"], capture_output=True, text=True)
    worded = "error: " in run.stderr and "Stack dump" not in run.stderr
    if run.returncode not in (0, 1) or (run.returncode == 1 and not worded) or (run.returncode == 0 and "cut" in what):
        sys.exit(f"{what}: exit {run.returncode}: {run.stderr}")
    refused += run.returncode
print(f"{len(cases)} damaged files, none crashed, {refused} refused")
