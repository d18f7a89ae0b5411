#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Steps that are the user's Python, trained by real programs: docs/own-step.md, tried. Needs PyTorch.

    GANGWAY_BIN=build/release/bin own_step.py [unittest arguments]
"""
import array
import json
import shutil
import sys
import unittest
import wave

from train_command import EXAMPLES, GANGWAY, PACKAGE, Trainings

SHORT = ["training.batch=12", "training.microbatches=6", "output.pictures_kimg=0", "generator.ema_kimg=0.05",
         "model.resolution=28", "data.source=fashion-mnist", "evaluation.images=100"]
SIX = "training.kimg=0.072"  # steps
TWELVE = "training.kimg=0.144"
EACH = ["checkpoint.every_steps=1", "checkpoint.every_kimg=0", "checkpoint.keep=20"]
sys.path.insert(0, str(PACKAGE))
import gangway  # noqa: E402
DRY = ["--dry-run"]
# Several things that an eager step does: BatchNorm, dropout, several updates a step, two networks in a phase, one that runs in
# every second step, numbers of numpy, tensors that a phase keeps for later ones, a score.
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
# Three networks of its own names: one makes pictures of its own shape of pictures, one stays as it is, one is trained beside.
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
# Behind r3gan.py: sounds of the averaged weights.
HEARD = """
    def show(self, batch):
        assert not self.generator.training and not torch.is_grad_enabled() and list(batch["image"].shape) == [64, 1, 28, 28]
        torch.set_num_threads(2)
        return gangway.Audio(self.generator.picture.weight.flatten().repeat(2, 1), 8000)
