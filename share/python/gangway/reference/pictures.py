# SPDX-License-Identifier: MIT
"""Augments real pictures (docs/pictures.md). Draws by the sample's number, the same for every reader. Float32; each operation rounds."""
import numpy as np

from gangway.reference import philox
from gangway.reference.philox import Keyed

CROP_PLACE, ZOOM, ROTATION, BRIGHTNESS, CONTRAST, SATURATION = range(60, 66)
f32 = np.float32


class Chance:
    """Augments pictures at random. @param data  the job's section `data`"""

    def __init__(self, data: dict, seed: int):
        self._data, self._seed = data, seed

    def _drawn(self, cursor, draw: int, index: int = 0) -> np.ndarray:
        """Draws a number in [0, 1) for each sample."""
        bits = Keyed(self._seed, step=cursor, phase=philox.DATA, draw=draw).bits(np.full_like(cursor, index))
        return ((bits >> np.uint64(8)).astype(f32) * f32(2.0**-24)).astype(np.float64)

    def applied(self, examples: np.ndarray, cursor: np.ndarray) -> np.ndarray:
        """Returns [N, C, H, W] in [-1, 1], augmented. @param cursor  the samples' numbers"""
        data = self._data
        if data.get("mirror"):
            is_flipped = Keyed(self._seed, step=cursor, phase=philox.DATA, draw=philox.MIRROR).bits(np.zeros_like(cursor)) & np.uint64(1)
            examples = np.where(is_flipped.astype(bool)[:, None, None, None], examples[..., ::-1], examples)
        if data.get("crop", 1) != 1 or data.get("zoom", 1) != 1 or data.get("rotation", 0) != 0:
            examples = self._moved(examples, cursor)
        if any(data.get(name, 0) > 0 for name in ("brightness", "contrast", "saturation")):
            examples = self._shaded(examples, cursor)
        return examples

    def _moved(self, examples, cursor):
        """Crops, zooms and rotates: reads each pixel at its source by a bicubic kernel."""
        data = self._data
        crop, (height, width) = data.get("crop", 1), examples.shape[2:]
        turn = data.get("rotation", 0) / 360.0 * (2.0 * self._drawn(cursor, ROTATION) - 1.0)
        sine, cosine = philox.sincos_of_turn(np.where(turn < 0.0, turn + 1.0, turn))
        zoom = 1.0 + (data.get("zoom", 1) - 1.0) * self._drawn(cursor, ZOOM)
        shift_x, shift_y = (0.5 * (2.0 * self._drawn(cursor, CROP_PLACE, axis) - 1.0) * (1.0 - crop) / zoom for axis in (0, 1))
        scale, shift_x, shift_y, sine, cosine = (one[:, None, None] for one in (crop / zoom, shift_x, shift_y, sine, cosine))
        y, x = np.arange(height)[None, :, None], np.arange(width)[None, None, :]
        middle_x, middle_y = 0.5 * width, 0.5 * height
        down = scale * (y + 0.5 - middle_y) + shift_y * height
        right = scale * (x + 0.5 - middle_x) + shift_x * width
        columns, across = _taps(middle_x + cosine * right + sine * down - 0.5, width)
        rows, along = _taps(middle_y - sine * right + cosine * down - 0.5, height)
        picture = np.arange(len(examples))[:, None, None]
        total = np.zeros_like(examples)
        for i in range(4):
            of_row = np.zeros_like(examples)
            for j in range(4):
                of_row += across[j][:, None] * examples[picture, :, rows[i], columns[j]].transpose(0, 3, 1, 2)
            total += along[i][:, None] * of_row
        return np.clip(total, f32(-1), f32(1))

    def _shaded(self, examples, cursor):
        def factor(name, draw):
            most = self._data.get(name, 0)
            return (1.0 + most * (2.0 * self._drawn(cursor, draw) - 1.0)).astype(f32)[:, None, None, None]

        shades = (examples + f32(1)) * f32(0.5)
        brightness, contrast, saturation = factor("brightness", BRIGHTNESS), factor("contrast", CONTRAST), factor("saturation", SATURATION)
        shades = np.where(brightness != 1, _held(brightness * shades), shades)
        means = np.cumsum(_luma(shades).reshape(len(shades), -1).astype(np.float64), axis=1)[:, -1] / shades[0, 0].size  # one by one
        means = means.astype(f32)[:, None, None, None]
        shades = np.where(contrast != 1, _held(contrast * shades + (f32(1) - contrast) * means), shades)
        if shades.shape[1] == 3:
            grey = (f32(1) - saturation) * _luma(shades)
            shades = np.where(saturation != 1, _held(saturation * shades + grey), shades)
        return f32(2) * shades - f32(1)


def _held(shades):
    return np.clip(shades, f32(0), f32(1))


def _luma(shades):
    """Returns the luma [N, 1, H, W], by the weights of ITU-R BT.601."""
    if shades.shape[1] == 1:
        return shades
    red, green, blue = (shades[:, one:one + 1] for one in range(3))
    return f32(0.299) * red + f32(0.587) * green + f32(0.114) * blue


def _taps(at: np.ndarray, size: int):
    """Returns four places, reflected into [0, size), and their weights by Keys' cubic, a = -1/2."""
    floor = np.floor(at)
    t = at - floor
    places = []
    for i in range(4):
        within = (floor.astype(np.int64) - 1 + i) % (2 * size)
        places.append(np.where(within < size, within, 2 * size - 1 - within))
    weights = [((-0.5 * t + 1.0) * t - 0.5) * t, (1.5 * t - 2.5) * t * t + 1.0, ((-1.5 * t + 2.0) * t + 0.5) * t, (0.5 * t - 0.5) * t * t]
    return places, [weight.astype(f32) for weight in weights]
