#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests the script that makes pictures from a font: groups, squares, the ZIP, and messages on missing parts. Tests the font
itself where the font and fontTools are installed.

    .venv/bin/python unpack_test.py [unittest arguments]
"""
import argparse
import contextlib
import importlib.util
import io
import subprocess
import sys
import tempfile
import unittest
import zipfile
from pathlib import Path
from unittest import mock

from PIL import Image

SCRIPT = Path(__file__).resolve().parents[3] / "examples/emoji/unpack.py"
sys.dont_write_bytecode = True  # examples/ is installed
sys.path.insert(0, str(SCRIPT.parent))
import unpack  # noqa: E402

LIST = """# group: Smileys & Emotion

# subgroup: face-smiling
1F600         ; fully-qualified     # a face
# group: People & Body
1F3C3         ; fully-qualified     # a runner
1F3C3 200D 2640 FE0F ; fully-qualified # a woman running
# group: Component
1F3FB         ; component           # a skin
# group: Symbols
27A1 FE0F     ; fully-qualified     # an arrow
"""
NAMES, NUMBER_OF = unpack.read_groups(LIST)
IS_INSTALLED = Path(unpack.FONT).is_file() and Path(unpack.GROUPS).is_file() and importlib.util.find_spec("fontTools")


def png(picture):
    content = io.BytesIO()
    picture.save(content, "PNG")
    return content.getvalue()


class Groups(unittest.TestCase):
    def test_are_those_of_the_list_without_parts(self):
        self.assertEqual(NAMES, ["Smileys & Emotion", "People & Body", "Symbols"])
        self.assertEqual(NUMBER_OF, {(0x1F600,): 0, (0x1F3C3,): 1, (0x1F3C3, 0x200D, 0x2640): 1, (0x27A1,): 2})

    def test_a_listed_sequence_comes_before_all_others(self):
        self.assertEqual(unpack.place_of({(0x27A1,), (0x1F600, 0x200D)}, NUMBER_OF), (2, (0x27A1,)))

    def test_a_newer_sequence_is_in_the_group_of_what_it_begins_with_in_either_direction(self):
        runner = (0x1F3C3, 0x200D, 0x27A1)
        self.assertEqual(unpack.place_of({runner, runner[::-1]}, NUMBER_OF), (1, runner))

    def test_what_is_not_listed_has_none(self):
        self.assertIsNone(unpack.place_of({(0x31,)}, NUMBER_OF))
        self.assertIsNone(unpack.place_of(set(), NUMBER_OF))

    def test_folders_sort_as_the_list_does(self):
        self.assertEqual(unpack.folder_of(0, NAMES[0]), "0-smileys-emotion")


class Pictures(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="gangway-test-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def run_script(self, *arguments):
        return subprocess.run([sys.executable, SCRIPT, *arguments], cwd=self.folder, capture_output=True, text=True)

    def test_lie_over_white_in_the_middle_of_a_square(self):
        picture = Image.new("RGBA", (6, 4), (255, 0, 0, 255))
        picture.putpixel((0, 0), (0, 0, 0, 0))
        square = Image.open(io.BytesIO(unpack.squared(png(picture))))
        self.assertEqual((square.mode, square.size), ("RGB", (6, 6)))
        self.assertEqual([square.getpixel(place) for place in ((0, 0), (0, 1), (1, 1), (5, 4), (5, 5))],
                         [(255, 255, 255), (255, 255, 255), (255, 0, 0), (255, 0, 0), (255, 255, 255)])

    def test_of_a_palette_keep_their_colours(self):
        picture = Image.new("P", (2, 2), 1)
        picture.putpalette([9, 9, 9, 10, 20, 30])
        self.assertEqual(Image.open(io.BytesIO(unpack.squared(png(picture)))).getpixel((1, 1)), (10, 20, 30))

    def test_are_the_same_bytes_in_any_order(self):
        pictures = {"1-b/x.png": b"x", "0-a/y.png": b"y"}
        for name, given in (("one.zip", pictures), ("new/two.zip", dict(reversed(pictures.items())))):
            unpack.write_zip(self.folder / name, given)
        self.assertEqual((self.folder / "one.zip").read_bytes(), (self.folder / "new/two.zip").read_bytes())
        self.assertEqual(zipfile.ZipFile(self.folder / "one.zip").namelist(), ["0-a/y.png", "1-b/x.png"])
        self.assertEqual(list(self.folder.rglob("*.tmp")), [])

    def test_that_are_there_stay(self):
        (self.folder / "mine.zip").write_text("mine")
        done = self.run_script("mine.zip", "--font", "none")
        self.assertEqual((done.returncode, done.stdout), (0, "mine.zip is there already\n"))
        self.assertEqual((self.folder / "mine.zip").read_text(), "mine")

    def test_without_a_font_or_a_list_end_in_the_command_that_installs_them(self):
        (self.folder / "font.ttf").touch()
        for font, packages in (("none.ttf", "fonts-noto-color-emoji unicode-data"), ("font.ttf", "unicode-data")):
            done = self.run_script("--font", font, "--groups", "none.txt")
            self.assertEqual(done.returncode, 6)
            self.assertRegex(done.stderr, rf"^unpack: 'none\S+' is not there; as root: apt-get install {packages}\n$")
            self.assertFalse((self.folder / "data").exists())

    @unittest.skipUnless(IS_INSTALLED, "fonts-noto-color-emoji, unicode-data and fontTools are not all installed")
    def test_of_the_font_are_nearly_all_in_nine_groups(self):
        arguments = argparse.Namespace(file=self.folder / "emoji.zip", font=unpack.FONT, groups=unpack.GROUPS)
        with mock.patch.object(unpack, "squared", lambda png: png), contextlib.redirect_stdout(io.StringIO()) as said:
            unpack.unpack(arguments)  # making squares takes most of the time
        names = set(zipfile.ZipFile(arguments.file).namelist())
        self.assertRegex(said.getvalue(), rf" {len(names):,}  pictures in {arguments.file}; \d+ of no group are left out\n$")
        self.assertGreater(len(names), 3000)
        self.assertEqual(len({name.split("/")[0] for name in names}), 9)
        some = {"0-smileys-emotion/1f600.png", "1-people-body/1f469-1f3fe-200d-1f680.png", "8-flags/1f1ef-1f1f5.png"}
        self.assertEqual(some - names, set())  # a face, an astronaut with a tone of skin, Japan


if __name__ == "__main__":
    unittest.main()
