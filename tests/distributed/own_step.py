#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Steps that are the user's Python, trained by real programs: docs/own-step.md, tried. Needs PyTorch.

    GANGWAY_BIN=build/release/bin own_step.py [unittest arguments]
"""
import json
import shutil
import sys
import unittest

from train_command import EXAMPLES, GANGWAY, Trainings

SHORT = ["training.batch=12", "training.microbatches=6", "output.pictures_kimg=0", "generator.ema_kimg=0.05",
         "model.resolution=28", "data.source=fashion-mnist"]
SIX = "training.kimg=0.072"  # steps
TWELVE = "training.kimg=0.144"
EACH = ["checkpoint.every_steps=1", "checkpoint.every_kimg=0", "checkpoint.keep=20"]
PACKAGE = EXAMPLES.parent / "share/python"
DRY = ["--dry-run"]
# Several things that an eager step does: BatchNorm, dropout, several updates a step, two networks in a phase, one that runs in
# every second step, numbers of numpy.
MIXED = """
import gangway, numpy, torch
from torch import nn
import torch.nn.functional as F

class Generator(nn.Module):
    def __init__(self, latent=64):
        super().__init__()
        self.make = nn.Sequential(nn.Linear(latent, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, 784), nn.Tanh())
    def forward(self, noise):
        return self.make(noise).view(-1, 1, 28, 28)

class Judge(nn.Module):
    def __init__(self):
        super().__init__()
        self.judge = nn.Sequential(nn.Flatten(), nn.Linear(784, 32), nn.LeakyReLU(0.2), nn.Dropout(0.3), nn.Linear(32, 3))
    def forward(self, image):
        return self.judge(image)

class Step(gangway.Step):
    def fake(self, count):
        return self.generator(torch.randn(count, self.model["latent"]))
    @gangway.phase(trains="discriminator", repeats=2, new_batch=True)
    def judge(self, batch, step):
        {judge}
        image = batch["image"] + 0.01 * float(numpy.random.rand())
        return F.softplus(-self.discriminator(image)).mean() + F.softplus(self.discriminator(self.fake(len(image)))).mean()
    @gangway.phase(trains=["generator", "discriminator"])
    def both(self, batch, step):
        return F.softplus(-self.discriminator(self.fake(len(batch["image"])))).mean(), {"step": step}
    @gangway.phase(trains="generator", every=2)
    def small(self, batch, step):
        return 0.1 * self.fake(4).square().mean()
"""


class OwnStep(Trainings):
    def write(self, judge="pass", text=MIXED):
        (self.folder / "mixed.py").write_text(text.replace("{judge}", judge))
        (self.folder / "mixed.yaml").write_text(
            "model: {generator: mixed.py:Generator, discriminator: mixed.py:Judge, resolution: 28, latent: 64}\n"
            "data: {source: fashion-mnist}\n"
            "training: {step: mixed.py:Step}\n"
            "discriminator: {steps: 2}\n")

    def replay(self, run, step):
        code, out, err = self.call(sys.executable, "-m", "gangway.reference", run, step, PYTHONPATH=str(PACKAGE))
        self.assertEqual(code, 0, out + err)
        self.assertRegex(out, "equal in every bit\n$")

    def refuse(self, *words, says, judge="pass", text=MIXED):
        self.write(judge, text)
        code, out, err = self.call(GANGWAY, "run", "mixed.yaml", "-n", 1, "--run", "refused", *SHORT, SIX, *words)
        self.assertEqual(code, 2, out + err)
        line = next(line for line in err.splitlines() if line.startswith("gangway: "))
        for said in says:
            self.assertIn(said, line)

    def test_r3gan_as_its_authors_write_it_has_one_digest(self):
        shutil.copytree(EXAMPLES / "own-step", self.folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
        small = [*SHORT, "model.generator.width=16", "model.discriminator.width=16", "training.kimg=0.036"]
        self.train("job.yaml", *small, run="on1", workers=1)
        self.train("job.yaml", *small, *EACH, run="on3", workers=3)
        self.assertEqual(self.digest("on1"), self.digest("on3"))
        self.replay("on3", 2)

    def test_all_that_a_step_may_do_is_exact_on_any_workers_and_after_a_kill(self):
        self.write()
        self.train("mixed.yaml", *SHORT, TWELVE, *EACH, run="whole", workers=2)
        for step in (0, 3, 4):  # the second has a phase less
            self.replay("whole", step)
        words = ["run", "mixed.yaml", *SHORT, TWELVE, "--run", "killed", "checkpoint.every_steps=4", "checkpoint.every_kimg=0"]
        running = self.start(*words, "-n", 3)
        running.wait_until(lambda: list(self.folder.glob("runs/*-killed/checkpoints/step-*/manifest.json")), "a checkpoint")
        running.kill_all()
        code, out, err = self.call(GANGWAY, *words, "-n", 1)
        self.assertEqual(code, 0, out + err)
        self.assertEqual(self.digest("killed"), self.digest("whole"))
        (self.folder / "mixed.py").unlink()  # the run has its own
        self.assertEqual(self.call(GANGWAY, "sample", "killed", "-o", "grid.png")[0], 0)
        run, = self.folder.glob("runs/*-whole")
        last = json.loads((run / "stats.jsonl").read_text().splitlines()[-1])
        self.assertIn("step", json.dumps(last))

    def test_bad_steps_are_refused_in_a_line(self):
        self.refuse(judge="self.calls = 1", says=["judge changes self.calls"])
        self.refuse(judge="torch.ones(2, 3) @ torch.ones(2, 3)", says=["mixed.py:", "in judge: RuntimeError"])
        self.refuse(judge="return batch['image'].mean()", says=["depends on no weights"])
        self.refuse(judge="return self.discriminator(batch['image'])", says=["judge returns a tensor [2, 3]"])
        self.refuse(judge="import time; return self.discriminator(batch['image']).mean() * (time.perf_counter_ns() % 997)",
                    says=["another loss of the same micro-batch"])

    def test_a_call_that_hangs_is_shown_with_its_line(self):
        self.write(judge="import time\n        while step: time.sleep(0.1)")
        running = self.start("run", "mixed.yaml", "-n", 1, "--run", "hangs", *SHORT, SIX, "layout.timeout_seconds=8")
        running.wait_for(r"a call into Python has taken 2 s; it stands at(.|\n)*mixed.py\", line \d+ in judge")
        running.kill_all()

    def test_bad_phases_are_refused_before_anything_starts(self):
        self.refuse(*DRY, "training.step=mixed.py:Nothing", says=["no class Nothing; it has Step"])
        self.refuse(*DRY, "training.step=mixed.py:Judge", says=["no class derived from gangway.Step"])
        self.refuse(*DRY, "discriminator.steps=1", says=["takes 2 new batches a step, and the job has 1"])
        self.refuse(*DRY, "training.r1.gamma=1", says=["has no meaning beside training.step"])
        self.refuse(*DRY, "layout.recompute=true", says=["training.step chooses itself"])
        self.refuse(*DRY, "model.discriminator=none", "model.family=infogan", says=["give model.discriminator a class"])
        self.refuse(*DRY, text=MIXED.replace('trains="generator"', 'trains="painter"'),
                    says=["phase small trains painter; the job has generator, discriminator"])
        self.refuse(*DRY, text=MIXED.replace("@gangway.phase", "#"), says=["Step has no phase"])


if __name__ == "__main__":
    unittest.main()
