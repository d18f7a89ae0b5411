#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Users' networks in Python, trained by real programs, as docs/python.md describes. Needs PyTorch.

    GANGWAY_BIN=build/release/bin own_python.py [unittest arguments]
"""
import importlib.util
import json
import re
import shutil
import subprocess
import sys
import unittest
from pathlib import Path

import torch

from train_command import EXAMPLES, GANGWAY, PROGRAMS, Trainings
import gangway  # of share/python, whose path train_command sets

EXAMPLE = EXAMPLES / "python"
SHORT = ["training.batch=12", "training.microbatches=6", "output.pictures_kimg=0", "generator.ema_kimg=0.05",
         "model.generator.width=16", "model.discriminator.width=8"]
R1 = ["training.loss=nonsaturating", "training.r1.gamma=1"]
EIGHT = "training.kimg=0.096"  # steps
EACH = ["checkpoint.every_steps=1", "checkpoint.every_kimg=0", "checkpoint.keep=10"]
JUDGE = """
import torch
from torch import nn
class Judge(nn.Module):
    def __init__(self, wide=1):
        super().__init__()
        self.judge = nn.Linear(784, wide)
        {construct}
    def forward(self, image):
        x = self.judge(image.flatten(1))
        {forward}
        return x
"""


def loaded(pid):
    """Returns the libraries that a process has mapped."""
    try:
        return set(re.findall(r"/(lib[\w-]+)[^/]*\.so", Path(f"/proc/{pid}/maps").read_text()))
    except OSError:
        return set()


class OwnPython(Trainings):
    def setUp(self):
        super().setUp()
        shutil.copytree(EXAMPLE, self.folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))

    def refuse(self, *words, says):
        self.refused(2, "run", "job.yaml", "--dry-run", *SHORT, *words, says=says)

    def test_a_killed_run_with_a_penalty_goes_on_from_its_own_copy_to_the_bits_of_pytorch_alone(self):
        words = ["run", "job.yaml", *SHORT, *R1, EIGHT, "--run", "killed", *EACH, "numerics.kernels=pytorch"]
        running = self.start(*words, "-n", 2)
        running.wait_until(lambda: list(self.folder.glob("runs/*-killed/checkpoints/step-*/manifest.json")), "a checkpoint")
        ranks = json.loads((self.folder_of("killed") / "placement.json").read_text())["ranks"]
        self.assertEqual(["libpython3" in loaded(rank["pid"]) for rank in ranks], [False, True, True])
        running.kill_all()
        code, out, err = self.call(GANGWAY, *words, "-n", 1)
        self.assertEqual(code, 0, out + err)
        for step in (0, 7):  # step 0 has the penalty
            self.replay("killed", step)
        with open(self.folder / "nets.py", "a") as nets:
            nets.write("\n")
        self.refused(2, *words, "training.kimg=0.192", "-n", 1, says=["nets.py has changed since"])
        (self.folder / "nets.py").unlink()
        code, out, err = self.call(GANGWAY, "checkpoints", "export", "killed", "-o", "g.pt2")
        self.assertEqual(code, 0, out + err)
        made = torch.export.load(self.folder / "g.pt2").module()(torch.zeros(5, 64))
        self.assertEqual(made.shape, (5, 1, 28, 28))
        code, out, err = self.call(GANGWAY, "checkpoints", "export", "killed", "-o", "g.onnx")
        if importlib.util.find_spec("onnxruntime") is None:  # ./launch/setup deploy installs it
            self.assertEqual((code, len(err.splitlines())), (2, 1), out + err)
            self.assertIn("pip install onnx", err)
            return
        self.assertEqual(code, 0, out + err)
        import onnxruntime
        noise = torch.linspace(-1, 1, 5 * 64).reshape(5, 64)
        (computed,) = onnxruntime.InferenceSession(self.folder / "g.onnx").run(None, {"noise": noise.numpy()})
        apart = torch.export.load(self.folder / "g.pt2").module()(noise) - torch.from_numpy(computed)
        self.assertLessEqual(apart.abs().max().item(), 1e-4)

    def test_the_dry_run_counts_and_refuses_in_a_line(self):
        code, out, err = self.call(GANGWAY, "run", "job.yaml", "--dry-run")
        self.assertEqual(code, 0, out + err)
        self.assertIn("Parameters: generator 230257, discriminator 36513\n", out)
        (self.folder / "own").mkdir()
        shutil.copy(self.folder / "nets.py", self.folder / "own/parts.py")
        (self.folder / "own/nets.py").write_text("from .parts import Generator\n")
        code, out, err = self.call(GANGWAY, "run", "job.yaml", "--dry-run", "model.generator={python: own.nets:Generator, width: 64}")
        self.assertEqual(code, 0, out + err)
        self.assertIn("Parameters: generator 230257, discriminator 36513\n", out)
        self.refuse("model.generator=own/nets.py:Generator", says=["nets.py:1 in <module>", "name the class by its package"])
        # tests/python/python_block_test.cpp has other refused networks; it imports PyTorch only once.
        (self.folder / "judge.py").write_text(JUDGE.format(
            construct="print('network discriminator 5'); print('gangway: forged')", forward="raise ValueError('not today')"))
        self.refuse("model.discriminator=judge.py:Judge",
                    says=["model.discriminator: judge.py", "judge.py:11 in forward: ValueError: not today"])
        self.refuse("layout.python=/usr", says=["layout.python: /usr: "])
        self.refuse("model.generator=g.pt", says=["model.generator", "TorchScript files are no networks any more", "torchscript.py"])
        (self.folder / "nets.py").chmod(0o666)
        self.refuse(says=["nets.py", "can be written to by everybody", "--trust"])
        self.assertEqual(self.call(GANGWAY, "run", "job.yaml", "--dry-run", "--trust")[0], 0)

    def test_a_torchscript_file_in_a_class_trains_to_the_bits_of_the_network_in_it(self):
        script = "import nets, torch; torch.manual_seed(0); torch.jit.script(nets.Generator(64, 16)).save('g.pt')"
        subprocess.run([sys.executable, "-W", "ignore", "-c", script], cwd=self.folder, check=True, timeout=self.deadline)
        words = ["job.yaml", *SHORT, "training.kimg=0.024"]
        self.train(*words, run="class", workers=1)
        self.train("job.yaml", *SHORT[:-2], "model.discriminator.width=8", "training.kimg=0.024",
                   f"model.generator={{python: torchscript.py:Loaded, file: {self.folder / 'g.pt'}}}", run="file", workers=2)
        loaded = gangway.open(self.folder_of("file")).state_dict("generator")
        for name, values in gangway.open(self.folder_of("class")).state_dict("generator").items():
            self.assertTrue(torch.equal(loaded[f"network.{name}"], values), name)

    def test_what_a_worker_finds_at_its_start_is_2_too(self):
        """`gangway run` did not check this job: each rank runs `gangway train`."""
        code, out, err = self.call("mpirun", "--oversubscribe", "--bind-to", "none", "-n", 2, GANGWAY, "train", "job.yaml", *SHORT,
                                   "model.latent=32", "--run", "bare")
        self.assertNotEqual(code, 0)
        status = (self.folder_of("bare") / "status.json").read_text()
        self.assertIn('"exit_code": 2', status)
        self.assertIn("model.generator", status)

    def test_what_fails_in_a_step_is_2_with_its_line(self):
        (self.folder / "judge.py").write_text(JUDGE.format(
            construct="self.register_buffer('n', torch.zeros(()))",
            forward="self.n = self.n + (1 if self.training else 0)\n        if self.n > 9: raise ValueError('enough')"))
        code, out, err = self.call(GANGWAY, "run", "job.yaml", *SHORT[:-1], "model.discriminator=judge.py:Judge", "training.kimg=0.192",
                                   "-n", 2, "--run", "fails")
        self.assertEqual(code, 2, out + err)
        self.assertIn("judge.py:12 in forward: ValueError: enough", out + err)
        logs = "".join(log.read_text() for log in self.folder_of("fails").glob("logs/rank-*.log"))
        self.assertIn("Traceback (most recent call last)", logs)
        self.assertIn("\n> forward discriminator pass ", logs)

    def test_jobs_without_python_load_nothing_of_it(self):
        for program in PROGRAMS.glob("gangway*"):
            linked = subprocess.run(["ldd", program], capture_output=True, text=True).stdout
            self.assertNotIn("python", re.sub(r"=> \S+", "", linked), program)
        running = self.start("run", EXAMPLES / "fashion-mnist.yaml", "-n", 1, "--run", "built-in", "training.kimg=50",
                             "model.width=8", "output.tick_kimg=0.064")
        running.wait_for("^tick ")
        ranks = json.loads((self.folder_of("built-in") / "placement.json").read_text())["ranks"]
        for rank in ranks:
            self.assertFalse([library for library in loaded(rank["pid"]) if "python" in library])


if __name__ == "__main__":
    unittest.main()
