#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`gangway replay` trains steps of a run again on other layouts: the recorded digests, and a flipped bit is named.

    GANGWAY_BIN=build/release/bin replay.py [unittest arguments]
"""
import json
import re
import shutil
import signal
import struct
import tempfile
import unittest
from pathlib import Path

from train_command import EXAMPLES, GANGWAY, Trainings, snapshot_files
from gangway.xxh3 import hash_of  # of share/python, whose path train_command sets


def rates(value):
    return [f"{network}.optimizer.adam.lr={value}" for network in ("generator", "discriminator")]


# At this rate all weights overflow after an update, unless the rollback lowers it.
JOB = [*rates(1e9), "training.divergence.policy=rollback", "training.divergence.lr_factor=1e-13",
       "training.microbatches=4", "training.batch=128", "training.kimg=7.68", "output.tick_kimg=2", "output.pictures_kimg=0",
       "checkpoint.every_steps=20", "checkpoint.every_kimg=0", "checkpoint.keep=10"]
STEPS = [20, 40, 60]


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
    """Flips a bit of a tensor's first element, and corrects all hashes, as if it had been trained so."""
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
    text = text.replace(piece["xxh3_128"], hash_of(bytes(content[first:last])))
    text = text.replace(file["chunk_crc32c"], crc32c(content))
    blank = re.sub(r'("seal_xxh3_128": ")[0-9a-f]{32}', r"\g<1>" + "0" * 32, text)
    manifest_file.write_text(blank.replace('"seal_xxh3_128": "' + "0" * 32, f'"seal_xxh3_128": "{hash_of(blank.encode())}'))


def contents(folder):
    return {file.relative_to(folder): (file.stat().st_mtime_ns, file.read_bytes())
            for file in sorted(folder.rglob("*")) if file.is_file()}


class Replay(Trainings):
    deadline = 60

    @classmethod
    def setUpClass(cls):
        """Shares one run of 3 workers and 60 steps, checkpoints at 20, 40 and 60, with one rollback to its beginning."""
        cls.shared = Path(tempfile.mkdtemp(prefix="gangway-test-"))
        cls.addClassCleanup(shutil.rmtree, cls.shared, ignore_errors=True)
        trained = cls()
        trained.folder = cls.shared
        trained.train(EXAMPLES / "ring8.yaml", *JOB, run="toy", workers=3)
        cls.run_folder = trained.folder_of("toy")
        assert "rollback" in (cls.run_folder / "decisions.jsonl").read_text()

    def setUp(self):
        super().setUp()
        self.scratch = self.folder / "scratch"
        self.scratch.mkdir()

    def replay(self, *words, run=None, **variables):
        return self.call(GANGWAY, "replay", run or self.run_folder, *words, TMPDIR=self.scratch, **variables)

    def assert_nothing_left(self):
        self.assertEqual([*self.scratch.glob("gangway-scratch-*")], [])
        self.assertEqual(snapshot_files(self.scratch), [])

    def test_proves_the_run_on_other_layouts_by_its_decisions_and_leaves_it_as_it_was(self):
        before = contents(self.run_folder)
        for words, first in (["-n", 1, "--from", 0], 0), (["-n", 2, "layout.stages=2"], 20):
            code, out, err = self.replay(*words)
            self.assertEqual(code, 0, out + err)
            self.assertRegex(out, rf"(?m)^proven: steps {first} to 60 of ")
            stretches = re.findall(r"(?m)^steps \d+ to (\d+): the same, ([0-9a-f]{32})", out)
            self.assertEqual([int(step) for step, _ in stretches], [step for step in STEPS if first < step])
            self.assertEqual(stretches[-1][1], self.digest(f"{self.run_folder}@60"))
        self.assertEqual(contents(self.run_folder), before)
        self.assert_nothing_left()

    def test_names_the_first_checkpoint_that_differs_and_its_tensor(self):
        run = Path(shutil.copytree(self.run_folder, self.folder / "runs/00000-copy"))
        name = "discriminator/1/weight"
        flip_a_bit(run / "checkpoints/step-000000040", name)
        code, out, err = self.replay("-n", 1, "--from", 20, run=run)
        self.assertEqual(code, 1, out + err)
        self.assertIn("steps 20 to 40: DIFFERENT", out)
        self.assertIn(name, out)
        self.assertNotIn("steps 40 to 60", out)
        self.assertRegex(err, r"^gangway: step 40 of \S+ is not what its job makes of step 20: [^\n]+\n$")

    def test_what_cannot_be_replayed_gets_one_line_and_2(self):
        for words, line in ((["--from", 30], "--from 30: there is no sound checkpoint of that step; there are 20, 40, 60"),
                            (["--from", 40, "--to", 20], "a replay goes forward"),
                            (["training.seed=1"], "a replay trains the recorded job"),
                            (["-n", 5], "training.microbatches")):
            self.refused(2, "replay", self.run_folder, *words, says=[line])
        self.refused(2, "replay", self.folder / "nowhere", says=["no run"])
        running = self.start("run", EXAMPLES / "ring8.yaml", *JOB, *rates(1e-4), "training.kimg=100000", "-n", 1, "--run", "live")
        running.wait_for("tick ")
        self.refused(2, "replay", "live", says=["is under way"])

    def test_ctrl_c_ends_it_and_leaves_nothing(self):
        pattern = "gangway-scratch-*/files/runs/*/placement.json"
        running = self.start("replay", self.run_folder, "-n", 1, "--from", 0, TMPDIR=self.scratch)
        running.wait_until(lambda: [*self.scratch.glob(pattern)], pattern)
        running.send(signal.SIGINT)
        self.assertEqual(running.end(), 130, running.said())
        self.assert_nothing_left()


if __name__ == "__main__":
    unittest.main()
