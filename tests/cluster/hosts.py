# SPDX-License-Identifier: MIT
"""Runs tests/cluster/run for the tests of this folder."""
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
    """Makes a shell script into a cluster's command; the scripts in this folder are on its path."""
    return ["bash", "-c", f'PATH="{FOLDER}:$PATH"\n{script}']


def run_cluster(hosts, rate, command, **options):
    return subprocess.run([RUN, hosts, rate, "--", *command], capture_output=True, text=True, timeout=DEADLINE, **options)


def start_cluster(hosts, rate, command):
    return subprocess.Popen([RUN, hosts, rate, "--", *command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def main():
    """Runs unittest if this machine can emulate a cluster."""
    probe = run_cluster("1", "1gbit", ["true"])
    if probe.returncode == SKIPPED:
        print(probe.stderr, end="")
        sys.exit(SKIPPED)
    unittest.main(verbosity=2)


def processes_within(namespace):
    """Returns the processes of a process namespace, named as in /proc/self/ns/pid."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if os.readlink(entry / "ns" / "pid") == namespace:
                    found.append(int(entry.name))
            except OSError:
                pass  # it has ended meanwhile
    return found
