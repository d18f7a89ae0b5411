#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A worker whose compute thread hangs, while its process lives and its heartbeats come, is the one that is named: not
those who wait for it, nor those who wait for these.

    GANGWAY_BIN=build/release/bin who_hangs.py [unittest arguments]       exit code 77: no thread can be held up here
"""
import ctypes
import json
import os
import random
import signal
import sys
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "distributed"))

from train_command import EXAMPLES, Trainings  # noqa: E402

WORKER_LOST = 3
SKIPPED = 77
TIMEOUT = 3  # seconds that a worker waits for another
PTRACE_SEIZE, PTRACE_INTERRUPT = 0x4206, 0x4207


def hold_up(thread):
    """Stops one thread of another process until this one ends. SIGSTOP would stop them all, the heartbeats' too."""
    trace = ctypes.CDLL(None, use_errno=True).ptrace
    for request in (PTRACE_SEIZE, PTRACE_INTERRUPT):
        if trace(request, thread, None, None) != 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def can_hold_up():
    child = os.fork()
    if child == 0:
        signal.pause()
    try:
        hold_up(child)
        return True
    except OSError as reason:
        print(f"no thread can be held up here: {reason}")
        return False
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


class WhoHangs(Trainings):
    def check(self, transport, workers, *layout):
        running = self.start("run", EXAMPLES / "ring8.yaml", "-n", workers, "--run", "a", "training.kimg=1000000",
                             "training.microbatches=4", "output.pictures_kimg=0", "output.tick_kimg=5",
                             f"layout.transport={transport}", f"layout.timeout_seconds={TIMEOUT}", *layout)
        running.wait_for("^tick 2 ")
        run = next((self.folder / "runs").glob("*-a"))
        ranks = json.loads((run / "placement.json").read_text())["ranks"]
        victim = random.randrange(1, workers + 1)
        time.sleep(random.uniform(0.0, 0.1))  # the moment is what varies
        hold_up(ranks[victim]["pid"])  # its main thread, which computes
        self.assertEqual(running.end(), WORKER_LOST, running.said())
        self.assertEqual(json.loads((run / "error.json").read_text())["rank"], victim, running.said())
        self.assertRegex(running.said(), rf"rank {victim} \(host \S+, pid {ranks[victim]['pid']}\) keeps its peers waiting")

    def test_on_shared_memory(self):
        self.check("shm", 3)

    def test_over_mpi(self):
        self.check("mpi", 4)

    def test_with_networks_apart(self):
        self.check("auto", 3, "layout.generator=[1]", "layout.discriminator=[2, 3]")

    def test_in_stages_whose_weights_have_their_gradients_apart(self):
        self.check("auto", 4, "layout.stages=2", "layout.schedule=zero-bubble")


if __name__ == "__main__":
    if not can_hold_up():
        sys.exit(SKIPPED)
    unittest.main(verbosity=2)
