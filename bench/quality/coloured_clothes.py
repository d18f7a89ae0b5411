#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes a folder of colour pictures from Fashion-MNIST: each garment has its own colour, before a gradient of two other
colours. For measurements that need larger or coloured pictures.

    bench/quality/coloured_clothes.py FOLDER [--count 20000] [--size 64] [--seed 0]
"""

import argparse
import colorsys
import gzip
import pathlib

import numpy
from PIL import Image

SOURCE = pathlib.Path("/usr/share/datasets/fashion-mnist/train-images-idx3-ubyte.gz")


def garments():
    """Reads Fashion-MNIST, uint8 [60000, 28, 28]."""
    if not SOURCE.exists():
        raise SystemExit("Fashion-MNIST is not there: install the Debian package dataset-fashion-mnist")
    return numpy.frombuffer(gzip.decompress(SOURCE.read_bytes()), numpy.uint8, offset=16).reshape(-1, 28, 28)


def colour(random, value):
    return numpy.array(colorsys.hsv_to_rgb(random.random(), 0.4 + 0.6 * random.random(), value))


def coloured(grey, size, random):
    """Colours a garment and its background: uint8 [size, size, 3]."""
    shade = numpy.asarray(Image.fromarray(grey).resize((size, size), Image.BICUBIC), numpy.float64)[..., None] / 255
    slope = random.random(2) - 0.5
    across = (numpy.add.outer(slope[0] * numpy.linspace(-1, 1, size), slope[1] * numpy.linspace(-1, 1, size)) + 0.5)[..., None]
    ground = across * colour(random, 0.5) + (1 - across) * colour(random, 0.5)
    mask = numpy.clip(shade * 6, 0, 1)
    picture = mask * shade * colour(random, 1.0) + (1 - mask) * ground
    return (255 * numpy.clip(picture, 0, 1) + 0.5).astype(numpy.uint8)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--count", type=int, default=20_000)
    parser.add_argument("--size", type=int, default=64)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    random = numpy.random.default_rng(options.seed)
    options.folder.mkdir(parents=True, exist_ok=True)
    for number, grey in enumerate(garments()[: options.count]):
        Image.fromarray(coloured(grey, options.size, random)).save(options.folder / f"{number:05}.png")


if __name__ == "__main__":
    main()
