#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares decoded pictures with Pillow's: every kind of file, with random sizes.

    compare_with_pillow.py DUMP_IMAGES [unittest arguments]

Pillow decodes, turns by EXIF, lays over white, crops and resamples (bicubic, antialiased, reducing_gap=None). The results may
differ by 2 of 255 on average over an image. The test prints its seeds; SEED=… repeats one.
"""
import io
import os
import random
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import numpy as np
from PIL import Image, ImageOps

import sample_pictures as samples

DUMP_IMAGES = sys.argv.pop(1)
SEED = int(os.environ.get("SEED", random.randrange(10**6)))
MOST_DIFFERENCE = 2.0  # levels of 255, mean over an image


def seen(pictures, side, channels):
    """Returns pictures as the networks see them: [count, side, side, channels]."""
    with tempfile.TemporaryDirectory(prefix="gangway-test-") as folder:
        for i, picture in enumerate(pictures):
            (Path(folder) / f"{i:05}{picture.ending}").write_bytes(picture.content)
        done = subprocess.run([DUMP_IMAGES, f"images:{folder}", str(side), str(channels)], capture_output=True)
    if done.returncode != 0:
        raise AssertionError(done.stderr.decode())
    planes = np.frombuffer(done.stdout, np.uint8).reshape(len(pictures), channels, side, side)
    return planes.transpose(0, 2, 3, 1).astype(int)


def expected(picture, side, channels):
    """Computes the same by Pillow: [side, side, channels]."""
    image = ImageOps.exif_transpose(Image.open(io.BytesIO(picture.plain)))
    if image.mode == "CMYK":
        image = image.convert("RGB")
    image = image.convert("RGBA")
    white = Image.new("RGBA", image.size, "white")
    image = Image.alpha_composite(white, image).convert("RGB" if channels == 3 else "L")
    square = min(image.size)
    left, top = (image.width - square) // 2, (image.height - square) // 2
    image = image.crop((left, top, left + square, top + square)).resize((side, side), Image.Resampling.BICUBIC)
    return np.asarray(image).reshape(side, side, channels).astype(int)


class Pillow(unittest.TestCase):
    def compare(self, files, side=32, channels=3):
        """Compares pictures. @param files  pairs (description, picture)"""
        worst = 0.0
        for (what, picture), ours in zip(files, seen([picture for _, picture in files], side, channels)):
            difference = np.abs(ours - expected(picture, side, channels)).mean()
            self.assertLessEqual(difference, MOST_DIFFERENCE, f"{what} at {side}, {channels} channels, seed {SEED}")
            worst = max(worst, difference)
        print(f"{self.id().split('.')[-1]}: {len(files)} files at {side}, {channels} channels, largest mean difference "
              f"{worst:.2f}")

    def setUp(self):
        self.rng = random.Random(SEED)

    def test_every_kind_of_png(self):
        files = []
        for color_type, depth in samples.PNG_KINDS:
            for transparent in (False, True):
                for interlaced in (False, True):
                    what = f"colour type {color_type}, {depth} bits, transparent {transparent}, interlaced {interlaced}"
                    files.append((what, samples.png(self.rng, 70, 61, color_type, depth, transparent, interlaced)))
        self.compare(files, 32, 3)
        self.compare(files, 64, 1)

    def test_every_kind_of_jpeg(self):
        files = [(kind, samples.jpeg(self.rng, 70, 61, kind)) for kind in samples.JPEG_KINDS]
        self.compare(files, 32, 3)
        self.compare(files, 64, 1)

    def test_every_kind_of_webp(self):
        files = []
        for is_lossless in (False, True):
            for has_opacity in (False, True):
                what = f"lossless {is_lossless}, opacity {has_opacity}"
                files.append((what, samples.webp(self.rng, 70, 61, is_lossless, has_opacity)))
        self.compare(files, 32, 3)
        self.compare(files, 64, 1)

    def test_every_orientation(self):
        files = []
        for orientation in range(1, 9):
            files.append((f"JPEG {orientation}", samples.jpeg(self.rng, 50, 83, "444", orientation)))
            files.append((f"WebP {orientation}", samples.webp(self.rng, 83, 50, orientation=orientation)))
            files.append((f"PNG {orientation}", samples.png(self.rng, 83, 50, samples.RGB, 8, orientation=orientation)))
        self.compare(files)

    def test_noise_of_random_sizes(self):
        noise = np.random.default_rng(SEED)
        for side in (32, 64, 128):
            files = []
            for _ in range(40):
                height, width = (samples.random_side(self.rng, 6, 600) for _ in range(2))
                pixels = noise.integers(0, 256, (height, width, 3))
                content = samples.encode_png(pixels, samples.RGB, 8)
                files.append((f"{width} x {height}", samples.Picture(".png", content, content)))
            self.compare(files, side, 3)

    def test_large_jpegs_that_are_decoded_at_a_part_of_their_size(self):
        noise = np.random.default_rng(SEED)
        files = []
        for side in (200, 390, 800, 1700):
            pixels = samples.smooth(self.rng, side, side, 3) * 200 + noise.integers(0, 56, (side, side, 3))
            file = io.BytesIO()
            Image.fromarray(pixels.astype(np.uint8)).save(file, "JPEG", quality=90)
            files.append((f"{side}", samples.Picture(".jpg", file.getvalue(), file.getvalue())))
        self.compare(files, 32, 3)
        self.compare(files, 64, 3)

    def test_files_drawn_at_random(self):
        files = [(f"file {i}", samples.random_picture(self.rng, 8, 500)) for i in range(150)]
        files += [(f"WebP {i}", samples.random_webp(self.rng, 8, 500)) for i in range(30)]
        self.compare(files, 32, 3)
        self.compare(files, 64, 1)


if __name__ == "__main__":
    print(f"seed {SEED}")
    unittest.main()
