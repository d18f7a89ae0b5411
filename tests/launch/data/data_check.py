#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`gangway data check` on folders and ZIPs with unusual files: its counts, names and sheets."""
import json
import os
import random
import subprocess
import sys
import tempfile
import unittest
import zipfile
from pathlib import Path

import numpy
from PIL import Image

GANGWAY = Path(os.environ["GANGWAY_BIN"]) / "gangway"


def check(*arguments, code=0):
    done = subprocess.run([GANGWAY, "data", "check", *map(str, arguments)], capture_output=True, text=True, timeout=120)
    assert done.returncode == code, (done.returncode, done.stdout, done.stderr)
    return done.stderr if code not in (0, 2) or not done.stdout else done.stdout


class DataCheck(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.addCleanup(self.scratch.cleanup)
        self.folder = Path(self.scratch.name) / "set"
        self.random = random.Random(int(os.environ.get("SEED", "7")))

    def image(self, name, width, height, mode="RGB"):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        shape = (height, width) if mode == "L" else (height, width, 3)
        pixels = numpy.frombuffer(self.random.randbytes(int(numpy.prod(shape))), numpy.uint8).reshape(shape)
        Image.fromarray(pixels, mode).save(path)
        return path

    def test_counts_sizes_kinds_and_labels(self):
        for i in range(5):
            self.image(f"ant/{i}.png", 20, 30)
        self.image("bee/0.png", 31, 17, "L")
        found = json.loads(check(self.folder, "--json"))
        self.assertEqual(found["images"], 6)
        self.assertEqual(found["gray"], 1)
        self.assertEqual(found["sizes"], [{"width": 20, "height": 30, "images": 5}, {"width": 31, "height": 17, "images": 1}])
        self.assertEqual([(one["name"], one["images"]) for one in found["labels"]], [("ant", 5), ("bee", 1)])
        self.assertEqual((found["duplicates"], found["broken"]), ([], []))
        text = check(self.folder)
        self.assertIn("20 x 30: 5, 31 x 17: 1", text)
        self.assertIn("from 1 images of 1 (bee) to 5 of 0 (ant)", text)
        self.assertIn("labels:\n  5 of 0 (ant)\n  1 of 1 (bee)\n", text)
        self.assertRegex(text, r"(?m)^time +\d+\.\d s$")
        self.assertGreater(found["seconds"], 0)

    def test_reads_no_more_than_asked_for_and_counts_all(self):
        for i in range(12):
            self.image(f"{'ant' if i < 8 else 'bee'}/{i:02}.png", 20, 30)
        found = json.loads(check(self.folder, "--json", "--most", 3))
        self.assertEqual((found["images"], found["files"]), (3, 12))
        self.assertEqual([(one["images"], one["files"]) for one in found["labels"]], [(2, 8), (1, 4)])

    def test_has_the_mean_and_deviation_of_the_pixels(self):
        paths = [self.image(f"{i}.png", 16, 16) for i in range(7)]
        values = numpy.stack([numpy.asarray(Image.open(path), float) for path in paths]).reshape(-1, 3)
        found = json.loads(check(self.folder, "--json", "--resolution", 16))
        numpy.testing.assert_allclose(found["mean"], values.mean(0), atol=1e-9)
        numpy.testing.assert_allclose(found["deviation"], values.std(0), atol=1e-9)

    def test_finds_equal_pixels_in_other_files(self):
        path = self.image("b.png", 12, 9)
        Image.open(path).save(self.folder / "a.png", compress_level=1)
        self.image("c.png", 12, 9)
        found = json.loads(check(f"images:{self.folder}", "--json"))
        self.assertEqual([[Path(name).name for name in group] for group in found["duplicates"]], [["a.png", "b.png"]])

    def test_names_all_broken_files_and_ends_with_2(self):
        whole = self.image("whole.png", 40, 40)
        half = self.image("half.png", 40, 40)
        half.write_bytes(half.read_bytes()[:200])
        (self.folder / "text.jpg").write_text("no picture")
        (self.folder / "empty.png").touch()
        found = json.loads(check(self.folder, "--json", code=2))
        self.assertEqual(found["images"], 1)
        self.assertEqual(len(found["broken"]), 3)
        for name in ("half.png", "text.jpg", "empty.png"):
            self.assertEqual(sum(name in line for line in found["broken"]), 1, name)
        self.assertIn("broken      3", check(self.folder, code=2))
        self.assertTrue(whole.exists())

    def test_draws_a_sheet_of_a_zip_and_knows_its_labels(self):
        for i in range(70):
            self.image(f"00000/{i:03}.png", 24, 24)
        archive = self.folder.parent / "set.zip"
        with zipfile.ZipFile(archive, "w") as out:
            for path in sorted(self.folder.rglob("*.png")):
                out.write(path, path.relative_to(self.folder))
            labels = [[f"00000/{i:03}.png", i % 3] for i in range(70)]
            out.writestr("dataset.json", json.dumps({"labels": labels}))
        sheet = self.folder.parent / "sheet.png"
        text = check(archive, "--sheet", sheet, "--resolution", 24)
        self.assertIn("3: from 23 images of 1 to 24 of 0", text)
        drawn = Image.open(sheet)
        self.assertEqual(drawn.size, (8 * 24, 8 * 24))
        first = numpy.asarray(Image.open(self.folder / "00000/000.png"))
        numpy.testing.assert_array_equal(numpy.asarray(drawn.convert("RGB"))[:24, :24], first)

    def test_looks_at_both_sides_of_an_example(self):
        for side in "ab":
            for i in range(3):
                self.image(f"{side}/{i}.png", 20, 20)
        for form in ("pairs", "unpaired"):
            found = json.loads(check(f"{form}:{self.folder}", "--json"))
            self.assertEqual((found["images"], found["labels"]), (6, []))
        (self.folder / "b/2.png").unlink()
        self.assertIn("2.png: has no picture of equal name", check(f"pairs:{self.folder}", code=2))
        for file in self.folder.glob("b/*"):
            file.unlink()
        self.assertIn("no pictures of the second side", check(f"unpaired:{self.folder}", code=2))

    def test_says_where_there_are_no_pairs(self):
        self.image("test/0.png", 40, 20)
        line = check(f"pairs:{self.folder}", code=2)
        self.assertIn("holds no pair of pictures; put pictures there", line)
        self.assertEqual(line.count("\n"), 1)

    def test_refuses_what_is_no_set_in_one_line(self):
        self.folder.mkdir()
        for source in (self.folder, self.folder / "nowhere"):
            line = check(source, code=2)
            self.assertIn(str(source), line)
            self.assertEqual(line.count("\n"), 1)
        for source in ("fashion-mnist", "idx:/nowhere", "stacked:fashion-mnist", "edges:fashion-mnist", "classes:fashion-mnist:5,7"):
            line = check(source, code=2)
            self.assertIn("a folder, ZIP or tar of pictures", line)
            self.assertEqual(line.count("\n"), 1)


if __name__ == "__main__":
    sys.exit(unittest.main())
