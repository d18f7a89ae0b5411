#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Pipeline schedules with real messages between devices that sleep in the place of work, beside the simulator.

    bench/pipeline/run.py [--rows 4x8,8x8,8x16] [--r1 16] [ARGUMENTS of gangway-bench-pipeline]

A row is devices x micro-batches. All on this host: 16 devices do on two cores, where others leave them idle.
"""
import argparse
import os
import pathlib
import subprocess
import sys

BIN = pathlib.Path(os.environ.get("GANGWAY_BIN", pathlib.Path(__file__).parents[2] / "build/release/bin"))
# Whole segments go at once: a device that sleeps cannot answer who asks first.
MPIRUN = ["mpirun", "--oversubscribe", "--bind-to", "none", "--mca", "pml", "ob1", "--mca", "btl", "self,vader",
          "--mca", "btl_vader_eager_limit", "65536"]


def run(devices, arguments, deadline):
    """Exit code of one row, which prints its table."""
    environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    command = [*MPIRUN, "-n", str(devices + 1), str(BIN / "gangway-bench-pipeline"), *arguments]
    return subprocess.run(command, env=environment, timeout=deadline, check=False).returncode


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", default="4x8,8x8,8x16")
    parser.add_argument("--r1", type=int, default=0, help="once more with R1 every so many steps")
    parser.add_argument("--steps", type=int, default=8, help="of a table; with R1 at least one that has it, and two more")
    parser.add_argument("--deadline", type=float, default=900.0, help="seconds a table may take")
    known, others = parser.parse_known_args()
    for row in known.rows.split(","):
        devices, _, microbatches = row.partition("x")
        if not devices.isdigit() or not microbatches.isdigit():
            sys.exit(f"--rows: '{row}' is not DEVICESxMICROBATCHES, as 4x8")
        for interval in [0, known.r1] if known.r1 else [0]:
            # Step 16 is among those that are timed: neither the first two nor the last.
            steps = ["--steps", str(max(known.steps, interval + 3)), *(["--r1-interval", str(interval)] if interval else [])]
            code = run(int(devices), ["-m", microbatches, *others, *steps], known.deadline)
            if code != 0:
                sys.exit(code)


if __name__ == "__main__":
    main()
