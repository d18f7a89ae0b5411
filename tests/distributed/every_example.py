#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Some or each of examples/*.yaml, made small, has one digest: on one worker, and with two killed workers and three resumed
ones, over messages and without overlap.

    GANGWAY_BIN=build/release/bin every_example.py [unittest arguments]
"""
import unittest

from train_command import EXAMPLES, GANGWAY, Trainings, snapshot_files

SHARE = EXAMPLES.parent / "share"  # the examples name its files relative to the root of the repository
STEPS = 24
BATCH = 16
SMALL = [f"training.batch={BATCH}", "training.microbatches=4", f"training.kimg={STEPS * BATCH / 1000}", "output.grid=2",
         "output.pictures_kimg=0.192", f"output.tick_kimg={BATCH / 1000}", "checkpoint.every_kimg=0",
         "checkpoint.every_steps=4"]
# Keys that make a network small. A test below fails for an example in neither list. First each family and each recipe.
FAMILIES = {
    "biggan": ["model.width=4"],
    "distill": ["model.width=4", "model.teacher_width=8", "teacher.weights=teacher.safetensors"],
    "fashion-mnist": ["model.width=8", "training.reuse_fakes=true", "data.limit=100", "data.crop=0.9", "data.zoom=1.2",
                      "data.rotation=10", "data.brightness=0.1", "data.contrast=0.1"],
    "cyclegan": ["model.width=4", "model.blocks=1", "training.pool=4"],
    "gat": ["model.width=16", "model.patch=8"],
    "infogan-codes": ["model.width=16"],
    "pix2pix": ["model.width=4", "data.direction=b-to-a", "data.crop=0.9", "data.rotation=10"],
    "progressive": ["model.width=8", "training.growth.kimg=0.04", "training.growth.fade_kimg=0.072"],  # 7 steps each
    "r3gan": ["model.width=16"],
    "ring8": ["model.width=16"],
    "stylegan2": ["model.width=2", "model.latent=8", "model.mapping_layers=2"],
    "style-transfer": ["model.width=4", "model.blocks=1", f"training.style.picture={SHARE}/style-waves.png",
                       f"features.weights={SHARE}/lenet-features-fashion-mnist.safetensors"],
    "vae": ["model.width=32"],
    "vae-gan": ["model.width=8"],
}
OTHERS = {
    "limited-data": ["model.width=8"],
    "conditional": ["model.width=8"],
    # Its pictures come from a script, examples/emoji/unpack.py, and a font that may be missing. They have labels, too.
    "emoji": ["model.width=8", "data.source=fashion-mnist", "model.classes=10"],
    "grid25": ["model.width=16"],
    "infogan": ["model.width=4"],
    "r1": ["model.width=8", "training.r1.interval=4"],
    "relativistic": ["model.width=8"],
    "stacked": ["model.width=8"],
    "wgan-gp": ["model.width=8", "discriminator.steps=2"],
}


# Published recipes with features that no other example has.
COLOURED_CLOTHES = ["data.source=fashion-mnist", "data.mirror=true"]
PUBLISHED = {
    "published/r3gan-cifar10": [*COLOURED_CLOTHES, "model.width=16", "training.burn_in_kimg=0.2"],
    "published/stylegan2-ada-cifar": [*COLOURED_CLOTHES, "model.width=2", "model.latent=8", "model.classes=10",
                                      "model.deviation_group=2", "training.fake_labels=data", "training.augment.kimg=0.1",
                                      "training.augment.target=-1", "training.r1.interval=2"],
}
OTHERS_PUBLISHED = {
    "published/biggan-cifar10": [*COLOURED_CLOTHES, "model.width=4", "discriminator.steps=2", "generator.ema_start_kimg=0.1"],
    "published/stylegan2-ada-paper256": [*COLOURED_CLOTHES, "model.width=2", "model.latent=8", "model.mapping_layers=2",
                                         "model.resolution=64"],
}


class EveryExample(Trainings):
    def check(self, path, narrow):
        job = [EXAMPLES / f"{path}.yaml", *SMALL, *narrow]
        if path == "distill":
            self.train(EXAMPLES / "fashion-mnist.yaml", *SMALL, "model.width=8", run="teacher", workers=1)
            self.assertEqual(self.call(GANGWAY, "checkpoints", "export", "teacher", "-o", "teacher.safetensors")[0], 0)
        example = path.replace("/", "-")
        self.train(*job, run=f"{example}-one", workers=1)
        run = f"{example}-killed"
        running = self.start("run", *job, "-n", 2, "--run", run, name=run)
        running.wait_for(r"^ckpt   step-")
        running.kill_all()
        for file in snapshot_files(self.folder):
            file.unlink(missing_ok=True)
        self.train(*job, "layout.transport=mpi", "layout.overlap=none", run=run, workers=3)
        self.assertEqual(self.digest(run), self.digest(f"{example}-one"))


class SomeFamilies(EveryExample):
    """State that only some jobs resume: growing networks, weights and a picture in files."""

    def test_is_in_the_list(self):
        self.assertEqual(sorted([*FAMILIES, *OTHERS]), sorted(path.stem for path in EXAMPLES.glob("*.yaml")))


class EveryFamily(EveryExample):
    pass


class OtherExamples(EveryExample):
    pass


def add_tests(case, examples):
    for example, narrow in examples.items():
        test = lambda self, example=example, narrow=narrow: self.check(example, narrow)  # noqa: E731
        setattr(case, f"test_{example.replace('-', '_').replace('/', '_')}_has_one_digest", test)


add_tests(SomeFamilies, {name: FAMILIES[name] for name in ("distill", "progressive", "style-transfer")})
add_tests(EveryFamily, FAMILIES | PUBLISHED)
add_tests(OtherExamples, OTHERS | OTHERS_PUBLISHED)

if __name__ == "__main__":
    unittest.main()
