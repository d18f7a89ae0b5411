#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Networks that a user has made in PyTorch, trained by real programs: docs/bring-your-own.md, tried. Needs PyTorch.

    GANGWAY_BIN=build/release/bin own_networks.py [unittest arguments]
"""
import copy
import shutil
import subprocess
import sys
import tempfile
import unittest
import zipfile
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional

from train_command import EXAMPLES, GANGWAY, Trainings

OWN = EXAMPLES / "bring-your-own"
sys.path.insert(0, str(OWN))
import layers  # noqa: E402

SHORT = ["training.batch=16", "training.microbatches=4", "output.pictures_kimg=0", "generator.ema_kimg=0.05"]
SIXTEEN = "training.kimg=0.256"  # steps
EIGHT = "training.kimg=0.128"
TWO = "training.kimg=0.032"


class Reads(nn.Module):
    def __init__(self):
        super().__init__()
        self.judge = nn.Linear(784, 1)

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        return self.judge(torch.flatten(image, 1)) + torch.from_file("/etc/hostname", False, 1, dtype=torch.uint8)


class OwnNetworks(Trainings):
    @classmethod
    def setUpClass(cls):
        cls.made = Path(tempfile.mkdtemp(prefix="gangway-test-"))
        cls.addClassCleanup(shutil.rmtree, cls.made, ignore_errors=True)
        subprocess.run([sys.executable, OWN / "make_networks.py", cls.made], check=True)
        shutil.copy(OWN / "job.yaml", cls.made)

    def setUp(self):
        super().setUp()
        shutil.copytree(self.made, self.folder, dirs_exist_ok=True)

    def refuse(self, *arguments, says):
        self.refused(2, "run", "job.yaml", *SHORT, EIGHT, "-n", 1, *arguments, says=says)

    def test_have_one_digest_on_other_workers_after_a_resume_without_their_files_and_leave_under_their_names(self):
        code, out, err = self.call(GANGWAY, "run", "job.yaml", "--dry-run")
        self.assertEqual(code, 0, err)
        self.assertIn("Parameters: generator 240321, discriminator 36577\n", out)
        self.train("job.yaml", *SHORT, SIXTEEN, run="alone", workers=1)
        self.train("job.yaml", *SHORT, EIGHT, run="resumed", workers=3)
        (self.folder / "generator.pt").rename(self.folder / "before.pt")  # the run keeps a copy
        (self.folder / "discriminator.pt").unlink()
        self.train(self.folder_of("resumed") / "job.yaml", SIXTEEN, run="resumed", workers=2)
        self.assertEqual(self.digest("alone"), self.digest("resumed"))
        code, out, err = self.call(GANGWAY, "checkpoints", "export", "resumed", "--last", "-o", "trained.pt")
        self.assertEqual(code, 0, err)
        before = torch.jit.load(self.folder / "before.pt").state_dict()
        after = torch.jit.load(self.folder / "trained.pt").state_dict()
        self.assertEqual(list(before), list(after))
        self.assertEqual(after["grow.1.num_batches_tracked"].item(), 16)
        self.assertFalse(torch.equal(before["grow.0.weight"], after["grow.0.weight"]))

    def test_a_sagan_of_the_ready_layers_trains_as_in_pytorch_alone(self):
        subprocess.run([sys.executable, OWN / "make_attention_networks.py", self.folder], check=True)
        self.train("job.yaml", *SHORT, TWO, "training.loss=hinge", "checkpoint.every_steps=1", "checkpoint.every_kimg=0", run="sagan",
                   workers=2)
        self.replay("sagan", 1)

    def test_the_ready_layers_are_what_they_are_called(self):
        torch.manual_seed(0)
        for layer, matrix in ((layers.SpectralLinear(6, 4), lambda weight: weight),
                              (layers.SpectralConv2d(3, 4, 3), lambda weight: weight.flatten(1)),
                              (layers.SpectralConvTranspose2d(3, 4, 4, 2, 1), lambda weight: weight.transpose(0, 1).flatten(1))):
            scripted = torch.jit.script(layer)
            given = torch.randn(2, 6) if isinstance(layer, nn.Linear) else torch.randn(2, 3, 8, 8)
            for _ in range(200):
                made = scripted(given)
            plain = copy.deepcopy(layer)
            with torch.no_grad():
                plain.weight /= torch.linalg.matrix_norm(matrix(layer.weight), 2)
            torch.testing.assert_close(made, type(layer).__base__.forward(plain, given), rtol=1e-4, atol=1e-5)
        attention = layers.SelfAttention(16).eval()
        maps = torch.randn(2, 16, 5, 5)
        self.assertTrue(torch.equal(torch.jit.script(attention)(maps), maps))  # gamma begins at 0
        attention.gamma.data.fill_(0.5)
        query, key, value = (one(maps).flatten(2) for one in (attention.query, attention.key, attention.value))
        seen = functional.scaled_dot_product_attention(*(one.transpose(1, 2) for one in (query, key, value)), scale=1.0)
        expected = maps + 0.5 * attention.out(seen.transpose(1, 2).reshape(2, 8, 5, 5))
        torch.testing.assert_close(torch.jit.script(attention)(maps), expected)

    def rewrite(self, source, target, member, old, new):
        """The same archive, but for what `old` is in the files that end in `member`."""
        with zipfile.ZipFile(self.folder / source) as given, zipfile.ZipFile(self.folder / target, "w") as made:
            for name in given.namelist():
                content = given.read(name)
                made.writestr(name, content.replace(old, new) if name.endswith(member) else content)

    def test_what_cannot_be_trained_is_2_with_one_line(self):
        """What else can be at fault with them: tests/gan/script/script_block_test.cpp."""
        torch.save({"a": torch.ones(2)}, self.folder / "saved.pt")
        self.refuse("model.generator=saved.pt", says=["saved.pt", "one of torch.save", "torch.jit.script"])
        torch.jit.script(torch.nn.Linear(2, 1)).save(self.folder / "linear.pt")
        self.rewrite("linear.pt", "operator.pt", ".py", b"torch.linear", b"torch.later")
        self.refuse("model.generator=operator.pt", says=["operator.pt", "a newer PyTorch than", "pip install torch=="])
        torch.jit.script(Reads()).save(self.folder / "reads.pt")
        self.refuse("model.discriminator=reads.pt", says=["model.discriminator", "reads.pt", "aten::from_file"])
        code, out, err = self.call("mpirun", "--oversubscribe", "--bind-to", "none", "-n", 2, GANGWAY, "train", "job.yaml",
                                   *SHORT, "model.latent=32", "--run", "bare")
        self.assertNotEqual(code, 0)
        status = (self.folder_of("bare") / "status.json").read_text()
        self.assertIn('"exit_code": 2', status)
        self.assertIn("model.generator", status)

    def test_code_that_others_can_write_to_is_run_by_nobody(self):
        self.train("job.yaml", *SHORT, TWO, run="own", workers=1)
        attempts = ((("run", "job.yaml", *SHORT, "-n", "1", "--dry-run"), self.folder / "generator.pt"),
                    (("sample", "own", "-o", "grid.png"), self.folder_of("own") / "networks"))
        for words, place in attempts:
            with self.subTest(words=words, place=place.name):
                place.chmod(place.stat().st_mode | 0o002)
                self.refused(2, *words, says=[str(place), "can be written to by everybody", "--trust"])
                self.assertEqual(self.call(GANGWAY, *words, "--trust")[0], 0)


if __name__ == "__main__":
    unittest.main()
