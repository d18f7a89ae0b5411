#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Figures of updates and logits in stats.jsonl are equal on one and three workers, and change no bit.

    GANGWAY_BIN=build/release/bin shown_figures.py [unittest arguments]
"""
import json
import unittest

from train_command import EXAMPLES, Trainings

CLOTHES = EXAMPLES / "fashion-mnist.yaml"
# Twelve steps in six ticks; every fourth step has histograms.
SMALL = ["model.width=8", "training.batch=16", "training.microbatches=4", "training.kimg=0.192",
         "output.pictures_kimg=0", "output.tick_kimg=0.032", "generator.schedule.warmup_kimg=0.096", "training.loss=nonsaturating"]
NORMS = "gradient_norm", "weight_norm", "update_ratio"
FIGURES = "real_logit", "fake_logit", "real_share", "accuracy"


class ShownFigures(Trainings):
    def ticks(self, run):
        return [json.loads(line) for line in (self.folder_of(run) / "stats.jsonl").read_text().splitlines()]

    def events(self, run):
        return [file.read_bytes() for file in self.folder_of(run).glob("events.out.tfevents.*")]

    def test_are_equal_on_one_and_three_workers_and_go_on_in_a_resume(self):
        self.train(CLOTHES, *SMALL, run="one", workers=1)
        self.train(CLOTHES, *SMALL, "output.histograms_kimg=0.064", run="three", workers=3)
        self.assertEqual(self.digest("one"), self.digest("three"))
        ones, threes = self.ticks("one"), self.ticks("three")
        self.assertEqual([tick["step"] for tick in ones], [2, 4, 6, 8, 10, 12])
        for one, three in zip(ones, threes, strict=True):
            for network in "generator", "discriminator":
                for key in (f"{network}_{norm}" for norm in NORMS):
                    self.assertGreater(one[key], 0.0, key)
                    self.assertAlmostEqual(three[key] / one[key], 1.0, delta=1e-6, msg=key)
                # figures of the last step but one
                self.assertEqual(one[f"{network}_updates"], one["step"] - 1)
                self.assertEqual(three[f"{network}_updates"], one["step"] - 1)
                self.assertEqual(three[f"{network}_lr"], one[f"{network}_lr"])
            for key in (f"discriminator_{figure}" for figure in FIGURES):
                self.assertEqual(three[key], one[key], key)
        rates = [tick["generator_lr"] for tick in ones]
        self.assertAlmostEqual(rates[1] / rates[0], 3.0)  # steps 1 and 3 of a warm-up of six
        self.assertEqual(rates[4], rates[5])
        for tag in b"Weights/generator/", b"Gradients/discriminator/", b"Logits/discriminator/real":
            self.assertIn(tag, self.events("three")[0])
            self.assertNotIn(tag, self.events("one")[0])
        self.train(CLOTHES, *SMALL, "training.kimg=0.256", run="one", workers=2)
        tick = self.ticks("one")[6]
        self.assertEqual((tick["step"], tick["generator_updates"]), (14, 13))
        self.assertEqual(set(self.ticks("one")[-1]), set(threes[-1]), "histograms are in TensorBoard alone")
        self.assertEqual(sorted(b"continues with 2 workers" in events for events in self.events("one")), [False, True])


if __name__ == "__main__":
    unittest.main()
