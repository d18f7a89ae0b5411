#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Fails, interrupts, and kills at, the system calls that a save makes, one after the other, by strace.

A save over an existing checkpoint runs once for each call: the call returns an error, or the process is killed with SIGKILL
as it enters it. Afterwards the old or the new checkpoint must load in full, an error must have come out as one line that
names path and cause, and the next save must succeed and leave no temporary behind. A call that a signal interrupts (EINTR)
must be repeated: the save succeeds. By default the calls that change the disk; with --all every call that a save makes is
killed at, and more errors are tried. Exit code 77, skipped, without strace.
"""

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile

CHANGES = ("mkdir", "fallocate", "write", "fsync", "close", "renameat2", "rename", "unlink", "rmdir")
# What a call can fail with; the first is always tried, the others with --all or at the first call alone.
ERRORS = {"mkdir": ("EIO", "ENOSPC", "EDQUOT", "EROFS", "EACCES"), "fallocate": ("EIO", "ENOSPC", "EDQUOT"),
          "write": ("EIO", "ENOSPC", "EDQUOT"), "fsync": ("EIO", "ENOSPC", "EDQUOT"), "close": ("EIO", "EDQUOT"),
          "renameat2": ("EIO", "ENOSPC", "EROFS"), "rename": ("EIO",), "unlink": ("EIO", "EROFS"), "rmdir": ("EIO",)}
INTERRUPTED = ("fallocate", "write", "fsync", "pread64")
# Made by the C library for itself: memory, threads.
NOT_OURS = {"mmap", "munmap", "brk", "futex", "mprotect", "exit_group", "madvise", "clone3", "rt_sigprocmask", "rseq",
            "set_robust_list", "exit", "uname", "getpid"}
ENVIRONMENT = 6  # gangway::ExitCode::kEnvironment
CHECKPOINT = 5  # gangway::ExitCode::kCheckpoint: reading back what was written
SKIPPED = 77


def run(command: list[str]) -> subprocess.CompletedProcess:
    return subprocess.run(command, capture_output=True, text=True, timeout=300)


class Campaign:
    def __init__(self, writer: str, elements: int, work: str):
        self.writer = writer
        self.elements = str(elements)
        self.directory = os.path.join(work, "checkpoints")
        self.trace = os.path.join(work, "trace")
        self.template = os.path.join(work, "template")
        for _ in range(2):  # two, so that a save deletes one too
            assert self.save(self.template).returncode == 0
        self.faults = 0

    def save(self, directory: str, *tampering: str) -> subprocess.CompletedProcess:
        return run([*tampering, self.writer, "write", directory, "1", self.elements])

    def newest(self) -> int:
        result = run([self.writer, "check", self.directory])
        assert result.returncode == 0 and not result.stderr, f"torn or damaged: {result.stderr}"
        word, number = result.stdout.split()
        assert word == "step", result.stdout
        return int(number)

    def start_afresh(self) -> None:
        shutil.rmtree(self.directory, ignore_errors=True)
        shutil.copytree(self.template, self.directory)

    def traced(self) -> list[tuple[str, str]]:
        """(name, line) of each call of the first thread; strace counts calls a thread."""
        with open(self.trace, encoding="utf-8", errors="replace") as file:
            found = [re.match(r"(\d+) +([a-z0-9_]+)\(", line) for line in file]
        calls = [match for match in found if match]
        return [(match[2], match.string) for match in calls if match[1] == calls[0][1]]

    def calls(self) -> dict[str, range]:
        """The calls of a save by kind: which of the process's they are, counted from 1, after its start."""
        self.start_afresh()
        assert self.save(self.directory, "strace", "-f", "-o", self.trace).returncode == 0
        before: dict[str, int] = {}
        total: dict[str, int] = {}
        has_begun = False
        for call, line in self.traced():
            has_begun = has_begun or 'write(1, "begin' in line
            counts = total if has_begun else before
            counts[call] = counts.get(call, 0) + 1
        return {call: range(before.get(call, 0) + 1, before.get(call, 0) + count + 1) for call, count in total.items()}

    def inject(self, call: str, fault: str, when: str) -> subprocess.CompletedProcess:
        self.start_afresh()
        self.faults += 1
        return self.save(self.directory, "strace", "-f", "-o", self.trace, "-e", f"trace={call}",
                         "-e", f"inject={call}:{fault}:when={when}")

    def require_next_save(self, place: str, found: int) -> None:
        again = self.save(self.directory)
        assert again.returncode == 0, f"{place}: then {again.stderr.strip()}"
        left = [name for name in os.listdir(self.directory) if not name.startswith("step-")]
        assert self.newest() == found + 1 and not left, f"{place}: left {left}"

    def fail(self, call: str, error: str, when: int) -> str:
        result = self.inject(call, f"error={error}", str(when))
        place = f"{call} {error} #{when}: {result.returncode} {result.stderr.strip()}"
        found = self.newest()
        assert found in (2, 3), f"{place}: step {found}"
        assert result.returncode in (0, ENVIRONMENT, CHECKPOINT), place
        assert result.stderr.count("\n") == (1 if result.returncode else 0), place
        assert not result.returncode or os.path.dirname(self.directory) in result.stderr, f"{place}: names no path"
        assert result.returncode or found == 3, f"{place}: claims success, step {found} loads"
        self.require_next_save(place, found)
        return result.stderr.strip()

    def kill(self, call: str, when: int) -> None:
        result = self.inject(call, "signal=SIGKILL", str(when))
        if len(self.traced()) < when:
            return  # saves differ by a call or two
        place = f"{call} killed #{when}: {result.returncode} {result.stderr.strip()}"
        assert result.returncode in (-signal.SIGKILL, 128 + signal.SIGKILL), place
        found = self.newest()
        assert found in (2, 3), f"{place}: step {found}"
        self.require_next_save(place, found)

    def interrupt(self, call: str, calls: range) -> None:
        """Every other call of a save is interrupted before it did anything."""
        result = self.inject(call, "error=EINTR", f"{calls.start}..{calls.stop - 1}+2")
        assert result.returncode == 0 and not result.stderr, f"{call} EINTR: {result.stderr}"
        assert self.newest() == 3


