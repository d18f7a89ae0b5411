#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`gangway replay`: steps of a run, trained again on other layouts, have the recorded digests, and a flipped bit is named.

    GANGWAY_BIN=build/release/bin replay.py [unittest arguments]
"""
import ctypes
import json
import os
import re
import shutil
import signal
import struct
import tempfile
import time
import unittest
from pathlib import Path

from train_command import EXAMPLES, GANGWAY, Trainings, descendants, snapshot_files

JOB = ["training.microbatches=4", "training.batch=128", "training.kimg=7.68", "output.tick_kimg=2", "output.pictures_kimg=0",
       "checkpoint.every_steps=20", "checkpoint.every_kimg=0", "checkpoint.keep=10"]
STEPS = [20, 40, 60]


class Hash(ctypes.Structure):
    _fields_ = [("low", ctypes.c_uint64), ("high", ctypes.c_uint64)]


def xxh3(content):
    library = ctypes.CDLL("libxxhash.so.0")
    library.XXH3_128bits.restype = Hash
    library.XXH3_128bits.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
    found = library.XXH3_128bits(content, len(content))
    return f"{found.high:016x}{found.low:016x}"


def crc32c(content):
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
        table.append(byte)
    value = 0xFFFFFFFF
    for byte in content:
        value = value >> 8 ^ table[(value ^ byte) & 0xFF]
    return f"{value ^ 0xFFFFFFFF:08x}"


def flip_a_bit(checkpoint, tensor):
    """Of a tensor's first element, with all sums made anew: as if it had been trained so."""
    manifest_file = checkpoint / "manifest.json"
    text = manifest_file.read_text()
    manifest = json.loads(text)
    entry = next(one for one in manifest["tensors"] if one["name"] == tensor)
    piece = entry["pieces"][0]
    file = manifest["files"][piece["file"]]
    content = bytearray((checkpoint / file["name"]).read_bytes())
    begin = 8 + struct.unpack("<Q", content[:8])[0]
    header = json.loads(content[8:begin])
    stored = header[tensor] if tensor in header else header[f"{tensor}@{piece['begin']}"]
    first, last = (begin + offset for offset in stored["data_offsets"])
    content[first] ^= 1
    (checkpoint / file["name"]).write_bytes(content)
    text = text.replace(piece["xxh3_128"], xxh3(bytes(content[first:last])))
    text = text.replace(file["chunk_crc32c"], crc32c(content))
    blank = re.sub(r'("seal_xxh3_128": ")[0-9a-f]{32}', r"\g<1>" + "0" * 32, text)
    manifest_file.write_text(blank.replace('"seal_xxh3_128": "' + "0" * 32, f'"seal_xxh3_128": "{xxh3(blank.encode())}'))


def contents(folder):
    return {file.relative_to(folder): (file.stat().st_mtime_ns, file.read_bytes())
            for file in sorted(folder.rglob("*")) if file.is_file()}


