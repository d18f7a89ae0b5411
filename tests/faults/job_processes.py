# SPDX-License-Identifier: MIT
"""Finds the processes of a job in /proc, for tests that kill and stop them."""
import os
from pathlib import Path


def read(path):
    try:
        return Path(path).read_text(errors="replace")
    except OSError:
        return ""


class Process:
    """A process of /proc, as it is now."""

    def __init__(self, pid):
        self.pid = pid
        stat, self.environment = (read(f"/proc/{pid}/{name}") for name in ("stat", "environ"))
        self.name = stat[stat.find("(") + 1:stat.rfind(")")]
        fields = stat[stat.rfind(")") + 1:].split()
        self.state, self.parent = (fields[0], int(fields[1])) if len(fields) > 1 else ("Z", 0)

    def rank(self):
        for entry in self.environment.split("\0"):
            if entry.startswith("OMPI_COMM_WORLD_RANK="):
                return int(entry.partition("=")[2])
        return None

    def role(self):
        rank = self.rank()
        if rank is not None:
            return "coordinator" if rank == 0 else "worker"
        # Open MPI 5 calls them prterun and prted.
        return {"mpirun": "mpirun", "orterun": "mpirun", "prterun": "mpirun", "orted": "orted", "prted": "orted"}.get(self.name)


def processes():
    return [Process(int(name)) for name in os.listdir("/proc") if name.isdigit()]
