#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Trainings whose hosts exchange bf16 or fp16: declared inexact, one result per layout, as good as fp32.

    GANGWAY_BIN=build/release/bin rounded_wire.py [unittest arguments]

Workers that only exchange messages (layout.transport=mpi) stand for hosts.
"""
import json
import unittest
from statistics import mean

from train_command import EXAMPLES, GANGWAY, Trainings

RING = EXAMPLES / "ring8.yaml"
MESSAGES = "layout.transport=mpi"
SHORT = [MESSAGES, "training.kimg=5", "output.pictures_kimg=0", "checkpoint.every_kimg=0", "model.width=64",
         "layout.check_steps=1", "layout.audit=true"]  # compares all replicas' weights after every step
SEEDS = 0, 1, 2
MODES = 8


class RoundedWire(Trainings):
    def printed_by(self, *arguments, run, workers=2):
        code, out, err = self.call(GANGWAY, "run", RING, "-n", workers, "--run", run, *SHORT, *arguments)
        self.assertEqual(code, 0, out + err)
        return out

    def test_is_declared_inexact_has_one_digest_a_layout_whatever_the_overlap_and_goes_on_on_another(self):
        job = ["numerics.wire={generator: bf16, discriminator: fp16}", "generator.clip_norm=0.5", "training.microbatches=4"]
        self.assertIn("note   inexact, as declared by numerics.wire=", self.printed_by(*job, "layout.overlap=across", run="across"))
        numerics = json.loads(next(self.folder_of("across").glob("checkpoints/*/manifest.json")).read_text())["numerics"]
        self.assertIn(" wire=", numerics)
        self.assertTrue(numerics.endswith(" inexact=wire"), numerics)
        self.printed_by(*job, "layout.overlap=none", run="none")
        self.assertEqual(self.digest("across"), self.digest("none"))
        self.assertNotIn("inexact", self.printed_by(*job[1:], run="exact"))
        self.assertNotEqual(self.digest("across"), self.digest("exact"))
        self.printed_by(*job, "training.kimg=10", run="across", workers=3)


class Modes(Trainings):
    def score(self, run):
        code, out, err = self.call(GANGWAY, "evaluate", run, "--json")
        self.assertEqual(code, 0, err)
        report = json.loads(out)
        return report["covered"], report["good_share"]

    def test_as_many_modes_are_found_as_in_fp32(self):
        """Compares averages, because the modes that one training finds are chance, in fp32 too."""
        found = {}
        for wire in ("fp32", "bf16"):
            for seed in SEEDS:
                run = f"{wire}-{seed}"
                self.train(RING, MESSAGES, "training.kimg=400", f"numerics.wire={wire}", f"training.seed={seed}",
                           "output.pictures_kimg=0", run=run, workers=2)
                found.setdefault(wire, []).append(self.score(run))
        covered, shares = ({wire: [score[i] for score in scores] for wire, scores in found.items()} for i in (0, 1))
        print(covered, shares)
        self.assertEqual(set(covered["fp32"]), {MODES})
        self.assertGreaterEqual(sum(covered["bf16"]), MODES * len(SEEDS) - 1)
        self.assertGreater(mean(shares["bf16"]), mean(shares["fp32"]) - 0.1)


if __name__ == "__main__":
    unittest.main()
