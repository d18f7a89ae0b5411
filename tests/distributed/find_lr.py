#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""gangway find-lr with real workers: the rate that is too high is named, and nothing stays behind.

    GANGWAY_BIN=build/release/bin find_lr.py [unittest arguments]
"""
import pathlib
import re
import signal
import time
import unittest

from train_command import EXAMPLES, GANGWAY, Trainings, descendants

RING = EXAMPLES / "ring8.yaml"
SMALL = ["model.width=32", "training.batch=64", "-n", 2]
PNG = b"\x89PNG\r\n\x1a\n"


def is_there(pid):
    return pathlib.Path(f"/proc/{pid}").exists()


class FindLr(Trainings):
    def setUp(self):
        super().setUp()
        self.temporary = self.folder / "tmp"
        self.temporary.mkdir()

    def find(self, *arguments, job=RING, **variables):
        code, out, err = self.call(GANGWAY, "find-lr", job, *SMALL, *arguments, TMPDIR=self.temporary, **variables)
        self.assertEqual(list(self.temporary.glob("gangway-*")), [])
        self.assertFalse((self.folder / "runs").exists())
        return code, out, err

    def rate(self, pattern, out):
        found = re.search(pattern, out, re.MULTILINE)
        self.assertTrue(found, out)
        return float(found[1])

    def test_names_the_rate_that_diverges_and_draws_the_losses(self):
        code, out, err = self.find("--from", "1e-5", "--to", "100", "--steps", 70, "-o", "lr.png")
        self.assertEqual(code, 0, out + err)
        self.assertIn("lr of generator, discriminator from 1e-05 to 100 in 70 steps\n", out)
        diverged = self.rate(r"^diverges at lr (\S+) \(step \d+\): ", out)
        self.assertGreater(diverged, 1e-2)
        self.assertLess(diverged, 100.1)
        suggested = self.rate(r"^suggested lr: ([^,\s]+), 1/(?:4|10) of where .*; try it and lower ones: ", out)
        self.assertLess(suggested / diverged, 0.11)
        self.assertRegex(out, r"(?m)^ *lr +step +generator loss +discriminator loss$")
        self.assertTrue((self.folder / "lr.png").read_bytes().startswith(PNG))

    def test_finds_no_explosion_where_rates_are_low(self):
        code, out, err = self.find("--from", "1e-7", "--to", "1e-5", "--steps", 40, "--network", "discriminator")
        self.assertEqual(code, 0, out + err)
        self.assertIn("lr of discriminator from 1e-07 to 1e-05 in 40 steps\n", out)
        self.assertIn("no loss explodes up to lr 1e-05; a larger --to finds where one does\n", out)

    def test_takes_a_run_that_ends_with_a_loss_that_is_not_finite_for_a_divergence(self):
        # Squares of logits of such weights are beyond all floats.
        code, out, err = self.find("--from", "1", "--to", "1e9", "--steps", 40, "training.loss=least-squares")
        self.assertEqual(code, 0, out + err)
        self.rate(r"^diverges at lr (\S+) \(step \d+\): ", out)
        steps = [int(step) for step in re.findall(r"(?m)^ *\S+e[+-]\d+ +(\d+) ", out)]
        self.assertLess(steps[-1], 40)  # the run came to no more

    def test_is_not_changed_by_the_environments_words_for_the_job(self):
        code, out, err = self.find("--from", "1e-7", "--to", "1e-5", "--steps", 40, GANGWAY_TRAINING_KIMG="100",
                                   GANGWAY_OUTPUT_TICK_KIMG="7", GANGWAY_GENERATOR_SCHEDULE_DECAY="cosine")
        self.assertEqual(code, 0, out + err)
        self.assertRegex(out, r"(?m)^ *1\.00e-05 +40 ")

    def test_refuses_what_cannot_be_tested(self):
        for arguments, complaint in ((["--from", "1", "--to", "0.1"], "expected two rates above 0 that rise"),
                                     (["--network", "critic"], "the job has no network 'critic'"),
                                     (["-o", "nowhere/lr.png"], "there is no folder nowhere"),
                                     (["generator.schedule.decay=cosin"], "did you mean 'cosine'?")):
            code, out, err = self.find(*arguments)
            self.assertEqual(code, 2, out + err)
            self.assertIn(complaint, err)

    def test_a_signal_ends_it_and_its_run_and_leaves_nothing(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            running = self.start("find-lr", RING, *SMALL, "--steps", 100_000, name=f"said{number}", TMPDIR=self.temporary)
            running.wait_until(lambda: list(self.temporary.rglob("stats.jsonl")), "its run's first step")
            processes = descendants(running.process.pid)
            self.assertTrue(processes)
            running.send(number)
            self.assertEqual(running.end(), 128 + number, running.said())
            self.assertIn("gangway: stopped by a signal; nothing is left behind", running.said())
            self.assertEqual(list(self.temporary.glob("gangway-*")), [])
            end = time.monotonic() + 5  # who guards the launcher sees it end, and ends
            while any(map(is_there, processes)) and time.monotonic() < end:
                time.sleep(0.01)
            self.assertEqual(list(filter(is_there, processes)), [])


if __name__ == "__main__":
    unittest.main()
