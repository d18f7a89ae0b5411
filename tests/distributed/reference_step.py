#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`python -m gangway.reference` replays steps of real runs in PyTorch alone (docs/reference-step.md): every bit is equal, and
differences are named. Needs PyTorch.

    GANGWAY_BIN=build/release/bin reference_step.py [unittest arguments]
"""
import contextlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import torch
from PIL import Image
from torch import nn

from replay import flip_a_bit
from train_command import EXAMPLES, GANGWAY, PACKAGE, Trainings, write_classes
from gangway.xxh3 import hash_of  # of share/python, whose path train_command sets

SAVED = ["training.batch=16", "training.microbatches=4", "output.pictures_kimg=0", "output.http=off", "checkpoint.every_steps=1",
         "checkpoint.every_kimg=0", "checkpoint.keep=10"]
JOB = """
model:
  generator: {python: nets.py:Generator, classes: CLASSES, channels: CHANNELS}
  discriminator: {python: nets.py:Discriminator, classes: CLASSES, channels: CHANNELS}
  resolution: 28
  latent: 8
  classes: CLASSES
data: {source: fashion-mnist, limit: 100, mirror: true}
training: {seed: 7}
numerics: {kernels: pytorch}
generator: {optimizer: {adam: {lr: 2e-4, betas: [0.5, 0.999]}}, ema_kimg: 0.05, ema_rampup: none}
discriminator: {optimizer: {adam: {lr: 2e-4, betas: [0.5, 0.999]}}}
"""


class Generator(nn.Module):
    """Has BatchNorm with its whole number, and convolutions in the job's memory format."""

    def __init__(self, classes: int, channels: int):
        super().__init__()
        self.classes = classes
        self.start = nn.Linear(8 + classes, 8 * 49)
        self.norm = nn.BatchNorm2d(8)
        self.grow = nn.Sequential(nn.ConvTranspose2d(8, 8, 4, 2, 1), nn.ReLU(), nn.ConvTranspose2d(8, channels, 4, 2, 1),
                                  nn.Tanh())

    def forward(self, noise: torch.Tensor, labels: torch.Tensor | None = None) -> torch.Tensor:
        if labels is not None:
            noise = torch.cat([noise, nn.functional.one_hot(labels, self.classes).float()], 1)
        return self.grow(torch.relu(self.norm(self.start(noise).reshape(-1, 8, 7, 7))))


def rate():
    return 0.2


class Discriminator(nn.Module):
    """Is smooth, so that a penalty's second derivatives are not zero. Has dropout, whose draws must be equal."""

    def __init__(self, classes: int, channels: int):
        super().__init__()
        self.classes = classes
        self.look = nn.Sequential(nn.Conv2d(channels, 8, 4, 2, 1), nn.Softplus(), nn.Dropout(rate()), nn.Conv2d(8, 16, 4, 2, 1),
                                  nn.Softplus())
        self.judge = nn.Linear(16 * 49 + classes, 1)

    def forward(self, image: torch.Tensor, labels: torch.Tensor | None = None) -> torch.Tensor:
        maps = self.look(image).flatten(1)
        if labels is not None:
            maps = torch.cat([maps, nn.functional.one_hot(labels, self.classes).float()], 1)
        return self.judge(maps)


def edit(manifest, *changes):
    """Writes other texts into a manifest, and a new seal."""
    text = manifest.read_text()
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    blank = re.sub(r'("seal_xxh3_128": ")[0-9a-f]{32}', r"\g<1>" + "0" * 32, text)
    manifest.write_text(blank.replace('"seal_xxh3_128": "' + "0" * 32, f'"seal_xxh3_128": "{hash_of(blank.encode())}'))


