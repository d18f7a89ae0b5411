#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests `gangway find-lr`: conclusions and job. A whole one: tests/distributed/measuring.py.

    GANGWAY_BIN=build/release/bin find_lr_test.py [unittest arguments]
"""
import math
import os
import subprocess
import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "share/python"))
from gangway import Failed  # noqa: E402
from gangway.tools import find_lr  # noqa: E402
from gangway.tools.measured import prepared  # noqa: E402

RING = ROOT / "examples/ring8.yaml"
KEPT = Path(__file__).parent / "find_lr"
STEPS = 300
RATES = [1e-6 * 1e6 ** (step / STEPS) for step in range(1, STEPS + 1)]


def usual_loss(rate):
    """A loss that falls around 1e-3, and explodes from 1e-1 on."""
    return 1.4 - 1 / (1 + math.exp(-4 * (math.log10(rate) + 3))) + (1e3 * (rate - 0.1) if rate > 0.1 else 0)


def falling(rate):
    return usual_loss(min(rate, 0.05))


def curve_of(loss, steps=STEPS):
    stats = "".join(f'{{"step": {step}, "first_loss": {loss(rate)}, "second_loss": 0.5}}\n' for step, rate in enumerate(RATES[:steps], 1))
    return find_lr.curve_of(stats, ["first", "none", "second"], RATES)


class Conclusions(unittest.TestCase):
    def verdict(self, loss, tested=("first",), steps=STEPS, diverged_rate=None):
        return find_lr.verdict_of(curve_of(loss, steps), tested, diverged_rate)

    def test_are_those_of_the_command_in_c_plus_plus(self):
        """stats.jsonl, and its output by release 0.1: `find-lr ring8.yaml model.width=32 training.batch=64 training.microbatches=4
        -n 2 --from 1e-5 --to 100 --steps 70`."""
        rates = [1e-5 * 1e7 ** (step / 70) for step in range(1, 71)]
        names = ["generator", "discriminator"]
        curve = find_lr.curve_of((KEPT / "stats.jsonl").read_text(), names, rates)
        said = f"{find_lr.curve_text(curve)}\n{find_lr.verdict_text(find_lr.verdict_of(curve, names), 100)}"
        self.assertEqual(said, (KEPT / "said.txt").read_text())

    def test_are_of_networks_that_have_a_loss(self):
        curve = curve_of(usual_loss)
        self.assertEqual(list(curve.losses), ["first", "second"])
        for loss in curve.losses["second"]:
            self.assertAlmostEqual(loss, 0.5)

    def test_are_refused_of_lines_that_are_not_of_one_step_each(self):
        for stats, rates in (('{"step": 2}\n', RATES), ("no JSON\n", RATES), ('{"step": 1}\n{"step": 2}\n', [0.1])):
            with self.assertRaises(Failed):
                find_lr.curve_of(stats, ["first"], rates)

    def test_find_where_a_loss_explodes_and_where_it_falls_fastest(self):
        verdict = self.verdict(usual_loss, ("first", "second"))
        self.assertEqual(verdict.diverged.network, "first")
        self.assertTrue(0.1 < verdict.diverged.rate < 0.2)
        fall, = verdict.steepest  # the other network's loss is constant
        self.assertTrue(5e-4 < fall.rate < 2.5e-3)
        self.assertEqual(verdict.suggested, fall.rate / 4)
        self.assertIn(", 1/4 of where the first's loss falls fastest; try it and lower ones: ", find_lr.verdict_text(verdict, 1))
        self.assertEqual(self.verdict(usual_loss, ("second",)).steepest, [])

    def test_take_the_end_of_a_run_that_diverged_for_its_place(self):
        verdict = self.verdict(lambda rate: 0.7, steps=200, diverged_rate=RATES[200])
        self.assertEqual((verdict.diverged.step, verdict.suggested), (200, RATES[200] / 10))
        self.assertIn("diverges at lr 0.01 (step 201): a loss or a weight is not finite\n", find_lr.verdict_text(verdict, 1))
        self.assertEqual(self.verdict(usual_loss, steps=0, diverged_rate=1e-6).diverged.step, 0)

    def test_go_by_the_size_of_losses_below_zero(self):
        self.assertIsNone(self.verdict(lambda rate: -50.0 if rate < 1e-2 else 400.0).diverged)
        self.assertIsNotNone(self.verdict(lambda rate: -50.0 if rate < 1e-2 else 4000.0).diverged)

    def test_suggest_nothing_near_an_explosion_however_the_loss_falls(self):
        verdict = self.verdict(lambda rate: usual_loss(rate / 100) + (50 if rate > 0.05 else 0))  # the steepest fall is at 1e-1
        self.assertEqual(verdict.suggested, verdict.diverged.rate / 10)
        self.assertIn(", 1/10 of where it diverges; try ", find_lr.verdict_text(verdict, 1))

    def test_refuse_a_rate_at_which_the_other_networks_loss_suffers(self):
        curve = curve_of(falling)
        for loss, suffers in ((4.5, True), (2.0, False)):  # nine times as large at 1e-4; and a usual rise between adversaries
            curve.losses["second"][:] = [0.5 if rate < 0.99e-4 else loss for rate in RATES]
            verdict = find_lr.verdict_of(curve, ["first", "second"])
            self.assertEqual((verdict.suffers is not None, verdict.suggested is None), (suffers, suffers))
            if suffers:
                self.assertIn("suggested lr: none, from lr 0.0001 on (step 100) the second's loss is 4 times its size above its best; ",
                              find_lr.verdict_text(verdict, 1))

    def test_say_that_nothing_explodes_and_that_nothing_happened(self):
        verdict = self.verdict(falling)
        self.assertEqual(verdict.suggested, verdict.steepest[0].rate / 4)
        self.assertIn("no loss explodes up to lr 1; a larger --to finds where one does\n", find_lr.verdict_text(verdict, 1))
        self.assertIn("suggested lr: none", find_lr.verdict_text(self.verdict(lambda rate: 0.7), 1))

    def test_show_steps_equally_far_apart(self):
        lines = find_lr.curve_text(curve_of(usual_loss), 3).splitlines()
        self.assertEqual([line.split()[1] for line in lines[2:]], ["1", "101", "201"])


class RangeJob(unittest.TestCase):
    def range_of(self, *keys, network=None, steps=60):
        told = prepared(RING, keys)
        return told, find_lr.range_job(told, find_lr.tested_networks(told, network), 1e-5, 10, steps)

    def test_has_a_tick_a_step_and_as_many_as_are_asked_for(self):
        told, job = self.range_of("training.batch=448", "discriminator.steps=3")
        kimg = told["images_per_step"] / 1000
        self.assertEqual(kimg, 1.344)
        self.assertEqual((math.ceil(job["training"]["kimg"] / kimg), job["output"]["tick_kimg"]), (60, kimg))
        self.assertEqual(job["generator"]["optimizer"]["adam"]["lr"], 1e-5)
        self.assertEqual(job["generator"]["schedule"]["end_kimg"], 60 * kimg)

    def test_leaves_other_networks_and_their_schedules_as_they_are(self):
        told, job = self.range_of("generator.schedule={warmup_kimg: 3, decay: cosine}", network="discriminator")
        self.assertEqual(job["generator"], told["job"]["generator"])
        self.assertEqual(job["discriminator"]["optimizer"]["adam"]["betas"], told["job"]["discriminator"]["optimizer"]["adam"]["betas"])

    def test_tests_what_is_trained(self):
        told = {"networks": [{"name": "generator", "frozen": True}, {"name": "discriminator", "frozen": False}]}
        self.assertEqual(find_lr.tested_networks(told, None), ["discriminator"])
        for name in ("critic", "generator"):
            with self.assertRaises(Failed):
                find_lr.tested_networks(told, name)


class CommandLine(unittest.TestCase):
    def test_says_in_one_line_what_is_wrong(self):
        for words, says in ((["nowhere.yaml"], "no such file"), ([RING, "--steps", "3"], "3 is not in the range 20 to 1000000"),
                            ([RING, "--from", "1", "--to", "0.1"], "two rates above 0 that rise"), ([RING, "-n", "9"], "use at most 2"),
                            ([RING, "-o", "nowhere/lr.png"], "no folder nowhere"), ([RING, "model.widht=3"], "did you mean 'model.width'"),
                            ([], "JOB.yaml"), ([RING, "--stepss", "3"], "--stepss")):
            with self.subTest(words=words):
                done = subprocess.run([Path(os.environ["GANGWAY_BIN"]) / "gangway", "find-lr", *words], capture_output=True, text=True)
                self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
                self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
                self.assertTrue(done.stderr.startswith("gangway: "), done.stderr)
                self.assertIn(says, done.stderr)


if __name__ == "__main__":
    unittest.main()
