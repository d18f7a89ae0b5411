#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Trainings whose hosts exchange bf16 or fp16: declared inexact, one result a layout, as good as fp32.

    GANGWAY_BIN=build/release/bin rounded_wire.py [unittest arguments]

Workers that exchange messages alone (layout.transport=mpi) stand for hosts.
"""
import json
import unittest
from statistics import mean

from train_command import EXAMPLES, GANGWAY, Trainings

RING = EXAMPLES / "ring8.yaml"
MESSAGES = "layout.transport=mpi"
SHORT = [MESSAGES, "training.kimg=20", "output.pictures_kimg=0", "checkpoint.every_kimg=0", "model.width=64",
         "layout.check_steps=1", "layout.audit=true"]  # all replicas' weights are compared after every step
SEEDS = 0, 1, 2
MODES = 8
NOTE = "note   inexact, as declared by numerics.wire="


class RoundedWire(Trainings):
    def printed_by(self, *arguments, run, workers=2):
        code, out, err = self.call(GANGWAY, "run", RING, "-n", workers, "--run", run, *arguments)
        self.assertEqual(code, 0, out + err)
        return out

    def numerics_of(self, run):
        [manifest] = (self.folder / "runs").glob(f"*{run}/checkpoints/*/manifest.json")
        return json.loads(manifest.read_text())["numerics"]

    def test_the_run_and_its_checkpoint_say_that_it_is_inexact(self):
        self.assertIn(NOTE + "bf16: ", self.printed_by(*SHORT, "numerics.wire=bf16", run="rounded"))
        self.assertIn(" wire=bf16 ", self.numerics_of("rounded"))
        self.assertTrue(self.numerics_of("rounded").endswith(" inexact=wire"))
        self.assertNotIn("inexact", self.printed_by(*SHORT, run="exact"))
        self.assertNotIn("inexact", self.numerics_of("exact"))

    def test_a_layout_has_one_digest_whatever_the_overlap(self):
        for wire in ("bf16", "fp16", "{generator: bf16, discriminator: fp32}"):
            digests = set()
            for overlap in ("none", "across"):
                run = f"{wire.strip('{}').split(':')[0]}-{overlap}"
                self.train(RING, *SHORT, f"numerics.wire={wire}", f"layout.overlap={overlap}", run=run, workers=2)
                digests.add(self.digest(run))
            self.assertEqual(len(digests), 1, wire)

    def test_clipping_and_a_resume_on_another_number_of_workers_train_on(self):
        job = [*SHORT, "numerics.wire=bf16", "generator.clip_norm=0.5", "discriminator.clip_norm=0.5",
               "training.microbatches=4"]
        self.train(RING, *job, run="resumed", workers=2)
        self.train(RING, *job, "training.kimg=40", run="resumed", workers=3)


class Modes(Trainings):
    def score(self, run):
        code, out, err = self.call(GANGWAY, "evaluate", run, "--json")
        self.assertEqual(code, 0, err)
        report = json.loads(out)
        return report["covered"], report["good_share"]

    def test_as_many_modes_are_found_as_in_fp32(self):
        """On the whole: which modes one training finds is chance, in fp32 as well."""
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