class ReferenceStep(Trainings):
    @classmethod
    def setUpClass(cls):
        """Shares one run: three workers, four steps, R1 in every second step."""
        cls.shared = Path(tempfile.mkdtemp(prefix="gangway-test-"))
        cls.addClassCleanup(shutil.rmtree, cls.shared, ignore_errors=True)
        trained = cls()
        trained.folder = cls.shared
        trained.write_job(classes=0)
        trained.train("job.yaml", *SAVED, "training.kimg=0.064", "training.r1.gamma=10", "training.r1.interval=2", run="own", workers=3)
        cls.run_folder, = (cls.shared / "runs").glob("*-own")

    def write_job(self, classes, channels=1):
        write_classes(self.folder / "nets.py", Generator, Discriminator, imports="from shared import rate\n")
        write_classes(self.folder / "shared.py", rate)
        (self.folder / "job.yaml").write_text(JOB.replace("CLASSES", str(classes)).replace("CHANNELS", str(channels)))

    def assert_equal_in_every_bit(self, run, *steps, words=()):
        for step in steps:
            code, said = self.reference(run, step, *words)
            self.assertEqual(code, 0, said)
            self.assertNotIn("DIFFERENT", said)
            self.assertNotIn("note", said)
            self.assertRegex(said, "equal in every bit\n$")

    def copy(self):
        """Copies the run, so that a test may change it."""
        return Path(shutil.copytree(self.run_folder, self.folder / "runs/00000-copy"))

    def test_each_step_of_a_run_on_three_workers_is_equal_in_every_bit(self):
        self.assert_equal_in_every_bit(self.run_folder, 0, 1, 2, 3)

    def test_the_command_says_so_with_a_line_for_each_kind_of_tensor(self):
        done = subprocess.run([sys.executable, "-m", "gangway.reference", "own", "2"], cwd=self.shared, capture_output=True, text=True,
                              env={**os.environ, "PYTHONPATH": str(PACKAGE)}, timeout=self.deadline)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
        for group in ("discriminator", "discriminator_optimizer", "generator", "generator_ema", "generator_optimizer"):
            self.assertRegex(done.stdout, rf"(?m)^{group} +\d+   equal$")

    def test_one_flipped_bit_is_named(self):
        for name in ("discriminator_optimizer/second_moment/judge.bias", "generator/norm.num_batches_tracked"):
            with self.subTest(name):
                run = self.copy()
                flip_a_bit(run / "checkpoints/step-000000003", name)
                code, said = self.reference(run, 2)
                self.assertEqual(code, 1, said)
                group = name.partition("/")[0]
                self.assertRegex(said, rf"(?m)^{group} +\d+   1 DIFFERENT; first {re.escape(name)}(\[.*\])?: \S+ here, \S+ in the "
                                       r"checkpoint \(1 of \d+ elements differ\)$")
                self.assertEqual(said.count("DIFFERENT"), 1)
                shutil.rmtree(run)

    def test_another_constant_of_the_job_is_another_step(self):
        for old, new, is_said_of in ((r"betas: [0.5, 0.999]\n      eps: 1e-08\n      weight_decay: 0\n  schedule:",
                                      r"betas: [0.5, 0.99]\n      eps: 1e-08\n      weight_decay: 0\n  schedule:", "generator"),
                                     ("gamma: 10", "gamma: 11", "discriminator"), ("ema_kimg: 0.05", "ema_kimg: 0.051", "generator_ema"),
                                     ("seed: 7", "seed: 8", "generator"), ("mirror: true", "mirror: false", "discriminator")):
            with self.subTest(new):
                run = self.copy()
                edit(run / "checkpoints/step-000000003/manifest.json", (old, new))
                code, said = self.reference(run, 2)
                self.assertEqual(code, 1, said)
                self.assertRegex(said, rf"(?m)^{is_said_of} +\d+   \d+ DIFFERENT")
                shutil.rmtree(run)

    def test_labels_clipping_schedules_lecam_and_softened_labels(self):
        self.write_job(classes=10)
        self.train("job.yaml", *SAVED, "training.kimg=0.032", "training.r1.gamma=1", "training.fake_labels=data",
                   "training.reuse_fakes=true", "generator.clip_norm=0.1", "discriminator.clip_norm=0.1", "generator.schedule.decay=cosine",
                   "generator.schedule.warmup_kimg=0.02", "numerics.memory_format=contiguous", "training.lecam.weight=0.3",
                   "training.label_smoothing=0.1", "training.label_noise=0.2", run="labels", workers=2)
        self.assert_equal_in_every_bit(self.folder / "runs/00000-labels", 0, 1)

    def test_a_critic_with_a_gradient_penalty_and_a_relativistic_loss_with_both_penalties(self):
        self.write_job(classes=10)
        self.train("job.yaml", *SAVED, "training.kimg=0.064", "training.loss=wasserstein", "discriminator.steps=2",
                   "generator.optimizer={rmsprop: {lr: 1e-3, momentum: 0.5}}", "discriminator.optimizer={adamw: {weight_decay: 0.1}}",
                   run="critic", workers=3)
        self.assert_equal_in_every_bit(self.folder / "runs/00000-critic", 0, 1)
        self.train("job.yaml", *SAVED, "training.kimg=0.032", "training.loss=relativistic", "training.generator_reals=new",
                   "training.r1.gamma=1", "training.r2.gamma=2", "generator.optimizer={lion: {weight_decay: 0.1}}",
                   "discriminator.optimizer={sgd: {lr: 1e-2, momentum: 0.9}}", run="pair", workers=2)
        self.assert_equal_in_every_bit(self.folder / "runs/00001-pair", 0, 1)

    def test_built_in_dense_networks_of_shades_and_of_points_that_went_back(self):
        self.train(EXAMPLES / "fashion-mnist.yaml", *SAVED, "training.kimg=0.032", "model.family=dense", "model.resolution=32",
                   "model.dropout=0.3", run="shades", workers=2)
        self.assert_equal_in_every_bit(self.folder / "runs/00000-shades", 0, 1)
        huge = ["generator.optimizer.adam.lr=1e9", "discriminator.optimizer.adam.lr=1e9", "training.divergence.policy=rollback",
                "training.divergence.lr_factor=1e-12", "training.divergence.rewind=2"]  # without a lower rate all weights overflow
        self.train(EXAMPLES / "grid25.yaml", *SAVED, "training.kimg=0.16", "training.lecam.weight=0.1", *huge, run="back", workers=3)
        run = self.folder / "runs/00001-back"
        self.assertIn("rollback", (run / "decisions.jsonl").read_text())
        self.assert_equal_in_every_bit(run, *(int(path.name[5:]) - 1 for path in sorted((run / "checkpoints").glob("step-*"))[-2:]))

    def test_pictures_that_a_pack_has_and_what_is_done_to_them_by_chance(self):
        (self.folder / "photos").mkdir()
        for number in range(30):
            side, blue = 30 + number, number * 8
            photo = Image.linear_gradient("L").resize((side, side + 7)).rotate(number * 12)
            Image.merge("RGB", (photo, photo.transpose(Image.Transpose.FLIP_LEFT_RIGHT), Image.new("L", photo.size, blue))).save(
                self.folder / f"photos/{number}.png")
        code, out, err = self.call(GANGWAY, "data", "pack", "photos", "packed", "--resolution", 28)
        self.assertEqual(code, 0, out + err)
        chance = ["data.crop=0.8", "data.zoom=1.5", "data.rotation=20", "data.brightness=0.3", "data.contrast=0.4"]
        for channels, source, *more in ((1, "images:photos"), (3, "pack:packed", "data.saturation=0.5")):
            self.write_job(classes=0, channels=channels)
            self.train("job.yaml", *SAVED, "training.kimg=0.032", f"data.source={source}", "data.limit=0", f"model.channels={channels}",
                       *chance, *more, run=source[:4], workers=2)
            run = self.folder_of(source[:4])
            words = ["--pack", str(self.folder / "packed")] if source == "images:photos" else []
            with contextlib.chdir(self.folder):
                self.assert_equal_in_every_bit(run, 0, 1, words=words)
        with open(self.folder / "packed/00000.shard", "r+b") as shard:
            shard.write(b"\xff" * (28 * 28 * 3 * 30))
        code, said = self.reference(run, 1, "--pack", str(self.folder / "packed"))
        self.assertEqual(code, 2, said)
        self.assertRegex(said, r"packed: picture \d+ of it \(counted from 0\) is not what was packed\n$")

    def test_what_cannot_be_replayed_gets_one_line_and_its_code(self):
        def refused(code, says, run=self.run_folder, step=2, *words):
            found, said = self.reference(run, step, *words)
            self.assertEqual(found, code, said)
            self.assertRegex(said, rf"^gangway\.reference: [^\n]*{says}[^\n]*\n$")

        refused(2, "no checkpoint of step 5; a replay needs two that are one step apart, as checkpoint.every_steps=1 leaves them", step=4)
        refused(2, "no run 'nowhere'", "nowhere")
        run = self.copy()
        after, kept = run / "checkpoints/step-000000003", next(run.glob("python/*"))
        (kept / "shared.py").chmod(0o666)
        refused(2, "shared.py can be written to by everybody", run)
        self.assertEqual(self.reference(run, 2, "--trust")[0], 0)
        (kept / "shared.py").chmod(0o600)
        (kept / "nets.py").rename(kept / "elsewhere.py")
        refused(2, "nets.py: is not there", run)
        (kept / "elsewhere.py").rename(kept / "nets.py")
        for old, new, says in (("policy: none", "policy: ada", "training.augment.policy: ada is not replayed"),
                               ("device: cpu\\n", "device: cuda\\n", "numerics.device: cuda is not replayed"),
                               ("fashion-mnist", "images:photos", "data.source: images:photos is not replayed")):
            text = (after / "manifest.json").read_text()
            edit(after / "manifest.json", (old, new))
            refused(2, says, run)
            (after / "manifest.json").write_text(text)
        file = next(after.glob("*.safetensors"))
        file.write_bytes(file.read_bytes()[:-1])
        refused(5, "truncated", run)


if __name__ == "__main__":
    unittest.main()
