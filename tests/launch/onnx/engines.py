#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Exports a generator of each family as ONNX, and compares ONNX Runtime and OpenVINO with it, for batches of 1, 3 and 32.

    engines.py EXPORT_SAMPLE        with GANGWAY_BIN set to the folder of the programs; skipped without `./launch/setup deploy`
"""
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from safetensors.numpy import load_file

try:
    import numpy
    import onnx
    import onnxruntime
    import openvino
except ImportError as lacking:
    print(f"skipped: {lacking}; ./launch/setup deploy installs it")
    sys.exit(77)

GANGWAY = str(Path(os.environ["GANGWAY_BIN"]) / "gangway")
SHARE = Path(__file__).resolve().parents[3] / "share"
SAMPLE = sys.argv[1]
BATCHES = (1, 3, 32)
APART = 1e-4  # of the largest value
JOBS = {
    "dcgan": "model: {family: dcgan, width: 8, latent: 16}\n",
    "dcgan, labels": "model: {family: dcgan, width: 8, latent: 16, classes: 10, channels: 3}\ndata: {source: 'images:x'}\n",
    "infogan": "model: {family: infogan, width: 8, latent: 16}\n",
    "dense": "model: {family: dense, width: 8, latent: 16}\n",
    "mlp": "model: {family: mlp, width: 8, latent: 2}\ndata: {source: 'toy:ring8'}\n",
    "r3gan": "model: {family: r3gan, width: 8, latent: 16, blocks: 1, classes: 10}\n",
    "gat": "model: {family: gat, width: 12, latent: 16, patch: 8, blocks: 2, classes: 10}\n",
    "biggan": "model: {family: biggan, width: 2, latent: 16, attention: 16, classes: 10}\n",
    "sngan": "model: {family: biggan, width: 2, latent: 16}\n",
    "stylegan2": "model: {family: stylegan2, width: 4, latent: 16, mapping_layers: 2, classes: 10}\n",
    "progressive": "model: {family: progressive, width: 8, latent: 16}\n",
    "unet": "model: {family: unet, width: 4}\ntraining: {recipe: pix2pix}\ndata: {source: 'edges:fashion-mnist'}\n",
    "cyclegan": "model: {family: cyclegan, width: 4, blocks: 2}\ntraining: {recipe: cyclegan}\ndata: {source: 'classes:fashion-mnist:5,7'}\n",
    "johnson": "model: {family: johnson, width: 4, blocks: 2}\ntraining: {recipe: style-transfer, style: {picture: '"
               f"{SHARE}/style-waves.png'}}}}\nfeatures: {{weights: '{SHARE}/lenet-features-fashion-mnist.safetensors'}}\n",
}


def with_onnxruntime(file):
    session = onnxruntime.InferenceSession(file, providers=["CPUExecutionProvider"])
    return lambda inputs: session.run(None, inputs)[0]


def with_openvino(file):
    model = openvino.Core().compile_model(file, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    return lambda inputs: model(inputs)[0]


class Engines(unittest.TestCase):
    def exported(self, family):
        folder = tempfile.TemporaryDirectory(prefix="gangway-test-")
        self.addCleanup(folder.cleanup)
        run, expected, file = Path(folder.name) / "00000-run", Path(folder.name) / "expected.safetensors", Path(folder.name) / "g.onnx"
        subprocess.run([SAMPLE, run, expected, JOBS[family]], check=True)
        done = subprocess.run([GANGWAY, "checkpoints", "export", run, "-o", file], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return str(file), load_file(expected)

    def test_each_engine_computes_what_the_network_does(self):
        for family in JOBS:
            file, tensors = self.exported(family)
            onnx.checker.check_model(file, full_check=True)
            names = [value.name for value in onnx.load(file).graph.input]
            for engine in (with_onnxruntime, with_openvino):
                compute = engine(file)
                for wide in ("", "wide_") if names == ["image"] else ("",):
                    for batch in BATCHES:
                        inputs = {name: tensors[wide + name][:batch] for name in names}
                        if "labels" in inputs:
                            inputs["labels"] = inputs["labels"].astype(numpy.int64)
                        expected = tensors[f"{wide}examples"][:batch]
                        made = compute(inputs)
                        with self.subTest(family=family, engine=engine.__name__, wide=wide, batch=batch):
                            self.assertEqual(made.shape, expected.shape)
                            apart = abs(made - expected).max() / abs(expected).max()
                            print(f"{family:14} {engine.__name__:16} {wide:5} batch {batch:2}: {apart:.1e}")
                            self.assertLessEqual(apart, APART)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
