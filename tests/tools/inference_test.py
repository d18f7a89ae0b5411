#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests `gangway bench inference` and `gangway quantize` without engines. tests/launch/onnx/quantized.py has real ones.

    inference_test.py [unittest arguments]
"""
import contextlib
import io
import os
import sys
import tempfile
import time
import unittest
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

import numpy
import torch
from safetensors.numpy import save_file

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "share/python"))
from gangway import Failed  # noqa: E402
from gangway.tools import bench, exported, quantize  # noqa: E402
from gangway.tools.bench import inference  # noqa: E402

CRASHES, HANGS = "import os, signal; os.kill(os.getpid(), signal.SIGFPE)", "import time; time.sleep(60)"
WORKS = """import json, sys
import numpy
from safetensors.numpy import load_file, save_file
words = dict(zip(sys.argv[1::2], sys.argv[2::2]))
if "--made" in words:
    save_file({"output": load_file(words["--inputs"])["noise"] * 2}, words["--made"])
print("a library says hello")
print(json.dumps({"version": "Fake 1", "seconds": [0.004, 0.002, 0.003], "peak_bytes": 3 << 20}))
"""


class FakeExport:
    """Stands for an exported run; each engine is a program."""

    def __init__(self, folder, programs):
        self.folder, self.onnx, self.programs, self.scored = Path(folder), Path(folder) / "g.onnx", programs, []

    def inputs(self, name, *words):
        file = self.folder / f"{name}.safetensors"
        save_file({"noise": numpy.linspace(-1, 1, 64, dtype=numpy.float32).reshape(32, 2)}, file)
        return file

    def words(self, engine, model, precision, inputs, batch, threads):
        return [sys.executable, "-c", self.programs.get(engine, WORKS), "--inputs", inputs]

    def score_of(self, made):
        self.scored.append(made.name)
        return {"metric": "FD", "score": 2.5, "better": "lower"}


class Rows(unittest.TestCase):
    def measured(self, programs, engines=("gangway", "openvino", "pytorch"), deadline=20, features=(), **options):
        with tempfile.TemporaryDirectory() as folder, mock.patch.object(inference, "processor_features", return_value=set(features)):
            export = FakeExport(folder, programs)
            with mock.patch.multiple(inference, export=lambda *_: export, require_quantised=lambda *_: None,
                                     require_quiet_machine=lambda anyway: None), \
                    contextlib.redirect_stderr(io.StringIO()):
                return inference.bench_inference("run", engines=engines, batches=(1, 8), rounds=2, deadline=deadline, **options), export

    def test_have_times_of_all_rounds_differences_and_scores(self):
        report, export = self.measured({"openvino": WORKS.replace("* 2", "* 2.5")})
        self.assertEqual([(row["engine"], row["precision"], row["batch"]) for row in report["rows"]],
                         [(engine, "fp32", batch) for batch in (1, 8) for engine in ("gangway", "openvino", "pytorch")])
        row = report["rows"][4]
        self.assertEqual((row["calls"], round(row["p50_ms"], 6), round(row["p99_ms"], 6), row["peak_mib"]), (6, 3, 4, 3))
        self.assertAlmostEqual(row["images_per_second"], 8 / 0.003)
        self.assertEqual([row["difference"] for row in report["rows"][:3]], [None, 0.25, 0.0])
        self.assertEqual(export.scored, [f"{engine}-fp32.safetensors" for engine in ("gangway", "openvino", "pytorch")])
        text = inference.text_of(report)
        self.assertRegex(text, r"openvino +fp32 +8 +1 +3\.000 +4\.000 +2666\.7 +3 +2\.5e-01 +2\.5\n")
        self.assertIn("batch 8, threads 1: gangway fp32 is 1.00 times as fast as pytorch fp32\n", text)

    def test_of_an_engine_that_crashes_are_one_line_and_the_others_are_measured(self):
        report, _ = self.measured({"openvino": CRASHES}, samples=0)
        self.assertEqual({row["engine"] for row in report["rows"]}, {"gangway", "pytorch"})
        self.assertIn("openvino fp32: left out: was ended by signal 8", report["left_out"])

    def test_are_an_error_if_no_engine_works(self):
        with self.assertRaises(Failed) as failed:
            self.measured({"openvino": CRASHES}, engines=("openvino",), samples=0)
        self.assertEqual(failed.exception.code, 6)
        self.assertRegex(failed.exception.line, "^run: nothing could be measured; openvino fp32: left out: was ended by signal 8$")

    def test_of_an_engine_that_makes_nan_are_left_out(self):
        report, _ = self.measured({"openvino": WORKS.replace("* 2", "* numpy.float32('nan')")}, samples=0)
        self.assertEqual({row["engine"] for row in report["rows"]}, {"gangway", "pytorch"})
        self.assertIn("openvino fp32: left out: made values that are not finite", report["left_out"])

    def test_of_an_engine_that_hangs_end_at_the_deadline(self):
        begin = time.monotonic()
        report, _ = self.measured({"openvino": HANGS}, engines=("gangway", "openvino"), deadline=2, samples=0)
        self.assertLess(time.monotonic() - begin, 30)
        self.assertEqual({row["engine"] for row in report["rows"]}, {"gangway"})
        self.assertIn("openvino fp32: left out: took longer than 2 s (--deadline), and was ended", report["left_out"])

    def test_of_an_engine_that_fails_later_are_left_out_whole(self):
        fails_when_timed = WORKS.replace("print(json", "assert '--made' in words\nprint(json")
        report, _ = self.measured({"pytorch": fails_when_timed}, engines=("gangway", "pytorch"), samples=0)
        self.assertEqual([row["engine"] for row in report["rows"]], ["gangway", "gangway"])
        self.assertTrue(any(line.startswith("pytorch fp32: left out: ended with code 1: AssertionError") for line in report["left_out"]))

    def test_are_in_the_precisions_that_the_processor_has(self):
        for features, int8, lacks in (((), None, ["bf16: left out: this processor has none of avx512_bf16, amx_bf16",
                                                  "int8: left out: give a file of `gangway quantize` by --int8"]),
                                      (("amx_bf16", "avx_vnni"), "g.int8.onnx", [])):
            report, _ = self.measured({}, features=features, int8=int8, samples=0)
            self.assertEqual(report["left_out"], lacks)
            self.assertEqual({row["precision"] for row in report["rows"]}, {"fp32", "bf16", "int8"} if features else {"fp32"})


class QuantisedFiles(unittest.TestCase):
    def refusal(self, load) -> str:
        with mock.patch.dict(sys.modules, onnx=SimpleNamespace(load=load)), self.assertRaises(Failed) as failed:
            inference.require_quantised("g.int8.onnx", SimpleNamespace(onnx="g.onnx"))
        self.assertEqual(failed.exception.code, 2)
        return failed.exception.line

    def test_that_are_none_or_of_another_network_are_refused(self):
        files = {"g.onnx": {"noise": [64], "output": [1, 32, 32]}}

        def load(file, load_external_data):
            tensors = [SimpleNamespace(name=name, type=SimpleNamespace(tensor_type=SimpleNamespace(shape=SimpleNamespace(
                dim=[SimpleNamespace(dim_value=size) for size in (0, *sizes)])))) for name, sizes in files[file].items()]
            return SimpleNamespace(graph=SimpleNamespace(input=tensors[:-1], output=tensors[-1:]))
        self.assertIn("--int8 g.int8.onnx: is no ONNX file; `gangway quantize` makes one", self.refusal(load))
        for other in ({"noise": [16], "output": [1, 32, 32]}, {"noise": [64], "output": [3, 32, 32]},
                      {"noise": [64], "labels": [], "output": [1, 32, 32]}):
            files["g.int8.onnx"] = other
            text = ", ".join(f"{name} {sizes}" for name, sizes in other.items())
            self.assertIn(f"g.int8.onnx: is of another network: it has {text}, and the run noise [64], output [1, 32, 32]; ", self.refusal(load))
        files["g.int8.onnx"] = files["g.onnx"]
        with mock.patch.dict(sys.modules, onnx=SimpleNamespace(load=load)):
            inference.require_quantised("g.int8.onnx", SimpleNamespace(onnx="g.onnx"))


class Differences(unittest.TestCase):
    def test_from_values_that_are_not_finite_are_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            files = [Path(folder) / name for name in "ab"]
            for file, value in zip(files, (0.0, numpy.nan)):
                save_file({"output": numpy.full((4, 2), value, numpy.float32)}, file)
            for made, expected in (files, reversed(files)):
                with self.assertRaisesRegex(Failed, "not finite"):
                    exported.largest_difference(made, expected)


class Engines(unittest.TestCase):
    def test_that_are_not_installed_say_so_in_one_line_and_tell_nobody(self):
        with tempfile.TemporaryDirectory() as folder:
            for name in ("openvino", "onnxruntime", "onnx"):
                (Path(folder) / f"{name}.py").write_text(
                    "import os, sys\nassert os.environ['ORT_DISABLE_TELEMETRY'] == '1' and sys.modules['openvino_telemetry'] is None\n"
                    f"raise ModuleNotFoundError(name={name!r})")
            with mock.patch.dict(os.environ, PYTHONPATH=folder):
                for engine, lacking in (("openvino", "openvino"), ("onnxruntime", "onnxruntime"), ("pytorch", "onnx")):
                    with self.assertRaises(Failed) as failed:
                        exported.told_by([sys.executable, exported.ENGINE, engine, "g.onnx", "--inputs", "none"])
                    self.assertEqual(failed.exception.line, f"{lacking} is not installed: ./launch/setup deploy installs it")


def node(name, operator, weight="w", groups=1):
    return SimpleNamespace(name=name, op_type=operator, input=["x", weight], attribute=[SimpleNamespace(name="group", i=groups)])


class FakeQuantizer:
    layers = ["a", "b", "c", "d"]

    def __init__(self, scores):
        self.scores, self.exported, self.calibration, self.tried = list(scores), SimpleNamespace(onnx="fp32"), [], []

    def quantised(self, kept, calibration):
        self.tried.append(list(kept))
        return Path("int8")

    def score_of(self, file):
        return {"metric": "FD", "score": self.scores.pop(0), "better": "lower"}

    def costs(self, kept):
        return {layer: share for layer, share in {"c": 0.5, "a": 0.25, "d": 0.1, "b": 0.0}.items() if layer not in kept}


class Gate(unittest.TestCase):
    def quantized(self, scores):
        fake, written = FakeQuantizer(scores), []
        with tempfile.TemporaryDirectory() as folder, mock.patch.multiple(
                quantize, export=mock.Mock(), Quantizer=lambda *_: fake,
                _write=lambda file, output, notes: written.append(notes) or output.touch()):
            try:
                return quantize.quantize("run", f"{folder}/g.onnx", say=lambda line: None), fake.tried, written
            except Failed as error:
                return error, fake.tried, written

    def test_accepts_a_score_near_that_of_float32(self):
        done, tried, written = self.quantized([2.0, 2.2])
        self.assertEqual((done["kept"], tried, written), ([], [[]], [{"kept": "", "score": "FD 2.2", "score_fp32": "2"}]))

    def test_keeps_the_dearest_layers_in_float32_first(self):
        done, tried, written = self.quantized([2.0, 9.0, 4.0, 2.1])
        self.assertEqual((done["kept"], tried), (["c", "a"], [[], ["c"], ["c", "a"]]))
        self.assertEqual(written[0]["kept"], "c a")

    def test_refuses_and_names_the_dearest_layers_and_writes_nothing(self):
        error, tried, written = self.quantized([2.0, 9.0, 8.0, 7.0, 6.0])
        self.assertEqual((error.code, len(tried), written), (2, 4, []))
        self.assertRegex(error.line, r"^run: refused, and nothing was written: INT8 makes FD 3\.00 times that of fp32, above 1\.1; .*b \(0 %\)")

    def test_compares_scores_of_which_more_is_better(self):
        score = lambda value: {"score": value, "better": "higher"}  # noqa: E731
        self.assertEqual(quantize.worse_by(score(0.5), score(1.0)), 2)
        self.assertEqual(quantize.worse_by(score(1.0), score(0.5)), 0.5)

    def test_leaves_the_ends_filters_and_styles_in_float32(self):
        graph = SimpleNamespace(initializer=[SimpleNamespace(name="w")], node=[
            node("style", "MatMul"), node("style2", "MatMul"), node("up", "ConvTranspose"), node("filter", "Conv", groups=8),
            node("act", "Relu"), node("attention", "MatMul", "y"), node("conv", "Conv"), node("last", "Conv")])
        self.assertEqual(quantize.layers_of(graph), ["up", "conv"])
        graph.node = [node(name, "MatMul") for name in "abc"]
        self.assertEqual(quantize.layers_of(graph), ["b"])


class Doubling(unittest.TestCase):
    def test_convolutions_are_those_by_rows_and_columns_of_a_parity(self):
        x, weight = torch.randn(2, 5, 3, 6, dtype=torch.double), torch.randn(5, 3, 4, 4, dtype=torch.double)
        maps = torch.conv2d(x, torch.from_numpy(quantize.of_parities(weight.numpy())), padding=1)
        torch.testing.assert_close(torch.pixel_shuffle(maps, 2), torch.conv_transpose2d(x, weight, stride=2, padding=1))


class CommandLines(unittest.TestCase):
    def test_say_in_one_line_what_is_wrong(self):
        for words, says in (([], "required: RUN"), (["r", "--engines", "tensorrt"], "tensorrt is none of gangway, onnxruntime"),
                            (["r", "--batches", "0"], "0 is not in the range 1 to 4096"), (["r", "--int8", "none.onnx"], "no such file"),
                            (["r", "--deadline", "0"], "range")):
            with self.subTest(words), self.assertRaises(Failed) as failed:
                bench.command(["inference", *words])
            self.assertIn(says, failed.exception.line)
        with tempfile.NamedTemporaryFile() as taken:
            for words, says in (([], "-o"), (["r", "-o", taken.name], "exists already"), (["r", "-o", "/nowhere/g.onnx"], "no folder"),
                                (["r", "-o", "/tmp"], "is a folder"), (["r", "-o", "g", "--most", "0.9"], "range 1 to")):
                with self.subTest(words), self.assertRaises(Failed) as failed:
                    quantize.command(words)
                self.assertIn(says, failed.exception.line)


if __name__ == "__main__":
    unittest.main()
