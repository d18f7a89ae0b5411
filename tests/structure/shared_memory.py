#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks that tests leave nothing in /dev/shm: lists it before the first test and after the last.

    shared_memory.py before|after LIST

Counts only files of Gangway and Open MPI that no living process holds or maps, because other jobs
may run at the same time."""
import fcntl
import os
import sys
from pathlib import Path

FOLDER = Path("/dev/shm")
OURS = ("gangway-", "gangway.", "vader_segment.", "sm_segment.")


def status_of(path):
    """Returns the file's status; None if another process has removed it since it was listed."""
    try:
        return path.lstat()
    except FileNotFoundError:
        return None


def present():
    named = (path for path in FOLDER.glob("*") if path.name.startswith(OURS))
    return {path.name for path in named if (status := status_of(path)) and status.st_uid == os.geteuid()}


def is_claimed(path):
    """Returns whether a process locks the file, as Gangway's do with files that they use."""
    try:
        with open(path, "rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return False
    except BlockingIOError:
        return True
    except FileNotFoundError:
        return True  # it is gone now
    except IsADirectoryError:
        return False


def mapped():
    found = set()
    for maps in Path("/proc").glob("[0-9]*/maps"):
        try:
            found |= {line.split()[4] for line in maps.read_text().splitlines() if "/dev/shm/" in line}
        except OSError:
            pass  # the process has ended, or is another user's
    return found


def left_behind(before):
    inodes = mapped()
    return sorted(name for name in present() - before
                  if not is_claimed(FOLDER / name) and (status := status_of(FOLDER / name)) and str(status.st_ino) not in inodes)


def main(when, record):
    if when == "before":
        Path(record).write_text("\n".join(sorted(present())))
        return 0
    left = left_behind(set(Path(record).read_text().split("\n")))
    for name in left:
        print(f"{FOLDER / name}: a test has left it")
    return 1 if left else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