"""
BAD_SHOWS = {"raise KeyError('no')": "mixed.py:", "return torch.zeros(4, 28, 28)": "show returns a tensor [4, 28, 28]"}


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
        code, out, err = self.call(GANGWAY, "run", "mixed.yaml", "-n", 1, "--run", "refused", *SHORT, SIX, *words)
        self.assertEqual(code, 2, out + err)
        line = next(line for line in err.splitlines() if line.startswith("gangway: "))
        for said in says:
            self.assertIn(said, line)

    def test_r3gan_as_its_authors_write_it_has_one_digest(self):
        shutil.copytree(EXAMPLES / "own-step", self.folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
        small = [*SHORT, "model.generator.width=16", "model.discriminator.width=16", "training.kimg=0.036"]
        self.train("job.yaml", *small, run="on1", workers=1)
        with (self.folder / "r3gan.py").open("a") as file:
            file.write(HEARD)
        self.train("job.yaml", *small, *EACH, run="on3", workers=3)
        self.assertEqual(self.digest("on1"), self.digest("on3"))
        self.replay("on3", 2)
        run, = self.folder.glob("runs/*-on3")
        average = gangway.open(run).state_dict("generator", average=True)["picture.weight"].flatten()
        with wave.open(str(max(run.glob("fakes0*.wav")))) as file:
            heard = array.array("h", file.readframes(1000))
            self.assertEqual((file.getframerate(), file.getnchannels()), (8000, 1))
        self.assertEqual(heard.tolist(), 2 * (average.clamp(-1, 1) * 32767).round().int().tolist())
        self.assertEqual({picture.stem for picture in run.glob("fakes*.png")}, {sounds.stem for sounds in run.glob("*.wav")})

    def test_all_that_a_step_may_do_is_exact_on_any_workers_and_after_a_kill(self):
        self.write()
        self.train("mixed.yaml", *SHORT, TWELVE, *EACH, run="whole", workers=2)
        for step in (0, 3, 4):  # the second has a phase less
            self.replay("whole", step, every=2)
        words = ["run", "mixed.yaml", *SHORT, TWELVE, "--run", "killed", "checkpoint.every_steps=1", "checkpoint.every_kimg=0",
                 "checkpoint.keep_best=1"]
        running = self.start(*words, "-n", 3)
        running.wait_until(lambda: list(self.folder.glob("runs/*-killed/checkpoints/step-*/manifest.json")), "a checkpoint")
        running.kill_all()
        packages, = self.folder.glob("runs/*-killed/packages.json")
        packages.write_text(json.dumps({**json.loads(packages.read_text()), "numpy": "0.1"}))
        code, out, err = self.call(GANGWAY, *words, "-n", 1)
        self.assertEqual(code, 0, out + err)
        self.assertRegex(out, r"numpy is \S+ now, and was 0.1 when the run began")
        self.assertEqual(self.digest("killed"), self.digest("whole"))
        (self.folder / "mixed.py").unlink()  # the run has its own
        self.assertEqual(self.call(GANGWAY, "sample", "killed", "-o", "grid.png")[0], 0)
        run, = self.folder.glob("runs/*-whole")
        last = json.loads((run / "stats.jsonl").read_text().splitlines()[-1])
        self.assertIn("step", json.dumps(last))
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
        for workers in (2, 3):
            self.train("mixed.yaml", *short, SIX, *EACH, run=f"coded{workers}", workers=workers)
        self.assertEqual(self.digest("coded2"), self.digest("coded3"))
        self.replay("coded2", 0)
        run, = self.folder.glob("runs/*-coded2")
        code, out, err = self.call(GANGWAY, "sample", "coded2", "-o", "grid.png")
        self.assertEqual(code, 0, out + err)
        self.assertEqual((self.folder / "grid.png").read_bytes(), max(run.glob("fakes0*.png")).read_bytes())
        code, out, err = self.call(GANGWAY, "evaluate", "coded2")
        self.assertEqual(code, 2, out + err)
        self.assertIn("give the step a score()", err)
        self.assertEqual(self.call(GANGWAY, "profile", "mixed.yaml", *short, "--seconds", 0.5, "--anyway")[0], 0)
        code, out, err = self.call(GANGWAY, "plan", "mixed.yaml", *short)
        self.assertEqual(code, 0, out + err)
        self.assertRegex(out, r"(?m)^1 worker, overlap")
        for word, says in {" takes": "`takes` of the step's class", " show": "wanted is forward"}.items():
            (self.folder / "mixed.py").write_text(AUTOENCODER.replace(word, " other"))
            code, out, err = self.call(GANGWAY, "run", "mixed.yaml", "-n", 1, *short, SIX, *DRY)
            self.assertEqual(code, 2, out + err)
            self.assertIn(says, err)

    def test_bad_steps_are_refused_in_a_line(self):
        """Whatever calls and losses can be found at fault by: tests/python/python_block_test.cpp."""
        self.refuse(judge="torch.ones(2, 3) @ torch.ones(2, 3)", says=["mixed.py:", "in judge: RuntimeError"])
        self.refuse(judge="""class Bad(torch.autograd.Function):
            forward = staticmethod(lambda ctx, x: x.clone())
            def backward(ctx, gradient): raise ValueError("no slope")
        return Bad.apply(self.discriminator(batch["image"])).mean()""", says=["mixed.py:", "in backward: ValueError: no slope"])
        self.refuse(judge="h = self.discriminator(batch['image']).exp(); l = (h * h).mean(); h.add_(1); return l",
                    says=["the loss of judge has no gradient", "inplace operation"])
        for show, says in BAD_SHOWS.items():
            self.refuse(text=f"{MIXED}    def show(self, batch): {show}\n", says=["training.step: ", says])

    def test_a_call_that_hangs_is_shown_with_its_line(self):
        self.write(judge="import time\n        while step: time.sleep(0.1)")
        running = self.start("run", "mixed.yaml", "-n", 1, "--run", "hangs", *SHORT, SIX, "layout.timeout_seconds=8")
        running.wait_for(r"a call into Python has taken 2 s; it stands at(.|\n)*mixed.py\", line \d+ in judge")
        running.kill_all()

    def test_bad_phases_are_refused_before_anything_starts(self):
        self.refuse(*DRY, "training.step={python: mixed.py:Step, gama: 1}", says=["unexpected keyword argument 'gama'; it takes ()"])
        self.refuse(*DRY, "discriminator.steps=1", says=["takes 2 new batches a step, and the job has 1"])
        self.refuse(*DRY, "training.r1.gamma=1", says=["has no meaning beside training.step"])
        self.refuse(*DRY, "layout.recompute=true", says=["training.step chooses itself"])
        self.refuse(*DRY, "model.discriminator=none", "model.family=infogan", says=["give model.discriminator a class"])
        self.refuse(*DRY, text=MIXED.replace('trains="generator"', 'trains="painter"'),
                    says=["phase small trains painter; the job has generator, discriminator"])


if __name__ == "__main__":
    unittest.main()
