#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Exports a generator with the real command, as ONNX and as plain weights, and computes with the latter.

    export_test.py EXPORT_SAMPLE        with GANGWAY_BIN set to the folder of the programs
"""
import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import torch
from safetensors import safe_open
from safetensors.torch import load_file

GANGWAY = str(Path(os.environ["GANGWAY_BIN"]) / "gangway")
SAMPLE = sys.argv[1]
JOBS = {
    "infogan": "model: {family: infogan, width: 8, latent: 16}\n",
    "mlp": "model: {family: mlp, width: 8, latent: 2}\ndata: {source: 'toy:ring8'}\n",
}


class Export(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="gangway-test-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def make(self, job):
        run, expected = self.folder / f"00000-{job}", self.folder / f"{job}-expected.safetensors"
        subprocess.run([SAMPLE, run, expected, JOBS[job]], check=True)
        return run, load_file(expected)

    def export(self, *words):
        return subprocess.run([GANGWAY, "checkpoints", "export", *map(str, words)], capture_output=True, text=True)

    def test_plain_weights_are_those_of_the_average_and_of_the_module(self):
        run, expected = self.make("infogan")
        done = self.export(f"{run}@7", "-o", self.folder)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        plain = load_file(self.folder / "generator.safetensors")
        for name, values in expected.items():
            if name.startswith("weights/"):
                self.assertTrue(torch.equal(plain[name.removeprefix("weights/").replace("/", ".")], values), name)
        maps = sum(values.numel() for values in plain.values() if values.dim() > 1)  # norms are folded into them
        self.assertGreater((self.folder / "generator.onnx").stat().st_size, 4 * maps)
        with safe_open(self.folder / "generator.safetensors", framework="pt") as file:
            self.assertEqual(file.metadata()["gangway.step"], "7")
        # Computes the first layers from the file alone.
        with torch.no_grad():
            x = torch.nn.functional.linear(expected["noise"], plain["0.weight"])
            x = torch.nn.functional.batch_norm(x, plain["0.norm.running_mean"], plain["0.norm.running_var"],
                                               plain["0.norm.weight"], plain["0.norm.bias"]).relu()
        self.assertEqual(x.shape, (32, 1024))

    def test_the_last_weights_and_the_discriminator_can_be_had(self):
        run, expected = self.make("mlp")
        self.assertEqual(self.export(run, "-o", self.folder / "last.safetensors", "--last").returncode, 0)
        last = load_file(self.folder / "last.safetensors")
        self.assertFalse(torch.equal(last["0.weight"], expected["weights/0/weight"]))
        done = self.export(run, "-o", self.folder / "d.onnx", "--network", "discriminator")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertRegex(done.stdout, r"d\.onnx: ONNX, last weights of the discriminator at step 7; .* million multiply-adds an example\n")

    def test_other_engines_get_inputs_and_their_pictures_are_scored(self):
        model = str(Path(GANGWAY).with_name("gangway-model"))

        def carry_out(*words):
            return subprocess.run(list(map(str, words)), capture_output=True, text=True)
        run, _ = self.make("mlp")
        inputs, made = self.folder / "in.safetensors", self.folder / "made.safetensors"
        self.assertEqual(carry_out(model, "inputs", run, "--evaluation", "--samples", "300", "-o", inputs).returncode, 0)
        self.assertEqual(load_file(inputs)["noise"].shape, (300, 2))
        done = carry_out(model, "time", run, "--inputs", inputs, "--batch", 128, "--made", made)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(load_file(made)["output"].shape, (300, 2))
        told = json.loads(carry_out(GANGWAY, "evaluate", run, "--made", made).stdout)
        own = json.loads(carry_out(GANGWAY, "evaluate", run, "--samples", "300", "--json").stdout)
        self.assertEqual((told["metric"], told["better"]), ("mode-score", "higher"))
        self.assertAlmostEqual(told["score"], own["good_share"] * own["covered"] / own["modes"])
        told = json.loads(carry_out(model, "time", run, "--inputs", inputs, "--seconds", 0.01).stdout)
        self.assertTrue(told["seconds"] and all(one > 0 for one in told["seconds"]))
        self.assertGreater(told["peak_bytes"], 1 << 20)
        done = carry_out(GANGWAY, "evaluate", run, "--made", inputs)
        self.assertEqual((done.returncode, done.stderr), (2, f"gangway: {inputs}: has no tensor 'output' of shape [N, 2]\n"))

    def test_nothing_is_overwritten_and_bad_input_costs_one_line(self):
        run, _ = self.make("mlp")
        (self.folder / "taken.onnx").write_text("mine")
        cases = {(run, "-o", self.folder / "taken.onnx"): 6, (f"{run}@8", "-o", self.folder / "a.onnx"): 5,
                 (self.folder / "none", "-o", self.folder / "a.onnx"): 2, (run, "-o", self.folder / "a.pt"): 2,
                 (run, "-o", self.folder / "no" / "a.onnx"): 6}
        for words, code in cases.items():
            with self.subTest(words):
                done = self.export(*words)
                self.assertEqual(done.returncode, code, done.stderr)
                self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        self.assertEqual((self.folder / "taken.onnx").read_text(), "mine")
        self.assertEqual({path.name for path in self.folder.glob("*.onnx*")}, {"taken.onnx"})


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[2:], verbosity=1)
