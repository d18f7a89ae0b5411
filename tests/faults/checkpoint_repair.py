#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Repairs a damaged checkpoint from a copy, failing and killed at every system call that changes the disk, by strace.

Afterwards every file is the damaged one or the sound one, byte by byte; an error has come out as one line; the next repair
succeeds and leaves nothing behind. Exit code 77, skipped, without strace.
"""

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile

CALLS = ("fallocate", "write", "fsync", "rename", "unlink")
ENVIRONMENT = 6  # gangway::ExitCode::kEnvironment
ELEMENTS = 300_000  # 2 MB a file: written past the kernel's cache
SKIPPED = 77


def run(command: list[str]) -> subprocess.CompletedProcess:
    return subprocess.run(command, capture_output=True, text=True, timeout=300)


def flip(path: str, position: int) -> None:
    with open(path, "r+b") as file:
        file.seek(position)
        byte = file.read(1)[0]
        file.seek(position)
        file.write(bytes([byte ^ 16]))


def contents(folder: str) -> dict[str, bytes]:
    files = {}
    for name in os.listdir(folder):
        with open(os.path.join(folder, name), "rb") as file:
            files[name] = file.read()
    return files


class Campaign:
    def __init__(self, writer: str, work: str):
        self.writer = writer
        self.trace = os.path.join(work, "trace")
        self.sound, self.damaged, self.tried = (os.path.join(work, name) for name in ("sound", "damaged", "tried"))
        run([writer, "write", os.path.join(work, "checkpoints"), "1", str(ELEMENTS)])
        for folder in (self.sound, self.damaged):
            shutil.copytree(os.path.join(work, "checkpoints", "step-000000001"), folder)
        for number, position in enumerate((1_000_000, 50)):
            flip(os.path.join(self.damaged, f"worker-{number:04d}-of-0002.safetensors"), position)
        self.allowed = (contents(self.sound), contents(self.damaged))

    def repair(self, *tampering: str) -> subprocess.CompletedProcess:
        return run([*tampering, self.writer, "repair", self.tried, self.sound])

    def once(self, call: str, fault: str, when: int) -> bool:
        """False when a repair makes fewer such calls."""
        shutil.rmtree(self.tried, ignore_errors=True)
        shutil.copytree(self.damaged, self.tried)
        result = self.repair("strace", "-f", "-o", self.trace, "-e", f"trace={call}", "-e", f"inject={call}:{fault}:when={when}")
        with open(self.trace, encoding="utf-8", errors="replace") as file:
            if sum(f"{call}(" in line for line in file) < when:
                return False
        place = f"{call} {fault} #{when}: {result.returncode} {result.stderr.strip()}"
        if fault.startswith("signal"):
            assert result.returncode in (-signal.SIGKILL, 128 + signal.SIGKILL), place
        else:
            assert result.returncode in (0, ENVIRONMENT), place
            assert result.stderr.count("\n") == (1 if result.returncode else 0), place
        for name, content in contents(self.tried).items():
            assert name.endswith(".repair") or content in (self.allowed[0][name], self.allowed[1][name]), f"{place}: {name} is torn"
        again = self.repair()
        assert again.returncode == 0 and again.stdout.endswith(", left 0\n"), f"{place}: then {again.stdout}{again.stderr}"
        assert contents(self.tried) == self.allowed[0], f"{place}: then other files"
        return True


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--writer", required=True, help="path of the checkpoint_writer program")
    arguments = parser.parse_args()
    if shutil.which("strace") is None or run(["strace", "-o", "/dev/null", "true"]).returncode != 0:
        print("skipped: strace is missing or may not trace here")
        sys.exit(SKIPPED)
    faults = 0
    with tempfile.TemporaryDirectory(prefix="gangway-repair-") as work:
        campaign = Campaign(arguments.writer, work)
        for call in CALLS:
            for fault in ("error=EIO", "error=ENOSPC", "signal=SIGKILL"):
                when = 1
                while campaign.once(call, fault, when):
                    faults += 1
                    when += 1
    print(f"{faults} faults during repairs: every file is the damaged or the sound one, and the next repair succeeds")


if __name__ == "__main__":
    main()
