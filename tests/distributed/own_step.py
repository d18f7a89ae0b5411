#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Users' steps in Python, trained by real programs, as docs/own-step.md describes. Needs PyTorch.

    GANGWAY_BIN=build/release/bin own_step.py [unittest arguments]
"""
import array
import json
import shutil
import unittest
import wave

from train_command import EXAMPLES, GANGWAY, Trainings
import gangway  # of share/python, whose path train_command sets

SHORT = ["training.batch=12", "training.microbatches=6", "output.pictures_kimg=0", "generator.ema_kimg=0.05",
         "model.resolution=28", "data.source=fashion-mnist", "evaluation.images=100"]
SIX = "training.kimg=0.072"  # steps; half as many if a step takes two batches
EIGHT = "training.kimg=0.096"
EACH = ["checkpoint.every_steps=1", "checkpoint.every_kimg=0", "checkpoint.keep=20"]
# A step with many features: BatchNorm, dropout, several updates, two networks in a phase, a phase in every second step, numbers
# of numpy, tensors kept for later phases, a score.
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
        self.keep("noise", torch.randn(len(image), 64))
        return F.softplus(-self.discriminator(image)).mean() + F.softplus(self.discriminator(self.fake(len(image)))).mean()
    @gangway.phase(trains=["generator", "discriminator"])
    def both(self, batch, step):
        self.keep("fake", self.generator(self.kept["noise"]))
        return F.softplus(-self.discriminator(self.generator(self.kept["noise"]))).mean(), {"step": step}
    @gangway.phase(trains="generator", every=2)
    def small(self, batch, step):
        return 0.1 * (self.fake(len(batch["image"])) - self.kept["fake"]).square().mean()
    score_is_better = "higher"
    def score(self, batch):
        assert not self.generator.training and not torch.is_grad_enabled()
        return {"mean": batch["image"].mean(), "spread": self.fake(64).std()}
"""
# Three networks with their own names: one makes pictures from pictures, one is frozen, one is trained with it.
AUTOENCODER = """
import gangway, torch
from torch import nn

class Coder(nn.Module):
    def __init__(self):
        super().__init__()
        self.code = nn.Sequential(nn.Conv2d(1, 2, 4, 4), nn.Flatten(), nn.LazyLinear(8), nn.ReLU(), nn.Linear(8, 784), nn.Tanh())
    def forward(self, image):
        return self.code(image), image

class Judge(nn.Module):
    def __init__(self):
        super().__init__()
        self.judge = nn.Sequential(nn.Flatten(), nn.Linear(784, 1))
    def forward(self, image):
        return self.judge(image)

class Step(gangway.Step):
    takes = {"coder": torch.zeros(1, 28, 28)}
    @gangway.phase(trains=["coder", "judge"], new_batch=True)
    def learn(self, batch, step):
        made = self.coder(batch["image"])[0]
        seen = (self.eye(made) - self.eye(batch["image"])).square().mean()
        return seen + (made - batch["image"].flatten(1)).square().mean() + self.judge(made).square().mean()
    def show(self, batch):
        return self.coder(batch["image"])[0].view(-1, 1, 14, 56)
"""
OWN_NAMES = """
model: {coder: mixed.py:Coder, judge: mixed.py:Judge, eye: mixed.py:Judge}
training: {recipe: [coder, judge, eye], step: mixed.py:Step}
eye: {frozen: true}
"""
# Appended to r3gan.py: sounds of the averaged weights.
HEARD = """
    def show(self, batch):
        assert not self.generator.training and not torch.is_grad_enabled() and list(batch["image"].shape) == [64, 1, 28, 28]
        torch.set_num_threads(2)
        return gangway.Audio(self.generator.picture.weight.flatten().repeat(2, 1), 8000)
"""


