#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Whole trainings under mpirun have one digest, for any number of workers, any launcher, and any moment of a kill.

    GANGWAY_BIN=build/release/bin train_and_digest.py [unittest arguments]
"""
import random
import re
import time
import unittest

from train_command import EXAMPLES, GANGWAY, Trainings

CLOTHES = EXAMPLES / "fashion-mnist.yaml"
SMALL = ["model.width=16", "training.microbatches=4", "output.pictures_kimg=0"]
IMAGES_A_STEP = 64


class Layouts(Trainings):
    def test_gangway_run_and_a_bare_mpirun_have_one_digest_on_any_number_of_workers(self):
        job = [CLOTHES, *SMALL, "training.kimg=0.256"]
        for workers in (1, 3):
            self.train(*job, run=f"w{workers}", workers=workers)
        code, out, err = self.call("mpirun", "--oversubscribe", "--bind-to", "none", "-n", 5, GANGWAY, "train", *job, "--run", "w4")
        self.assertEqual(code, 0, out + err)
        self.assertEqual(len({self.digest(f"w{workers}") for workers in (1, 3, 4)}), 1)


class Killing(Trainings):
    def kill_somewhere_behind_a_checkpoint(self, *words):
        """Starts a gangway command and kills launcher and ranks at a random moment after its first checkpoint."""
        running = self.start(*words, name="killed")
        running.wait_for("ckpt   step-")
        time.sleep(random.uniform(0.0, 0.4))  # varies the moment
        running.kill_all()

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
