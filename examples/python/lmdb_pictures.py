# SPDX-License-Identifier: MIT
"""Reads an LMDB of picture files, as LSUN's (docs/pictures.md). Needs packages lmdb and Pillow."""
import io

import lmdb
import numpy
from PIL import Image, ImageOps

SHORTEST = 24  # bytes of a picture file: shorter values are counts


class Pictures:
    """Crops each picture to its largest middle square, uint8 [3, side, side], in key order."""

    def __init__(self, path, side=64):
        self.side = side
        self.values = lmdb.open(path, readonly=True, lock=False, readahead=False).begin(buffers=True)
        self.keys = [bytes(key) for key, value in self.values.cursor() if len(value) >= SHORTEST]

    def __len__(self):
        return len(self.keys)

    def __getitem__(self, index):
        picture = Image.open(io.BytesIO(self.values.get(self.keys[index]))).convert("RGB")
        return numpy.asarray(ImageOps.fit(picture, (self.side, self.side), Image.Resampling.BICUBIC)).transpose(2, 0, 1).copy()
