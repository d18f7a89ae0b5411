#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Exports a generator with the real command, and computes with it in Python: as TorchScript and as plain weights.

    export_test.py EXPORT_SAMPLE        with GANGWAY_BIN set to the folder of the programs
"""
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
    "dcgan": "model: {family: dcgan, width: 8, latent: 16}\n",
    "conditional": "model: {family: dcgan, width: 8, latent: 16, classes: 10}\n",
    "infogan": "model: {family: infogan, width: 8, latent: 16}\n",
    "r3gan": "model: {family: r3gan, width: 8, latent: 16, blocks: 1, classes: 10}\n",
    "gat": "model: {family: gat, width: 8, latent: 16, patch: 8, blocks: 2, classes: 10}\n",
    "biggan": "model: {family: biggan, width: 2, latent: 16, attention: 16, classes: 10}\n",
    "stylegan2": "model: {family: stylegan2, width: 4, latent: 16, mapping_layers: 2, classes: 10}\n",
    "progressive": "model: {family: progressive, width: 8, latent: 16}\n",
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

    def test_torchscript_computes_the_same_in_python(self):
        for job in JOBS:
            with self.subTest(job):
                run, expected = self.make(job)
                file = self.folder / f"{job}.pt"
                done = self.export(run, "-o", file)
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                notes = {"gangway.step": "", "gangway.weights": ""}
                module = torch.jit.load(file, _extra_files=notes)
                self.assertEqual((notes["gangway.step"], notes["gangway.weights"]), (b"7", b"average"))
                module.eval()
                inputs = [expected["noise"]]
                if "classes" in JOBS[job]:
                    inputs.append(expected["labels"].long())
                with torch.no_grad():
                    apart = (module(*inputs) - expected["examples"]).abs().max().item()
                self.assertLessEqual(apart, 1e-6)
                frozen = torch.jit.freeze(module)  # a usual form of deployment
                with torch.no_grad():
                    self.assertLessEqual((frozen(*inputs) - expected["examples"]).abs().max().item(), 1e-5)

    def test_plain_weights_are_those_of_the_average_and_of_the_module(self):
        run, expected = self.make("infogan")
        done = self.export(f"{run}@7", "-o", self.folder)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        plain = load_file(self.folder / "generator.safetensors")
        for name, values in expected.items():
            if name.startswith("weights/"):
                self.assertTrue(torch.equal(plain[name.removeprefix("weights/").replace("/", ".")], values), name)
        module = torch.jit.load(self.folder / "generator.pt")
        self.assertEqual(set(module.state_dict()), set(plain))
        for name, values in module.state_dict().items():
            self.assertTrue(torch.equal(plain[name], values), name)
        with safe_open(self.folder / "generator.safetensors", framework="pt") as file:
            self.assertEqual(file.metadata()["gangway.step"], "7")
        # Computes the first layers from the file alone.
        with torch.no_grad():
            x = torch.nn.functional.linear(expected["noise"], plain["0.weight"])
            x = torch.nn.functional.batch_norm(x, plain["0.norm.running_mean"], plain["0.norm.running_var"],
                                               plain["0.norm.weight"], plain["0.norm.bias"]).relu()
        self.assertEqual(x.shape, (6, 1024))

    def test_the_last_weights_and_the_discriminator_can_be_had(self):
        run, expected = self.make("mlp")
        self.assertEqual(self.export(run, "-o", self.folder / "last.safetensors", "--last").returncode, 0)
        last = load_file(self.folder / "last.safetensors")
        self.assertFalse(torch.equal(last["0.weight"], expected["weights/0/weight"]))
        done = self.export(run, "-o", self.folder / "d.pt", "--network", "discriminator")
        self.assertEqual(done.returncode, 0, done.stderr)
        with torch.no_grad():
            self.assertEqual(torch.jit.load(self.folder / "d.pt")(expected["examples"]).shape, (6, 1))

    def test_nothing_is_overwritten_and_bad_input_costs_one_line(self):
        run, _ = self.make("mlp")
        (self.folder / "taken.pt").write_text("mine")
        cases = {(run, "-o", self.folder / "taken.pt"): 6, (f"{run}@8", "-o", self.folder / "a.pt"): 5,
                 (self.folder / "none", "-o", self.folder / "a.pt"): 2, (run, "-o", self.folder / "a.onnx"): 2}
        for words, code in cases.items():
            with self.subTest(words):
                done = self.export(*words)
                self.assertEqual(done.returncode, code, done.stderr)
                self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        self.assertEqual((self.folder / "taken.pt").read_text(), "mine")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[2:], verbosity=1)
