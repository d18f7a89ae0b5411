#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Starts and opens runs from Python (share/python/gangway), as docs/from-python.md describes. Needs PyTorch.

    GANGWAY_BIN=build/release/bin from_python.py [unittest arguments]
"""
import contextlib
import io
import os
import signal
import sys
import unittest
from pathlib import Path

import torch
from safetensors.torch import load_file

from train_command import EXAMPLES, GANGWAY, PACKAGE, Running, Trainings, environment
import gangway  # of share/python, whose path train_command sets

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

    def test_runs_of_one_and_three_workers_give_one_state_whichever_way_it_is_read_and_go_on_when_given_again(self):
        runs = [self.run_quietly(SMALL, workers=workers, name=f"w{workers}")[0] for workers in (1, 3)]
        (self.folder / "w1").mkdir()  # a folder is not the run of its name
        self.assertEqual(gangway.open("w1").folder.resolve(), runs[0].folder.resolve())
        self.assertEqual({run.digest for run in runs}, {self.digest("w1")})
        states = [run.state_dict("generator", average=True) for run in runs]
        self.assertEqual(*(list(state) for state in states))
        self.assertTrue(all(values.equal(states[1][name]) for name, values in states[0].items()))
        run = runs[1]
        self.assertEqual(run.networks(), ["discriminator", "generator"])
        self.assertEqual(run.steps, [2])
        self.assertEqual(run.job["training"]["microbatches"], 12)
        self.assertEqual(run.stats[-1]["kimg"], 0.048)
        for words, average in ((["--last"], False), ([], True)):
            file = f"average-{average}.safetensors"
            code, out, err = self.call(GANGWAY, "checkpoints", "export", "w3", "-o", file, *words)
            self.assertEqual(code, 0, out + err)
            exported, state = load_file(self.folder / file), run.state_dict("generator", average=average)
            self.assertEqual(sorted(exported), sorted(state))
            self.assertTrue(all(torch.equal(values, state[name]) for name, values in exported.items()))
        for _ in range(2):  # the second time the run is finished
            again, _ = self.run_quietly(SMALL, name="w3", workers=1, options=["--resume", "auto"], **{"training.kimg": 0.072})
            self.assertEqual(again.folder, run.folder)
            self.assertEqual(again.steps, [2, 3])

    def test_a_module_of_the_users_takes_the_state_under_its_own_names(self):
        own = EXAMPLES / "python"
        run, said = self.run_quietly(own / "job.yaml", 2, training={"kimg": 0.032, "batch": 16}, output={"pictures_kimg": 0})
        self.assertIn("done   2 steps", said)
        sys.path.insert(0, str(own))
        from nets import Generator
        generator = Generator()
        generator.load_state_dict(run.state_dict("generator"))
        self.assertEqual(generator.start[1].num_batches_tracked.item(), 2)
        self.assertEqual(generator.eval()(torch.zeros(2, 64)).shape, (2, 1, 28, 28))
        import nets  # the classes themselves, in the place of the job file that names them
        model = {key: value for key, value in run.job["model"].items() if not key.startswith(("generator", "discriminator"))}
        again, _ = self.run_quietly({**run.job, "model": model, "layout": {}}, 1, name="classes", discriminator=(nets.Discriminator, {"dropout": 0.2}),
                                    generator=(nets.Generator, {"latent": 64, "width": 64}))
        self.assertEqual(again.digest, run.digest)
        self.assertEqual([picture.caption for picture in again.sample([3, 5])], ["3", "5"])

    def test_what_fails_is_one_line_and_the_exit_code(self):
        failed = self.fails(SMALL, training={"kimgs": 1})
        self.assertEqual(failed.code, 2)
        self.assertIn("did you mean 'training.kimg'", str(failed))
        rate = {"generator": {"optimizer": {"adam": {"lr": torch.tensor(1e9)}}}}
        failed = self.fails({**SMALL, **rate}, name="huge", workers=1, **{"training.kimg": 1})
        self.assertEqual(failed.code, 4)
        os.environ["GANGWAY_BIN"] = "/nowhere"
        failed = self.fails(SMALL)
        self.assertEqual(failed.code, 6)
        self.assertIn("GANGWAY_BIN", str(failed))

    def test_ctrl_c_lets_it_save_and_comes_back(self):
        program = (f"import sys, gangway\njob = {SMALL!r}\ntry:\n    gangway.run(job, 1, name='stopped', training={{'kimg': 10000}})\n"
                   "except KeyboardInterrupt:\n    print('interrupted', gangway.open('stopped').steps)\n")
        running = Running([sys.executable, "-c", program], self.folder, self.deadline, "said", GANGWAY_BIN=os.environ["GANGWAY_BIN"],
                          PYTHONPATH=str(PACKAGE))
        self.addCleanup(running.kill_all)
        running.wait_for("tick 1 ")
        running.send(signal.SIGINT)
        running.end()
        self.assertRegex(running.said(), r"(?m)^interrupted \[.*\d+\]$")


if __name__ == "__main__":
    unittest.main()
