# SPDX-License-Identifier: MIT
"""Computes the sliced Wasserstein distance in NumPy, after the paper's text (Karras et al., 2018)."""

import subprocess
import sys
import unittest

import numpy

SAMPLE = sys.argv.pop(1)
FILTER = numpy.outer([1, 4, 6, 4, 1], [1, 4, 6, 4, 1]) / 256.0


def pictures(shift):
    place = numpy.arange(8 * 3 * 32 * 32, dtype=numpy.float64)
    return numpy.sin(place * (0.37 + shift) + numpy.floor(place / 97.0)).reshape(8, 3, 32, 32)


def blurred(images):
    padded = numpy.pad(images, ((0, 0), (0, 0), (2, 2), (2, 2)), mode="reflect")
    height, width = images.shape[2:]
    return sum(FILTER[y, x] * padded[:, :, y:y + height, x:x + width] for y in range(5) for x in range(5))


def pyramid(images):
    smaller = blurred(images)[:, :, ::2, ::2]
    wide = numpy.zeros_like(images)
    wide[:, :, ::2, ::2] = 4.0 * smaller
    return images - blurred(wide), smaller


class Reference(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        said = subprocess.run([SAMPLE], capture_output=True, text=True, check=True, timeout=60).stdout
        cls.lines = {}
        for line in said.splitlines():
            name, *values = line.split()
            cls.lines.setdefault(name, []).append(numpy.array(values, float))

    def test_the_pyramid(self):
        for i, shift in enumerate((0.0, 0.11)):
            finest, coarsest = pyramid(pictures(shift))
            numpy.testing.assert_allclose(self.lines["finest"][i], finest.ravel(), atol=1e-5)
            numpy.testing.assert_allclose(self.lines["coarsest"][i], coarsest.ravel(), atol=1e-5)

    def test_patches_are_of_the_pictures_and_of_each_channel_normal(self):
        finest = pyramid(pictures(0.0))[0]
        patches = self.lines["patches"][0].reshape(8 * 40, 3, 49)
        numpy.testing.assert_allclose(patches.mean((0, 2)), 0.0, atol=1e-5)
        numpy.testing.assert_allclose(patches.std((0, 2)), 1.0, atol=1e-5)
        windows = numpy.lib.stride_tricks.sliding_window_view(finest, (7, 7), axis=(2, 3))  # [8, 3, 26, 26, 7, 7]
        places = set()
        for row, patch in enumerate(patches):
            # A linear map takes the picture's values to the patch's, for each channel.
            own = windows[row // 40].reshape(3, 26 * 26, 49)
            off = own - own.mean(2, keepdims=True)
            there = patch - patch.mean(1, keepdims=True)
            alike = (off * there[:, None, :]).sum(2) / (numpy.linalg.norm(off, axis=2) * numpy.linalg.norm(there, axis=1)[:, None])
            best = int(numpy.argmax(alike.min(0)))
            self.assertGreater(alike.min(0)[best], 0.9999)
            places.add((row // 40, best))
        self.assertGreater(len(places), 250)  # of 320: the places are random

    def test_the_distance_to_what_chance_leaves_of_other_directions(self):
        random = numpy.random.default_rng(1)
        sets = [values.reshape(8 * 40, 147) for values in self.lines["patches"]]
        repeats = []
        for _ in range(8):
            directions = random.standard_normal((147, 512))
            directions /= numpy.linalg.norm(directions, axis=0)
            first, second = (numpy.sort(one @ directions, axis=0) for one in sets)
            repeats.append(1e3 * numpy.abs(first - second).mean())
        told, other, mean = self.lines["distance"][0]
        spread = max(repeats) - min(repeats)
        self.assertLess(abs(told - numpy.mean(repeats)), 2.0 * spread)
        self.assertAlmostEqual(mean, (told + other) / 2, places=4)


if __name__ == "__main__":
    unittest.main()
