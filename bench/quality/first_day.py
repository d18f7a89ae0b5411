#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures a first run of five minutes: `gangway init job`, `gangway run` and `gangway evaluate` on five folders of real
pictures from Debian's packages: grey, colour, mixed sizes, labelled, and 200 pictures only.

    GANGWAY_BIN=build/release/bin .venv/bin/python bench/quality/first_day.py FOLDER [--minutes 5] [--only NAME …] [--seed 0]

Prints a row a folder: the score (SWD) before and after the training, and the score of other real pictures. Writes
FOLDER/NAME.png: real pictures left, generated pictures right. Uses files that FOLDER already has. Exit code 1 if a
training does not improve its score.
"""
import argparse
import gzip
import json
import os
import random
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy
from PIL import Image

ROOT = Path(__file__).resolve().parents[2]
GANGWAY = Path(os.environ.get("GANGWAY_BIN", ROOT / "build/release/bin")).resolve() / "gangway"
CLOTHES = Path("/usr/share/datasets/fashion-mnist/train-images-idx3-ubyte.gz")
PACKAGES = ("fonts-noto-color-emoji", "unicode-data", "iso-flags-png-320x240", "oxygen-icon-theme")
FONT_TOOLS = "fonttools==4.68.0"
SHEET, CELL = 8, 64  # pictures a side, pixels


def packages(folder):
    """Returns a folder with the files of PACKAGES: unpacks them without installing."""
    unpacked = folder / "packages"
    if not unpacked.exists():
        deb = folder / "deb"
        deb.mkdir(parents=True, exist_ok=True)
        subprocess.run(["apt-get", "download", "-qq", *PACKAGES], cwd=deb, check=True, timeout=600)
        for file in sorted(deb.glob("*.deb")):
            subprocess.run(["dpkg-deb", "-x", file, unpacked], check=True, timeout=600)
    return unpacked


def emoji(folder):
    """Returns a ZIP of the emoji, by group."""
    file, tools = folder / "emoji.zip", folder / "tools"
    if not file.exists():
        subprocess.run([sys.executable, "-m", "pip", "install", "-q", "--target", tools, FONT_TOOLS], check=True, timeout=600)
        font = next(packages(folder).rglob("NotoColorEmoji.ttf"))
        groups = next(packages(folder).rglob("emoji-test.txt"))
        subprocess.run([sys.executable, ROOT / "examples/emoji/unpack.py", file, "--font", font, "--groups", groups], check=True,
                       env={**os.environ, "PYTHONPATH": str(tools)}, timeout=600)
    return file


def on_white(file):
    image = Image.open(file).convert("RGBA")
    return Image.alpha_composite(Image.new("RGBA", image.size, "white"), image).convert("RGB")


def grey(folder, draw, place):
    with gzip.open(CLOTHES) as file:
        pixels = numpy.frombuffer(file.read(), numpy.uint8, offset=16).reshape(-1, 28, 28)
    for i in draw.sample(range(len(pixels)), 3000):
        Image.fromarray(pixels[i]).save(place / f"{i:05}.png")


def colour(folder, draw, place):
    files = sorted(packages(folder).rglob("64x64/*/*.png"))
    for i, file in enumerate(draw.sample(files, len(files))):
        on_white(file).save(place / f"{i:05}.png")


def mixed(folder, draw, place):
    with zipfile.ZipFile(emoji(folder)) as archive:
        for i, name in enumerate(sorted(name for name in archive.namelist() if name.endswith(".png"))):
            size = (draw.randint(20, 200), draw.randint(20, 200))
            image = on_white(archive.open(name)).resize(size)
            image.save(place / (f"{i:05}.png" if draw.random() < 0.5 else f"{i:05}.jpg"))


def few(folder, draw, place):
    files = sorted(packages(folder).rglob("iso-flags-png-320x240/**/*.png")) or sorted(packages(folder).rglob("*flags*/**/*.png"))
    for i, file in enumerate(draw.sample(files, 200)):
        on_white(file).save(place / f"{i:03}.png")


KINDS = {"grey": grey, "colour": colour, "mixed": mixed, "labelled": None, "few": few}


def pictures(folder, name, seed):
    if name == "labelled":
        return emoji(folder)
    place = folder / name
    if not place.exists():
        place.mkdir(parents=True)
        KINDS[name](folder, random.Random(seed), place)
    return place


def tiles(images):
    """Returns a sheet of SHEET x SHEET pictures."""
    sheet = Image.new("RGB", (SHEET * CELL, SHEET * CELL))
    for i, image in enumerate(images[:SHEET * SHEET]):
        sheet.paste(image.convert("RGB").resize((CELL, CELL)), (i % SHEET * CELL, i // SHEET * CELL))
    return sheet


def real_images(source, draw):
    if source.suffix == ".zip":
        archive = zipfile.ZipFile(source)
        names = [name for name in archive.namelist() if name.endswith(".png")]
        return [on_white(archive.open(name)) for name in draw.sample(names, SHEET * SHEET)]
    return [Image.open(file) for file in draw.sample(sorted(source.iterdir()), SHEET * SHEET)]


def call(folder, *words, limit):
    ended = subprocess.run([str(GANGWAY), *map(str, words)], cwd=folder, capture_output=True, text=True, timeout=limit)
    if ended.returncode != 0:
        sys.exit(f"{' '.join(map(str, words))}: exit code {ended.returncode}\n{ended.stdout[-3000:]}{ended.stderr[-3000:]}")
    return ended.stdout


def first_day(folder, name, minutes, seed):
    """Prints a row of the table. Returns whether the training improved the score."""
    source = pictures(folder, name, seed)
    call(folder, "init", "job", source, "--minutes", minutes, "-o", f"{name}.yaml", "--force", limit=600)
    call(folder, "run", f"{name}.yaml", "--run", name, "--resume", "never", limit=60 * minutes * 4 + 600)
    score = json.loads(call(folder, "evaluate", name, "--samples", 2048, "--json", limit=1200))
    call(folder, "sample", name, "--seeds", f"0-{SHEET * SHEET - 1}", "--single", f"{name}-samples", limit=600)
    drawn = [Image.open(file) for file in sorted((folder / f"{name}-samples").iterdir())]
    sheet = Image.new("RGB", (2 * SHEET * CELL + 16, SHEET * CELL), "white")
    sheet.paste(tiles(real_images(source, random.Random(seed))), (0, 0))
    sheet.paste(tiles(drawn), (SHEET * CELL + 16, 0))
    sheet.save(folder / f"{name}.png", optimize=True)
    print(f"| {name} | {score['kimg']:.0f} | {score['swd_ceiling']:.1f} | {score['swd']:.1f} | {score['swd_floor']:.1f} |", flush=True)
    return score["swd"] < score["swd_ceiling"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--only", nargs="+", choices=KINDS, default=list(KINDS))
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    folder = options.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    print("| pictures | kimg | SWD before | after | of other real ones |\n|---|---|---|---|---|", flush=True)
    sys.exit(0 if all([first_day(folder, name, options.minutes, options.seed) for name in options.only]) else 1)


if __name__ == "__main__":
    main()
