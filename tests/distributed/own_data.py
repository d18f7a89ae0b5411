#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Users' data in Python, read by processes of real workers, as docs/python.md describes. Needs PyTorch.

    GANGWAY_BIN=build/release/bin own_data.py [unittest arguments]
"""
import json
import os
import shutil
import subprocess
import unittest

import numpy
from PIL import Image

from train_command import EXAMPLES, GANGWAY, Trainings

SHORT = ["training.batch=12", "training.microbatches=6", "training.kimg=0.072", "output.pictures_kimg=0", "output.grid=2"]
EACH = ["checkpoint.every_steps=1", "checkpoint.every_kimg=0", "checkpoint.keep=20"]
GARMENTS = """
import gzip, numpy, os

class Garments:
    classes = 10
    def __init__(self, folder="/usr/share/datasets/fashion-mnist", size=300):
        def read(name, skip):
            path = os.path.join(folder, name)
            with open(path, "rb") if os.path.exists(path) else gzip.open(path + ".gz") as file:
                return numpy.frombuffer(file.read(), numpy.uint8, offset=skip)
        self.images = read("train-images-idx3-ubyte", 16).reshape(-1, 1, 28, 28)[:size]
        self.labels = read("train-labels-idx1-ubyte", 8)
    def __len__(self):
        return len(self.images)
    def __getitem__(self, index):
        return self.images[index], int(self.labels[index])
"""
ROWS = """
import numpy, random

class Rows:
    def __init__(self):
        self.rows = numpy.load("rows.npy")
    def __len__(self):
        return len(self.rows)
    def __getitem__(self, index):
        return self.rows[index] * (random.random() if index % 2 == 0 else 1)
"""
PAIRS = """
import numpy

class Pairs:
    def __init__(self, size=12):
        self.pictures = numpy.random.RandomState(0).randint(0, 256, (size, 2, 1, 32, 32), dtype=numpy.uint8)
    def __len__(self):
        return len(self.pictures)
    def __getitem__(self, index):
        return dict(zip("ab", self.pictures[index]))
"""
# Tensors of several types and ranks, which the class itself joins, and every random generator.
SOUNDS = """
import random
import gangway, numpy, torch
from torch import nn
import torch.nn.functional as F

class Sounds:
    def __init__(self, size=40, noise=0.1):
        {init}
        self.size, self.noise = size, noise
    def __len__(self):
        return self.size
    def __getitem__(self, index):
        {item}
        sound = torch.sin(torch.arange(64) * (index % 7 + 1) / 10) + self.noise * torch.randn(64)
        return {"sound": sound[None] + random.random() + numpy.random.rand(), "speaker": index % 5, "words": [index % 3] * (index % 4 + 1)}
    def collate(self, examples):
        longest = max(len(one["words"]) for one in examples)
        words = numpy.zeros((len(examples), longest), numpy.int32)
        for row, one in zip(words, examples):
            row[:len(one["words"])] = one["words"]
        return {"sound": torch.stack([one["sound"] for one in examples]), "words": words, "is_long": words.sum(1) > 4,
                "speaker": [torch.tensor(one["speaker"]) for one in examples][0].repeat(len(examples)),
                "half": torch.randn(len(examples), 3).bfloat16()}

class Generator(nn.Module):
    def __init__(self, latent=8):
        super().__init__()
        self.make = nn.Sequential(nn.Linear(latent, 784), nn.Tanh())
    def forward(self, noise):
        return self.make(noise).view(-1, 1, 28, 28)

