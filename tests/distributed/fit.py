#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`gangway run --fit`: what it says of memory is what the run then has, and it leaves nothing behind.

    GANGWAY_BIN=build/release/bin fit.py [unittest arguments]
"""
import json
import re
import unittest

from train_command import EXAMPLES, GANGWAY, Trainings

# Both see more steps than are measured, checkpoints and pictures.
JOBS = {
    "ring": (2, [EXAMPLES / "ring8.yaml", "training.kimg=8", "model.width=256", "output.tick_kimg=1", "checkpoint.every_kimg=3"]),
    "clothes": (1, [EXAMPLES / "fashion-mnist.yaml", "training.batch=128", "model.width=64",
                   "training.kimg=2", "output.tick_kimg=0.5", "output.pictures_kimg=0.5", "checkpoint.every_kimg=0.5"]),
}


class Fit(Trainings):
    def test_tells_the_peak_of_the_run(self):
        for run, (workers, words) in JOBS.items():
            with self.subTest(run):
                code, out, err = self.call(GANGWAY, "run", *words, "-n", workers, "--fit")
                self.assertEqual(code, 0, out + err)
                self.assertRegex(out, r"(?m)^fits: [\d.]+ of [\d.]+ GiB of the (host|control group) in use at the most$")
                told = [float(peak) for peak in re.findall(r"(?m)^ +\d+ +(\d+) MiB +\d+ MiB$", out)]
                self.assertEqual(len(told), workers)
                self.assertEqual(list((self.folder / "runs").glob(f"*-{run}")), [])
                self.train(*words, run=run, workers=workers)
                stats, = (self.folder / "runs").glob(f"*-{run}/stats.jsonl")
                last = json.loads(stats.read_text().splitlines()[-1])
                had = last["memory_by_rank"]["peak_gib"] if workers > 1 else [last["peak_gib"]]
                for one, other in zip(told, had):
                    self.assertAlmostEqual(one / (1024 * other), 1, delta=0.1)

    def test_refuses_what_it_cannot_measure(self):
        code, _, err = self.call(GANGWAY, "run", EXAMPLES / "ring8.yaml", "--fit", "--hostfile", "hosts")
        self.assertEqual(code, 2)
        self.assertIn("--fit measures on this machine", err)


if __name__ == "__main__":
    unittest.main()
