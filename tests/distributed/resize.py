#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A running job gets more and fewer workers, and micro-batches of a slow worker move to others: the digest of one
undisturbed worker.

    GANGWAY_BIN=build/release/bin resize.py Resized                   with .venv/bin/python: grpcio is in there
    RESIZES=200 GANGWAY_BIN=... resize.py AtRandom Balanced           by hand: label campaign
"""
import json
import os
import random
import re
import signal
import socket
import threading
import time
import unittest

from control import Steered
from control_calls import Control

RESIZES = int(os.environ.get("RESIZES", "10"))
MOST = 4  # workers: as many as there are micro-batches
STEPS_EACH = 400  # steps of the job per resize: some resizes come during a lease, some at once


class Resizing(Steered):
    def wait_to_train(self, running, run, number):
        """Returns the number of workers of that start, once it has made a step or is paused."""
        status = self.wait_for_start(running, run, number)
        with Control(run) as control:
            control.wait_until(lambda now: now.step > status.step or now.phase in ("ended", "paused"), "a step")
        return len(status.workers)


class Resized(Resizing):
    def test_goes_on_with_more_workers_and_fewer_and_after_a_loss_to_the_same_digest(self):
        kimg = "training.kimg=76.8"
        expected = self.digest_alone("job.yaml", kimg)
        hosts = self.folder / "hosts"
        hosts.write_text(f"{socket.gethostname()} slots=2\n")
        running, run = self.begin_to_train(kimg, "--hostfile", hosts, "output.http=auto", workers=2, restarts=None)
        self.gangway("pause", "job")  # so that it does not end before the test looks
        # The hostfile has other slots now.
        hosts.write_text(f"{socket.gethostname()} slots=3\n")
        self.gangway("resize", "job", 4)
        self.assertEqual(self.wait_to_train(running, run, 2), 3)
        self.assertRegex(running.said(), r"3 workers are as many as the slots of \S+ allow, 4 were requested")
        with Control(run) as control:
            step = control.call("Resume").step
            now = control.wait_until(lambda now: now.step > step, "a step")
            os.kill(now.workers[1].pid, signal.SIGKILL)
        self.assertEqual(self.wait_to_train(running, run, 3), 3, "the new number")
        self.gangway("pause", "job")
        said = self.gangway("drain", "job", "2")
        self.assertRegex(said, r"^saves step \d+, and goes on with 2 workers, without rank 2$")
        now = self.wait_for_start(running, run, 4)
        self.assertEqual((now.phase, len(now.workers)), ("paused", 2))
        self.assertEqual(now.step, int(said.split()[2].rstrip(",")), "no step is lost")
        self.gangway("resume", "job")
        self.finish(running)
        pages = re.findall(r"(?m)^page +(\S+) ", running.said())
        self.assertEqual((len(pages), len(set(pages))), (4, 1), "one address for all starts")
        self.assertEqual(self.digest("job"), expected)
        events = self.gangway("events", "job")
        self.assertIn(" resize ", events)
        self.assertRegex(events, r" drain .* by unix ")

    def test_is_refused_in_words_and_leaves_for_good_where_it_is_told_to_end_meanwhile(self):
        """tests/coordinator/steering/steering_test.cpp has numbers that do not fit a layout."""
        running, run = self.begin_to_train(workers=2)
        self.assertIn("use -n 4 or fewer", self.gangway("resize", "job", 5, code=2))
        self.assertIn("has 2 workers already", self.gangway("resize", "job", 2))
        self.assertRegex(self.gangway("drain", "job", socket.gethostname(), code=2), "no worker would be left")
        self.assertRegex(self.gangway("drain", "job", "node-b", code=2), r"say a host \(.*\) or a worker's rank \(1 to 2\)")
        with Control(run) as control:
            self.assertEqual((control.status().phase, control.status().start), ("training", 1))
        self.gangway("drain", "job", "2")
        running.send(signal.SIGTERM)
        self.assertEqual(running.end(), 75, running.said()[-3000:])
        self.assertEqual(json.loads((run / "status.json").read_text())["exit_code"], 75)


class AtRandom(Resizing):
    """By hand: label campaign."""

    def test_many_times_to_the_same_digest(self):
        kimg = f"training.kimg={RESIZES * STEPS_EACH * 64 / 1000:g}"
        self.train("job.yaml", kimg, run="undisturbed", workers=1)
        seed = random.randrange(1 << 32)
        dice = random.Random(seed)
        running, run = self.begin_to_train(kimg, workers=2)
        workers = 2
        for number in range(2, RESIZES + 2):
            wanted = dice.choice([count for count in range(1, MOST + 1) if count != workers])
            if workers > 1 and dice.random() < 0.4:
                wanted = workers - 1
                said = self.gangway("drain", "job", dice.randint(1, workers))
            else:
                said = self.gangway("resize", "job", wanted)
            self.assertIn(f"goes on with {wanted} worker", said, f"seed {seed}")
            workers = self.wait_to_train(running, run, number)
            self.assertEqual(workers, wanted, f"seed {seed}")
        self.finish(running)
        self.assertEqual(self.digest("job"), self.digest("undisturbed"), f"seed {seed}")
        self.assertNotIn("FAIL", running.said())


SLOW = """
model: {family: mlp, width: 256, latent: 2}
data: {source: "toy:ring8"}
training: {kimg: 100000, batch: 4096, microbatches: 16}
checkpoint: {every_kimg: 0, keep: 100}
output: {tick_kimg: 41, pictures_kimg: 0}
numerics: {threads: 1}
"""


class Balanced(Steered):
    deadline = 600

    def slow_down(self, pid, until):
        """Stops the process for three quarters of the time."""
        while not until.wait(0.01):
            try:
                os.kill(pid, signal.SIGSTOP)
                time.sleep(0.03)
                os.kill(pid, signal.SIGCONT)
            except ProcessLookupError:
                return

    def test_a_slow_worker_gives_micro_batches_away(self):
        (self.folder / "job.yaml").write_text(SLOW)
        running, run = self.begin_to_train(workers=2, GANGWAY_LAYOUT_BALANCE="auto")
        with Control(run) as control:
            slow = control.status().workers[1].pid
        over = threading.Event()
        self.addCleanup(over.set)
        threading.Thread(target=self.slow_down, args=(slow, over), daemon=True).start()
        status = self.wait_for_start(running, run, 2)
        over.set()
        shares = [worker.end_microbatch - worker.first_microbatch for worker in status.workers]
        self.assertEqual(sum(shares), 16)
        self.assertLess(shares[1], shares[0], "the second was slow")
        self.assertIn(f"goes on with layout.shares {shares}", running.said())
        self.assertRegex(self.gangway("events", "job"), r" balance +gangway +saves step")
        with Control(run) as control:
            control.wait_until(lambda now: now.step > status.step + 5, "steps")
        said = self.gangway("stop", "job")
        self.assertEqual(running.end(), 75)
        steps = int(said.split()[2].rstrip(","))
        self.train("job.yaml", f"training.kimg={steps * 4.096:.3f}", run="even", workers=1)
        self.assertEqual(self.digest("job"), self.digest("even"))


if __name__ == "__main__":
    unittest.main()
