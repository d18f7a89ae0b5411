#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Changes bits in a worker's memory while it trains: the run ends and names the worker.

    GANGWAY_BIN=build/release/bin replica_check.py [unittest arguments]

A learning rate that rounds to nothing keeps the weights constant, so that the test finds them in memory.
"""
import json
import re
import struct
import subprocess
import time
import unittest
from pathlib import Path

from train_command import EXAMPLES, Trainings

JOB = [EXAMPLES / "ring8.yaml", "generator.optimizer.adam.lr=1e-30", "discriminator.optimizer.adam.lr=1e-30",
       "training.batch=96", "training.microbatches=3", "layout.transport=mpi", "layout.check_steps=1",
       "output.pictures_kimg=0", "checkpoint.every_kimg=0", "output.tick_kimg=1"]
TENSOR = "discriminator/1/weight"
FLOAT = 4  # bytes
NEEDLE = 256  # floats, unique in memory


def tensor_bytes(run):
    """Returns the tensor of a run's only checkpoint (safetensors, in pieces: NAME@FIRST_ELEMENT)."""
    pieces = {}
    for file in sorted(run.glob("checkpoints/*/*.safetensors")):
        with open(file, "rb") as stored:
            header_size = struct.unpack("<Q", stored.read(8))[0]
            header = json.loads(stored.read(header_size))
            for name in header:
                tensor, _, first = name.partition("@")
                if tensor == TENSOR:
                    begin, end = header[name]["data_offsets"]
                    stored.seek(8 + header_size + begin)
                    pieces[int(first or 0)] = stored.read(end - begin)
    if not pieces:
        raise AssertionError(f"no file of {run} has {TENSOR}")
    return b"".join(pieces[first] for first in sorted(pieces))


def find_in_memory(pid, needle):
    """Returns the addresses of `needle` in writable memory of the process."""
    found = []
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
        for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
            area, access = line.split()[:2]
            begin, end = (int(bound, 16) for bound in area.split("-"))
            if access.startswith("rw") and end - begin < 1 << 28:
                try:
                    memory.seek(begin)
                    content = memory.read(end - begin)
                except OSError:
                    continue  # memory of a device
                at = content.find(needle)
                while at >= 0:
                    found.append(begin + at)
                    at = content.find(needle, at + 1)
    return found


def write_byte(pid, address, byte):
    with open(f"/proc/{pid}/mem", "r+b", buffering=0) as memory:
        memory.seek(address)
        memory.write(bytes([byte]))


class FlippedBits(Trainings):
    def test_the_worker_whose_memory_changed_is_named(self):
        self.train(*JOB, "training.kimg=0.5", run="still", workers=1)
        weights = tensor_bytes(self.folder_of("still"))
        # If a bit of worker 1's own slice changes between its two sends, one other worker is right and two are wrong. The run
        # then names the wrong worker, or none. The bits are set once, so this needs a change at that moment: the test tries
        # again.
        named = rf"after step \d+: '{TENSOR}' has other bits on rank 2 than on the other"
        for attempt in range(3):
            said = self.said_by_a_run_with_flipped_bits(f"run{attempt}", weights)
            if re.search(named, said):
                break
        self.assertRegex(said, named)

    def said_by_a_run_with_flipped_bits(self, name, weights):
        running = self.start("run", *JOB, "training.kimg=1000000", "-n", "3", "--run", name, name=f"{name}.said")
        running.wait_for("^tick 1 ")
        pid = json.loads((self.folder_of(name) / "placement.json").read_text())["ranks"][2]["pid"]
        places = find_in_memory(pid, weights[:NEEDLE * FLOAT])
        self.assertTrue(places, "the weights are nowhere in memory")
        # Each update overwrites another worker's slice, so the test tries again.
        end = time.monotonic() + self.deadline
        while running.process.poll() is None:
            self.assertLess(time.monotonic(), end, "nobody noticed\n" + running.said())
            try:
                for place in places:
                    for element in range(0, len(weights) // FLOAT, 1000):
                        write_byte(pid, place + element * FLOAT, weights[element * FLOAT] ^ 1)
            except OSError:
                pass  # it has ended
            time.sleep(0.003)
        self.assertEqual(running.end(), 1, running.said())
        return running.said()


def may_write_memory():
    child = subprocess.Popen(["sleep", "60"])
    try:
        with open(f"/proc/{child.pid}/mem", "r+b", buffering=0):
            return True
    except OSError:
        return False
    finally:
        child.kill()
        child.wait()


if __name__ == "__main__":
    if may_write_memory():
        unittest.main()
    print("skipped: this user may not write other processes' memory (CAP_SYS_PTRACE)")
