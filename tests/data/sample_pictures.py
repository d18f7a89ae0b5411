# SPDX-License-Identifier: MIT
"""Draws picture files of every supported kind from a seed, for tests that compare them or train on them."""
import io
import random
import struct
import zlib
from dataclasses import dataclass

import numpy as np
from PIL import Image

GRAY, RGB, PALETTE, GRAY_ALPHA, RGBA = 0, 2, 3, 4, 6  # colour types of PNG
CHANNELS = {GRAY: 1, RGB: 3, PALETTE: 1, GRAY_ALPHA: 2, RGBA: 4}
ADAM7 = [(0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)]
PNG_KINDS = [(GRAY, 1), (GRAY, 2), (GRAY, 4), (GRAY, 8), (GRAY, 16), (RGB, 8), (RGB, 16), (PALETTE, 1), (PALETTE, 2),
             (PALETTE, 4), (PALETTE, 8), (GRAY_ALPHA, 8), (GRAY_ALPHA, 16), (RGBA, 8), (RGBA, 16)]
JPEG_KINDS = ["gray", "444", "422", "420", "progressive", "cmyk", "cmyk without Adobe", "ycck"]


@dataclass
class Picture:
    ending: str
    content: bytes
    plain: bytes  # the same picture in an unambiguous file (for PNG: 8 bits, RGBA, not interlaced)


def chunk(name, content):
    return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))


def packed_rows(samples, depth):
    """Returns PNG's bytes of [height, width, channels], each row with filter type 0."""
    height = samples.shape[0]
    if depth == 16:
        rows = samples.astype(">u2").reshape(height, -1).view(np.uint8)
    elif depth == 8:
        rows = samples.astype(np.uint8).reshape(height, -1)
    else:
        bits = (samples.reshape(height, -1, 1) >> np.arange(depth - 1, -1, -1)) & 1
        rows = np.packbits(bits.reshape(height, -1).astype(np.uint8), axis=1)
    return np.hstack([np.zeros((height, 1), np.uint8), rows]).tobytes()


def encode_png(samples, color_type, depth, interlaced=False, chunks=b""):
    """Encodes `samples` as [height, width, channels] of `depth` bits; `chunks` go before the data."""
    height, width = samples.shape[:2]
    header = struct.pack(">IIBBBBB", width, height, depth, color_type, 0, 0, int(interlaced))
    parts = [samples[y::dy, x::dx] for x, y, dx, dy in ADAM7] if interlaced else [samples]
    data = b"".join(packed_rows(part, depth) for part in parts if part.size)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunks + chunk(b"IDAT", zlib.compress(data, 1)) +
            chunk(b"IEND", b""))


def exif_block(orientation, order=">"):
    mark = b"MM" if order == ">" else b"II"
    return (mark + struct.pack(order + "HI", 42, 8) + struct.pack(order + "HHHIHHI", 1, 0x0112, 3, 1, orientation, 0, 0))


def smooth(rng, height, width, channels):
    """Returns [height, width, channels] in 0 to 1: a few waves, at most four over the picture."""
    y, x = np.mgrid[0:height, 0:width]
    y, x = y / max(height, 2), x / max(width, 2)
    planes = []
    for _ in range(channels):
        value = sum(np.sin(rng.uniform(-25, 25) * x + rng.uniform(-25, 25) * y + rng.uniform(0, 6)) for _ in range(3))
        planes.append(0.5 + value / 6)
    return np.stack(planes, axis=2)


def as_rgba(samples, depth, palette, opacity):
    """Returns [height, width, 4] of 8 bits."""
    if palette is not None:
        return np.dstack([palette[samples[:, :, 0]], opacity[samples[:, :, 0]]])
    colors = np.round(samples * 255 / (2**depth - 1)).astype(np.uint8)
    if colors.shape[2] in (1, 2):
        colors = np.dstack([colors[:, :, :1]] * 3 + [colors[:, :, 1:]])
    return colors if colors.shape[2] == 4 else np.dstack([colors, opacity])