class Replay(Trainings):
    deadline = 60

    @classmethod
    def setUpClass(cls):
        """One run for all tests: 3 workers, 60 steps, checkpoints at 20, 40 and 60."""
        cls.shared = Path(tempfile.mkdtemp(prefix="gangway-test-"))
        cls.addClassCleanup(shutil.rmtree, cls.shared, ignore_errors=True)
        trained = cls("replay")
        trained.folder = cls.shared
        trained.train(EXAMPLES / "ring8.yaml", *JOB, run="toy", workers=3)
        cls.run_folder, = (cls.shared / "runs").glob("*-toy")

    def setUp(self):
        super().setUp()
        self.scratch = self.folder / "scratch"
        self.scratch.mkdir()

    def replay(self, *words, run=None, **variables):
        return self.call(GANGWAY, "replay", run or self.run_folder, *words, TMPDIR=self.scratch, **variables)

    def copy(self):
        """Of the run, to be damaged."""
        return Path(shutil.copytree(self.run_folder, self.folder / "runs/00000-copy"))

    def test_proves_the_run_on_other_layouts_and_leaves_it_as_it_was(self):
        before = contents(self.run_folder)
        for words in (["-n", 1, "--from", 0], ["-n", 2, "layout.stages=2", "--from", 20], ["-n", 4, "--to", 40]):
            code, out, err = self.replay(*words)
            self.assertEqual(code, 0, out + err)
            first, last = (words[words.index("--from") + 1] if "--from" in words else 20), (40 if "--to" in words else 60)
            self.assertRegex(out, rf"(?m)^proven: steps {first} to {last} of ")
            stretches = re.findall(r"(?m)^steps \d+ to (\d+): the same, ([0-9a-f]{32})", out)
            self.assertEqual([int(step) for step, _ in stretches], [step for step in STEPS if first < step <= last])
            for step, digest in stretches:
                self.assertEqual(digest, self.digest(f"{self.run_folder}@{step}"))
        self.assertEqual(contents(self.run_folder), before)
        self.assertEqual([*self.scratch.glob("gangway-scratch-*")], [])
        self.assertEqual(snapshot_files(self.scratch), [])

    def test_names_the_first_checkpoint_that_differs_and_its_tensor(self):
        run = self.copy()
        name = "discriminator/1/weight"
        flip_a_bit(run / "checkpoints/step-000000040", name)
        code, out, err = self.replay("-n", 1, "--from", 20, run=run)
        self.assertEqual(code, 1, out + err)
        self.assertIn("steps 20 to 40: DIFFERENT", out)
        self.assertIn(name, out)
        self.assertNotIn("steps 40 to 60", out)
        self.assertRegex(err, r"^gangway: step 40 of \S+ is not what its job makes of step 20: [^\n]+\n$")

    def test_a_run_that_went_back_is_repeated_by_its_decisions(self):
        huge = ["generator.optimizer.adam.lr=1e9", "discriminator.optimizer.adam.lr=1e9", "training.divergence.policy=rollback",
                "training.divergence.lr_factor=1e-18"]  # without them all weights overflow after an update
        self.train(EXAMPLES / "ring8.yaml", *JOB, *huge, run="back", workers=2)
        code, out, err = self.replay("-n", 1, "--from", 0, run="back")
        self.assertEqual(code, 0, out + err)
        self.assertIn("proven: steps 0 to 60 of ", out)

    def test_an_audit_draws_the_same_stretches_of_one_seed(self):
        drawn = []
        for _ in range(2):
            code, out, err = self.replay("-n", 2, "--from", 0, "--audit", 1, "--seed", 7)
            self.assertEqual(code, 0, out + err)
            self.assertIn("proven: 1 stretches drawn with --seed 7", out)
            drawn.append(re.findall(r"(?m)^steps (\d+) to (\d+):", out))
        self.assertEqual(len(drawn[0]), 1)
        self.assertEqual(drawn[0], drawn[1])

    def test_what_cannot_be_replayed_gets_one_line_and_2(self):
        single = self.copy()
        for step in STEPS[:2]:
            shutil.rmtree(single / f"checkpoints/step-{step:09}")
        bare = self.folder / "runs/00001-bare"
        shutil.copytree(single, bare)
        shutil.rmtree(bare / "checkpoints")
        for words, run, line in (
                (["--from", 30], None, "--from 30: there is no sound checkpoint of that step; there are 20, 40, 60"),
                (["--to", 7], None, "--to 7: there is no sound checkpoint"),
                (["--from", 40, "--to", 20], None, "a replay goes forward"),
                (["training.seed=1"], None, "a replay trains the recorded job"),
                (["-n", 5], None, "training.microbatches"),
                ([], single, "--from 0 replays all of it"),
                ([], bare, "the run has no sound checkpoint"),
                ([], self.folder / "nowhere", "no run"),
                ([], f"{self.run_folder}@20", "say --from and --to")):
            code, out, err = self.replay(*words, run=run)
            self.assertEqual(code, 2, out + err)
            self.assertEqual(err.count("\n"), 1, err)
            self.assertIn(line, err)

    def test_a_run_under_way_is_refused(self):
        running = self.start("run", EXAMPLES / "ring8.yaml", *JOB, "training.kimg=100000", "-n", 1, "--run", "live")
        running.wait_for("tick ")
        code, out, err = self.replay(run="live")
        self.assertEqual(code, 2, out + err)
        self.assertIn("is under way", err)

    def test_ctrl_c_ends_it_and_leaves_nothing(self):
        for pattern in ("gangway-scratch-*", "gangway-scratch-*/files/runs/*/placement.json"):
            running = self.start("replay", self.run_folder, "-n", 1, "--from", 0, TMPDIR=self.scratch)
            running.wait_until(lambda: [*self.scratch.glob(pattern)], pattern)
            running.send(signal.SIGINT)
            self.assertEqual(running.end(), 130, running.said())
            self.assertEqual([*self.scratch.glob("gangway-scratch-*")], [])
            self.assertEqual(snapshot_files(self.scratch), [])

    def test_what_a_killed_one_has_left_the_next_removes(self):
        running = self.start("replay", self.run_folder, "-n", 1, "--from", 0, TMPDIR=self.scratch)
        running.wait_until(lambda: [*self.scratch.glob("gangway-scratch-*/files/runs/*")], "its run")
        [left] = self.scratch.glob("gangway-scratch-*")
        below = descendants(running.process.pid)
        running.send(signal.SIGKILL)
        running.end()
        end = time.monotonic() + 10
        while any(Path(f"/proc/{pid}").exists() for pid in below):
            self.assertLess(time.monotonic(), end, "what it had started goes on")
            time.sleep(0.02)
        os.utime(left, (0, 0))  # a minute later
        code, out, err = self.replay("-n", 1, "--from", 40)
        self.assertEqual(code, 0, out + err)
        self.assertEqual([*self.scratch.glob("gangway-scratch-*")], [])
        self.assertEqual(snapshot_files(self.scratch), [])


if __name__ == "__main__":
    unittest.main()
