#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Networks that a user has made in PyTorch, trained by real programs: docs/bring-your-own.md, tried. Needs PyTorch.

    GANGWAY_BIN=build/release/bin own_networks.py [unittest arguments]
"""
import copy
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import warnings
import zipfile
from pathlib import Path

import torch
from safetensors.torch import load_file
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
ONE = "training.kimg=0.016"  # step
FIFTY = "training.kimg=0.8"
NETWORKS = ("generator", "discriminator")
BUILT_IN = """
model: {family: dcgan, width: 16, resolution: 32, latent: 32}
data: {source: fashion-mnist}
training: {batch: 16, microbatches: 4, seed: 3}
generator: {optimizer: {adam: {lr: 2e-4, betas: [0.5, 0.999]}}}
discriminator: {optimizer: {adam: {lr: 2e-4, betas: [0.5, 0.999]}}}
output: {pictures_kimg: 0}
"""


class Forks(nn.Module):
    def __init__(self):
        super().__init__()
        self.judge = nn.Linear(784, 1)

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        flat = torch.jit.fork(torch.flatten, image, 1)
        return self.judge(torch.jit.wait(flat))


class Reads(nn.Module):
    def __init__(self):
        super().__init__()
        self.judge = nn.Linear(784, 1)

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        return self.judge(torch.flatten(image, 1)) + torch.from_file("/etc/hostname", False, 1, dtype=torch.uint8)


class Warns(nn.Module):
    """Says something each time, as LibTorch's own kernels do."""

    def __init__(self):
        super().__init__()
        self.judge = nn.Linear(784, 1)

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        warnings.warn("this judge is old")
        return self.judge(torch.flatten(image, 1))


