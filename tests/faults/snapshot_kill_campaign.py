#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Kills a process that takes snapshots at random moments: what is left is always one whole snapshot, old or new.

    snapshot_kill_campaign.py --writer PROGRAM [--kills 300] [--seed 0] [--folder /dev/shm] [--workers 1]

A snapshot that the process has announced is never lost (but to the next one); none is ever mixed of two steps. With more
than one worker all are killed at once, each at another place in its snapshot: there always is a step that all have.
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


class Lost(Exception):
    """What was left is not what has to be left."""


def left_in(writer, folder):
    """The newest step that all have; None where there is none."""
    result = subprocess.run([writer, "check", folder], capture_output=True, text=True)
    found = result.stdout.strip()
    if result.returncode != 0 or "damaged" in result.stderr:
        raise Lost(f"{found} {result.stderr}")
    return None if found == "none" else int(found)


def kill_workers(arguments, chance, folder, last):
    """Takes snapshots with all workers in step, kills all amid one, and returns the step that was left."""
    count = arguments.workers
    workers = [subprocess.Popen([arguments.writer, "obey", folder, str(w), str(count)], stdin=subprocess.PIPE,
                                stdout=subprocess.PIPE) for w in range(count)]

    def tell(worker, words):
        worker.stdin.write(words.encode())
        worker.stdin.flush()

    for worker in workers:
        worker.stdout.readline()  # it has taken over what it found
        tell(worker, f"protect {last}\n")
    whole = last
    for step in range(last + 1, last + 1 + chance.randrange(4)):
        for worker in workers:
            tell(worker, f"take {step}\n")
        for worker in workers:
            worker.stdout.readline()
        for worker in workers:
            tell(worker, f"protect {step}\n")
        whole = step
    # Some begin, some have not yet been told, some are through, when they die.
    for worker in chance.sample(workers, chance.randrange(count + 1)):
        tell(worker, f"take {whole + 1}\n")
        time.sleep(chance.random() * 0.002)
    for worker in workers:
        worker.send_signal(signal.SIGKILL)
    for worker in workers:
        worker.communicate()
    step = left_in(arguments.writer, folder) or 0
    if not whole <= step <= whole + 1:
        raise Lost(f"step {step} was left, all had {whole}")
    return step


def kill_together(arguments, chance):
    last = 0
    with tempfile.TemporaryDirectory(prefix="gangway-test-", dir=arguments.folder) as folder:
        for kill in range(arguments.kills):
            try:
                last = kill_workers(arguments, chance, folder, last)
            except Lost as loss:
                sys.exit(f"kill {kill}: {loss}")
    print(f"{arguments.kills} kills of {arguments.workers} workers: always a step that all have, {last} in all")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--writer", required=True)
    parser.add_argument("--kills", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--folder", default="/dev/shm")
    parser.add_argument("--workers", type=int, default=1)
    arguments = parser.parse_args()
    chance = random.Random(arguments.seed)
    if arguments.workers > 1:
        kill_together(arguments, chance)
        return
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
            try:
                step = left_in(arguments.writer, folder) or 0
            except Lost as loss:
                sys.exit(f"kill {kill}: after step {last}: {loss}")
            # One more than was announced: the announcement did not get out. The one before: the next was under way.
            if not last <= step <= last + 1:
                sys.exit(f"kill {kill}: step {step} was left, {last} was announced")
            amid += step == last
            last = step
    print(f"{arguments.kills} kills: always one whole snapshot; {amid} times the announced one, "
          f"{arguments.kills - amid} times the one after it")


if __name__ == "__main__":
    main()