def exercise(campaign: Campaign, everything: bool) -> None:
    calls = campaign.calls()
    for call in CHANGES:
        numbers = calls.get(call, range(0))
        # Most closes are of files that were read.
        for when in numbers if everything or call != "close" else numbers[1::4]:
            for error in ERRORS[call]:
                if everything or error == ERRORS[call][0] or when == numbers.start + 1 or len(numbers) == 1:
                    line = campaign.fail(call, error, when)
                    if line and when <= numbers.start + 1:
                        print(f"  {call} {error}: {os.path.basename(os.path.dirname(line.split(': ')[0]))}: {line.split(': ', 1)[1]}")
            campaign.kill(call, when)
        print(f"{call}: {len(numbers)} calls, failed and killed at", flush=True)
    for call in INTERRUPTED:
        if call in calls:
            campaign.interrupt(call, calls[call])
    print(f"interrupted every other {', '.join(INTERRUPTED)}: repeated, saved")
    if everything:
        others = sorted(set(calls) - set(CHANGES) - NOT_OURS)
        for call in others:
            for when in calls[call]:
                campaign.kill(call, when)
        print(f"killed at every {', '.join(others)}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--writer", required=True, help="path of the checkpoint_writer program")
    parser.add_argument("--elements", type=int, default=12_000, help="of a tensor; from 200000 on, files go by direct I/O")
    parser.add_argument("--all", action="store_true", help="every call and every error (minutes)")
    arguments = parser.parse_args()
    if shutil.which("strace") is None or run(["strace", "-o", "/dev/null", "true"]).returncode != 0:
        print("skipped: strace is missing or may not trace here")
        sys.exit(SKIPPED)
    with tempfile.TemporaryDirectory(prefix="gangway-calls-") as work:
        campaign = Campaign(arguments.writer, arguments.elements, work)
        exercise(campaign, arguments.all)
        print(f"{campaign.faults} faults: the old or the new checkpoint loads after each, and the next save succeeds")


if __name__ == "__main__":
    main()
