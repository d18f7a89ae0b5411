#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Memory that a failed run keeps: the run names it at its end. Commands that work with the run leave it, the printed command
frees it, and other jobs do not use it.

    GANGWAY_BIN=build/release/bin kept_memory.py [unittest arguments]
"""
import json
import os
import re
import shlex
import shutil
import signal
import time
import unittest

from train_command import EXAMPLES, GANGWAY, Trainings, snapshot_files

JOB = [EXAMPLES / "ring8.yaml", "training.kimg=10000", "output.tick_kimg=2", "output.pictures_kimg=0",
       "checkpoint.every_kimg=0", "checkpoint.snapshot_steps=7", "--run", "failed", "-n", 2]


class KeptMemory(Trainings):
    def snapshots(self, *words, code=0):
        got, out, err = self.call(GANGWAY, "snapshots", *words)
        self.assertEqual(got, code, out + err)
        return out + err

    def free_by(self, command):
        self.assertTrue(snapshot_files(self.folder))
        code, out, err = self.call(*shlex.split(command))
        self.assertEqual(code, 0, out + err)
        self.assertEqual(snapshot_files(self.folder), [])

    def test_is_freed_by_the_command_that_the_end_of_the_run_says(self):
        running = self.start("run", *JOB)
        running.wait_for(r"^tick 3 ")
        self.assertIn("in use by a living process", self.snapshots("ls"))
        self.assertIn("pid", self.snapshots("rm", "failed", code=6))
        ranks = json.loads((self.folder_of("failed") / "placement.json").read_text())["ranks"]
        os.kill(ranks[1]["pid"], signal.SIGKILL)
        self.assertEqual(running.end(), 3, running.said())
        note = r"^note   snapshots up to step \d+ stay in this host's memory \(.* MiB\) for 7 days, .*; to free it: "
        command = running.said()[running.wait_for(note):].splitlines()[0]
        self.assertIn("kept for another 7 days", self.snapshots("ls"))
        step, = re.findall(r"snapshots up to step (\d+) stay", running.said())
        self.assertRegex(self.snapshots("ls", "failed"), rf"(?m)^ *{step} +\S+ +1 +1 +(1|2|1,2) of 2 ")
        self.free_by(command)
        self.assertIn("had no snapshots", self.snapshots("rm", "failed"))

    def test_is_left_aside_by_another_job_and_freed_by_the_command_that_lists_it_though_the_folder_of_the_run_is_gone(self):
        running = self.start("run", *JOB)
        running.wait_for(r"^tick 3 ")
        running.kill_all()
        running = self.start("run", *JOB, "training.seed=7", name="again")
        running.wait_for(r"^warn  the job has changed since it left a snapshot of step \d+ in memory "
                         r"\(training.seed 7, was 0\): it begins at step 0; ")
        running.wait_for(r"^tick 3 ")
        folder = self.folder_of("failed").resolve()
        shutil.rmtree(self.folder / "runs")
        self.assertIn("living process", self.snapshots("rm", folder, code=6))
        running.kill_all()
        end = time.monotonic() + 60
        while not (commands := re.findall(rf"(?m)^{re.escape(str(folder))}: .*; to free it: (.*)$", self.snapshots("ls"))):
            self.assertLess(time.monotonic(), end, self.snapshots("ls"))
            time.sleep(0.02)
        self.free_by(commands[0])


if __name__ == "__main__":
    unittest.main()
