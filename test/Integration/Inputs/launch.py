"""Starts the two ranks of a program as two machines would, on the loopback.

    python launch.py agents COMMAND...    two agents of torchrun, which serve the store where the ranks meet
    python launch.py by-hand COMMAND...   two processes with the variables alone; rank 0 serves the store
    python launch.py alone COMMAND...     rank 0 of these only
    python launch.py foreign COMMAND...   rank 1 only, where another service, which says nothing, has the port

Ends with the first exit code that is not 0.
"""

import os
import socket
import subprocess
import sys


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def agent(port, command):
    where = ["--rdzv-backend", "c10d", "--rdzv-endpoint", f"127.0.0.1:{port}", "--rdzv-id", "test", "--local-addr", "127.0.0.1"]
    return [sys.executable, "-m", "torch.distributed.run", "--nnodes", "2", "--nproc-per-node", "1", *where, "--no-python", *command]


def main(kind, command):
    service = socket.create_server(("127.0.0.1", 0)) if kind == "foreign" else None
    port = service.getsockname()[1] if service else free_port()
    ranks = []
    for rank in {"alone": [0], "foreign": [1]}.get(kind, [0, 1]):
        environment = dict(os.environ)
        if kind != "agents":
            environment |= {"RANK": str(rank), "WORLD_SIZE": "2", "LOCAL_RANK": "0", "LOCAL_WORLD_SIZE": "1"}
            environment |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
        ranks.append(subprocess.Popen(agent(port, command) if kind == "agents" else command, env=environment))
    codes = [rank.wait(timeout=120) for rank in ranks]
    sys.exit(next((code for code in codes if code), 0))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