class Residual(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.inner = nn.Sequential(nn.Conv2d(channels, channels, 3, padding=1), nn.BatchNorm2d(channels), nn.ReLU(),
                                   nn.Conv2d(channels, channels, 3, padding=1))

    def forward(self, maps: torch.Tensor) -> torch.Tensor:
        return maps + self.inner(maps)


class ResidualUNet(nn.Module):
    """What the way down makes at each size goes past the coarser ones, beside what comes back from there."""

    def __init__(self, width=8):
        super().__init__()
        self.enter = nn.Conv2d(1, width, 3, padding=1)
        self.down = nn.ModuleList([nn.Sequential(Residual(width << i), nn.Conv2d(width << i, width << (i + 1), 4, 2, 1))
                                   for i in range(2)])
        self.middle = Residual(width << 2)
        self.up = nn.ModuleList([nn.ConvTranspose2d(width << (i + 1), width << i, 4, 2, 1) for i in (1, 0)])
        self.join = nn.ModuleList([nn.Sequential(nn.Conv2d(width << (i + 1), width << i, 1), Residual(width << i))
                                   for i in (1, 0)])
        self.leave = nn.Conv2d(width, 1, 3, padding=1)

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        maps = self.enter(image)
        passed: list[torch.Tensor] = []
        for down in self.down:
            passed.append(maps)
            maps = down(maps)
        maps = self.middle(maps)
        for up, join in zip(self.up, self.join):
            maps = join(torch.cat([up(maps), passed.pop()], 1))
        return torch.tanh(self.leave(maps))


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
        """`gangway run` must end with 2 and one line with all words of `says`."""
        code, out, err = self.call(GANGWAY, "run", "job.yaml", *SHORT, EIGHT, "-n", 1, *arguments)
        self.assertEqual(code, 2, out + err)
        lines = [line for line in err.splitlines() if line.startswith("gangway: ")]
        self.assertEqual(len(lines), 1, err)
        for word in says:
            self.assertIn(word, lines[0])

    def test_one_to_three_workers_have_one_digest_and_so_has_a_resume(self):
        for workers in (1, 2, 3):
            self.train("job.yaml", *SHORT, SIXTEEN, run=f"w{workers}", workers=workers)
        self.train("job.yaml", *SHORT, EIGHT, run="resumed", workers=3)
        self.train("job.yaml", *SHORT, SIXTEEN, run="resumed", workers=2)
        digests = {self.digest(run) for run in ("w1", "w2", "w3", "resumed")}
        self.assertEqual(len(digests), 1, digests)

    def test_a_sagan_of_the_ready_layers_has_one_digest_on_one_and_two_workers(self):
        subprocess.run([sys.executable, OWN / "make_attention_networks.py", self.folder], check=True)
        for workers in (1, 2):
            self.train("job.yaml", *SHORT, TWO, "training.loss=hinge", run=f"w{workers}", workers=workers)
        self.assertEqual(self.digest("w1"), self.digest("w2"))

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

    def test_what_libtorch_warns_of_is_in_the_log_of_the_worker_once_and_nowhere_else(self):
        torch.jit.script(Warns()).save(self.folder / "warns.pt")
        code, out, err = self.call(GANGWAY, "run", "job.yaml", *SHORT, EIGHT, "-n", 2, "--run", "warned",
                                   "model.discriminator=warns.pt")
        self.assertEqual(code, 0, out + err)
        self.assertNotIn("is old", out + err)
        run, = (self.folder / "runs").glob("*-warned")
        for rank in (1, 2):
            log = (run / f"logs/rank-000{rank}.log").read_text()
            self.assertEqual(len(re.findall(rf"(?m) \[rank {rank}\] .*warning: LibTorch warns: .*this judge is old", log)), 1, log)

    def test_a_residual_u_net_between_pictures_has_one_digest_on_one_and_two_workers(self):
        torch.manual_seed(0)
        torch.jit.script(ResidualUNet()).save(self.folder / "unet.pt")
        job = [EXAMPLES / "pix2pix.yaml", *SHORT, EIGHT, "model.generator=unet.pt", "model.width=8"]
        for workers in (1, 2):
            self.train(*job, run=f"pictures{workers}", workers=workers)
        self.assertEqual(self.digest("pictures1"), self.digest("pictures2"))
        self.train(*job, "training.seed=1", run="other", workers=1)
        self.assertNotEqual(self.digest("other"), self.digest("pictures1"))

    def test_the_dry_run_counts_and_the_export_has_the_modules_names(self):
        code, out, err = self.call(GANGWAY, "run", "job.yaml", "--dry-run")
        self.assertEqual(code, 0, err)
        self.assertIn("Parameters: generator 240321, discriminator 36577\n", out)
        self.train("job.yaml", *SHORT, EIGHT, run="own", workers=2)
        (self.folder / "generator.pt").rename(self.folder / "before.pt")  # the run keeps a copy
        (self.folder / "discriminator.pt").unlink()
        for file in ("trained.pt", "trained.safetensors"):
            code, out, err = self.call(GANGWAY, "checkpoints", "export", "own", "--last", "-o", file)
            self.assertEqual(code, 0, err)
        before = torch.jit.load(self.folder / "before.pt").state_dict()
        after = torch.jit.load(self.folder / "trained.pt").state_dict()
        self.assertEqual(list(before), list(after))
        self.assertEqual(after["grow.1.num_batches_tracked"].item(), 8)
        self.assertFalse(torch.equal(before["grow.0.weight"], after["grow.0.weight"]))
        code, out, err = self.call(GANGWAY, "sample", "own", "-o", "grid.png")
        self.assertEqual(code, 0, out + err)

    def test_the_runs_own_job_file_trains_to_the_same_numbers(self):
        self.train("job.yaml", *SHORT, EIGHT, run="own", workers=2)
        for name in ("generator.pt", "discriminator.pt"):
            (self.folder / name).unlink()
        self.train("runs/00000-own/job.yaml", run="again", workers=1)
        self.assertEqual(self.digest("own"), self.digest("again"))

    def export(self, run, network, kind):
        """The file with the last weights of a run's network."""
        file = self.folder / f"{run}-{network}.{kind}"
        if file.exists():
            return file
        code, out, err = self.call(GANGWAY, "checkpoints", "export", run, "--last", "--network", network, "-o", file)
        self.assertEqual(code, 0, out + err)
        return file

    def test_the_built_in_dcgan_given_back_learns_what_it_would_have_learnt(self):
        """One plain step of gradient descent: later ones part, because the built-in one has kernels of its own
        (docs/numerics.md), and what is rounded otherwise once grows from step to step."""
        descent = [f"{network}.optimizer={{sgd: {{lr: 1e-2, momentum: 0}}}}" for network in NETWORKS]
        (self.folder / "built.yaml").write_text(BUILT_IN)
        self.train("built.yaml", ONE, run="start", workers=1)
        weights = [f"{network}.weights={self.export('start', network, 'safetensors')}" for network in NETWORKS]
        self.train("built.yaml", ONE, *descent, *weights, run="built", workers=2)
        files = ", ".join(f"{network}: {self.export('start', network, 'pt')}" for network in NETWORKS)
        (self.folder / "given.yaml").write_text(BUILT_IN.replace("family: dcgan, width: 16", files))
        self.train("given.yaml", ONE, *descent, run="given", workers=1)
        for network in NETWORKS:
            start, built, given = (load_file(self.export(run, network, "safetensors")) for run in ("start", "built", "given"))
            self.assertEqual(list(built), list(given))
            for name, value in built.items():
                change = (value - start[name]).norm()
                self.assertGreater(change, 0.0, name)
                rounding = 2**-23 * value.norm()  # of the weights themselves
                self.assertLessEqual((value - given[name]).norm(), 4e-6 * change + rounding, f"{network} {name}")

    def test_given_networks_learn_the_same_on_any_number_of_workers(self):
        (self.folder / "built.yaml").write_text(BUILT_IN)
        self.train("built.yaml", ONE, run="start", workers=1)
        files = ", ".join(f"{network}: {self.export('start', network, 'pt')}" for network in NETWORKS)
        (self.folder / "given.yaml").write_text(BUILT_IN.replace("family: dcgan, width: 16", files))
        for workers in (1, 3):
            self.train("given.yaml", FIFTY, run=f"given{workers}", workers=workers)
        self.assertEqual(self.digest("given1"), self.digest("given3"))

    def rewrite(self, source, target, member, old, new):
        """The same archive, but for what `old` is in the files that end in `member`; None: all of them."""
        with zipfile.ZipFile(self.folder / source) as given, zipfile.ZipFile(self.folder / target, "w") as made:
            for name in given.namelist():
                content = given.read(name)
                if name.endswith(member):
                    content = new if old is None else content.replace(old, new)
                made.writestr(name, content)

    def test_what_cannot_be_trained_is_2_with_one_line(self):
        self.refuse("model.generator=nowhere.pt", says=["model.generator", "nowhere.pt", "No such file"])
        self.refuse("model.generator=job.yaml", says=["model.generator", "job.yaml", "no TorchScript file"])
        torch.save({"a": torch.ones(2)}, self.folder / "saved.pt")
        self.refuse("model.generator=saved.pt", says=["saved.pt", "one of torch.save", "torch.jit.script"])
        torch.jit.script(torch.nn.Linear(2, 1)).save(self.folder / "linear.pt")
        for name, member, old, new in (("format", "/version", None, b"99\n"), ("operator", ".py", b"torch.linear", b"torch.later")):
            self.rewrite("linear.pt", f"{name}.pt", member, old, new)
            self.refuse(f"model.generator={name}.pt", says=[f"{name}.pt", "a newer PyTorch than", "pip install torch=="])
        self.refuse("model.latent=32", says=["model.generator", "forward(noise [N, 32] float32)", "[N, 1, 28, 28]"])
        self.refuse("model.classes=10", says=["model.generator", "labels [N] int64"])
        torch.jit.script(Forks()).save(self.folder / "forks.pt")
        self.refuse("model.discriminator=forks.pt", says=["model.discriminator", "forks.pt", "prim::fork"])
        torch.jit.script(Reads()).save(self.folder / "reads.pt")
        self.refuse("model.discriminator=reads.pt", says=["model.discriminator", "reads.pt", "aten::from_file"])

    def test_code_that_others_can_write_to_is_run_by_nobody(self):
        self.train("job.yaml", *SHORT, TWO, run="own", workers=1)
        run = self.folder / "runs/00000-own"
        attempts = ((("run", "job.yaml", *SHORT, "-n", "1", "--dry-run"), self.folder / "generator.pt"),
                    (("run", "job.yaml", *SHORT, "-n", "1", "--run", "other"), self.folder / "generator.pt"),
                    (("sample", "own", "-o", "grid.png"), run),
                    (("evaluate", "own", "--samples", "100"), run / "networks"),
                    (("checkpoints", "export", "own", "-o", "out.pt"), next((run / "networks").glob("generator*"))))
        for words, place in attempts:
            with self.subTest(words=words, place=place.name):
                before = place.stat().st_mode
                place.chmod(before | 0o002)
                code, _, err = self.call(GANGWAY, *words)
                self.assertEqual(code, 2, err)
                line, = err.splitlines()
                for word in (str(place), "can be written to by everybody", "--trust"):
                    self.assertIn(word, line)
                if words[0] == "sample" or "--dry-run" in words:
                    self.assertEqual(self.call(GANGWAY, *words, "--trust")[0], 0)
                place.chmod(before)

    def test_a_changed_file_is_2_when_a_run_goes_on(self):
        self.train("job.yaml", *SHORT, EIGHT, run="own", workers=1)
        torch.manual_seed(1)
        network = torch.jit.load(self.folder / "generator.pt")
        with torch.no_grad():
            next(network.parameters()).add_(1.0)
        network.save(self.folder / "generator.pt")
        self.refuse("--run", "own", says=["model.generator", "generator.pt", "has changed"])

    def test_a_bare_mpirun_refuses_them_too(self):
        code, out, err = self.call("mpirun", "--oversubscribe", "--bind-to", "none", "-n", 2, GANGWAY, "train", "job.yaml",
                                   *SHORT, "model.latent=32", "--run", "bare")
        self.assertNotEqual(code, 0)
        status = (self.folder / "runs/00000-bare/status.json").read_text()
        self.assertIn('"exit_code": 2', status)
        self.assertIn("model.generator", status)


if __name__ == "__main__":
    unittest.main()
