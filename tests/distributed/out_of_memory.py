#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A worker with too little memory for its job: one line with a remedy, exit code 6; the job with that remedy trains.

    GANGWAY_BIN=build/release/bin out_of_memory.py [unittest arguments]
"""
import re
import shutil
import unittest
from pathlib import Path

from train_command import EXAMPLES, PROGRAMS, Trainings, descendants

JOB = [EXAMPLES / "fashion-mnist.yaml", "-n", 2, "model.width=32", "training.batch=1024", "training.microbatches=8",
       "training.kimg=2.048", "output.pictures_kimg=0", "layout.stages=2"]
KEEPS_ALL, KEEPS_FEW = "layout.schedule=gpipe", "layout.schedule=1f1b"


class OutOfMemory(Trainings):
    deadline = 120

    def programs(self, limit):
        """Makes a folder of programs whose workers begin with a limit of their address space."""
        folder = self.folder / f"bin{limit}"
        folder.mkdir()
        for program in PROGRAMS.glob("gangway*"):
            (folder / program.name).symlink_to(program)
        (folder / "gangway").unlink()
        shutil.copy(PROGRAMS / "gangway", folder)  # it finds the other programs in its folder
        (folder / "gangway-worker").unlink()
        (folder / "gangway-worker").write_text(
            f'#!/bin/sh\nexec prlimit --as={limit} "{PROGRAMS / "gangway-worker"}" "$@"\n')
        (folder / "gangway-worker").chmod(0o755)
        return folder / "gangway"

    def peak(self, *words, run):
        """Returns the largest worker's address space in bytes."""
        running = self.start("run", *JOB, *words, "--run", run)
        most = 0
        while running.process.poll() is None:
            for pid in descendants(running.process.pid):
                try:
                    status = Path(f"/proc/{pid}/status").read_text()
                except OSError:
                    continue  # it has ended meanwhile
                found = re.search(r"VmPeak:\s+(\d+) kB", status)
                if status.startswith("Name:\tgangway-worker") and found:
                    most = max(most, 1024 * int(found[1]))
        self.assertEqual(running.end(), 0, running.said())
        return most

    def test_it_says_what_to_try_and_that_trains_to_the_same_bits(self):
        many, few = self.peak(KEEPS_ALL, run="many"), self.peak(KEEPS_FEW, run="few")
        self.assertGreater(many - few, 32 << 20)
        gangway = self.programs((many + few) // 2)
        code, out, err = self.call(gangway, "run", *JOB, KEEPS_ALL, "--run", "short")
        self.assertEqual(code, 6, out + err)
        line, = [line for line in err.splitlines() if "out of memory" in line]
        self.assertRegex(line, r"^gangway: rank [12] \(host \S+, pid \d+\): out of memory with \d+ MiB resident: a request of [\d.]+ MiB failed; "
                               rf"no bit changes with {KEEPS_FEW}; numbers do with training.microbatches=16, or ")
        code, out, err = self.call(gangway, "run", *JOB, KEEPS_FEW, "--run", "short")
        self.assertEqual(code, 0, out + err)
        self.assertEqual(self.digest("short"), self.digest("many"))


if __name__ == "__main__":
    unittest.main()
