#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Networks that are the user's Python, trained by real programs: docs/python.md, tried. Needs PyTorch.

    GANGWAY_BIN=build/release/bin own_python.py [unittest arguments]
"""
import json
import re
import shutil
import signal
import subprocess
import unittest
from pathlib import Path

import torch

from train_command import EXAMPLES, GANGWAY, PROGRAMS, Trainings

EXAMPLE = EXAMPLES / "python"
SHORT = ["training.batch=12", "training.microbatches=6", "output.pictures_kimg=0", "generator.ema_kimg=0.05",
         "model.generator.width=16", "model.discriminator.width=8"]
R1 = ["training.loss=nonsaturating", "training.r1.gamma=1"]
EIGHT = "training.kimg=0.096"  # steps
SIXTEEN = "training.kimg=0.192"
TWO = "training.kimg=0.024"
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
    """Libraries that a process has mapped."""
    try:
        return set(re.findall(r"/(lib[\w-]+)[^/]*\.so", Path(f"/proc/{pid}/maps").read_text()))
    except OSError:
        return set()


class OwnPython(Trainings):
    def setUp(self):
        super().setUp()
        shutil.copytree(EXAMPLE, self.folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))

    def refuse(self, *words, says):
        code, out, err = self.call(GANGWAY, "run", "job.yaml", "--dry-run", *SHORT, *words)
        self.assertEqual(code, 2, out + err)
        line, = [line for line in err.splitlines() if not line.startswith("note ")]
        for said in says:
            self.assertIn(said, line)

    def test_one_digest_on_any_number_of_workers_and_in_pytorch_alone_with_a_penalty(self):
        self.train("job.yaml", *SHORT, *R1, EIGHT, run="on1", workers=1)
        self.train("job.yaml", *SHORT, *R1, EIGHT, "checkpoint.every_steps=1", "checkpoint.every_kimg=0", "checkpoint.keep=10",
                   run="on3", workers=3)
        self.assertEqual(self.digest("on1"), self.digest("on3"))
        for step in (0, 7):  # the first one has the penalty
            self.replay("on3", step)

    def test_a_killed_run_goes_on_from_its_own_copy_and_needs_the_file_no_more(self):
        self.train("job.yaml", *SHORT, SIXTEEN, run="whole", workers=1)
        words = ["run", "job.yaml", *SHORT, SIXTEEN, "--run", "killed", "checkpoint.every_steps=4", "checkpoint.every_kimg=0"]
        running = self.start(*words, "-n", 3)
        running.wait_until(lambda: list(self.folder.glob("runs/*-killed/checkpoints/step-*/manifest.json")), "a checkpoint")
        running.kill_all()
        run, = self.folder.glob("runs/*-killed")
        code, out, err = self.call(GANGWAY, "run", *words[1:], "-n", 1)
        self.assertEqual(code, 0, out + err)
        self.assertEqual(self.digest("whole"), self.digest("killed"))
        (self.folder / "nets.py").unlink()
        for command in (["sample", "killed", "-o", "grid.png"], ["evaluate", "killed", "--samples", "100"],
                        ["checkpoints", "ls", "killed"], ["checkpoints", "export", "killed", "-o", "g.safetensors"],
                        ["checkpoints", "export", "killed", "-o", "g.pt2"]):
            code, out, err = self.call(GANGWAY, *command)
            self.assertEqual(code, 0, f"{command}: {out}{err}")
        made = torch.export.load(self.folder / "g.pt2").module()(torch.zeros(5, 64))
        self.assertEqual(made.shape, (5, 1, 28, 28))
        self.train(run / "job.yaml", run="again", workers=2)
        self.assertEqual(self.digest("whole"), self.digest("again"))

    def test_a_changed_file_is_2_when_a_run_goes_on(self):
        self.train("job.yaml", *SHORT, TWO, run="own", workers=1)
        with open(self.folder / "nets.py", "a") as nets:
            nets.write("\n")
        code, out, err = self.call(GANGWAY, "run", "job.yaml", *SHORT, SIXTEEN, "-n", 1, "--run", "own")
        self.assertEqual(code, 2, out + err)
        self.assertIn("nets.py has changed since", err)

    def test_the_dry_run_counts_and_refuses_in_a_line(self):
        code, out, err = self.call(GANGWAY, "run", "job.yaml", "--dry-run")
        self.assertEqual(code, 0, out + err)
        self.assertIn("Parameters: generator 230257, discriminator 36513\n", out)
        # What else is refused of a network: tests/python/python_block_test.cpp, which imports PyTorch once.
        (self.folder / "judge.py").write_text(JUDGE.format(
            construct="print('network discriminator 5'); print('gangway: forged')", forward="raise ValueError('not today')"))
        self.refuse("model.discriminator=judge.py:Judge",
                    says=["model.discriminator: judge.py", "judge.py:11 in forward: ValueError: not today"])
        self.refuse("model.generator.widht=3", says=["unexpected keyword argument 'widht'"])
        self.refuse("layout.python=/usr", says=["layout.python: /usr: "])
        (self.folder / "nets.py").chmod(0o666)
        self.refuse(says=["nets.py", "can be written to by everybody", "--trust"])

    def test_what_fails_in_a_step_is_2_with_its_line(self):
        (self.folder / "judge.py").write_text(JUDGE.format(
            construct="self.register_buffer('n', torch.zeros(()))",
            forward="self.n = self.n + (1 if self.training else 0)\n        if self.n > 9: raise ValueError('enough')"))
        code, out, err = self.call(GANGWAY, "run", "job.yaml", *SHORT[:-1], "model.discriminator=judge.py:Judge", SIXTEEN,
                                   "-n", 2, "--run", "fails")
        self.assertEqual(code, 2, out + err)
        self.assertIn("judge.py:12 in forward: ValueError: enough", out + err)
        run, = self.folder.glob("runs/*-fails")
        self.assertIn("Traceback (most recent call last)", "".join(log.read_text() for log in run.glob("logs/rank-*.log")))

    def test_jobs_without_python_load_nothing_of_it(self):
        for program in PROGRAMS.glob("gangway*"):
            linked = subprocess.run(["ldd", program], capture_output=True, text=True).stdout
            self.assertNotIn("python", re.sub(r"=> \S+", "", linked), program)
        mapped = {}
        for name, job in (("own", "job.yaml"), ("built-in", EXAMPLES / "fashion-mnist.yaml")):
            running = self.start("run", job, "-n", 1, "--run", name, "training.kimg=50", *(SHORT if name == "own" else []),
                                 name=name)
            running.wait_for("^tick ")
            run, = self.folder.glob(f"runs/*-{name}")
            ranks = json.loads((run / "placement.json").read_text())["ranks"]
            mapped[name] = [loaded(rank["pid"]) for rank in ranks]
            running.send(signal.SIGKILL)
            running.kill_all()
        self.assertIn("libpython3", mapped["own"][1])
        for libraries in (*mapped["built-in"], mapped["own"][0]):
            self.assertFalse([library for library in libraries if "python" in library])


if __name__ == "__main__":
    unittest.main()
