#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs `gangway bench checkpoint` at sizes too small to measure: it must run, and leave no file behind.

    GANGWAY_BIN=build/release/bin checkpoint.py FOLDER_ON_A_DISK [unittest arguments]
"""
import glob
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "distributed"))

from train_command import snapshot_files  # noqa: E402

GANGWAY = os.path.join(os.environ["GANGWAY_BIN"], "gangway")
USAGE, ENVIRONMENT = 2, 6
DEADLINE = 400  # seconds; a hang is a failure
FOLDER = sys.argv.pop(1)
RIVAL = """sh -c 'echo "{\\"row\\": \\"the rival\\", \\"stalls\\": [0.5, 0.25]}"' rival"""


def bench(*arguments):
    done = subprocess.run([GANGWAY, "bench", "checkpoint", "--anyway", "--rounds", "1", "--turns", "1", *arguments],
                          capture_output=True, text=True, timeout=DEADLINE)
    return done.returncode, done.stdout, done.stderr


class BenchCheckpoint(unittest.TestCase):
    def test_has_a_row_for_everything_that_is_measured(self):
        with tempfile.TemporaryDirectory(dir=FOLDER) as folder:
            code, out, err = bench("--size", "1", "--every", "8", "--checkpoints", "2", "--outdir", folder, "--rival", RIVAL,
                                   "training.batch=8")
            self.assertEqual(code, 0, out + err)
            self.assertEqual(glob.glob(f"{folder}/**/*.safetensors", recursive=True), [])
        self.assertEqual(snapshot_files(folder), [])
        for row in ("updates waited for the copy", "compute waited more", "steps took longer"):
            self.assertRegex(out, rf"(?m)^{row} +2 +[0-9.]+ +[0-9.]+ +[0-9.]+ +[0-9.]+ %$")
        for row, count in (("memcpy, no training", 1), ("copy and hash, no training", 1), ("the rival", 2)):
            self.assertRegex(out, rf"(?m)^{row} +{count} +[0-9.]+ +[0-9.]+ +[0-9.]+ ")
        for row in ("plain direct writes, synced", "save, no training", "plain direct reads", "load, every chunk verified"):
            self.assertRegex(out, rf"(?m)^{row} +[0-9]+ \(")
        # "-" where a busy disk ends no save before the last step.
        self.assertRegex(out, r"(?m)^save behind the training +([0-9]+ \(|-)")
        self.assertRegex(out, r"steps/s [0-9.]+ with a checkpoint every 8 steps, [0-9.]+ without: ratio [0-9.]+ ")
        self.assertRegex(out, r"(?m)^load before: [0-9.]+ [0-9.]+ [0-9.]+; ")

    def test_refuses_what_makes_no_sense_in_one_line(self):
        for arguments, complaint in ((("--size", "0"), "--size"), (("--every", "none"), "--every"), (("--rounds", "0"), "--rounds"),
                                     (("training.bach=4",), "training.batch")):
            with self.subTest(arguments):
                code, out, err = bench(*arguments)
                self.assertEqual(code, USAGE, out + err)
                self.assertIn(complaint, err)
                self.assertEqual(len(err.strip().splitlines()), 1, err)

    def test_says_which_rival_failed(self):
        with tempfile.TemporaryDirectory(dir=FOLDER) as folder:
            code, out, err = bench("--size", "1", "--every", "4", "--checkpoints", "1", "--outdir", folder, "--rival", "false",
                                   "training.batch=8")
        self.assertEqual(code, ENVIRONMENT, out + err)
        self.assertIn("'false --tensors ", err)


if __name__ == "__main__":
    unittest.main(verbosity=2)
