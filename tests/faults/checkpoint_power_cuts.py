#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Cuts the power of a disk at random moments while checkpoints are written to it, and looks what is left after every cut.

The disk is an ext4 file system in an image, mounted through a loop device. A cut is a clone of the image (FICLONE): what
the disk held at that instant, in the order in which the kernel sent it, the kernel's caches lost. The image lies on an XFS
of its own, in memory, because that clones a file that is being written as of one instant. The clone is mounted (its journal
replays) and the newest checkpoint is loaded in full. It must hold one step's values, be at least as new as the last one
whose commit was announced before the cut, and at most as new as the last one begun; nothing may have been passed over as
damaged. What a disk's own cache may lose beyond that, this does not play. Needs root, loop devices, mkfs.ext4 and mkfs.xfs
(Debian: e2fsprogs xfsprogs); exit code 77, skipped, without.
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


def mount(image: str, folder: str) -> subprocess.CompletedProcess:
    return subprocess.run(["mount", "-o", "loop", image, folder], capture_output=True, text=True)


def unmount(folder: str) -> None:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:  # something may look at the mount, or at a loop device on it, for a moment
        if subprocess.run(["umount", folder], capture_output=True).returncode == 0:
            return
        time.sleep(0.05)
    sys.exit(f"cannot unmount {folder}")


class Writer:
    """Writes checkpoints to `directory` until it is killed; knows which it has announced."""

    def __init__(self, program: str, directory: str, elements: int):
        self.process = subprocess.Popen([program, "write", directory, "0", str(elements)], stdout=subprocess.PIPE, bufsize=0)
        os.set_blocking(self.process.stdout.fileno(), False)
        self.text = b""

    def announced(self) -> tuple[int, int]:
        """Last step begun and last step committed so far."""
        while chunk := self.process.stdout.read(65536):
            self.text += chunk
        if self.process.poll() is not None:
            sys.exit(f"the writer ended by itself with {self.process.returncode}")
        last = {b"begin": 0, b"committed": 0}
        for line in self.text.split(b"\n")[-8:-1]:
            word, number = line.split()
            last[word] = int(number)
        return last[b"begin"], last[b"committed"]

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()


def cut(image: str, clone: str) -> None:
    """Makes `clone` the image as it is at this moment."""
    with open(image, "rb") as source, open(clone, "wb") as target:
        fcntl.ioctl(target.fileno(), FICLONE, source.fileno())


def load(program: str, clone: str, folder: str) -> int:
    """Step of the checkpoint that loads from a clone of the disk, 0 for none."""
    mounted = mount(clone, folder)
    if mounted.returncode != 0:
        sys.exit(f"the file system of a cut does not mount: {mounted.stderr.strip()}")
    try:
        result = subprocess.run([program, "check", os.path.join(folder, "checkpoints")], capture_output=True, text=True, timeout=300)
    finally:
        unmount(folder)
    if result.returncode != 0 or result.stderr:
        sys.exit(f"torn or mixed after a cut: {result.stderr.strip()}")
    words = result.stdout.split()
    return int(words[1]) if words[0] == "step" else 0


def make_disk(kind: list[str], image: str, size: int, folder: str) -> None:
    """A file system in a new image, mounted; ends the test, skipped, where that is not possible."""
    os.mkdir(folder)
    with open(image, "wb") as file:
        file.truncate(size)
    made = subprocess.run([*kind, image], capture_output=True, text=True)
    if made.returncode != 0 or mount(image, folder).returncode != 0:
        print(f"skipped: {kind[0]} or loop devices do not work here: {made.stderr.strip()}")
        sys.exit(SKIPPED)


def cut_again_and_again(writer: Writer, program: str, cuts: int, moments: random.Random, host: str, folder: str) -> str:
    steps = set()
    newer = 0
    while writer.announced()[1] == 0:
        time.sleep(0.001)
    for number in range(cuts):
        time.sleep(moments.uniform(0.0, 0.05))
        committed = writer.announced()[1]
        # A name of its own: mount would take over a loop device that is still letting go of the last clone, and its cache.
        clone = os.path.join(host, f"clone-{number}")
        cut(os.path.join(host, "image"), clone)
        begun = writer.announced()[0]
        found = load(program, clone, folder)
        os.remove(clone)
        if not committed <= found <= begun:
            sys.exit(f"cut {number}: step {found} loads, {committed} was committed before, {begun} begun after")
        newer += found > committed
        steps.add(found)
    return f"{cuts} cuts over {len(steps)} different checkpoints, {newer} newer than announced, 0 torn, 0 mixed"


def campaign(program: str, cuts: int, elements: int, moments: random.Random, work: str) -> str:
    host, disk, other = (os.path.join(work, name) for name in ("host", "disk", "other"))
    os.mkdir(other)
    make_disk(["mkfs.xfs", "-q", "-m", "reflink=1"], os.path.join(work, "host.image"), HOST_BYTES, host)
    try:
        make_disk(["mkfs.ext4", "-q", "-F"], os.path.join(host, "image"), IMAGE_BYTES, disk)
        writer = Writer(program, os.path.join(disk, "checkpoints"), elements)
        try:
            return cut_again_and_again(writer, program, cuts, moments, host, other)
        finally:
            writer.kill()
            unmount(disk)
    finally:
        unmount(host)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--writer", required=True, help="path of the checkpoint_writer program")
    parser.add_argument("--cuts", type=int, default=1000)
    parser.add_argument("--elements", type=int, default=12_000, help="of a tensor; from 200000 on, files go by direct I/O")
    parser.add_argument("--seed", type=int, default=None, help="of the moments; default: from the clock")
    arguments = parser.parse_args()
    if os.geteuid() != 0 or shutil.which("mkfs.ext4") is None or shutil.which("mkfs.xfs") is None:
        print("skipped: playing a disk needs root, mkfs.ext4 and mkfs.xfs")
        sys.exit(SKIPPED)
    seed = arguments.seed if arguments.seed is not None else time.time_ns() % 1_000_000
    began = time.monotonic()
    folder = SHARED_MEMORY if os.path.isdir(SHARED_MEMORY) else None
    with tempfile.TemporaryDirectory(prefix="gangway-power-", dir=folder) as work:
        counts = campaign(arguments.writer, arguments.cuts, arguments.elements, random.Random(seed), work)
    print(f"{counts}; seed {seed}, {time.monotonic() - began:.1f} s")


if __name__ == "__main__":
    main()
