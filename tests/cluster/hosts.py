# SPDX-License-Identifier: MIT
"""tests/cluster/run as the tests of this folder call it."""
import os
import subprocess
import sys
import unittest
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
RUN = str(FOLDER / "run")
SKIPPED = 77
DEADLINE = 300  # seconds; a hang is a failure


def inside(script):
    """A shell script as the command of a cluster; the scripts beside this file are on its path."""
    return ["bash", "-c", f'PATH="{FOLDER}:$PATH"\n{script}']


def run_cluster(hosts, rate, command, **options):
    return subprocess.run([RUN, hosts, rate, "--", *command], capture_output=True, text=True, timeout=DEADLINE, **options)


def start_cluster(hosts, rate, command):
    return subprocess.Popen([RUN, hosts, rate, "--", *command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def main():
    """unittest's, where this machine can play a cluster."""
    probe = run_cluster("1", "1gbit", ["true"])
    if probe.returncode == SKIPPED:
        print(probe.stderr, end="")
        sys.exit(SKIPPED)
    unittest.main(verbosity=2)


def processes_within(namespace):
    """Of a process namespace, as /proc/self/ns/pid names it inside."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if os.readlink(entry / "ns" / "pid") == namespace:
                    found.append(int(entry.name))
            except OSError:
                pass  # it has ended meanwhile
    return found
