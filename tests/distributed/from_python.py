#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs that Python starts and opens (share/python/gangway): docs/from-python.md, tried. Needs PyTorch.

    GANGWAY_BIN=build/release/bin from_python.py [unittest arguments]
"""
import contextlib
import io
import os
import re
import signal
import subprocess
import sys
import time
import unittest
from pathlib import Path

import torch
from safetensors.torch import load_file

from train_command import EXAMPLES, GANGWAY, Trainings, environment, kill_all

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "share/python"
sys.path.insert(0, str(PACKAGE))
import gangway  # noqa: E402

SMALL = {"model": {"family": "dcgan", "resolution": 32, "width": 8, "latent": 16}, "data": {"source": "fashion-mnist", "limit": 256},
         "training": {"batch": 24, "microbatches": 12, "kimg": 0.048}, "output": {"pictures_kimg": 0, "http": "off"}}


class FromPython(Trainings):
    def setUp(self):
        super().setUp()
        before = Path.cwd()
        os.chdir(self.folder)
        self.addCleanup(os.chdir, before)
        for name, value in {"GANGWAY_BIN": str(Path(GANGWAY).parent), **environment()}.items():
            os.environ[name] = value

    def run_quietly(self, *arguments, **keys):
        said = io.StringIO()
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            return gangway.run(*arguments, **keys), said.getvalue()

    def fails(self, *arguments, **keys):
        with self.assertRaises(gangway.Failed) as caught:
            self.run_quietly(*arguments, **keys)
        self.assertNotIn("\n", str(caught.exception))
        return caught.exception

    def test_runs_of_one_to_three_workers_give_one_state_whichever_way_it_is_read(self):
        runs = [self.run_quietly(SMALL, workers=workers, name=f"w{workers}")[0] for workers in (1, 2, 3)]
        self.assertEqual({run.digest() for run in runs}, {self.digest("w1")})
        states = [run.state_dict("generator", average=True) for run in runs]
        self.assertTrue(all(list(state) == list(states[0]) for state in states))
        self.assertTrue(all(values.equal(state[name]) for state in states for name, values in states[0].items()))
        self.assertEqual(runs[2].networks(), ["discriminator", "generator"])
        self.assertEqual(runs[2].steps, [2])
        self.assertEqual(runs[2].job["training"]["microbatches"], 12)
        self.assertEqual(runs[2].stats[-1]["kimg"], 0.048)
        for words, average in ((["--last"], False), ([], True)):
            file = f"average-{average}.safetensors"
            code, out, err = self.call(GANGWAY, "checkpoints", "export", "w3", "-o", file, *words)
            self.assertEqual(code, 0, out + err)
            exported, state = load_file(self.folder / file), runs[2].state_dict("generator", average=average)
            self.assertEqual(sorted(exported), sorted(state))
            self.assertTrue(all(torch.equal(values, state[name]) for name, values in exported.items()))

    def test_a_module_of_the_users_takes_the_state_under_its_own_names(self):
        own = EXAMPLES / "bring-your-own"
        subprocess.run([sys.executable, own / "make_networks.py", self.folder], check=True)
        run, said = self.run_quietly(own / "job.yaml", 2, training={"kimg": 0.032, "batch": 16}, output={"pictures_kimg": 0})
        self.assertIn("done   2 steps", said)
        sys.path.insert(0, str(own))
        from make_networks import Generator
        generator = Generator()
        generator.load_state_dict(run.state_dict("generator"))
        self.assertEqual(generator.grow[1].num_batches_tracked.item(), 2)
        self.assertEqual(generator.eval()(torch.zeros(2, 64)).shape, (2, 1, 28, 28))

    def test_given_again_it_goes_on(self):
        keys = {"name": "again", "workers": 1, "options": ["--resume", "auto"]}
        first, _ = self.run_quietly(SMALL, **keys)
        second, _ = self.run_quietly(SMALL, **keys, **{"training.kimg": 0.072})
        self.assertEqual(first.folder, second.folder)
        self.assertEqual(second.steps, [2, 3])
        third, _ = self.run_quietly(SMALL, **keys, **{"training.kimg": 0.072})  # which is finished
        self.assertEqual(third.steps, second.steps)

    def test_a_folder_of_pictures_is_not_the_run_of_its_name(self):
        optimizer = {"adam": {"lr": torch.tensor(1e-3)}}  # of both: written twice
        run, _ = self.run_quietly({**SMALL, "generator": {"optimizer": optimizer}, "discriminator": {"optimizer": optimizer}}, 1,
                                  name="photos")
        (self.folder / "photos").mkdir()
        self.assertEqual(gangway.open("photos").folder.resolve(), run.folder.resolve())
        self.assertEqual(self.digest("photos"), run.digest())

    def test_what_fails_is_one_line_and_the_exit_code(self):
        failed = self.fails(SMALL, training={"kimgs": 1})
        self.assertEqual(failed.code, 2)
        self.assertIn("did you mean 'training.kimg'", str(failed))
        self.assertEqual(self.fails("nowhere.yaml").code, 2)
        failed = self.fails(SMALL, name="huge", workers=1, **{"generator.optimizer.adam.lr": 1e9, "training.kimg": 1})
        self.assertEqual(failed.code, 4)
        os.environ["GANGWAY_BIN"] = "/nowhere"
        failed = self.fails(SMALL)
        self.assertEqual(failed.code, 6)
        self.assertIn("GANGWAY_BIN", str(failed))

    def test_ctrl_c_lets_it_save_and_comes_back(self):
        program = (f"import sys, gangway\njob = {SMALL!r}\ntry:\n    gangway.run(job, 1, name='stopped', training={{'kimg': 10000}})\n"
                   "except KeyboardInterrupt:\n    print('interrupted', gangway.open('stopped').steps)\n")
        with open(self.folder / "said", "w") as out:
            process = subprocess.Popen([sys.executable, "-c", program], cwd=self.folder, stdout=out, stderr=out,
                                       env={**environment(), **os.environ, "PYTHONPATH": str(PACKAGE)})
        self.addCleanup(lambda: process.poll() is None and kill_all(process))
        end = time.monotonic() + 60
        while "tick 1 " not in (said := (self.folder / "said").read_text()):
            self.assertIsNone(process.poll(), said)
            self.assertLess(time.monotonic(), end, said)
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        process.wait(timeout=60)
        said = (self.folder / "said").read_text()
        self.assertRegex(said, re.compile(r"^interrupted \[.*\d+\]$", re.MULTILINE))


if __name__ == "__main__":
    unittest.main()
