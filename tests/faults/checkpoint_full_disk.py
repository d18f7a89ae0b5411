#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Fills a disk of 1 MB with checkpoints, makes it read-only, and writes to it as somebody who may not: the save fails with
one clear line, the last good one stays and loads, nothing is left over, and saving works again once it can. Needs root
(mount); exit code 77, skipped, without.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile

ENVIRONMENT = 6  # gangway::ExitCode::kEnvironment
SKIPPED = 77
NOBODY = 65_534


def write(writer: str, directory: str, steps: int) -> subprocess.CompletedProcess:
    return subprocess.run([writer, "write", directory, str(steps)], capture_output=True, text=True, timeout=300)


def newest(writer: str, directory: str) -> str:
    result = subprocess.run([writer, "check", directory], capture_output=True, text=True, timeout=300)
    assert result.returncode == 0 and not result.stderr, result.stderr
    return result.stdout.strip()


def require_one_line(failed: subprocess.CompletedProcess, cause: str, directory: str) -> None:
    lines = failed.stderr.strip().split("\n")
    assert failed.returncode == ENVIRONMENT and len(lines) == 1 and cause in lines[0] and directory in lines[0], failed
    assert all(name.startswith("step-") for name in os.listdir(directory)), os.listdir(directory)
    print(f"refused: {lines[0]}")


def refuse_read_only(writer: str, disk: str, directory: str) -> None:
    subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
    try:
        require_one_line(write(writer, directory, 1), "Read-only file system", directory)
        assert newest(writer, directory) == "step 2"
    finally:
        subprocess.run(["mount", "-o", "remount,rw", disk], check=True)


def refuse_strangers(writer: str, directory: str) -> None:
    """As another user, from a copy of the program that this user can reach."""
    os.chmod(os.path.dirname(directory), 0o755)
    with tempfile.TemporaryDirectory(prefix="gangway-stranger-") as place:
        os.chmod(place, 0o755)
        program = shutil.copy(writer, place)
        failed = subprocess.run([program, "write", directory, "1"], capture_output=True, text=True, timeout=30, user=NOBODY, group=NOBODY,
                                extra_groups=[])
        require_one_line(failed, "Permission denied", directory)


def exercise(writer: str, disk: str) -> None:
    directory = os.path.join(disk, "checkpoints")
    ballast = os.path.join(disk, "ballast")
    assert write(writer, directory, 1).returncode == 0

    free = os.statvfs(disk).f_bavail * os.statvfs(disk).f_frsize
    for left_over in (120_000, 60_000, 4096, 0):  # the second file, the first file, the owner's record: each meets the end
        with open(ballast, "wb") as file:
            file.write(b"\0" * (free - left_over))
        failed = write(writer, directory, 1)
        assert failed.returncode == ENVIRONMENT, (left_over, failed)
        lines = failed.stderr.strip().split("\n")
        assert len(lines) == 1 and "No space left on device" in lines[0] and directory in lines[0], lines
        assert os.listdir(directory) == ["step-000000001"], os.listdir(directory)
        assert newest(writer, directory) == "step 1"
        os.remove(ballast)
        print(f"{left_over} bytes free: {lines[0]}")

    assert write(writer, directory, 1).returncode == 0
    assert newest(writer, directory) == "step 2"
    refuse_read_only(writer, disk, directory)
    refuse_strangers(writer, directory)
    assert write(writer, directory, 1).returncode == 0
    assert newest(writer, directory) == "step 3"
    print("full disk: last good checkpoint kept, nothing left over, saves again when there is room")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--writer", required=True, help="path of the checkpoint_writer program")
    arguments = parser.parse_args()
    if os.geteuid() != 0:
        print("skipped: mounting a small disk needs root")
        sys.exit(SKIPPED)
    with tempfile.TemporaryDirectory(prefix="gangway-disk-") as disk:
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", disk], capture_output=True, text=True)
        if mounted.returncode != 0:
            sys.exit(f"cannot mount a small disk as root: {mounted.stderr.strip()}")
        try:
            exercise(arguments.writer, disk)
        finally:
            subprocess.run(["umount", disk], check=True)


if __name__ == "__main__":
    main()
