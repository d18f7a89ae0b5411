#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The examples at full width on several numbers of workers, and in 2 + 2 kimg with a kill between: equal digests.

    GANGWAY_BIN=build/release/bin layouts_at_full_width.py [unittest arguments]      some 20 minutes on 2 cores
"""
import unittest

from train_command import EXAMPLES, Trainings
from train_and_digest import Killing

CLOTHES = EXAMPLES / "fashion-mnist.yaml"
QUIET = ["output.pictures_kimg=0", "checkpoint.every_kimg=0"]


class FullWidth(Trainings):
    deadline = 900

    def check(self, job, *arguments, workers):
        for count in workers:
            self.train(job, *QUIET, *arguments, run=f"w{count}", workers=count)
        digests = {count: self.digest(f"w{count}") for count in workers}
        print(f"{self.id().rpartition('.')[2]:55} {digests}", flush=True)
        self.assertEqual(len(set(digests.values())), 1, digests)

    def test_clothes_on_one_to_four(self):
        self.check(CLOTHES, "training.kimg=2", "training.microbatches=4", workers=(1, 2, 3, 4))

    def test_infogan_on_one_to_four(self):
        self.check(EXAMPLES / "infogan.yaml", "training.kimg=2", "training.microbatches=4", workers=(1, 2, 3, 4))

    def test_labels_on_one_to_four(self):
        self.check(EXAMPLES / "conditional.yaml", "training.kimg=2", "training.microbatches=4", workers=(1, 2, 3, 4))

    def test_gradient_penalty_with_two_critic_steps_on_one_to_four(self):
        self.check(EXAMPLES / "wgan-gp.yaml", "training.kimg=2", "training.microbatches=4", "discriminator.steps=2",
                   workers=(1, 2, 3, 4))

    def test_r1_every_four_steps_on_one_to_four(self):
        self.check(EXAMPLES / "r1.yaml", "training.kimg=2", "training.microbatches=4", "training.r1.interval=4",
                   workers=(1, 2, 3, 4))

    def test_relativistic_on_one_to_four(self):
        self.check(EXAMPLES / "relativistic.yaml", "training.kimg=2", "training.microbatches=4", workers=(1, 2, 3, 4))

    def test_r3gan_on_one_to_four(self):
        self.check(EXAMPLES / "r3gan.yaml", "training.kimg=1", "training.microbatches=4", workers=(1, 2, 3, 4))

    def test_gat_on_one_to_four(self):
        self.check(EXAMPLES / "gat.yaml", "training.kimg=0.5", "training.microbatches=4", workers=(1, 2, 3, 4))

    def test_biggan_on_one_to_four(self):
        self.check(EXAMPLES / "biggan.yaml", "training.kimg=0.5", "training.microbatches=4", workers=(1, 2, 3, 4))

    def test_stylegan2_on_one_to_four(self):
        self.check(EXAMPLES / "stylegan2.yaml", "training.kimg=0.5", "training.microbatches=4", workers=(1, 2, 3, 4))

    def test_progressive_on_one_to_four(self):
        self.check(EXAMPLES / "progressive.yaml", "training.kimg=1", "training.microbatches=4", "training.growth.kimg=0.15",
                   "training.growth.fade_kimg=0.15", workers=(1, 2, 3, 4))

    def test_clipping_on_one_to_four(self):
        self.check(CLOTHES, "training.kimg=2", "training.microbatches=4", "generator.clip_norm=0.5",
                   "discriminator.clip_norm=0.5", workers=(1, 2, 3, 4))

    def test_every_transport_and_overlap(self):
        jobs = {
            "clothes": [CLOTHES],
            "infogan": [EXAMPLES / "infogan.yaml"],
            "wgan-gp": [EXAMPLES / "wgan-gp.yaml", "discriminator.steps=3"],
            "r1": [EXAMPLES / "r1.yaml", "training.r1.interval=4"],
            "clipping": [CLOTHES, "generator.clip_norm=0.5", "discriminator.clip_norm=0.5"],
        }
        for name, job in jobs.items():
            common = [*job, *QUIET, "training.kimg=0.5", "training.microbatches=4"]
            self.train(*common, run=f"{name}-one", workers=1)
            expected = self.digest(f"{name}-one")
            for transport in ("shm", "mpi", "hierarchical"):
                for overlap in ("none", "within", "across"):
                    for workers in (2, 3, 4):
                        run = f"{name}-{transport}-{overlap}-{workers}"
                        self.train(*common, f"layout.transport={transport}", f"layout.overlap={overlap}", run=run,
                                   workers=workers)
                        self.assertEqual(self.digest(run), expected, run)
            print(f"{name}: one digest on 2-4 workers, 3 transports, 3 overlaps: {expected}", flush=True)

    def test_six_microbatches_on_three(self):
        self.check(CLOTHES, "training.kimg=1", "training.batch=96", "training.microbatches=6", workers=(1, 3))

    def test_eight_microbatches_on_three(self):
        self.check(CLOTHES, "training.kimg=1", "training.microbatches=8", workers=(1, 3))


class FullWidthResume(Killing):
    deadline = 900

    def test_two_kimg_on_three_killed_and_two_more_on_two(self):
        job = [CLOTHES, "training.microbatches=4", "output.pictures_kimg=0", "checkpoint.every_kimg=2"]
        self.kill_somewhere_behind_a_checkpoint("run", *job, "training.kimg=4", "-n", 3, "--run", "killed")
        self.train(*job, "training.kimg=4", run="killed", workers=2)
        self.train(*job, "training.kimg=4", run="one-go", workers=1)
        self.assertEqual(self.digest("killed"), self.digest("one-go"))


if __name__ == "__main__":
    unittest.main()