def png(rng, height, width, color_type, depth, transparent=False, interlaced=False, orientation=None):
    """Encodes a PNG. @param transparent  adds a chunk tRNS, for kinds without opacity"""
    samples = np.round(smooth(rng, height, width, CHANNELS[color_type]) * (2**depth - 1)).astype(np.int64)
    chunks = b""
    palette = None
    opacity = np.full((height, width), 255, np.uint8)
    if color_type == PALETTE:
        palette, opacity = (np.round(smooth(rng, 1, 2**depth, n)[0] * 255).astype(np.uint8) for n in (3, 1))
        chunks += chunk(b"PLTE", palette.tobytes())
        if transparent:
            chunks += chunk(b"tRNS", opacity.tobytes())
        else:
            opacity[:] = 255
    elif transparent and color_type in (GRAY, RGB):
        middle = samples[height // 2, width // 2]
        chunks += chunk(b"tRNS", struct.pack(f">{len(middle)}H", *middle))
        opacity[(samples == middle).all(axis=2)] = 0
    exif = chunk(b"eXIf", exif_block(orientation)) if orientation else b""
    plain = encode_png(as_rgba(samples, depth, palette, opacity), RGBA, 8, chunks=exif)
    return Picture(".png", encode_png(samples, color_type, depth, interlaced, chunks + exif), plain)


def without_adobe(jpeg):
    at = jpeg.index(b"\xff\xee")
    return jpeg[:at] + jpeg[at + 2 + int.from_bytes(jpeg[at + 2:at + 4], "big"):]


def with_adobe_transform(jpeg, transform):
    at = jpeg.index(b"Adobe") + 11
    return jpeg[:at] + bytes([transform]) + jpeg[at + 1:]


def jpeg(rng, height, width, kind, orientation=None):
    channels = {"gray": 1, "cmyk": 4, "cmyk without Adobe": 4, "ycck": 4}.get(kind, 3)
    pixels = np.round(smooth(rng, height, width, channels) * 255).astype(np.uint8)
    image = Image.fromarray(pixels[:, :, 0] if channels == 1 else pixels, {1: "L", 3: "RGB", 4: "CMYK"}[channels])
    options = {"quality": rng.randint(85, 98), "progressive": kind == "progressive" or rng.random() < 0.2}
    if kind in ("444", "422", "420"):
        options["subsampling"] = {"444": 0, "422": 1, "420": 2}[kind]
    if orientation:
        options["exif"] = b"Exif\0\0" + exif_block(orientation, "<")
    file = io.BytesIO()
    image.save(file, "JPEG", **options)
    content = file.getvalue()
    if kind == "cmyk without Adobe":
        content = without_adobe(content)
    elif kind == "ycck":
        content = with_adobe_transform(content, 2)
    return Picture(rng.choice([".jpg", ".JPEG", ".jfif"]), content, content)


def webp(rng, height, width, is_lossless=True, has_opacity=False, orientation=None):
    channels = 4 if has_opacity else 3
    pixels = np.round(smooth(rng, height, width, channels) * 255).astype(np.uint8)
    image = Image.fromarray(pixels, "RGBA" if has_opacity else "RGB")
    options = {"exif": exif_block(orientation)} if orientation else {}
    file = io.BytesIO()
    image.save(file, "WEBP", lossless=is_lossless, exact=True, quality=95, **options)
    return Picture(".webp", file.getvalue(), file.getvalue())


def random_side(rng, smallest, largest):
    """Draws a size; each doubling is equally likely."""
    return round(smallest * (largest / smallest) ** rng.random())


def random_picture(rng, smallest, largest):
    """Draws a picture of a random kind and size."""
    height, width = (random_side(rng, smallest, largest) for _ in range(2))
    orientation = rng.choice([None, None, 1, 2, 3, 4, 5, 6, 7, 8])
    if rng.random() < 0.5:
        return jpeg(rng, height, width, rng.choice(JPEG_KINDS), orientation)
    color_type, depth = rng.choice(PNG_KINDS)
    return png(rng, height, width, color_type, depth, rng.random() < 0.3, rng.random() < 0.3, orientation)


def random_webp(rng, smallest, largest):
    height, width = (random_side(rng, smallest, largest) for _ in range(2))
    return webp(rng, height, width, rng.random() < 0.5, rng.random() < 0.3, rng.choice([None, 1, 3, 6, 8]))


def write_random_pictures(folder, count, seed, smallest=8, largest=2000):
    """Writes `count` files into `folder`, some of them into subfolders."""
    rng = random.Random(seed)
    for i in range(count):
        picture = (random_webp if i % 6 == 5 else random_picture)(rng, smallest, largest)
        file = folder / rng.choice(["x", "x/deeper", "y"]) / f"{i:05}{picture.ending}"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(picture.content)
