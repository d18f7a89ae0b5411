#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What stats.jsonl tells of updates and logits is the same on one and on three workers, and looking changes no bit.

    GANGWAY_BIN=build/release/bin shown_figures.py [unittest arguments]
"""
import json
import unittest

from train_command import EXAMPLES, Trainings

CLOTHES = EXAMPLES / "fashion-mnist.yaml"
# Twelve steps in six ticks; every fourth step has histograms.
SMALL = ["model.width=8", "training.batch=16", "training.microbatches=4", "training.kimg=0.192",
         "output.pictures_kimg=0", "output.tick_kimg=0.032", "generator.schedule.warmup_kimg=0.096", "training.loss=nonsaturating"]
DRAWN = "output.histograms_kimg=0.064"
NORMS = "gradient_norm", "weight_norm", "update_ratio"
FIGURES = "real_logit", "fake_logit", "real_share", "accuracy"


class ShownFigures(Trainings):
    def ticks(self, run):
        [stats] = (self.folder / "runs").glob(f"*{run}/stats.jsonl")
        return [json.loads(line) for line in stats.read_text().splitlines()]

    def events(self, run):
        [events] = (self.folder / "runs").glob(f"*{run}/events.out.tfevents.*")
        return events.read_bytes()

    def test_are_equal_on_one_and_three_workers(self):
        self.train(CLOTHES, *SMALL, run="one", workers=1)
        self.train(CLOTHES, *SMALL, DRAWN, run="three", workers=3)
        self.assertEqual(self.digest("one"), self.digest("three"))
        ones, threes = self.ticks("one"), self.ticks("three")
        self.assertEqual([tick["step"] for tick in ones], [2, 4, 6, 8, 10, 12])
        for one, three in zip(ones, threes, strict=True):
            for network in "generator", "discriminator":
                for key in (f"{network}_{norm}" for norm in NORMS):
                    self.assertGreater(one[key], 0.0, key)
                    self.assertAlmostEqual(three[key] / one[key], 1.0, delta=1e-6, msg=key)
                # Of the last step but one.
                self.assertEqual(one[f"{network}_updates"], one["step"] - 1)
                self.assertEqual(three[f"{network}_updates"], one["step"] - 1)
                self.assertEqual(three[f"{network}_lr"], one[f"{network}_lr"])
            for key in (f"discriminator_{figure}" for figure in FIGURES):
                self.assertEqual(three[key], one[key], key)
        rates = [tick["generator_lr"] for tick in ones]
        self.assertAlmostEqual(rates[1] / rates[0], 3.0)  # steps 1 and 3 of six that warm up
        self.assertEqual(rates[4], rates[5])

    def test_histograms_are_in_tensorboard_alone(self):
        self.train(CLOTHES, *SMALL, DRAWN, run="drawn", workers=2)
        self.train(CLOTHES, *SMALL, run="plain", workers=2)
        self.assertEqual(self.digest("drawn"), self.digest("plain"))
        for tag in b"Weights/generator/", b"Gradients/discriminator/", b"Logits/discriminator/real":
            self.assertIn(tag, self.events("drawn"))
            self.assertNotIn(tag, self.events("plain"))
        self.assertEqual(set(self.ticks("drawn")[-1]), set(self.ticks("plain")[-1]))

    def test_the_first_tick_of_a_resume_has_figures_and_tensorboard_a_mark(self):
        self.train(CLOTHES, *SMALL, run="resumed", workers=2)
        self.train(CLOTHES, *SMALL, "training.kimg=0.256", run="resumed", workers=3)
        ticks = self.ticks("resumed")
        self.assertEqual(ticks[6]["step"], 14)
        self.assertEqual(ticks[6]["generator_updates"], 13)
        marks = [b"goes on with 3 workers" in events.read_bytes()
                 for events in (self.folder / "runs").glob("*resumed/events.out.tfevents.*")]
        self.assertEqual(sorted(marks), [False, True])


if __name__ == "__main__":
    unittest.main()
