#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A worker that stops or dies in the middle of exchanges is named in time, on every transport, and leaves nothing behind.

    GANGWAY_BIN=build/release/bin exchange_faults.py [TRIES]      TRIES of each kind at random moments; 1 unless told
"""
import fcntl
import json
import os
import random
import signal
import subprocess
import sys
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "distributed"))

from train_command import EXAMPLES, GANGWAY, Trainings, environment, kill_all  # noqa: E402

TRIES = 1
WORKER_LOST = 3
TIMEOUT = 1.5  # seconds that a worker waits for another
# What passes between the signal and the end of `gangway run`: the wait, and the orderly end of mpirun.
STAGES = ["layout.stages=2"]  # tensors of every micro-batch through the host's memory
PATIENCE = {signal.SIGSTOP: 30.0, signal.SIGKILL: 15.0}


class Faults(Trainings):
    def start(self, transport, workers, layout):
        command = [GANGWAY, "run", EXAMPLES / "ring8.yaml", "-n", workers, "--run", "a", "training.kimg=1000000",
                   "training.microbatches=4", "output.pictures_kimg=0", "output.tick_kimg=5", "checkpoint.every_kimg=20",
                   f"layout.transport={transport}", f"layout.timeout_seconds={TIMEOUT}", *layout]
        self.log = self.folder / "log"
        self.began = time.time()
        with open(self.log, "w") as log:
            process = subprocess.Popen([str(word) for word in command], cwd=self.folder, stdout=log, stderr=log,
                                       env=environment())
        self.addCleanup(lambda: process.poll() is None and kill_all(process))
        end = time.monotonic() + self.deadline
        while "ckpt   step-" not in self.log.read_text():
            self.assertIsNone(process.poll(), self.log.read_text())
            self.assertLess(time.monotonic(), end, "no checkpoint came")
            time.sleep(0.02)
        return process

    def pids(self):
        path = next((self.folder / "runs").glob("*-a")) / "placement.json"
        return [rank["pid"] for rank in json.loads(path.read_text())["ranks"]]

    def hurt_one(self, transport, workers, blow, layout):
        process = self.start(transport, workers, layout)
        pids = self.pids()
        victim = random.randrange(1, workers + 1)
        time.sleep(random.uniform(0.0, 0.2))  # the moment is what varies
        os.kill(pids[victim], blow)
        try:
            code = process.wait(timeout=PATIENCE[blow])
        finally:
            if blow == signal.SIGSTOP:
                self.wake(pids[victim])
        words = self.log.read_text()
        self.assertEqual(code, WORKER_LOST, words)
        self.assertRegex(words, rf"rank {victim}\b")
        self.assert_last_checkpoint_is_whole()
        self.assert_nothing_is_left_of(pids)

    def wake(self, pid):
        """What a worker does that was given up and comes back: it may only end."""
        try:
            os.kill(pid, signal.SIGCONT)
        except ProcessLookupError:
            return  # mpirun has ended it
        end = time.monotonic() + 10
        while Path(f"/proc/{pid}").exists() and time.monotonic() < end:
            time.sleep(0.02)
        self.assertFalse(Path(f"/proc/{pid}").exists(), "the worker that was given up lives on")

    def assert_last_checkpoint_is_whole(self):
        code, out, err = self.call(GANGWAY, "checkpoints", "verify", "a")
        self.assertEqual(code, 0, out + err)

    def assert_nothing_is_left_of(self, pids):
        for pid in pids:
            self.assertFalse(Path(f"/proc/{pid}").exists(), "a rank outlives its job")
        left = [path for path in Path("/dev/shm").glob("gangway-*") if self.is_abandoned(path)]
        self.assertFalse(left, "segments that no process holds")

    def is_abandoned(self, path):
        """Made since this job began, and locked by nobody: whoever makes a segment holds a lock on it (other jobs', too)."""
        try:
            with open(path, "r+") as segment:
                fcntl.lockf(segment, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return path.stat().st_mtime > self.began
        except (FileNotFoundError, BlockingIOError):
            return False

    def check(self, transport, workers, blow, layout=()):
        for attempt in range(TRIES):
            with self.subTest(attempt=attempt):
                self.hurt_one(transport, workers, blow, layout)
            subprocess.run(["rm", "-rf", str(self.folder / "runs")], check=True)

    def test_a_worker_stopped_on_shared_memory(self):
        self.check("shm", 3, signal.SIGSTOP)

    def test_a_worker_killed_on_shared_memory(self):
        self.check("shm", 2, signal.SIGKILL)

    def test_a_stage_stopped_on_shared_memory(self):
        self.check("shm", 2, signal.SIGSTOP, STAGES)

    def test_a_stage_killed_on_shared_memory(self):
        self.check("shm", 4, signal.SIGKILL, STAGES)

    def test_a_worker_stopped_over_mpi(self):
        self.check("mpi", 2, signal.SIGSTOP)

    def test_a_worker_killed_over_mpi(self):
        self.check("mpi", 3, signal.SIGKILL)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        TRIES = int(sys.argv.pop(1))
    unittest.main()
