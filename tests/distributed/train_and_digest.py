#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Whole trainings under mpirun end in one digest, whatever the number of workers, the launcher, or who killed them.

    GANGWAY_BIN=build/release/bin train_and_digest.py [unittest arguments]
"""
import random
import re
import subprocess
import time
import unittest
from pathlib import Path

from train_command import EXAMPLES, GANGWAY, Trainings, environment, kill_all

CLOTHES = EXAMPLES / "fashion-mnist.yaml"
SMALL = ["model.width=16", "training.microbatches=4", "output.pictures_kimg=0"]
IMAGES_A_STEP = 64


class Layouts(Trainings):
    def test_one_to_four_workers_have_one_digest(self):
        for workers in (1, 2, 3, 4):
            self.train(CLOTHES, *SMALL, "training.kimg=0.5", run=f"w{workers}", workers=workers)
        digests = {self.digest(f"w{workers}") for workers in (1, 2, 3, 4)}
        self.assertEqual(len(digests), 1, digests)

    def test_the_net_of_13_million_weights_has_one_digest_on_one_and_two_workers(self):
        arguments = ["training.kimg=0.064", "training.batch=32", "output.pictures_kimg=0"]
        for workers in (1, 2):
            self.train(EXAMPLES / "infogan.yaml", *arguments, run=f"w{workers}", workers=workers)
        self.assertEqual(self.digest("w1"), self.digest("w2"))

    def test_another_seed_has_another_digest(self):
        for seed in (0, 1):
            self.train(CLOTHES, *SMALL, "training.kimg=0.128", f"training.seed={seed}", run=f"s{seed}", workers=1)
        self.assertNotEqual(self.digest("s0"), self.digest("s1"))

    def test_a_bare_mpirun_trains_as_gangway_run_does(self):
        arguments = [*SMALL, "training.kimg=0.256"]
        self.train(CLOTHES, *arguments, run="supervised", workers=2)
        code, out, err = self.call("mpirun", "--oversubscribe", "--bind-to", "none", "-n", 3, GANGWAY, "train", CLOTHES,
                                   *arguments, "--run", "bare")
        self.assertEqual(code, 0, out + err)
        self.assertEqual(self.digest("bare"), self.digest("supervised"))


class Divided(Trainings):
    """Jobs whose networks are divided among workers."""

    def assert_one_digest(self, job, *arguments, layouts):
        """@param layouts  the number of workers and the keys that divide the job among them"""
        self.train(job, *arguments, run="one", workers=1)
        for index, (workers, *layout) in enumerate(layouts):
            with self.subTest(layout):
                self.train(job, *arguments, *layout, run=f"divided{index}", workers=workers)
                self.assertEqual(self.digest(f"divided{index}"), self.digest("one"))

    def assert_refused(self, message, *arguments, workers=2):
        code, out, err = self.call(GANGWAY, "run", CLOTHES, *SMALL, *arguments, "-n", workers, "--dry-run")
        self.assertEqual(code, 2, out + err)
        self.assertIn(message, err)


class Killing(Trainings):
    def kill_somewhere_behind_a_checkpoint(self, *words):
        """Starts a gangway command and kills all of it, launcher and ranks, a random moment after its first checkpoint."""
        with open(self.folder / "killed", "w") as out:
            process = subprocess.Popen([GANGWAY, *map(str, words)], cwd=self.folder, stdout=out, stderr=out,
                                       env=environment())
        end = time.monotonic() + self.deadline
        while "ckpt   step-" not in (self.folder / "killed").read_text():
            self.assertIsNone(process.poll(), (self.folder / "killed").read_text())
            self.assertLess(time.monotonic(), end, "no checkpoint came")
            time.sleep(0.02)
        time.sleep(random.uniform(0.0, 0.4))  # the moment is what varies
        kill_all(process)

    def newest_step(self, run):
        code, out, err = self.call(GANGWAY, "checkpoints", "ls", run)
        self.assertEqual(code, 0, err)
        steps = [int(step) for step in re.findall(r"^\s*(?:step-)?0*(\d+)\b", out, re.MULTILINE)]
        self.assertTrue(steps, out)
        return max(steps)


class Resume(Killing):
    def test_three_workers_killed_and_resumed_on_two_end_as_one_go_does(self):
        job = [CLOTHES, *SMALL, "checkpoint.every_kimg=0.256", "output.tick_kimg=0.256"]
        self.kill_somewhere_behind_a_checkpoint("run", *job, "training.kimg=40", "-n", 3, "--run", "killed")
        steps = self.newest_step("killed") + 6
        length = f"training.kimg={steps * IMAGES_A_STEP / 1000}"
        self.train(*job, length, run="killed", workers=2)
        self.train(*job, length, run="one-go", workers=1)
        self.assertEqual(self.newest_step("killed"), steps)
        self.assertEqual(self.digest("killed"), self.digest("one-go"))


if __name__ == "__main__":
    unittest.main()
