#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Networks on workers of their own, and networks cut into chunks on several: one worker's digest and pictures, and after kills on
other layouts too. Other layouts, schedules and jobs: tests/fidelity/apart_test.cpp and stages_test.cpp, by threads.

    GANGWAY_BIN=build/release/bin divided.py [unittest arguments]
"""
import unittest

from train_and_digest import CLOTHES, IMAGES_A_STEP, SMALL, Killing
from train_command import Trainings

APART = ["layout.generator=[1]", "layout.discriminator=[2]"]
UNEQUAL = ["layout.generator=[1]", "layout.discriminator=[2, 3, 4]"]
TWO = ["layout.stages=2"]
THREE = ["layout.stages=3"]
CLIPPED = ["generator.clip_norm=0.05", "discriminator.clip_norm=0.05"]  # every update, or nearly
CHECKED = ["layout.audit=true", "layout.check_steps=1"]


class Divided(Trainings):
    def test_has_one_workers_digest_and_pictures_by_every_transport_and_overlap(self):
        job = [CLOTHES, *SMALL, *CLIPPED, "training.kimg=0.128"]
        layouts = [(2, *APART, "layout.transport=shm", "layout.overlap=within", "layout.buckets=1"),
                   (4, *UNEQUAL, "layout.transport=hierarchical", *CHECKED),
                   (2, *TWO, "layout.transport=mpi", "layout.overlap=none", "layout.schedule=zero-bubble", "layout.in_flight=3"),
                   (3, *THREE, "layout.transport=shm", "layout.placement=v", "layout.schedule=1f1b", "layout.recompute=true"),
                   (4, *TWO, "layout.transport=hierarchical", "layout.cuts.generator=[1]", *CHECKED)]
        self.train(*job, run="one", workers=1)
        pictures = self.pictures("one")
        self.assertEqual(len([name for name in pictures if name.startswith("fakes")]), 2, "first and last")
        for index, (workers, *layout) in enumerate(layouts):
            with self.subTest(layout):
                self.train(*job, *layout, run=f"divided{index}", workers=workers)
                self.assertEqual(self.digest(f"divided{index}"), self.digest("one"))
                self.assertEqual(self.pictures(f"divided{index}"), pictures)

    def pictures(self, run):
        return {path.name: path.read_bytes() for path in self.folder_of(run).glob("*.png")}


class KilledAndResumed(Killing):
    def test_on_other_layouts_ends_as_one_go_does(self):
        job = [CLOTHES, *SMALL, *CLIPPED, "checkpoint.every_kimg=0.256", "output.tick_kimg=0.256"]
        self.kill_somewhere_behind_a_checkpoint("run", *job, *TWO, "training.kimg=40", "-n", 2, "--run", "killed")
        steps = self.newest_step("killed") + 24  # snapshots may be some steps ahead of it
        length = f"training.kimg={steps * IMAGES_A_STEP / 1000}"
        middle = f"training.kimg={(steps - 8) * IMAGES_A_STEP / 1000}"
        self.train(*job, middle, "layout.stages=1", *UNEQUAL, run="killed", workers=4)
        self.train(*job, length, *THREE, "layout.generator=auto", "layout.discriminator=auto", run="killed", workers=3)
        self.train(*job, length, run="one-go", workers=1)
        self.assertEqual(self.digest("killed"), self.digest("one-go"))


if __name__ == "__main__":
    unittest.main()
