#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Kills a writer of checkpoints with SIGKILL, or cuts the power of its disk, at random moments, and checks the remains.

The newest valid checkpoint must load and hold one step's values in full. It must be at least as new as the last announced
commit, and at most as new as the last begun one. No checkpoint may count as damaged. Prints one line of totals; exit code
1 at the first breach.

The disk of --cuts is an ext4 file system in an image, mounted through a loop device. A cut is a clone of the image
(FICLONE): the disk's content at that instant, in the kernel's order of writes, without the kernel's caches. The image
lies on its own XFS in memory, which clones a file at one instant while it is written. The test mounts the clone (its
journal replays) and checks it. Losses of a disk's own cache are not emulated. Needs root, loop devices, mkfs.ext4 and
mkfs.xfs (Debian: e2fsprogs xfsprogs); exit code 77, skipped, without.
"""
import argparse
import fcntl
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

SKIPPED = 77
IMAGE_BYTES = 48 << 20
HOST_BYTES = 512 << 20  # of the XFS, sparse
FICLONE = 0x40049409  # ioctl_ficlone(2)
SHARED_MEMORY = "/dev/shm"


class Writer:
    """Writes checkpoints to `directory` until it is killed; records the announced ones."""

    def __init__(self, program, directory, elements):
        self.process = subprocess.Popen([program, "write", directory, "0", str(elements)], stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, bufsize=0)
        self.text = self.process.stdout.readline()  # it has begun
        os.set_blocking(self.process.stdout.fileno(), False)

    def announced(self):
        """Returns the last begun and the last committed step. A line that a kill cut off does not count."""
        while chunk := self.process.stdout.read(65536):
            self.text += chunk
        last = {b"begin": 0, b"committed": 0}
        for line in self.text.split(b"\n")[:-1]:
            word, number = line.split()
            last[word] = int(number)
        return last[b"begin"], last[b"committed"]

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        if self.process.wait() != -signal.SIGKILL or (said := self.process.stderr.read()):
            sys.exit(f"the writer ended by itself with {self.process.returncode}, or complained: {said.decode().strip()}")


def newest(program, directory):
    """Returns the step of the newest valid checkpoint, 0 if there is none; ends the campaign at any damage."""
    result = subprocess.run([program, "check", directory], capture_output=True, text=True, timeout=300)
    if result.returncode != 0 or result.stderr:
        sys.exit(f"torn, mixed or damaged: {result.stderr.strip()}")
    words = result.stdout.split()
    return int(words[1]) if words[0] == "step" else 0


def kill_again_and_again(arguments, moments, work):
    known = 0
    for number in range(arguments.kills):
        writer = Writer(arguments.writer, work, arguments.elements)
        deadline = time.monotonic() + moments.uniform(0.0, 0.06)
        while time.monotonic() < deadline:  # a sleep would round the moment to the timer's slack
            pass
        writer.kill()
        begun, committed = writer.announced()
        found = newest(arguments.writer, work)
        if not max(known, committed) <= found <= max(known, begun):
            sys.exit(f"kill {number}: step {found} loads, {committed} was committed, {begun} begun, {known} before")
        known = found
    return f"{arguments.kills} kills, {known} checkpoints"


def mount(image, folder):
    return subprocess.run(["mount", "-o", "loop", image, folder], capture_output=True, text=True)


def unmount(folder):
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:  # other programs may open the mount, or a loop device on it, for a moment
        if subprocess.run(["umount", folder], capture_output=True).returncode == 0:
            return
        time.sleep(0.05)
    sys.exit(f"cannot unmount {folder}")


def make_disk(kind, image, size, folder):
    """Mounts a file system in a new image; ends the test, skipped, if that is not possible."""
    os.mkdir(folder)
    with open(image, "wb") as file:
        file.truncate(size)
    made = subprocess.run([*kind, image], capture_output=True, text=True)
    if made.returncode != 0 or mount(image, folder).returncode != 0:
        print(f"skipped: {kind[0]} or loop devices do not work here: {made.stderr.strip()}")
        sys.exit(SKIPPED)


def load(program, clone, folder):
    mounted = mount(clone, folder)
    if mounted.returncode != 0:
        sys.exit(f"the file system of a cut does not mount: {mounted.stderr.strip()}")
    try:
        return newest(program, os.path.join(folder, "checkpoints"))
    finally:
        unmount(folder)


def cut_again_and_again(arguments, moments, host, disk, other):
    writer = Writer(arguments.writer, os.path.join(disk, "checkpoints"), arguments.elements)
    steps = set()
    try:
        while writer.announced()[1] == 0:
            time.sleep(0.001)
        for number in range(arguments.cuts):
            time.sleep(moments.uniform(0.0, 0.05))
            committed = writer.announced()[1]
            # A new name, because mount would reuse a loop device that is still releasing the last clone, with its cache.
            clone = os.path.join(host, f"clone-{number}")
            with open(os.path.join(host, "image"), "rb") as source, open(clone, "wb") as target:
                fcntl.ioctl(target.fileno(), FICLONE, source.fileno())
            begun = writer.announced()[0]
            found = load(arguments.writer, clone, other)
            os.remove(clone)
            if not committed <= found <= begun:
                sys.exit(f"cut {number}: step {found} loads, {committed} was committed before, {begun} begun after")
            steps.add(found)
    finally:
        writer.kill()
    return f"{arguments.cuts} cuts over {len(steps)} different checkpoints"


def cut(arguments, moments, work):
    if os.geteuid() != 0 or shutil.which("mkfs.ext4") is None or shutil.which("mkfs.xfs") is None:
        print("skipped: playing a disk needs root, mkfs.ext4 and mkfs.xfs")
        sys.exit(SKIPPED)
    host, disk, other = (os.path.join(work, name) for name in ("host", "disk", "other"))
    os.mkdir(other)
    make_disk(["mkfs.xfs", "-q", "-m", "reflink=1"], os.path.join(work, "host.image"), HOST_BYTES, host)
    try:
        make_disk(["mkfs.ext4", "-q", "-F"], os.path.join(host, "image"), IMAGE_BYTES, disk)
        try:
            return cut_again_and_again(arguments, moments, host, disk, other)
        finally:
            unmount(disk)
    finally:
        unmount(host)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--writer", required=True, help="path of the checkpoint_writer program")
    parser.add_argument("--kills", type=int, default=0)
    parser.add_argument("--cuts", type=int, default=0)
    parser.add_argument("--elements", type=int, default=12_000, help="of a tensor; from 200000 on, files go by direct I/O")
    parser.add_argument("--seed", type=int, default=time.time_ns() % 1_000_000, help="of the moments; default: from the clock")
    arguments = parser.parse_args()
    print(f"seed {arguments.seed}", flush=True)
    for count, campaign, folder in ((arguments.kills, kill_again_and_again, None), (arguments.cuts, cut, SHARED_MEMORY)):
        if count:
            with tempfile.TemporaryDirectory(prefix="gangway-campaign-", dir=folder) as work:
                print(f"{campaign(arguments, random.Random(arguments.seed), work)}: 0 torn, 0 mixed, 0 passed over")


if __name__ == "__main__":
    main()
