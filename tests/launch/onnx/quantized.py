#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Trains a small job, and measures and quantises its generator with the real engines.

    quantized.py        with GANGWAY_BIN set to the folder of the programs; skipped without `./launch/setup deploy`
"""
import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

try:
    import onnx
    import onnxruntime  # noqa: F401
    import openvino  # noqa: F401
except ImportError as lacking:
    print(f"skipped: {lacking}; ./launch/setup deploy installs it")
    sys.exit(77)

GANGWAY = str(Path(os.environ["GANGWAY_BIN"]) / "gangway")
JOB = ("model: {family: dcgan, width: 16, latent: 16}\ndata: {source: fashion-mnist, limit: 2000}\n"
       "training: {kimg: 4, batch: 64}\ncheckpoint: {keep: 1}\noutput: {pictures_kimg: 0}\n")


class Quantised(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="gangway-test-")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = Path(folder.name)
        (cls.folder / "job.yaml").write_text(JOB)
        done = cls.gangway("run", "job.yaml", "-n", "1", "--run", "small")
        assert done.returncode == 0, done.stderr

    @classmethod
    def gangway(cls, *words):
        return subprocess.run([GANGWAY, *words], cwd=cls.folder, capture_output=True, text=True)

    def test_files_near_the_score_are_written_and_measured(self):
        done = self.gangway("quantize", "small", "-o", "g.int8.onnx", "--samples", "500")
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
        model = onnx.load(self.folder / "g.int8.onnx")
        notes = {one.key: one.value for one in model.metadata_props}
        self.assertRegex(notes["gangway.int8.score"], "^FD-LeNet [0-9.]+$")
        self.assertIn("gangway.job.yaml", notes)
        self.assertIn("QuantizeLinear", {node.op_type for node in model.graph.node})
        done = self.gangway("bench", "inference", "small", "--int8", "g.int8.onnx", "--samples", "500", "--batches", "1,8", "--rounds", "1",
                            "--seconds", "0.1", "--json", "--anyway")
        self.assertEqual(done.returncode, 0, done.stderr)
        report = json.loads(done.stdout)
        rows = {(row["engine"], row["precision"]): row for row in report["rows"]}
        self.assertLessEqual({("gangway", "fp32"), ("onnxruntime", "fp32"), ("openvino", "fp32"), ("pytorch", "fp32"),
                              ("onnxruntime", "int8"), ("openvino", "int8")}, set(rows), report["left_out"])
        for (engine, precision), row in rows.items():
            if engine != "gangway" and precision == "fp32":
                self.assertLess(row["difference"], 1e-4)
                self.assertAlmostEqual(row["score"], rows["gangway", "fp32"]["score"], delta=1e-3 * row["score"])
            if precision == "int8":
                self.assertGreater(row["difference"], 1e-4)
                self.assertLess(row["score"], 1.15 * rows["gangway", "fp32"]["score"])

    def test_a_score_that_is_too_far_is_refused_with_the_layers(self):
        code = ("import sys\nfrom gangway.tools import quantize\n"
                "real = quantize.Quantizer.score_of\n"
                "def worse(self, file):\n"
                "    score = real(self, file)\n"
                "    return score if file == self.exported.onnx else {**score, 'score': 2 * score['score']}\n"
                "quantize.Quantizer.score_of = worse\n"
                "from gangway.errors import Failed\n"
                "try:\n"
                "    quantize.quantize('small', 'refused.onnx', samples=200)\n"
                "except Failed as error:\n"
                "    print(error.line)\n"
                "    sys.exit(error.code)\n")
        done = subprocess.run([sys.executable, "-c", code], cwd=self.folder, capture_output=True, text=True)
        self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
        self.assertRegex(done.stdout.splitlines()[-1], r"refused, and nothing was written: .*ConvTranspose_\d+ \(\d+ %\)")
        self.assertFalse((self.folder / "refused.onnx").exists())


if __name__ == "__main__":
    unittest.main()
