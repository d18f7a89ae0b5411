#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Kills a writer of checkpoints with SIGKILL at random moments and looks what is left after every kill.

After each kill the newest valid checkpoint must load, hold one step's values in full, be at least as new as the last one
whose commit was announced, and at most one newer (its rename was done, its announcement was not). No checkpoint may have
been passed over as damaged. Prints one line of totals, also after Ctrl-C; exit code 1 at the first breach.
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


def last_numbers(output: str) -> tuple[int, int]:
    """Last step begun and last step committed of a writer's output; a line that the kill cut off does not count."""
    begun = committed = 0
    for line in output.split("\n")[:-1]:
        word, number = line.split()
        if word == "begin":
            begun = int(number)
        else:
            committed = int(number)
    return begun, committed


def run_and_kill(writer: str, directory: str, delay: float) -> str:
    """Starts the writer, lets it run for `delay` seconds after its first line, kills it, returns what it printed."""
    # Unbuffered: what a buffer took in after the first line would be lost to communicate().
    process = subprocess.Popen([writer, "write", directory], stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0)
    first = process.stdout.readline()
    deadline = time.monotonic() + delay
    while time.monotonic() < deadline:  # a sleep would round the moment to the timer's slack
        pass
    process.send_signal(signal.SIGKILL)
    rest, errors = process.communicate(timeout=300)
    if process.returncode != -signal.SIGKILL:
        sys.exit(f"the writer ended by itself with {process.returncode}: {errors.decode().strip()}")
    if errors:
        sys.exit(f"the writer complained: {errors.decode().strip()}")
    return (first + rest).decode()


def phase_of(directory: str) -> str:
    """What the kill interrupted, by what it left."""
    names = os.listdir(directory)
    temporaries = [name for name in names if name.startswith(".tmp-")]
    if any(name.startswith(".old-") for name in names):
        return "deleting an old one"
    if not temporaries:
        return "between saves"
    inside = os.listdir(os.path.join(directory, temporaries[0]))
    if any(name.startswith("manifest.json") for name in inside):
        return "writing the manifest"
    return f"writing files ({sum(name.endswith('.safetensors') for name in inside)} begun)"


def check(writer: str, directory: str) -> int:
    """Step of the newest valid checkpoint, 0 when there is none; ends the campaign when anything is damaged."""
    result = subprocess.run([writer, "check", directory], capture_output=True, text=True, timeout=300)
    if result.returncode != 0 or result.stderr:
        sys.exit(f"torn or damaged after a kill: {result.stderr.strip()}")
    words = result.stdout.split()
    return int(words[1]) if words[0] == "step" else 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--writer", required=True, help="path of the checkpoint_writer program")
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=None, help="of the moments; default: from the clock")
    parser.add_argument("--directory", default=None, help="on which disk; default: a temporary folder")
    arguments = parser.parse_args()
    seed = arguments.seed if arguments.seed is not None else time.time_ns() % 1_000_000
    moments = random.Random(seed)
    directory = tempfile.mkdtemp(prefix="gangway-kill-", dir=arguments.directory)
    began = time.monotonic()
    known = saves = 0
    phases: dict[str, int] = {}
    done = 0
    try:
        while done < arguments.kills:
            output = run_and_kill(arguments.writer, directory, moments.uniform(0.0, 0.06))
            begun, committed = last_numbers(output)
            phase = phase_of(directory)
            found = check(arguments.writer, directory)
            floor = max(known, committed)
            if not floor <= found <= max(floor, begun):
                sys.exit(f"kill {done}, seed {seed}: step {found} loads, {committed} was committed, {begun} begun, {known} before")
            saves += found - known
            known = found
            phases[phase] = phases.get(phase, 0) + 1
            done += 1
    except KeyboardInterrupt:
        print(f"stopped before {arguments.kills}")
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    where = ", ".join(f"{count} {phase}" for phase, count in sorted(phases.items(), key=lambda item: -item[1]))
    print(f"{done} kills, {saves} checkpoints, 0 unreadable, 0 mixed; killed {where}; "
          f"seed {seed}, {time.monotonic() - began:.1f} s")


if __name__ == "__main__":
    main()
