#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Fails, and kills at, every single system call that a save makes to the disk, one after the other, by strace.

A save over an existing checkpoint runs once for each call: the call returns an error (EIO, ENOSPC), or the process is
killed with SIGKILL as it enters it. Afterwards the old or the new checkpoint must load in full, an error must have come
out as one line, and the next save must succeed and leave no temporary behind. Exit code 77, skipped, without strace.
"""

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile

CALLS = ("mkdir", "fallocate", "write", "fsync", "renameat2", "rename", "unlink", "rmdir")
ENVIRONMENT = 6  # gangway::ExitCode::kEnvironment
SKIPPED = 77
MOST_CALLS = 200  # of one kind in a save; reached only if the loop does not end


def run(command: list[str]) -> subprocess.CompletedProcess:
    return subprocess.run(command, capture_output=True, text=True, timeout=30)


def newest(writer: str, directory: str) -> int:
    result = run([writer, "check", directory])
    assert result.returncode == 0 and not result.stderr, f"torn or damaged: {result.stderr}"
    word, number = result.stdout.split()
    assert word == "step", result.stdout
    return int(number)


def save_with_fault(writer: str, directory: str, call: str, fault: str, when: int, trace: str):
    """Runs one save; None when it made fewer than `when` such calls."""
    result = run(["strace", "-f", "-o", trace, "-e", f"trace={call}", "-e", f"inject={call}:{fault}:when={when}",
                  writer, "write", directory, "1"])
    with open(trace, encoding="utf-8", errors="replace") as file:
        lines = [line for line in file if re.match(rf"\d+ +{call}\(", line)]
    return result if len(lines) >= when else None


def exercise(writer: str, template: str, work: str, call: str, fault: str) -> int:
    for when in range(1, MOST_CALLS):
        directory = os.path.join(work, "checkpoints")
        shutil.rmtree(directory, ignore_errors=True)
        shutil.copytree(template, directory)
        result = save_with_fault(writer, directory, call, fault, when, os.path.join(work, "trace"))
        if result is None:
            return when - 1
        place = f"{call} {fault} #{when}: {result.returncode} {result.stderr.strip()}"
        found = newest(writer, directory)
        assert found in (2, 3), f"{place}: step {found}"
        if "error" in fault:
            assert result.returncode in (0, ENVIRONMENT), place
            assert result.stderr.count("\n") == (1 if result.returncode else 0), place
            assert result.returncode or found == 3, f"{place}: claims success, step {found} loads"
        else:
            assert result.returncode in (-signal.SIGKILL, 128 + signal.SIGKILL), place
        again = run([writer, "write", directory, "1"])
        assert again.returncode == 0, f"{place}: then {again.stderr.strip()}"
        left = [name for name in os.listdir(directory) if not name.startswith("step-")]
        assert newest(writer, directory) == found + 1 and not left, f"{place}: left {left}"
    raise AssertionError(f"{call} {fault}: more than {MOST_CALLS} calls")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--writer", required=True, help="path of the checkpoint_writer program")
    arguments = parser.parse_args()
    if shutil.which("strace") is None or run(["strace", "-o", "/dev/null", "true"]).returncode != 0:
        print("skipped: strace is missing or may not trace here")
        sys.exit(SKIPPED)
    with tempfile.TemporaryDirectory(prefix="gangway-calls-") as work:
        template = os.path.join(work, "template")
        for _ in range(2):  # two, so that a save deletes one too
            assert run([arguments.writer, "write", template, "1"]).returncode == 0
        total = 0
        for call in CALLS:
            counts = [exercise(arguments.writer, template, work, call, fault)
                      for fault in ("error=EIO", "error=ENOSPC", "signal=SIGKILL")]
            total += sum(counts)
            print(f"{call}: {counts[0]} calls, each failed twice and killed at")
    print(f"{total} faults: the old or the new checkpoint loads after each, and the next save succeeds")


if __name__ == "__main__":
    main()