class Judge(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.judge = nn.Embedding(5, 4), nn.Linear(784, 1)
    def forward(self, image):
        return self.judge(image.flatten(1))

class Step(gangway.Step):
    @gangway.phase(trains="discriminator", new_batch=True)
    def judge(self, batch, step):
        assert batch["words"].dtype == torch.int32 and batch["is_long"].dtype == torch.bool and batch["half"].dtype == torch.bfloat16
        word = self.discriminator.words(batch["words"]).mean() + batch["half"].float().mean() + batch["is_long"].float().mean()
        sound = F.pad(batch["sound"][:, 0], (0, 720)) * (1 + batch["speaker"][:, None])
        return F.softplus(-self.discriminator(sound)).mean() + word * self.discriminator(sound).mean()
    @gangway.phase(trains="generator")
    def make(self, batch, step):
        return -self.discriminator(self.generator(torch.randn(len(batch["sound"]), 8))).mean()
"""


class OwnData(Trainings):
    def write(self, text=SOUNDS, init="pass", item="pass"):
        (self.folder / "sounds.py").write_text(text.replace("{init}", init).replace("{item}", item))
        (self.folder / "sounds.yaml").write_text(
            "model: {generator: sounds.py:Generator, discriminator: sounds.py:Judge, resolution: 28, latent: 8}\n"
            "data: {source: {python: sounds.py:Sounds, noise: 0.2}}\n"
            "training: {step: sounds.py:Step}\n")

    def write_garments(self):
        (self.folder / "garments.py").write_text(GARMENTS)
        (self.folder / "garments.yaml").write_text(
            "model: {family: dense, resolution: 28, classes: 10, width: 8}\ndata: {source: garments.py:Garments}\n")

    def refuse(self, *words, says, job="sounds.yaml", **parts):
        if job == "sounds.yaml":
            self.write(**parts)
        self.refused(2, "run", job, "-n", 1, "--run", "refused", *SHORT, *words, says=says)
        self.assertEqual(self.readers(), [])

    def readers(self):
        """Returns the reading processes of this test's jobs."""
        found = subprocess.run(["pgrep", "-f", "requests = os.fdopen"], capture_output=True, text=True, check=False).stdout.split()
        def folder_of(pid):
            try:
                return os.readlink(f"/proc/{pid}/cwd")
            except OSError:
                return None  # it has ended meanwhile
        return [pid for pid in found if folder_of(pid) == str(self.folder)]

    def test_pictures_train_as_the_same_ones_from_files_do_even_where_a_reader_is_killed(self):
        self.write_garments()
        self.train("garments.yaml", *SHORT, "data.source=fashion-mnist", "data.limit=300", run="files", workers=1)
        (self.folder / "garments.py").write_text(GARMENTS.replace("        return self.images[index],", """\
        if index % 7 == 6 and not os.path.exists("killed"):  # none that is read at the start
            open("killed", "w").close()
            os.kill(os.getpid(), 9)
        return self.images[index],"""))
        self.train("garments.yaml", *SHORT, "data.threads=2", run="python", workers=2)
        self.assertTrue((self.folder / "killed").exists())
        self.assertEqual(self.digest("python"), self.digest("files"))
        self.assertEqual(len(list(self.folder.glob("runs/*-python/reals.png"))), 1)
        (self.folder / "garments.py").write_text(GARMENTS.replace("        return self.images[index],", """\
        if index % 7 == 6 and not os.path.exists("hung"):  # as on a disk that does not answer
            open("hung", "w").close()
            import time; time.sleep(1000)
        return self.images[index],"""))
        self.train("garments.yaml", *SHORT, "layout.timeout_seconds=2", run="late", workers=1)
        self.assertTrue((self.folder / "hung").exists())
        self.assertEqual(self.digest("late"), self.digest("files"))

    def test_an_example_that_has_become_another_ends_the_run(self):
        rows = numpy.random.default_rng(0).random((40, 1, 28, 28), numpy.float32)
        numpy.save(self.folder / "rows.npy", rows)
        (self.folder / "rows.py").write_text(ROWS)
        (self.folder / "rows.yaml").write_text("model: {family: dense, resolution: 28, width: 8}\ndata: {source: rows.py:Rows}\n")
        self.train("rows.yaml", *SHORT, "training.kimg=0.108", run="rows", workers=2)  # reads each example more than once
        rows[1] += 1  # the fingerprint does not include it
        numpy.save(self.folder / "rows.npy", rows)
        self.refused(2, "run", "rows.yaml", "-n", 1, "--run", "rows", *SHORT, "training.kimg=0.216",
                     says=["rows.py:Rows: example 1 is not what it was"])

    def test_two_pictures_an_example_train_as_the_same_ones_from_files_do(self):
        (self.folder / "pairs.py").write_text(PAIRS)
        made = {}
        exec(PAIRS, made)  # the class's pictures
        for side, name in enumerate("ab"):
            (self.folder / "files" / name).mkdir(parents=True)
            for number, pictures in enumerate(made["Pairs"]().pictures):
                Image.fromarray(pictures[side, 0]).save(self.folder / "files" / name / f"{number:02}.png")
        job = [EXAMPLES / "pix2pix.yaml", *SHORT, "training.kimg=0.024", "model.width=8", "data.direction=b-to-a"]
        self.train(*job, "data.source=pairs:files", run="files", workers=1)
        self.train(*job, "data.source=pairs.py:Pairs", run="python", workers=2)
        self.assertEqual(self.digest("python"), self.digest("files"))
        scores = [self.call(GANGWAY, "evaluate", source, "--json") for source in ("python", "files")]
        self.assertEqual(*(json.loads(out)["score"] for _, out, _ in scores))

    def test_tensors_of_any_kind_are_exact_after_a_kill_and_in_pytorch_alone(self):
        self.write()
        words = ["run", "sounds.yaml", *SHORT, "--run", "killed", *EACH, "numerics.kernels=pytorch"]
        running = self.start(*words, "-n", 2)
        running.wait_until(lambda: list(self.folder.glob("runs/*-killed/checkpoints/step-*/manifest.json")), "a checkpoint")
        running.kill_all()
        code, out, err = self.call(GANGWAY, *words, "-n", 1)
        self.assertEqual(code, 0, out + err)
        self.assertEqual(self.readers(), [])
        for step in (0, 5):
            self.replay("killed", step)

    def test_a_vocoder_and_a_tokenizer_on_two_workers_are_what_one_process_of_pytorch_makes(self):
        shutil.copytree(EXAMPLES / "own-step", self.folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
        small = [*SHORT[:2], "training.kimg=0.024", "output.grid=2", "model.generator.width=16", "numerics.kernels=pytorch"]
        for job in ("hifigan", "vqgan"):
            words = [f"{job}.yaml", *small, *(["training.step.start=1"] if job == "vqgan" else [])]
            self.train(*words, *EACH, run=job, workers=2)
            self.replay(job, 1)
        sound, = self.folder.glob("runs/*-hifigan/fakes000000.wav")
        self.assertEqual(sound.read_bytes()[:4], b"RIFF")

    def test_bad_data_are_refused_in_a_line_and_leave_no_process(self):
        where = "data.source: sounds.py:"
        self.refuse(init="raise SystemExit(3)", says=[where, "in __init__: SystemExit: 3"])
        self.refuse(item="import ctypes; ctypes.string_at(0)", says=[where, "ended by signal 11"])
        self.refuse(item="import time; index = time.perf_counter_ns() % 997", says=[where, "another example of the same index"])
        self.refuse("training.step=none", says=["has examples of sound [1, 64] float32", "needs a training.step"])
        self.write_garments()
        self.refuse("model.resolution=32", job="garments.yaml", says=["has examples of image [1, 28, 28] uint8", "image [1, 32, 32]"])
        self.refuse("data.cache=auto", "--dry-run", job="garments.yaml", says=["leave it out with examples in Python"])


if __name__ == "__main__":
    unittest.main()
