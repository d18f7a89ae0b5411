#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Unpacks the pictures of Debian's colour emoji for examples/emoji.yaml: a ZIP with a folder for each group of Unicode.

    .venv/bin/python examples/emoji/unpack.py [FILE.zip] [--font NotoColorEmoji.ttf] [--groups emoji-test.txt]

FILE.zip is datasets/emoji.zip in the current folder, where the job looks for it. A file that is there stays as it is. The
font is that of the package fonts-noto-color-emoji, the groups are those of unicode-data. Exit codes: 0, or 6 where
something has to be installed first.
"""
import argparse
import collections
import io
import os
import re
import sys
import zipfile
from pathlib import Path

FONT = "/usr/share/fonts/truetype/noto/NotoColorEmoji.ttf"
GROUPS = "/usr/share/unicode/emoji/emoji-test.txt"
FONT_TOOLS = "fonttools==4.68.0"
EXIT_ENVIRONMENT = 6  # base/errors.hpp
COMPONENT = "Component"  # skin tones and hair by themselves: not emoji that people send
EMOJI_STYLE = 0xFE0F  # asks for colour; the font leaves it out of its sequences
LIGATURES = 4  # a lookup of OpenType's table GSUB: several glyphs become one
FIRST_DAY = (1980, 1, 1, 0, 0, 0)  # a ZIP's earliest time: equal pictures make equal files


def read_groups(text):
    """Returns the names of the groups in emoji-test.txt, and {sequence of code points: group}."""
    names, number_of, name = [], {}, None
    for line in text.splitlines():
        if found := re.match(r"# group: (.+)", line):
            name = found[1].strip()
            if name != COMPONENT:
                names.append(name)
        elif (found := re.match(r"([0-9A-F ]+);", line)) and name != COMPONENT:
            number_of[without_style(int(code, 16) for code in found[1].split())] = len(names) - 1
    return names, number_of


def without_style(sequence):
    return tuple(code for code in sequence if code != EMOJI_STYLE)


def place_of(sequences, number_of):
    """Returns a glyph's (group, sequence), or None for digits and letters, which have no group."""
    listed = [(number_of[sequence], sequence) for sequence in sequences if sequence in number_of]
    # A font may be newer than the list: a sequence's first character decides its group. The font
    # also has unmarked reversed sequences: the first group is right for all but a broken chain.
    guessed = [(number_of[sequence[:1]], sequence) for sequence in sequences if sequence[:1] in number_of]
    return min(listed or guessed, default=None)


def read_font(file):
    """Yields (PNG, sequences of code points that show it) of each picture."""
    from fontTools.ttLib import TTFont

    font = TTFont(file)
    codes = collections.defaultdict(list)
    for code, glyph in font.getBestCmap().items():
        codes[glyph].append(code)
    sequences = collections.defaultdict(set, {glyph: {(code,) for code in of} for glyph, of in codes.items()})
    for lookup in font["GSUB"].table.LookupList.Lookup:
        for table in lookup.SubTable if lookup.LookupType == LIGATURES else []:
            for first, ligatures in table.ligatures.items():
                for ligature in ligatures:
                    glyphs = [first, *ligature.Component]
                    sequences[ligature.LigGlyph].add(without_style(codes[glyph][0] for glyph in glyphs))
    for glyph, bitmap in font["CBDT"].strikeData[0].items():
        yield bitmap.imageData, sequences[glyph]


def squared(png):
    """Returns the picture on a white square, because the job would crop it to a square."""
    from PIL import Image

    picture = Image.open(io.BytesIO(png)).convert("RGBA")
    side = max(picture.size)
    square = Image.new("RGBA", (side, side), "white")
    square.alpha_composite(picture, ((side - picture.width) // 2, (side - picture.height) // 2))
    content = io.BytesIO()
    square.convert("RGB").save(content, "PNG")
    return content.getvalue()


def folder_of(number, name):
    """Returns a group's folder. Labels follow sorted folders: the number keeps Unicode's order."""
    return f"{number}-" + "-".join(re.findall(r"[a-z]+", name.lower()))


def write_zip(file, pictures):
    """Writes the ZIP whole or not at all. `pictures`: {name: content}."""
    file.parent.mkdir(parents=True, exist_ok=True)
    unfinished = file.with_name(file.name + ".tmp")
    with zipfile.ZipFile(unfinished, "w", zipfile.ZIP_STORED) as archive:  # PNGs are compressed
        for name, content in sorted(pictures.items()):
            archive.writestr(zipfile.ZipInfo(name, FIRST_DAY), content)
    os.replace(unfinished, file)


def require(arguments):
    """Ends the program with one line if a file or package is missing."""
    packages = {arguments.font: "fonts-noto-color-emoji", arguments.groups: "unicode-data"}
    if missing := {file: package for file, package in packages.items() if not Path(file).is_file()}:
        fail(f"'{next(iter(missing))}' is not there; as root: apt-get install {' '.join(missing.values())}")
    try:
        import fontTools.ttLib  # noqa: F401
        import PIL.Image  # noqa: F401
    except ImportError as error:
        fail(f"Python has no {error.name}; .venv/bin/pip install {FONT_TOOLS}, and run this with .venv/bin/python")


def fail(line):
    print(f"unpack: {line}", file=sys.stderr)
    sys.exit(EXIT_ENVIRONMENT)


def unpack(arguments):
    names, number_of = read_groups(Path(arguments.groups).read_text(encoding="utf-8"))
    pictures, counts = {}, collections.Counter()
    for png, sequences in read_font(arguments.font):
        place = place_of(sequences, number_of)
        folder = folder_of(place[0], names[place[0]]) if place else None
        counts[folder] += 1
        if place:
            pictures[f"{folder}/{'-'.join(f'{code:x}' for code in place[1])}.png"] = squared(png)
    write_zip(arguments.file, pictures)
    for folder, count in sorted((folder, count) for folder, count in counts.items() if folder):
        print(f"{count:6,}  {folder}")
    print(f"{len(pictures):6,}  pictures in {arguments.file}; {counts[None]} of no group are left out")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", nargs="?", type=Path, default=Path("datasets/emoji.zip"), metavar="FILE.zip")
    parser.add_argument("--font", default=FONT)
    parser.add_argument("--groups", default=GROUPS)
    arguments = parser.parse_args()
    if arguments.file.exists():
        print(f"{arguments.file} is there already")
        return
    require(arguments)
    unpack(arguments)


if __name__ == "__main__":
    main()
