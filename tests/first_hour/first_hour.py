#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Users' actions in their first hour, by random choices of a seed: own pictures, typos, Ctrl-C at any moment and the same
command again; a full disk, no network, export. Each ends in a result, or in one clear line with the right exit code. No action
hangs, prints a traceback, or leaves anything behind (docs/cluster-tests.md).

    GANGWAY_BIN=build/release/bin first_hour.py [--seed N] [--seeds COUNT] [--only STEP] [--list]

Two successive seeds do everything, about a minute each.
"""
import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import data_steps  # noqa: F401
import leaving_steps  # noqa: F401
import machine_steps  # noqa: F401
import result_steps  # noqa: F401
import typing_steps  # noqa: F401
from hour import Hour, Problem, Skip
from steps import STEPS

OWN_MEMORY = "FIRST_HOUR_OWN_MEMORY"


def enter_own_memory():
    """Starts this program again with its own /dev/shm if the machine allows it, to count leftovers."""
    if os.environ.get(OWN_MEMORY):
        return os.environ[OWN_MEMORY] == "yes"
    command = ["unshare", "-m", "--propagation", "private", "sh", "-c",
               f'mount -t tmpfs -o size=2g tmpfs /dev/shm && {OWN_MEMORY}=yes exec "$@"', "sh"]
    if subprocess.run([*command, "true"], capture_output=True).returncode != 0:
        print("note   no mount name space of its own: /dev/shm is not looked at", flush=True)
        return False
    os.execvp(command[0], [*command, sys.executable, *sys.argv])


def steps_of(seed):
    """Returns half of all steps, in a random order; the seed's neighbour has the other half."""
    names = sorted(STEPS)
    random.Random(f"pair {seed // 2}").shuffle(names)
    return names[seed % 2::2]


def require_clean_memory(hour):
    """Removes the runs. After one more command their shared memory must be gone, too."""
    shutil.rmtree(hour.folder / "runs", ignore_errors=True)
    hour.call(hour.gangway, "doctor")
    left = sorted(file.name for file in Path("/dev/shm").iterdir())
    for name in left:
        (Path("/dev/shm") / name).unlink(missing_ok=True)
    if left:
        raise Problem(f"left in /dev/shm: {' '.join(left)}")


def do(name, seed, programs, owns_memory):
    """Returns whether the step succeeded. A step has its own random numbers, so that it can be repeated alone."""
    folder = Path(tempfile.mkdtemp(prefix="gangway first hour "))
    hour = Hour(f"{seed} {name}", programs, folder)
    begin, problem = time.monotonic(), None
    try:
        STEPS[name](hour)
        hour.require_nobody()
    except Skip as skip:
        hour.note(f"skipped: {skip}")
    except Problem as found:
        problem = found
    finally:
        hour.end_all()
        for mounted in hour.mounts:
            subprocess.run(["umount", "-l", mounted], check=False)
    if owns_memory:
        try:
            require_clean_memory(hour)
        except Problem as found:
            problem = problem or found
    shutil.rmtree(folder, ignore_errors=True)
    verdict = "PROBLEM" if problem else "ok     "
    print(f"seed {seed:<3} {verdict} {time.monotonic() - begin:5.1f} s  {name:<40} {'; '.join(hour.notes)}", flush=True)
    if problem:
        print(f"  again: first_hour.py --seed {seed} --only {name}\n  {problem}", flush=True)
    return problem is None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, help="default: a random one, printed")
    parser.add_argument("--seeds", type=int, default=1, help="so many, one after the other")
    parser.add_argument("--only", choices=sorted(STEPS), action="append", help="these steps, whoever's they are")
    parser.add_argument("--list", action="store_true")
    arguments = parser.parse_args()
    if arguments.list:
        print("\n".join(STEPS))
        return 0
    owns_memory = enter_own_memory()
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # nohup's setting would be inherited by tested commands
    programs = Path(os.environ.get("GANGWAY_BIN", Path(__file__).resolve().parents[2] / "build/release/bin")).resolve()
    first = random.SystemRandom().randrange(10_000) if arguments.seed is None else arguments.seed
    print(f"first hour with seed {first}" + (f" to {first + arguments.seeds - 1}" if arguments.seeds > 1 else ""), flush=True)
    results = [(name, seed, do(name, seed, programs, owns_memory)) for seed in range(first, first + arguments.seeds)
               for name in arguments.only or steps_of(seed)]
    failed = [f"{name} (seed {seed})" for name, seed, went_well in results if not went_well]
    print(f"{len(results)} steps, {len(failed)} with problems" + (": " + ", ".join(failed) if failed else ""), flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
