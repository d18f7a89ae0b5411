#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Networks cut into chunks on several workers: one worker's digest, however they are cut, and after a kill on any other layout.

    GANGWAY_BIN=build/release/bin stages.py [unittest arguments]
"""
import json
import re
import unittest

from networks_apart import APART
from train_and_digest import CLOTHES, IMAGES_A_STEP, SMALL, Divided, Killing
from train_command import EXAMPLES, GANGWAY, Trainings

TWO = ["layout.stages=2"]
CLIPPED = ["generator.clip_norm=0.05", "discriminator.clip_norm=0.05"]  # every update, or nearly
THREE = ["layout.stages=3"]


class Digests(Divided):
    def test_points(self):
        self.assert_one_digest(EXAMPLES / "ring8.yaml", "training.kimg=2", "training.microbatches=4",
                               "output.pictures_kimg=0", layouts=[(2, *TWO)])

    def test_images_by_every_transport_and_overlap(self):
        self.assert_one_digest(CLOTHES, *SMALL, "training.kimg=0.256", layouts=[
            (2, *TWO, "layout.transport=mpi", "layout.overlap=none"),
            (2, *TWO, "layout.transport=shm", "layout.overlap=within", "layout.cuts.generator=[1]",
             "layout.buckets=20"),
            (3, *THREE),
            (4, *TWO, "layout.transport=hierarchical", "layout.audit=true", "layout.check_steps=1")])

    def test_four_stages_of_eight_microbatches_with_a_penalty(self):
        self.assert_one_digest(CLOTHES, *SMALL, "training.microbatches=8", "training.kimg=0.192",
                               "training.r1={gamma: 1, interval: 2}", layouts=[
            (2, *TWO, "layout.schedule=zero-bubble", "layout.in_flight=3"),
            (4, "layout.stages=4", "layout.placement=v", "layout.schedule=1f1b", "layout.overlap=none")])

    def test_networks_whose_updates_wait_for_the_norm_of_their_gradient(self):
        self.assert_one_digest(CLOTHES, *SMALL, *CLIPPED, "training.divergence.gradient_norm=1e6", "training.kimg=0.256",
                               layouts=[
            (2, *TWO, "layout.transport=mpi", "layout.schedule=by-phase", "layout.placement=v"),
            (3, *THREE, "layout.transport=shm", "layout.recompute=true", "layout.check_steps=1")])

    def test_augmentation_that_adapts(self):
        self.assert_one_digest(CLOTHES, *SMALL, "training.augment={policy: ada, target: -1, kimg: 2}",
                               "training.kimg=0.512", layouts=[(4, *TWO, "layout.recompute=true")])
        strengths = set()
        for run in ("one", "divided0"):
            folder = next((self.folder / "runs").glob(f"*-{run}"))
            ticks = [json.loads(line) for line in (folder / "stats.jsonl").read_text().splitlines()]
            strengths.add(max(tick.get("discriminator_augment_strength", 0.0) for tick in ticks))
        self.assertEqual(len(strengths), 1, "as people are shown it")
        self.assertGreater(strengths.pop(), 0.0)

    def test_a_norm_above_its_bound_ends_it_at_the_step_at_which_it_ends_one_worker(self):
        told = set()
        for layout, workers in (([], 1), (TWO, 2), (TWO, 4)):
            code, out, err = self.call(GANGWAY, "run", CLOTHES, *SMALL, "training.kimg=0.512", *layout, "-n", workers,
                                       "training.divergence.gradient_norm=0.7", "--run", f"bound{workers}")
            self.assertEqual(code, 4, out + err)
            told.update(re.findall(r"step \d+: the norm of the \w+'s gradient is \S+, above", out + err))
        self.assertEqual(len(told), 1, told)


class KilledAndResumed(Killing):
    def test_on_another_layout_ends_as_one_go_does(self):
        job = [CLOTHES, *SMALL, *CLIPPED, "checkpoint.every_kimg=0.256", "output.tick_kimg=0.256"]
        self.kill_somewhere_behind_a_checkpoint("run", *job, *TWO, "training.kimg=40", "-n", 2, "--run", "killed")
        steps = self.newest_step("killed") + 24  # snapshots may be some steps ahead of it
        length = f"training.kimg={steps * IMAGES_A_STEP / 1000}"
        middle = f"training.kimg={(steps - 8) * IMAGES_A_STEP / 1000}"
        whole = ["layout.stages=1"]
        self.train(*job, middle, *whole, *APART, run="killed", workers=2)
        self.train(*job, length, *THREE, "layout.generator=auto", "layout.discriminator=auto", run="killed", workers=3)
        self.train(*job, length, run="one-go", workers=1)
        self.assertEqual(self.digest("killed"), self.digest("one-go"))


class Pictures(Trainings):
    def test_are_drawn_of_the_whole_generator(self):
        for average in ("generator.ema_kimg=0.5", "generator.ema_kimg=0"):
            pictures = {}
            for layout, workers in (([], 1), (TWO, 2)):
                run = f"of{workers}{average[-1]}"
                self.train(CLOTHES, *SMALL, "training.kimg=0.128", average, *layout, run=run, workers=workers)
                folder = next((self.folder / "runs").glob(f"*-{run}"))
                pictures[workers] = {path.name: path.read_bytes() for path in folder.glob("*.png")}
            self.assertEqual(len([name for name in pictures[1] if name.startswith("fakes")]), 2, "first and last")
            self.assertEqual(pictures[2], pictures[1])


class Refusals(Divided):
    def test_name_the_place_and_the_remedy(self):
        self.assert_refused("3 workers cannot hold 2 chunks of the generator in equal numbers", *TWO, workers=3)
        self.assert_refused("cuts before block 9, and the last of", "layout.cuts.generator=[9]")
        self.assert_refused("expected blocks in ascending order", "layout.cuts.generator=[2, 1]")
        self.assert_refused("of which none has two blocks or more", *TWO, "layout.cuts.generator=[]",
                            "layout.cuts.discriminator=[]")
        self.assert_refused("keep it whole with layout.cuts.discriminator []", *TWO, "training.divergence.diversity=0.001")
        self.assert_refused("expected fill, gpipe, 1f1b, zero-bubble", *TWO, "layout.schedule=pipedream")
        self.assert_refused("fp16 needs one loss scale", *TWO, "numerics.precision=fp16")


if __name__ == "__main__":
    unittest.main()