class OwnStep(Trainings):
    def write(self, judge="pass", text=MIXED):
        (self.folder / "mixed.py").write_text(text.replace("{judge}", judge))
        (self.folder / "mixed.yaml").write_text(
            "model: {generator: mixed.py:Generator, discriminator: mixed.py:Judge, resolution: 28, latent: 64}\n"
            "data: {source: fashion-mnist}\n"
            "training: {step: mixed.py:Step}\n"
            "discriminator: {steps: 2}\n")

    def refuse(self, *words, says, judge="pass", text=MIXED):
        self.write(judge, text)
        self.refused(2, "run", "mixed.yaml", "-n", 1, "--run", "refused", *SHORT, SIX, *words, says=says)

    def test_r3gan_as_its_authors_write_it_has_the_bits_of_pytorch_alone(self):
        shutil.copytree(EXAMPLES / "own-step", self.folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
        with (self.folder / "r3gan.py").open("a") as file:
            file.write(HEARD)
        self.train("job.yaml", *SHORT, "model.generator.width=16", "model.discriminator.width=16", "training.kimg=0.036", *EACH,
                   "numerics.kernels=pytorch", run="r3gan", workers=2)
        self.replay("r3gan", 2)
        run = self.folder_of("r3gan")
        average = gangway.open(run).state_dict("generator", average=True)["picture.weight"].flatten()
        with wave.open(str(max(run.glob("fakes0*.wav")))) as file:
            heard = array.array("h", file.readframes(1000))
            self.assertEqual((file.getframerate(), file.getnchannels()), (8000, 1))
        self.assertEqual(heard.tolist(), 2 * (average.clamp(-1, 1) * 32767).round().int().tolist())
        self.assertEqual({picture.stem for picture in run.glob("fakes*.png")}, {sounds.stem for sounds in run.glob("*.wav")})

    def test_all_that_a_step_may_do_is_exact_on_any_workers_and_after_a_kill(self):
        self.write()
        words = ["run", "mixed.yaml", *SHORT, "--run", "killed", *EACH, "checkpoint.keep_best=1", "numerics.kernels=pytorch"]
        running = self.start(*words, SIX, "-n", 2)
        running.wait_until(lambda: list(self.folder.glob("runs/*-killed/checkpoints/step-*/manifest.json")), "a checkpoint")
        running.kill_all()
        packages = self.folder_of("killed") / "packages.json"
        packages.write_text(json.dumps({**json.loads(packages.read_text()), "numpy": "0.1"}))
        for images, workers in ((SIX, 1), (EIGHT, 2)):  # both end with a checkpoint, one step apart
            code, out, err = self.call(GANGWAY, *words, images, "-n", workers)
            self.assertEqual(code, 0, out + err)
            self.assertRegex(out, r"numpy is \S+ now, and was 0.1 when the run began")
        for step in (0, 3):  # step 3 has a phase less
            self.replay("killed", step)
        (self.folder / "mixed.py").unlink()  # the run has a copy
        code, out, err = self.call(GANGWAY, "evaluate", "killed", "--json")
        self.assertEqual(code, 0, out + err)
        found = json.loads(out)
        score = json.loads(max(self.folder.glob("runs/*-killed/checkpoints/*.score.json")).read_text())
        self.assertEqual([score[key] for key in ("metric", "score", "better", "samples")],
                         ["mean", found["score"], "higher", 100])
        self.assertEqual(list(found["figures"]), ["mean", "spread"])

    def test_networks_of_ones_own_names_may_take_and_make_what_they_like(self):
        (self.folder / "mixed.py").write_text(AUTOENCODER)
        (self.folder / "mixed.yaml").write_text(OWN_NAMES)
        short = [word.replace("generator", "coder") for word in SHORT]
        self.train("mixed.yaml", *short, SIX, *EACH, "numerics.kernels=pytorch", run="coded", workers=2)
        self.replay("coded", 0)
        code, out, err = self.call(GANGWAY, "sample", "coded", "-o", "grid.png")
        self.assertEqual(code, 0, out + err)
        self.assertEqual((self.folder / "grid.png").read_bytes(), max(self.folder_of("coded").glob("fakes0*.png")).read_bytes())
        self.refused(2, "evaluate", "coded", says=["give the step a score()"])
        self.assertEqual(self.call(GANGWAY, "profile", "mixed.yaml", *short, "--seconds", 0.1, "--anyway")[0], 0)
        code, out, err = self.call(GANGWAY, "plan", "mixed.yaml", *short)
        self.assertEqual(code, 0, out + err)
        self.assertRegex(out, r"(?m)^1 worker, overlap")

    def test_new_examples_for_the_generator_are_not_counted(self):
        both = '@gangway.phase(trains=["generator", "discriminator"]'
        self.write(text=MIXED.replace(f"{both})", f"{both}, new_batch=True)"))
        for workers in (1, 2):
            self.train("mixed.yaml", *SHORT, SIX, "training.generator_reals=new", run=str(workers), workers=workers)
        self.assertEqual(self.digest("1"), self.digest("2"))
        manifest = json.loads(max(self.folder_of("1").glob("checkpoints/*/manifest.json")).read_text())
        batch = manifest["data_cursor"] // (3 * manifest["step"])  # three per step
        self.assertEqual(manifest["images"], 2 * batch * manifest["step"])

    def test_bad_steps_are_refused_in_a_line(self):
        """tests/python has other faulty classes, calls and losses."""
        self.refuse(judge="""class Bad(torch.autograd.Function):
            forward = staticmethod(lambda ctx, x: x.clone())
            def backward(ctx, gradient): raise ValueError("no slope")
        return Bad.apply(self.discriminator(batch["image"])).mean()""", says=["mixed.py:", "in backward: ValueError: no slope"])
        self.refuse(text=f"{MIXED}    def show(self, batch): return torch.zeros(4, 28, 28)\n",
                    says=["training.step: ", "show returns a tensor [4, 28, 28]"])
        self.refuse("--dry-run", "training.step={python: mixed.py:Step, gama: 1}",
                    says=["unexpected keyword argument 'gama'; it takes ()"])
        self.refuse("--dry-run", "discriminator.steps=1", says=["takes 2 new batches a step, and the job has 1"])
        self.refuse("--dry-run", "training.r1.gamma=1", says=["has no meaning beside training.step"])

    def test_a_call_that_hangs_is_shown_with_its_line(self):
        self.write(judge="import time\n        while step: time.sleep(0.1)")
        running = self.start("run", "mixed.yaml", "-n", 1, "--run", "hangs", *SHORT, SIX, "layout.timeout_seconds=8")
        running.wait_for(r"a call into Python has taken 2 s; it stands at(.|\n)*mixed.py\", line \d+ in judge")
        running.kill_all()


if __name__ == "__main__":
    unittest.main()
