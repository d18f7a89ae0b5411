#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs whose processes are all killed resume from the snapshots in memory, on any number of workers, to the same digest.

    GANGWAY_BIN=build/release/bin snapshots.py [unittest arguments]
"""
import unittest

from train_command import EXAMPLES, GANGWAY, Trainings, snapshot_files

JOB = [EXAMPLES / "ring8.yaml", "training.microbatches=6", "training.batch=96", "training.kimg=30", "output.tick_kimg=1",
       "output.pictures_kimg=0", "checkpoint.snapshot_steps=7"]


class Snapshots(Trainings):
    def start_and_kill(self, *words, after="\ntick 3 "):
        """Starts a command. Kills all its processes, launcher and ranks, once it has printed `after`."""
        running = self.start(*words, name="killed")
        running.wait_for(after)
        running.kill_all()
        return running.said()

    def slots(self):
        return snapshot_files(self.folder)

    def test_all_killed_at_once_go_on_from_memory_on_other_workers(self):
        run = ["run", *JOB, "checkpoint.every_kimg=0", "--run", "killed"]
        self.start_and_kill(*run, "-n", 3)
        self.assertTrue(self.slots())
        said = self.start_and_kill(*run, "-n", 2, after="\ntick 12 ")
        self.assertIn("resume snapshot of step", said)
        code, out, err = self.call(GANGWAY, *run, "-n", 2)
        self.assertEqual(code, 0, out + err)
        self.assertIn("resume snapshot of step", out)
        self.assertEqual(self.digest("killed"), self.digest_alone(*JOB))
        self.assertEqual(self.slots(), [], "snapshots are left behind by a run that ended well")

    def test_without_the_memory_the_last_checkpoint_is_taken(self):
        run = ["run", *JOB, "checkpoint.every_kimg=4", "--run", "killed", "-n", 2]
        self.start_and_kill(*run, after="ckpt   step-")
        for file in self.slots():
            file.unlink()
        code, out, err = self.call(GANGWAY, *run)
        self.assertEqual(code, 0, out + err)
        self.assertIn("resume step-", out)
        self.assertNotIn("resume snapshot", out)
        self.assertEqual(self.digest("killed"), self.digest_alone(*JOB))


if __name__ == "__main__":
    unittest.main()
