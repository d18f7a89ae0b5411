#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`gangway apply` on real files: sizes, formats, names, and files that are no pictures.

    apply_test.py EXPORT_SAMPLE        with GANGWAY_BIN set to the folder of the programs
"""
import os
import struct
import subprocess
import sys
import tempfile
import unittest
import zlib
from pathlib import Path

import numpy
from PIL import Image

GANGWAY = str(Path(os.environ["GANGWAY_BIN"]) / "gangway")
SAMPLE = sys.argv[1]
SHARE = Path(__file__).resolve().parents[3] / "share"
USAGE, ENVIRONMENT = 2, 6
JOBS = {
    "unet": "model: {family: unet, width: 4, channels: 3}\ntraining: {recipe: pix2pix}\ndata: {source: 'pairs:PAIRS'}\n",
    "cyclegan": "model: {family: cyclegan, width: 4, blocks: 2, channels: 3}\ntraining: {recipe: cyclegan}\n"
                "data: {source: 'pairs:PAIRS'}\n",
    "johnson": "model: {family: johnson, width: 4, blocks: 2}\ntraining: {recipe: style-transfer, style: {picture: '"
               f"{SHARE}/style-waves.png'}}}}\nfeatures: {{weights: '{SHARE}/lenet-features-fashion-mnist.safetensors'}}\n",
    "dcgan": "model: {family: dcgan, width: 8, latent: 8}\n",
}


def photo(width, height, seed=0, mode="RGB"):
    """A smooth picture, which JPEG and WebP change little."""
    y, x = numpy.mgrid[0:height, 0:width]
    waves = [128 + 100 * numpy.sin(x / (5 + channel + seed) + y / (7 - channel)) for channel in range(3)]
    return Image.fromarray(numpy.stack(waves, 2).astype(numpy.uint8)).convert(mode)


def pixels(file):
    with Image.open(file) as picture:
        return numpy.asarray(picture).astype(int)


def png_of(width, height):
    """A PNG file that says to have that many pixels, and has none."""
    chunk = b"IHDR" + struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + chunk + struct.pack(">I", zlib.crc32(chunk))


class Apply(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory(prefix="gangway-test-")
        cls.addClassCleanup(cls.scratch.cleanup)
        cls.root = Path(cls.scratch.name)
        for side in "ab":
            (cls.root / "pairs" / side).mkdir(parents=True)
            for i in range(5):
                photo(32, 32, i).save(cls.root / "pairs" / side / f"{i}.png")
        for name, job in JOBS.items():
            subprocess.run([SAMPLE, cls.root / name, cls.root / f"{name}.safetensors", job.replace("PAIRS", f"{cls.root}/pairs")],
                           check=True)

    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(dir=self.root))
        self.out = self.folder / "out"

    def apply(self, run, *words, code=0, out=None):
        done = subprocess.run([GANGWAY, "apply", str(self.root / run), *map(str, words), "-o", str(out or self.out)],
                              capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout, done.stderr

    def names(self):
        return sorted(path.name for path in self.out.iterdir())

    def test_makes_what_sample_shows(self):
        for run in ("unet", "cyclegan"):
            with self.subTest(run):
                grid = self.folder / f"{run}.png"
                subprocess.run([GANGWAY, "sample", str(self.root / run), "--seeds", "0-4", "-o", str(grid)], check=True,
                               capture_output=True)
                said, _ = self.apply(run, self.root / "pairs/a", out=self.folder / run)
                self.assertRegex(said, rf"^{self.folder}/{run}: 5 pictures by \w+ of .* at step 7; [\d.e+]+ images/s, [\d.e+]+ ms a picture\n$")
                for i in range(5):
                    shown = pixels(grid)[32:64, 32 * i:32 * (i + 1)]
                    self.assertGreater(shown.std(), 0.1)
                    self.assertLessEqual(abs(pixels(self.folder / run / f"{i}.png") - shown).max(), 1)

    def test_takes_any_size_and_format(self):
        for name, size in (("wide.png", (131, 45)), ("tall.jpg", (33, 160)), ("tiny.webp", (3, 2)), ("dot.png", (1, 1))):
            photo(*size).save(self.folder / name)
        photo(61, 45, mode="L").save(self.folder / "grey.png")
        photo(60, 40).convert("P").save(self.folder / "palette.png")
        for run, mode in (("unet", "RGB"), ("johnson", "L")):
            with self.subTest(run):
                self.apply(run, self.folder, out=self.out / run)
                for path in sorted(self.folder.glob("*.*")):
                    with Image.open(path) as given, Image.open(self.out / run / f"{path.stem}.png") as made:
                        self.assertEqual((made.size, made.mode, made.format), (given.size, mode, "PNG"))

    def test_gives_the_same_with_less_memory_and_other_threads(self):
        photo(700, 500).save(self.folder / "a.png")
        whole, again, little = (self.folder / name for name in ("whole", "again", "little"))
        self.apply("cyclegan", self.folder / "a.png", out=whole)
        self.apply("cyclegan", self.folder / "a.png", "--memory", "1e30", out=again)
        self.apply("cyclegan", self.folder / "a.png", "--memory", "0.01", "--threads", 1, out=little)
        self.assertEqual((whole / "a.png").read_bytes(), (again / "a.png").read_bytes())
        self.assertLessEqual(abs(pixels(whole / "a.png") - pixels(little / "a.png")).max(), 1)
        self.assertEqual([path.name for path in little.iterdir()], ["a.png"])

    def test_names_files_that_are_no_pictures_and_makes_the_others(self):
        for name in ("first.png", "last.jpg", "whole.webp"):
            photo(40, 30).save(self.folder / name)
        for name, source in (("cut.png", "first.png"), ("cut.jpg", "last.jpg"), ("cut.webp", "whole.webp")):
            whole = (self.folder / source).read_bytes()
            (self.folder / name).write_bytes(whole[:len(whole) // 2])
        (self.folder / "empty.png").touch()
        (self.folder / "words.jpg").write_text("no picture\n")
        (self.folder / "huge.png").write_bytes(png_of(100_000, 100_000))
        (self.folder / "anim.gif").write_bytes(b"GIF89a")
        (self.folder / "notes.txt").write_text("no picture, and not named one\n")
        said, errors = self.apply("unet", self.folder, self.folder / "gone.png", code=USAGE)
        lines = errors.splitlines()
        bad = ["anim.gif", "cut.jpg", "cut.png", "cut.webp", "empty.png", "huge.png", "words.jpg", "gone.png"]
        notes = [line for line in lines if line.startswith("note")]
        self.assertEqual([line.split(":")[1].rsplit("/", 1)[-1] for line in lines if line not in notes][:-1], bad, errors)
        self.assertEqual(lines[-1], "gangway: 8 of 11 pictures were not made; a line above names each")
        self.assertIn("100000 x 100000 pixels cannot be read", errors)
        self.assertTrue(said.startswith(f"{self.out}: 3 pictures"), said)
        self.assertEqual(self.names(), ["first.png", "last.png", "whole.png"])

    def test_gives_equal_stems_other_names_and_keeps_given_files(self):
        for name in ("a.png", "a.jpg", "sub/a.png"):
            (self.folder / "in/sub").mkdir(parents=True, exist_ok=True)
            photo(20, 20).save(self.folder / "in" / name)
        _, errors = self.apply("unet", self.folder / "in")
        self.assertEqual(self.names(), ["a-2.png", "a-3.png", "a.png"])
        self.assertIn("in/a.png: becomes", errors.splitlines()[0])
        before = (self.folder / "in/a.png").read_bytes()
        _, errors = self.apply("unet", self.folder / "in", out=self.folder / "in", code=USAGE)
        self.assertIn("in/a.png: is a given picture, and a result would replace it; choose another -o", errors)
        self.assertEqual((self.folder / "in/a.png").read_bytes(), before)
        _, errors = self.apply("unet", self.folder / "in/a.png", out=self.folder / ("x" * 300), code=ENVIRONMENT)
        self.assertIn("cannot be made: File name too long", errors)

    @unittest.skipIf(os.path.isdir("/proc/driver/nvidia/gpus"), "there is a GPU")
    def test_refuses_a_device_that_is_not_there(self):
        photo(40, 40).save(self.folder / "a.png")
        said, errors = self.apply("unet", self.folder / "a.png", "--device", "cuda", code=ENVIRONMENT)
        self.assertEqual((said, errors.count("\n"), self.out.exists()), ("", 1, False), errors)
        self.assertIn("gangway: --device cuda: NVIDIA's driver shows no GPU", errors)

    def test_takes_generators_of_pictures_alone(self):
        photo(40, 40).save(self.folder / "a.png")
        back = self.folder / "back"
        self.apply("cyclegan", self.folder / "a.png")
        self.apply("cyclegan", self.folder / "a.png", "--network", "generator_ba", out=back)
        self.assertGreater(abs(pixels(self.out / "a.png") - pixels(back / "a.png")).max(), 10)
        for run, words, why in (("dcgan", (), "does not make pictures of pictures"),
                                ("cyclegan", ("--network", "discriminator_a"), "does not make pictures of pictures"),
                                ("cyclegan", ("--network", "other"), "the job has no network 'other'; it has generator_ab")):
            _, errors = self.apply(run, self.folder / "a.png", *words, out=self.folder / "none", code=USAGE)
            self.assertEqual(len(errors.splitlines()), 1, errors)
            self.assertIn(why, errors)
            self.assertFalse((self.folder / "none").exists())
        self.assertIn("'inf' is no number above 0", self.apply("unet", self.folder / "a.png", "--memory", "inf", code=USAGE)[1])
        (self.folder / "void").mkdir()
        self.assertIn("void: holds no .png", self.apply("unet", self.folder / "void", code=USAGE)[1])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
