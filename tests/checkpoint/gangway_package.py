#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""share/python/gangway reads the stored samples of all formats with the programs' digests. It refuses damaged, missing and
foreign files in one line."""
import gzip
import json
import re
import shutil
import sys
import tempfile
import unittest
from pathlib import Path

import torch

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "share/python"))
import gangway  # noqa: E402
from gangway import checkpoint, job_file, xxh3  # noqa: E402

SAMPLES = ROOT / "tests/checkpoint/samples"
DIGEST = re.search(r'kDigest = "([0-9a-f]{32})"', (ROOT / "tests/checkpoint/format_samples_test.cpp").read_text())[1]


class Samples(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="gangway-test-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def copy(self, sample="format-2"):
        return Path(shutil.copytree(SAMPLES / sample, self.folder / sample))

    def refuse(self, says, folder, read=lambda opened: opened.digest()):
        with self.assertRaises(gangway.Failed) as caught:
            read(checkpoint.Checkpoint(folder))
        self.assertEqual(caught.exception.code, 5)
        self.assertRegex(str(caught.exception), says)
        self.assertNotIn("\n", str(caught.exception))

    def test_formats_have_the_digest_of_the_programs(self):
        for sample in ("format-1", "format-2"):
            self.assertEqual(checkpoint.Checkpoint(SAMPLES / sample).digest(), DIGEST, sample)

    def test_both_ways_of_hashing_are_one(self):
        content = bytes(range(256)) * 9
        self.assertEqual(xxh3._Hasher().hexdigest(), "99aa06d3014798d86001c324468d497f")  # xxh128sum of no bytes
        whole, parts = xxh3._Hasher(), xxh3._Hasher()
        whole.update(content)
        for begin in range(0, len(content), 100):
            parts.update(content[begin:begin + 100])
        self.assertEqual(whole.hexdigest(), parts.hexdigest())
        self.assertEqual(xxh3.hash_of(content), whole.hexdigest())

    def test_tensors_have_their_types_and_shapes_in_both_formats(self):
        one, two = (checkpoint.Checkpoint(SAMPLES / sample) for sample in ("format-1", "format-2"))
        self.assertEqual(one.names, two.names)
        for name in one.names:
            first, second = one.tensor(name), two.tensor(name)
            self.assertEqual((first.dtype, first.shape), (second.dtype, second.shape), name)
            if first.dim() > 0:
                self.assertTrue(first.view(torch.uint8).equal(second.view(torch.uint8)), name)  # bits, because some values are NaN
            self.assertEqual(list(second.shape), next(entry["shape"] for entry in two.manifest["tensors"] if entry["name"] == name))

    def test_each_flipped_byte_of_a_tensor_is_found(self):
        for sample in ("format-1", "format-2"):
            folder = self.copy(sample)
            for file in folder.glob("*.safetensors"):
                content = file.read_bytes()
                file.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
                self.refuse(f"{file.name}: .*damaged", folder)
                file.write_bytes(content)
            self.assertEqual(checkpoint.Checkpoint(folder).digest(), DIGEST)

    def test_what_is_no_sound_checkpoint_gets_one_line(self):
        folder = self.copy()
        manifest = folder / "manifest.json"
        text = manifest.read_text()
        file = next(folder.glob("*.safetensors"))
        content = file.read_bytes()
        manifest.write_text(text.replace('"step": 7', '"step": 8'))
        self.refuse("seal does not match", folder)
        manifest.write_text(text.replace('"format_version": 2', '"format_version": 3'))
        self.refuse("checkpoint format 3; .* update gangway", folder)
        for other in ("[]", "{}", "no JSON", json.dumps({"model": "of another program"})):
            manifest.write_text(other)
            self.refuse("is no manifest of a checkpoint of Gangway's", folder)
        manifest.unlink()
        self.refuse("manifest.json: cannot be read: No such file", folder)
        manifest.write_text(text)
        file.write_bytes(content[:-5])
        self.refuse(f"{file.name}: has {len(content) - 5} bytes, .*truncated", folder)
        file.write_bytes(b"\xff" * len(content))
        self.refuse(f"{file.name}: its header is no safetensors header", folder)
        file.unlink()
        self.refuse(f"{file.name}: cannot be read", folder)
        file.write_bytes(content)
        (folder / "worker-0000-of-0002.safetensors").write_bytes(b"")
        self.refuse("worker-0000-of-0002.safetensors: is not in the manifest", folder)
        (folder / "worker-0000-of-0002.safetensors").unlink()
        self.refuse("has no tensor 'nowhere'", folder, lambda opened: opened.tensor("nowhere"))
        self.refuse("the folder was renamed", folder.rename(self.folder / "step-000000008"))


class JobFiles(unittest.TestCase):
    def test_words_mean_what_they_mean_to_the_programs(self):
        job = job_file.parse("a: {lr: 2e-4, eps: 1e-08, on: off, n: -3, f: .5, t: true, hash: '0123', none: none, nil: ~}", "job")
        self.assertEqual(job, {"a": {"lr": 2e-4, "eps": 1e-8, "on": "off", "n": -3, "f": 0.5, "t": True, "hash": "0123",
                                     "none": "none", "nil": None}})
        for text in ("- a", "a: [", "text"):
            with self.assertRaises(gangway.Failed) as caught:
                job_file.parse(text, "job.yaml")
            self.assertRegex(str(caught.exception), r"^job.yaml: [^\n]+$")

    def test_keys_become_words_of_the_command_line(self):
        self.assertEqual(job_file.words({"training": {"kimg": 80, "loss": "hinge"}, "generator.optimizer.adam.betas": [0, 0.9],
                                         "data": {"mirror": True}}),
                         ["training.kimg=80", "training.loss=hinge", "generator.optimizer.adam.betas=[0, 0.9]", "data.mirror=true"])


class Examples(unittest.TestCase):
    def test_of_a_file_that_is_cut_off_are_refused(self):
        from gangway.reference.data import _read_idx
        whole = bytes([0, 0, 8, 3, *[0, 0, 0, 2] * 3, *range(8)])
        with tempfile.TemporaryDirectory(prefix="gangway-test-") as folder:
            for name, content in (("a", b""), ("b", whole[:9]), ("c", whole[:-1]), ("d.gz", whole), ("e.gz", gzip.compress(whole)[:-9])):
                (Path(folder) / name).write_bytes(content)
                with self.subTest(name), self.assertRaisesRegex(gangway.Failed, f"{name}: is no IDX file of bytes with 3 axes"):
                    _read_idx(Path(folder) / name, 3)
            (Path(folder) / "f").write_bytes(whole)
            self.assertEqual(_read_idx(Path(folder) / "f", 3)[1, 1, 1], 7)


class Runs(unittest.TestCase):
    def test_a_folder_that_is_no_run_gets_one_line_and_2(self):
        with tempfile.TemporaryDirectory(prefix="gangway-test-") as folder:
            for run, outdir, says in ((folder, "runs", "is no run directory"), ("first", folder, "no run 'first'")):
                with self.assertRaises(gangway.Failed) as caught:
                    gangway.open(run, outdir)
                self.assertEqual(caught.exception.code, 2)
                self.assertIn(says, str(caught.exception))

    def test_a_run_without_a_checkpoint_and_a_tick_half_written(self):
        with tempfile.TemporaryDirectory(prefix="gangway-test-") as folder:
            for name in ("00002-first", "00010-first", "00011-not-first"):
                (Path(folder) / name).mkdir()
                (Path(folder) / name / "job.yaml").write_text("training: {kimg: 1}\n")
            run = gangway.open("first", folder)
            self.assertEqual(run.folder.name, "00010-first")
            self.assertEqual((run.stats, run.steps), ([], []))
            (run.folder / "stats.jsonl").write_text('{"kimg": 1}\n{"kimg": 2}\n{"ki')
            self.assertEqual([tick["kimg"] for tick in run.stats], [1, 2])
            (run.folder / "stats.jsonl").write_text('{"kimg": 1, "generator_loss": null}\n')  # not finite
            self.assertIn("<td>nan</td>", run.stats._repr_html_())
            (run.folder / "stats.jsonl").write_bytes(b'{"kimg": 1}\n\xff\n')
            with self.assertRaisesRegex(gangway.Failed, "line 2 is no JSON: damaged"):
                _ = run.stats
            with self.assertRaisesRegex(gangway.Failed, "no run '[*][*]'"):
                gangway.open("**", folder)
            with self.assertRaises(gangway.Failed) as caught:
                run.state_dict("generator")
            self.assertIn("has no checkpoint yet", str(caught.exception))


if __name__ == "__main__":
    unittest.main()
