#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests `gangway report`: pictures and output. tests/distributed/report_page.py opens it.

    GANGWAY_BIN=build/release/bin report_test.py [unittest arguments]
"""
import contextlib
import io
import json
import re
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "share/python"))
import gangway  # noqa: E402
from gangway.tools import run_view  # noqa: E402
from gangway.tools.report import command  # noqa: E402

PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x08\0\0\0\x08"  # first bytes of a PNG, as many as report reads


class Report(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="gangway-test-")
        self.addCleanup(folder.cleanup)
        self.run_folder = Path(folder.name) / "00000-toy"
        self.run_folder.mkdir()
        for kimg in range(100):
            (self.run_folder / f"fakes{kimg:06}.png").write_bytes(PNG + b"x" * 1000)
        (self.run_folder / "reals.png").write_bytes(PNG)
        (self.run_folder / "fakes000099.wav").write_bytes(b"RIFF")

    def test_has_as_many_pictures_as_fit(self):
        few = run_view.run_document(self.run_folder, 10240)
        pictures = few["pictures"]
        self.assertLessEqual(len(pictures), 10)
        self.assertEqual(len(pictures) + few["pictures_left_out"], 101)
        self.assertEqual([pictures[place].get("kimg", pictures[place]["kind"]) for place in (0, 1, -1)], ["reals", 0, 99])
        self.assertRegex(pictures[-1]["data"], "^data:image/png;base64,iVBORw0KGgo")
        self.assertEqual((pictures[-1]["sound"], pictures[-1]["sound_data"]), ("fakes000099.wav", "data:audio/wav;base64,UklGRg=="))
        self.assertNotIn("sound", pictures[0])
        self.assertEqual(run_view.run_document(self.run_folder)["pictures_left_out"], 0)

    def test_is_a_file_in_the_run_directory(self):
        with contextlib.redirect_stdout(io.StringIO()) as said, mock.patch.object(run_view.run_document, "__defaults__", (10240,)):
            command(["toy", "--outdir", str(self.run_folder.parent)])
        self.assertEqual(said.getvalue(), f"{self.run_folder}/report.html\n9 of 101 pictures are in it, evenly spaced\n")
        page = (self.run_folder / "report.html").read_text()
        self.assertIn("<title>00000-toy · Gangway</title>", page)
        document = json.loads(re.search('id="document">(.*?)</script>', page)[1])
        self.assertEqual((document["run"]["name"], document["run"]["state"]), ("00000-toy", "unknown"))
        self.assertEqual(document["pictures_left_out"], 92)

    def test_is_refused_in_a_line(self):
        for words, says, code in ((["nowhere"], "no run 'nowhere'", 2), ([f"{self.run_folder}@3"], "leave @3 out", 2),
                                  ([str(self.run_folder), "-o", "/nowhere/x.html"], "/nowhere/x.html: cannot be written", 6)):
            with self.subTest(says=says), self.assertRaises(gangway.Failed) as failed:
                command(words)
            self.assertIn(says, failed.exception.line)
            self.assertEqual(failed.exception.code, code)


class Pictures(unittest.TestCase):
    def test_are_real_ones_the_first_the_last_and_evenly_spaced_others(self):
        reals, fakes = [{"kind": "reals", "bytes": 1}], [{"kind": "fakes", "bytes": 10, "kimg": kimg} for kimg in range(9)]
        for most_bytes, taken in ((1000, reals + fakes), (60, reals + fakes[::2]), (0, reals + fakes[-1:])):
            self.assertEqual(run_view.chosen(reals + fakes, most_bytes), taken)
        self.assertEqual(run_view.chosen([], 0), [])


if __name__ == "__main__":
    unittest.main()
