#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Kills a process that takes snapshots at random moments: what is left is always one whole snapshot, old or new.

    snapshot_kill_campaign.py --writer PROGRAM [--kills 300] [--seed 0] [--folder /dev/shm]

A snapshot that the process has announced is never lost (but to the next one); none is ever mixed of two steps.
"""
import argparse
import random
import signal
import subprocess
import sys
import tempfile
import time


def announced(process, first):
    """The last whole line that the process has printed, `first` being what was read before."""
    lines = (first + process.stdout.read()).split(b"\n")[:-1]
    return int(lines[-1]) if lines else None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--writer", required=True)
    parser.add_argument("--kills", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--folder", default="/dev/shm")
    arguments = parser.parse_args()
    chance = random.Random(arguments.seed)
    last, amid = 0, 0
    with tempfile.TemporaryDirectory(prefix="gangway-test-", dir=arguments.folder) as folder:
        for kill in range(arguments.kills):
            process = subprocess.Popen([arguments.writer, "write", folder, "0", "1"], stdout=subprocess.PIPE)
            first = b""
            if kill % 4:
                first = process.stdout.readline()  # in the middle of its work, not of its start
            time.sleep(chance.random() * 0.01)
            process.send_signal(signal.SIGKILL)
            said = announced(process, first)
            process.wait()
            last = max(last, said or 0)
            result = subprocess.run([arguments.writer, "check", folder], capture_output=True, text=True)
            found = result.stdout.strip()
            if result.returncode != 0 or result.stderr or (last > 0 and found == "none"):
                sys.exit(f"kill {kill}: after step {last}: {found} {result.stderr}")
            step = 0 if found == "none" else int(found)
            # One more than was announced: the announcement did not get out. The one before: the next was under way.
            if not last <= step <= last + 1:
                sys.exit(f"kill {kill}: step {step} was left, {last} was announced")
            amid += step == last
            last = step
    print(f"{arguments.kills} kills: always one whole snapshot; {amid} times the announced one, "
          f"{arguments.kills - amid} times the one after it")


if __name__ == "__main__":
    main()
