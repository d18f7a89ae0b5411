# SPDX-License-Identifier: MIT
"""Compares pictures of seeds with pictures of the same noise from NumPy (docs/evaluation.md), and pictures between two seeds."""

import os
import pathlib
import re
import subprocess
import tempfile
import unittest

import numpy
from clean_environment import environment
from PIL import Image

GANGWAY = pathlib.Path(os.environ["GANGWAY_BIN"]).resolve() / "gangway"
ROOT = pathlib.Path(__file__).resolve().parents[2]
USAGE = 2
JOB = [str(ROOT / "examples/fashion-mnist.yaml"), "model.width=8", "training.kimg=4", "generator.ema_kimg=0",
       "output.pictures_kimg=0", "checkpoint.every_kimg=0", "model.classes=10"]


class SampleNoise(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(scratch.cleanup)
        cls.folder = pathlib.Path(scratch.name)
        code, out, err = cls.call("run", *JOB, "-n", "1", "--run", "small")
        assert code == 0, out + err

    @classmethod
    def call(cls, *words):
        ended = subprocess.run([str(GANGWAY), *map(str, words)], cwd=cls.folder, env=environment(), capture_output=True,
                               text=True, timeout=120)
        return ended.returncode, ended.stdout, ended.stderr

    def sample(self, *words):
        code, out, err = self.call("sample", "small", *words)
        self.assertEqual(code, 0, out + err)

    def picture(self, name):
        return numpy.asarray(Image.open(self.folder / name)).astype(int)

    def test_noise_made_in_numpy_gives_the_pictures_of_the_seeds(self):
        code = re.search(r"```python\n(import numpy\n\nU64.*?)```", (ROOT / "docs/evaluation.md").read_text(), re.S).group(1)
        subprocess.run([str(ROOT / ".venv/bin/python"), "-c", code], cwd=self.folder, check=True, timeout=60)
        self.sample("--seeds", "0-63", "-o", "seeds.png")
        self.sample("--noise", "z.npy", "-o", "noise.png")
        seeds, noise = self.picture("seeds.png"), self.picture("noise.png")
        self.assertEqual(seeds.shape, noise.shape)
        self.assertLessEqual(abs(seeds - noise).max(), 1)  # logarithms differ in their last bit, before rounding to 256 shades
        self.assertLess((seeds != noise).mean(), 0.001)
        self.assertGreater(seeds.std(), 1.0)

    @unittest.skipIf(os.path.isdir("/proc/driver/nvidia/gpus"), "there is a GPU")
    def test_a_device_that_is_not_there_is_refused(self):
        for command in ("sample", "evaluate"):
            code, out, err = self.call(command, "small", "--device", "cuda")
            self.assertEqual((code, out, err.count("\n")), (6, "", 1), err)
            self.assertIn("gangway: --device cuda: NVIDIA's driver shows no GPU", err)

    def test_frames_go_from_one_seed_to_the_other_in_files_of_their_own(self):
        self.sample("--interpolate", "3,13", "--frames", "5", "--single", "frames")
        self.sample("--seeds", "3,13", "--single", "ends")
        frames = [self.picture(f"frames/{i:04}.png") for i in range(5)]
        self.assertEqual(len(list((self.folder / "frames").iterdir())), 5)
        self.assertTrue((frames[0] == self.picture("ends/0000.png")).all())
        self.assertTrue((frames[4] == self.picture("ends/0001.png")).all())  # labels are 3 and 13 mod 10
        steps = [abs(one - other).mean() for one, other in zip(frames, frames[1:])]
        self.assertGreater(min(steps), 0.0)
        self.assertLess(max(steps), abs(frames[0] - frames[4]).mean())

    def test_what_cannot_be_is_said_in_one_line(self):
        numpy.save(self.folder / "narrow.npy", numpy.zeros((2, 3), numpy.float32))
        (self.folder / "cut.npy").write_bytes((self.folder / "narrow.npy").read_bytes()[:-1])
        header = b"{'descr': '<f4', " + b" " * 60000 + b"'fortran_order': False, 'shape': (%d, 3), }"
        for name, rows in (("blanks.npy", 2), ("huge.npy", 2 ** 62)):
            text = header % rows
            (self.folder / name).write_bytes(b"\x93NUMPY\x02\x00" + len(text).to_bytes(4, "little") + text + bytes(24))
        for words, part in ((["--noise", "blanks.npy"], "a row of this model has 100"), (["--noise", "huge.npy"], "as its header says"),
                            (["--noise", "narrow.npy"], "a row of this model has 100"), (["--noise", "cut.npy"], "as its header says"),
                            (["--interpolate", "3,8", "--seeds", "1"], "--seeds"), (["--captions", "--single", "x"], "--captions")):
            with self.subTest(words):
                code, out, err = self.call("sample", "small", *words)
                self.assertEqual(code, USAGE, out + err)
                self.assertIn(part, err)
                self.assertEqual(len(err.splitlines()), 1, err)


if __name__ == "__main__":
    unittest.main()
