# SPDX-License-Identifier: MIT
"""Makes a new user's folder of pictures: any kind and size, nested, with unusual names. Writes PNG files itself, and other
formats and kinds if Pillow is installed."""
import struct
import zipfile
import zlib

try:
    from PIL import Image
except ImportError:
    Image = None

NAMES = ["a cat", "Straße über Köln", "猫", "🦊 fox", "-n", "--help", "it's", 'a "quote"', "semi;colon", "a&b", "100%", "#1",
         "new.picture", "UPPER", ".hidden-not", "tab\there", "x" * 120]
FOLDERS = ["deep/deeper/deepest", "with space", "ümläute", "-rf", "2026 (copy)"]
COLOUR_TYPES = {"L": 0, "RGB": 2, "P": 3, "LA": 4, "RGBA": 6}
CHANNELS = {"L": 1, "RGB": 3, "P": 1, "LA": 2, "RGBA": 4}


def png(random, width, height, mode, bits=8):
    """Returns a PNG file of noise."""
    def chunk(name, content):
        return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))

    row = width * CHANNELS[mode] * bits // 8
    pixels = b"".join(b"\0" + random.randbytes(row) for _ in range(height))
    header = struct.pack(">IIBBBBB", width, height, bits, COLOUR_TYPES[mode], 0, 0, 0)
    palette = chunk(b"PLTE", random.randbytes(768)) if mode == "P" else b""
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + palette + chunk(b"IDAT", zlib.compress(pixels, 1)) + chunk(b"IEND", b"")


def write_with_pillow(random, path, width, height):
    """Writes a format or kind that png() cannot write. Returns the file."""
    mode = random.choice(["L", "RGB", "CMYK"])
    picture = Image.frombytes(mode, (width, height), random.randbytes(width * height * len(mode.replace("CMYK", "abcd"))
                                                                      if mode != "L" else width * height))
    path = path.with_name(path.name + random.choice([".jpg", ".jpeg", ".JPG"]))
    exif = Image.Exif()
    exif[0x0112] = random.randint(1, 8)  # orientation
    picture.save(path, "JPEG", quality=random.randint(20, 95), progressive=random.random() < 0.5, exif=exif)
    return path


def write_picture(random, path, side):
    """Writes a picture of a random kind. @param side  draws its width and height"""
    width, height = side(), side()
    if Image is not None and random.random() < 0.4:
        return write_with_pillow(random, path, width, height)
    mode, bits = random.choice([("L", 8), ("RGB", 8), ("P", 8), ("LA", 8), ("RGBA", 8), ("L", 16), ("RGB", 16)])
    path = path.with_name(path.name + random.choice([".png", ".PNG"]))
    path.write_bytes(png(random, width, height, mode, bits))
    return path


def write_folder(random, folder, count, side):
    """Writes `count` pictures into the new `folder`, or all into subfolders. Returns their paths."""
    paths = []
    places = random.choice([[""], FOLDERS])
    for index in range(count):
        place = folder / random.choice(places)
        place.mkdir(parents=True, exist_ok=True)
        paths.append(write_picture(random, place / f"{random.choice(NAMES)}{index}", side))
    return paths


def zip_folder(random, folder, archive):
    """Packs the folder as a ZIP like a file manager: stored or deflated, with or without entries for folders."""
    how = random.choice([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
    with zipfile.ZipFile(archive, "w", how) as file:
        for path in sorted(folder.rglob("*")):
            if path.is_file() or random.random() < 0.5:
                file.write(path, path.relative_to(folder.parent))
