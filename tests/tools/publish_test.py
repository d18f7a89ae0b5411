#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests `gangway publish` and `gangway verify` on a run before its first step: the folder, its card, hostile folders, kills.

    GANGWAY_BIN=build/release/bin publish_test.py [unittest arguments]
"""
import contextlib
import errno
import hashlib
import importlib.util
import io
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path
from unittest import mock

import yaml
from PIL import Image
from safetensors.numpy import load_file, save_file

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "share/python"))
from gangway import Failed  # noqa: E402
from gangway.tools import publish  # noqa: E402
from gangway.tools.publish import verify  # noqa: E402
from gangway.tools.recorded import begun, said_by  # noqa: E402

JOB = ("model: {family: dcgan, width: 4, latent: 8}\ntraining: {batch: 8, microbatches: 2, kimg: 1}\n"
       "generator: {ema_kimg: 1}\ndata: {source: 'images:PICTURES'}\n")
STEPS, DEADLINE = 2, 60
# What an engine of this name does in place of its own package.
CRASHES = "import os\nos.abort()\n"
REFUSES = "class Core:\n    def compile_model(*_): raise RuntimeError('a damaged\\nfile')\n"


def said(command, *words) -> str:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        command([str(word) for word in words])
    return out.getvalue()


class Published(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory(prefix="gangway-test-")
        cls.addClassCleanup(scratch.cleanup)
        cls.root = Path(scratch.name)
        cls.pictures, cls.run_folder = cls.root / "private" / "pictures", cls.root / "small"
        cls.pictures.mkdir(parents=True)
        draw = random.Random(1)
        for number in range(32):
            Image.frombytes("L", (32, 32), draw.randbytes(1024)).save(cls.pictures / f"{number}.png")
        (cls.root / "job.yaml").write_text(JOB.replace("PICTURES", str(cls.pictures)))
        save_file({}, cls.root / "none.safetensors")
        begun(cls.root / "job.yaml", cls.root / "none.safetensors", cls.run_folder, [], "none")
        cls.plain, cls.whole = cls.root / "plain", cls.root / "whole"
        cls.said_plain = said(publish.command, cls.run_folder, "-o", cls.plain, "--no-score", "--license", "mit", "--seeds", "0-3")
        cls.said_whole = said(publish.command, f"{cls.run_folder}@0", "-o", cls.whole, "--no-score", "--training", "--train-steps", STEPS)

    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="gangway-test-")
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name) / "model"

    def copied(self, of: Path) -> dict:
        """Copies a published folder to self.folder. Returns its config.json."""
        shutil.rmtree(self.folder, ignore_errors=True)
        shutil.copytree(of, self.folder)
        return json.loads((self.folder / "config.json").read_text())

    def sealed(self, config: dict) -> None:
        """Writes config.json, with the hashes that the files have now."""
        for name in config["files"]:
            config["files"][name] = hashlib.sha256((self.folder / name).read_bytes()).hexdigest()
        (self.folder / "config.json").write_text(json.dumps(config))

    def refusal(self, *words, code=5) -> str:
        with self.assertRaises(Failed) as caught:
            said(verify.command, self.folder, *words)
        self.assertEqual(caught.exception.code, code, caught.exception.line)
        return caught.exception.line

    def one_line(self, *words, code=5) -> str:
        line = self.refusal(*words, code=code)
        self.assertNotIn("\n", line)
        return line

    def test_the_folder_has_the_generator_and_the_card_without_paths(self):
        names = {"README.md", "config.json", "job.yaml", "model.safetensors", "generator.onnx", "samples.png"}
        self.assertEqual({path.name for path in self.plain.iterdir()}, names)
        self.assertRegex((self.plain / "job.yaml").read_text(), "source: images:pictures *\n")
        self.assertIn(b"source: images:pictures ", (self.plain / "generator.onnx").read_bytes())
        for name in names:
            self.assertNotIn(b"private", (self.plain / name).read_bytes())
        config, card = json.loads((self.plain / "config.json").read_text()), (self.plain / "README.md").read_text()
        header = yaml.safe_load(card.split("---\n")[1])
        self.assertEqual((header["license"], header["library_name"], "model-index" in header), ("mit", "gangway", False))
        self.assertIn("dcgan", header["tags"])
        self.assertEqual(config["digest"], said_by("digest", self.run_folder).split()[0])
        self.assertIn(config["digest"], card)
        self.assertIn("Pictures of seeds 0-3", card)
        self.assertEqual(config["inputs"], [{"name": "noise", "type": "float32", "shape": ["batch", 8], "distribution": "standard normal"}])
        self.assertEqual(config["files"]["job.yaml"], hashlib.sha256((self.plain / "job.yaml").read_bytes()).hexdigest())

    def test_a_sound_folder_is_verified(self):
        said_of = said(verify.command, self.plain)
        self.assertIn("ok     samples.png: made again of model.safetensors, equal bytes\n", said_of)
        self.assertTrue(said_of.endswith("sound\n"))

    def test_training_is_repeated_to_the_same_digest(self):
        config = self.copied(self.whole)
        self.assertIn("keep the job's paths", self.said_whole)
        self.assertIn("discriminator_optimizer/first_moment/0/weight", json.dumps(json.loads(
            (self.folder / "checkpoints/step-000000000/manifest.json").read_text())["tensors"]))
        digest = config["training"]["digest"]
        self.assertIn(f"2 steps from step 0 give digest {digest}\n", said(verify.command, self.folder, "--train", STEPS))
        self.assertIn("--train 3", self.one_line("--train", 3, code=5))
        config["training"]["digest"] = "0" * 32
        self.sealed(config)
        self.assertRegex(self.one_line("--train", STEPS), f"checkpoints/step-000000000: 2 steps from step 0 give digest {digest}")
        config["training"]["arithmetic"] = "another"
        self.sealed(config)
        self.assertIn("another kind of processor", said(verify.command, self.folder, "--train", STEPS))

    def test_the_score_has_its_real_name(self):
        checkpoints = self.run_folder / "checkpoints"
        identity = json.loads((checkpoints / "step-000000000/manifest.json").read_text())["checkpoint_id"]
        score = {"metric": "FD-LeNet", "score": 12.5, "better": "lower", "checkpoint_id": identity, "samples": 1000,
                 "beside": [{"metric": "KID-LeNet", "score": 0.5, "better": "lower"}]}
        file = checkpoints / "step-000000000.score.json"
        file.write_text(json.dumps(score))
        self.addCleanup(file.unlink)
        said(publish.command, self.run_folder, "-o", self.folder)
        card = (self.folder / "README.md").read_text()
        result, = yaml.safe_load(card.split("---\n")[1])["model-index"][0]["results"]
        self.assertEqual([(one["name"], one["type"], one["value"]) for one in result["metrics"]],
                         [("FD-LeNet", "fd-lenet", 12.5), ("KID-LeNet", "kid-lenet", 0.5)])
        self.assertIn("not the FID", card)

    def test_each_damaged_file_has_a_line(self):
        self.copied(self.whole)
        checkpoint = next(self.folder.glob("checkpoints/*/worker-*"))
        for file in (self.folder / "samples.png", self.folder / "generator.onnx", checkpoint):
            content = bytearray(file.read_bytes())
            content[-1] ^= 1
            file.write_bytes(content)
        (self.folder / "model.safetensors").unlink()
        lines = self.refusal().splitlines()
        names = ("generator.onnx", "model.safetensors", "samples.png")
        self.assertEqual([line.split(": ")[0] for line in lines], [str(file) for file in (checkpoint, *map(self.folder.joinpath, names))])
        self.assertIn("is missing", lines[2])

    def test_files_elsewhere_and_links_are_refused(self):
        outside = self.root / "outside"
        outside.write_bytes(b"secret")
        for name in ("../outside", str(outside), "checkpoints/../../outside", "checkpoints/step-000000000/manifest.json"):
            config = self.copied(self.plain)
            config["files"][name] = hashlib.sha256(b"secret").hexdigest()
            (self.folder / "config.json").write_text(json.dumps(config))
            self.assertIn(f"names the file {name!r}", self.one_line())
        self.copied(self.plain)
        (self.folder / "samples.png").unlink()
        (self.folder / "samples.png").symlink_to(self.plain / "samples.png")
        self.assertIn("samples.png: is or is behind a link", self.one_line())
        self.copied(self.whole)
        shutil.move(self.folder / "checkpoints", self.folder.parent / "moved")
        (self.folder / "checkpoints").symlink_to(self.folder.parent / "moved")
        self.assertIn("is or is behind a link", self.refusal())
        (self.folder / "config.json").unlink()
        (self.folder / "config.json").symlink_to(self.plain / "config.json")
        self.assertIn("config.json: is missing, or is no regular file", self.one_line())

    def test_a_config_of_another_kind_is_refused(self):
        config = self.copied(self.plain)
        for content in ("", "[]", "{", "[" * 100000, '{"format": 1}', json.dumps({**config, "files": 3}), json.dumps({**config, "step": "0"}),
                        json.dumps({**config, "seeds": "--help"}), json.dumps({**config, "network": "../x"}), json.dumps({**config, "format": 2}),
                        json.dumps({**config, "training": {"steps": "1"}}), json.dumps({**config, "training": {"steps": 1}}),
                        json.dumps({**config, "files": list(config["files"])}), json.dumps({**config, "files": {}}),
                        " " * (verify.MOST_BYTES + 1)):
            with self.subTest(content[:40]):
                (self.folder / "config.json").write_text(content)
                self.assertIn("config.json", self.one_line())

    def test_wrong_files_with_right_hashes_are_found(self):
        config = self.copied(self.plain)
        whole = (self.folder / "model.safetensors").read_bytes()
        for content, text in ((whole[:len(whole) // 2], "model.safetensors: is damaged"), (b"", "model.safetensors: is damaged")):
            (self.folder / "model.safetensors").write_bytes(content)
            self.sealed(config)
            self.assertIn(text, self.one_line())
        tensors = load_file(self.plain / "model.safetensors")
        save_file({name: values + 0.1 for name, values in tensors.items()}, self.folder / "model.safetensors")
        self.sealed(config)
        self.assertRegex(self.refusal(), r"samples\.png: is not what model\.safetensors makes: the largest difference is \d+ of 255")
        config["processor"] = "another"
        self.sealed(config)
        with mock.patch.object(verify, "ENGINES", {}):
            self.assertRegex(said(verify.command, self.folder), r"another kind of processor.*: the largest difference is \d+ of 255\n")
        save_file({**tensors, "9.weight": tensors["0.weight"]}, self.folder / "model.safetensors")
        self.sealed(config)
        self.assertIn("tensor 'generator/9/weight' is not of the job's networks", self.one_line())
        self.copied(self.plain)
        (self.folder / "samples.png").write_bytes(b"GIF89a")
        self.sealed(config)
        self.assertIn("samples.png: is no picture", self.refusal())

    def test_code_in_the_job_is_not_run(self):
        for own, key in (("model:\n  family: own\n  library: evil.so\n", "model.library"),
                         ("training: {step: 'evil.py:Evil'}\nmodel: {}\n", "training.step"),
                         ("generator: {}\nmodel: {generator: 'evil.py:Net'}\n", "model.generator"),
                         ("model: {generator: 'evil.py:Net'}\n", "model.generator"), ("model: {}\ndata: {source: 'a/evil.nets:Data'}\n", "data.source"),
                         ("python: {}\nmodel: {library: evil.so}\n", "model.library"), ("model.library: evil.so\n", "model.library"),
                         ("model: {}\ndata: {source: {python: 'evil.py:Data'}}\n", "data.source")):
            config = self.copied(self.plain)
            (self.folder / "job.yaml").write_text(own)
            self.sealed(config)
            self.assertIn(f"job.yaml: {key} names code", self.one_line())
        for own, text in (("model:\n  library: evil.so\n  library: none\n", "a key is there twice"),
                          ("model: &all [1]\ntraining: [*all, *all]\n", "aliases"), ("[" * 5000, "is no YAML"), ("a: " + "1" * 5000, "is no YAML"),
                          ("model: {}\n# \u2028library", "control characters"), ("a: !!bool x", "is no YAML"), ("a: !!timestamp x", "is no YAML")):
            config = self.copied(self.plain)
            (self.folder / "job.yaml").write_text(own)
            self.sealed(config)
            self.assertIn(text, self.one_line())
        config = self.copied(self.whole)
        (self.folder / "job.yaml").write_text((self.plain / "job.yaml").read_text())
        self.sealed(config)
        self.assertIn("manifest.json: is damaged, or has another job than job.yaml", self.one_line())

    def test_modules_in_the_folder_are_not_imported(self):
        self.copied(self.plain)
        for name in ("numpy", "onnxruntime", "openvino", "json", "gangway"):
            (self.folder / f"{name}.py").write_text("open('evil', 'w')\n")
        subprocess.run([Path(os.environ["GANGWAY_BIN"]) / "gangway", "verify", "."], cwd=self.folder, check=True, stdout=subprocess.DEVNULL)
        self.assertFalse((self.folder / "evil").exists())

    def test_an_engine_that_crashes_costs_a_line(self):
        engines = self.folder.parent / "engines"
        engines.mkdir()
        self.copied(self.plain)
        for name, content, text in (("onnxruntime", CRASHES, "ONNX Runtime: was ended by signal 6"),
                                    ("openvino", REFUSES, "OpenVINO: a damaged file")):
            (engines / f"{name}.py").write_text(content)
            sys.path.insert(0, str(engines))
            importlib.invalidate_caches()
            with mock.patch.object(verify, "ENGINES", {name: verify.ENGINES[name]}), mock.patch.dict(os.environ, PYTHONPATH=str(engines)):
                self.assertIn(f"generator.onnx: {text}", self.one_line())
            sys.path.remove(str(engines))

    @unittest.skipUnless(importlib.util.find_spec("onnxruntime"), "needs ./launch/setup deploy")
    def test_engines_compute_the_pictures_and_refuse_a_cut_file(self):
        config = self.copied(self.plain)
        self.assertRegex(said(verify.command, self.folder), r"ok     generator\.onnx: ONNX Runtime, [0-9]e-0[5-9] of the largest value from model.safetensors")
        content = (self.folder / "generator.onnx").read_bytes()
        (self.folder / "generator.onnx").write_bytes(content[:len(content) // 2])
        self.sealed(config)
        self.assertIn("generator.onnx: ONNX Runtime: ", self.one_line())

    def test_a_full_disk_is_no_fault_of_the_folder(self):
        self.copied(self.plain)
        with mock.patch.object(verify, "save", side_effect=OSError(errno.ENOSPC, "No space left on device")), self.assertRaises(OSError):
            said(verify.command, self.folder)

    def test_a_recorded_score_that_is_no_number_is_passed_over(self):
        checkpoints = self.run_folder / "checkpoints"
        manifest = json.loads((checkpoints / "step-000000000/manifest.json").read_text())
        file = checkpoints / "step-000000000.score.json"
        self.addCleanup(file.unlink)
        for told in ([], {"metric": "FD", "score": None, "checkpoint_id": manifest["checkpoint_id"], "samples": 9}):
            file.write_text(json.dumps(told))
            with mock.patch.object(publish, "said_by", return_value='{"metric": "FD", "score": 2.5, "samples": 9}\n') as asked, \
                    contextlib.redirect_stdout(io.StringIO()):
                self.assertEqual(publish._scores(self.run_folder, manifest), [{"name": "FD", "value": 2.5, "samples": 9}])
            asked.assert_called_once()

    def test_a_wrong_command_is_refused(self):
        for words, text in (([self.run_folder, "-o", self.plain], "is there already"), ([self.run_folder, "-o", "/nowhere/x"], "there is no folder"),
                            ([self.run_folder, "-o", self.folder, "--license", "My License"], "--license My License"),
                            ([f"{self.run_folder}@9", "-o", self.folder], "no checkpoint of step 9"),
                            ([self.run_folder, "-o", self.folder, "--seeds", "x", "--no-score"], "seeds"),
                            (["nothing", "-o", self.folder], "no run 'nothing'")):
            with self.subTest(text), self.assertRaisesRegex(Failed, re.escape(text)) as caught:
                said(publish.command, *words)
            self.assertNotIn("\n", caught.exception.line)
        self.assertEqual(list(self.folder.parent.iterdir()), [])
        with self.assertRaisesRegex(Failed, "there is no such folder"):
            said(verify.command, self.folder)

    def test_what_a_killed_publish_left_is_removed_by_the_next(self):
        environment = {**os.environ, "PYTHONPATH": str(ROOT / "share/python")}
        words = [sys.executable, "-m", "gangway.tools", "publish", self.run_folder, "-o", self.folder, "--no-score"]
        process = subprocess.Popen(words, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        end = time.monotonic() + DEADLINE
        while not (left := list(self.folder.parent.iterdir())) and time.monotonic() < end:
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        process.wait()
        self.assertEqual([path.name[:17] for path in left], [publish.HIDDEN])
        said(publish.command, self.run_folder, "-o", self.folder, "--no-score")
        self.assertEqual(list(self.folder.parent.iterdir()), [self.folder])

    def test_a_killed_onnx_export_leaves_no_file_of_that_name(self):
        program, file = Path(os.environ["GANGWAY_BIN"]) / "gangway", self.folder.parent / "g.onnx"
        whole = (self.plain / "generator.onnx").stat().st_size
        for delay in range(8):
            process = subprocess.Popen([program, "checkpoints", "export", self.run_folder, "-o", file], stdout=subprocess.DEVNULL)
            time.sleep(delay / 100)
            process.kill()
            process.wait()
            if file.exists():
                self.assertGreaterEqual(file.stat().st_size, whole)
                file.unlink()
        Path(f"{file}.tmp").write_bytes(b"cut")
        said_by("checkpoints", "export", self.run_folder, "-o", file)
        self.assertEqual(list(self.folder.parent.iterdir()), [file])
        with self.assertRaisesRegex(Failed, "exists already"):
            said_by("checkpoints", "export", self.run_folder, "-o", file)


if __name__ == "__main__":
    os.environ["GANGWAY_BIN"] = os.path.abspath(os.environ["GANGWAY_BIN"])
    unittest.main()
