#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Networks on workers of their own: one worker's digest, whoever holds what, and after a kill on any other layout.

    GANGWAY_BIN=build/release/bin networks_apart.py [unittest arguments]
"""
import unittest

from train_and_digest import CLOTHES, IMAGES_A_STEP, SMALL, Divided, Killing
from train_command import EXAMPLES, Trainings

APART = ["layout.generator=[0]", "layout.discriminator=[1]"]
UNEQUAL = ["layout.generator=[0]", "layout.discriminator=[1, 2, 3]"]
OVERLAPPING = ["layout.discriminator=[1, 2]"]


class Digests(Divided):
    def test_points(self):
        self.assert_one_digest(EXAMPLES / "ring8.yaml", "training.kimg=2", "training.microbatches=4",
                               "output.pictures_kimg=0", layouts=[(2, *APART), (4, *UNEQUAL), (3, *OVERLAPPING)])

    def test_images_by_every_transport_and_overlap(self):
        self.assert_one_digest(CLOTHES, *SMALL, "training.kimg=0.256", layouts=[
            (2, *APART, "layout.transport=mpi", "layout.overlap=none"),
            (2, *APART, "layout.transport=shm", "layout.overlap=within", "layout.buckets=1"),
            (4, *UNEQUAL, "layout.transport=mpi"),
            (4, *UNEQUAL, "layout.transport=hierarchical", "layout.audit=true", "layout.check_steps=1")])

    def test_the_net_of_13_million_weights(self):
        self.assert_one_digest(EXAMPLES / "infogan.yaml", "training.kimg=0.064", "training.batch=32",
                               "output.pictures_kimg=0", layouts=[(2, *APART)])


class KilledAndResumed(Killing):
    def test_on_another_layout_ends_as_one_go_does(self):
        job = [CLOTHES, *SMALL, "checkpoint.every_kimg=0.256", "output.tick_kimg=0.256"]
        self.kill_somewhere_behind_a_checkpoint("run", *job, *APART, "training.kimg=40", "-n", 2, "--run", "killed")
        steps = self.newest_step("killed") + 24  # snapshots may be some steps ahead of it
        length = f"training.kimg={steps * IMAGES_A_STEP / 1000}"
        middle = f"training.kimg={(steps - 8) * IMAGES_A_STEP / 1000}"
        together = ["layout.generator=auto", "layout.discriminator=auto"]
        self.train(*job, middle, *together, run="killed", workers=3)
        self.train(*job, length, *UNEQUAL, run="killed", workers=4)
        self.train(*job, length, run="one-go", workers=1)
        self.assertEqual(self.digest("killed"), self.digest("one-go"))


class Pictures(Trainings):
    def test_are_drawn_by_who_holds_the_generator(self):
        pictures = {}
        for run, workers, layout in (("one", 1, []),
                                     ("apart", 2, ["layout.generator=[1]", "layout.discriminator=[0]"])):
            self.train(CLOTHES, *SMALL, "training.kimg=0.128", *layout, run=run, workers=workers)
            folder = next((self.folder / "runs").glob(f"*-{run}"))
            pictures[run] = {path.name: path.read_bytes() for path in folder.glob("*.png")}
        self.assertEqual(len([name for name in pictures["one"] if name.startswith("fakes")]), 2, "first and last")
        self.assertEqual(pictures["apart"], pictures["one"])


class Refusals(Divided):
    def test_name_the_place_and_the_remedy(self):
        self.assert_refused("layout.discriminator names worker 2, and the last of 2 is worker 1; use -n 3",
                            "layout.generator=[0]", "layout.discriminator=[1, 2]")
        self.assert_refused("the layout places no network on worker 1 of 2",
                            "layout.generator=[0]", "layout.discriminator=[0]")
        self.assert_refused("expected workers in ascending order", "layout.generator=[1, 0]")
        self.assert_refused("cannot share training.microbatches 4", "layout.generator=[0, 1, 2, 3, 4]", workers=5)
        self.assert_refused("fp16 needs one loss scale", *APART, "numerics.precision=fp16")


if __name__ == "__main__":
    unittest.main()
