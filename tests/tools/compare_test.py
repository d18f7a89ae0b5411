#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests `gangway compare`: tables, slower parts, page. Browser: tests/distributed/report_page.py.

    GANGWAY_BIN=build/release/bin compare_test.py [unittest arguments]
"""
import contextlib
import io
import json
import re
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "share/python"))
import gangway  # noqa: E402
from gangway.tools.compare import command, part_means  # noqa: E402

KEPT = Path(__file__).parent / "compare"
RUNS = [str(KEPT / name) for name in ("first", "second", "third")]


def carried_out(*words):
    """Returns the command's output and exit code."""
    with contextlib.redirect_stdout(io.StringIO()) as said:
        try:
            command([*words])
        except SystemExit as end:
            return said.getvalue(), end.code
    return said.getvalue(), 0


class ComparedRuns(unittest.TestCase):
    def test_are_told_as_by_the_command_in_c_plus_plus(self):
        self.assertEqual(carried_out(*RUNS, "--parts", "--fail-above", "3%"), ((KEPT / "said.txt").read_text(), 1))

    def test_that_are_equal_pass(self):
        text, code = carried_out(RUNS[0], RUNS[0], "--fail-above", "0")
        self.assertIn("\nTheir jobs are the same, key for key.\n\nms a step, slowest worker", text)
        self.assertEqual(("slower" in text, code), (False, 0))

    def test_tell_slower_parts_of_gpus_where_both_have_some(self):
        text, code = carried_out(*RUNS[1:], "--fail-above", "50")
        self.assertEqual(re.findall("slower: (.*)", text), [
            "checks of third takes 50.000 ms more, 70.8 % of a step", "step of third takes 50.000 ms more, 70.8 % of a step",
            "the GPU's generator_forward of third takes 20.000 ms more, 66.7 % of a step",
            "the GPU's step of third takes 20.000 ms more, 66.7 % of a step"])
        self.assertEqual(code, 1)

    def test_have_a_page(self):
        with tempfile.TemporaryDirectory(prefix="gangway-test-") as folder:
            file = Path(folder) / "both.html"
            text, code = carried_out(*RUNS[:2], "-o", str(file))
            self.assertEqual((text.splitlines()[-1], code), (str(file), 0))
            document = json.loads(re.search('id="document">(.*?)</script>', file.read_text())[1])
        self.assertEqual([run["run"]["name"] for run in document["runs"]], ["first", "second"])
        self.assertEqual(document["differences"], [{"key": "training.seed", "values": ["0", "7"]}])
        self.assertIn("made_unix", document)

    def test_are_columns_for_python(self):
        found = gangway.compare(*RUNS)
        self.assertEqual(found.differences, {"model.width": [None, None, "64"], "training.seed": ["0", "7", "7"]})
        self.assertEqual(found.results["mode-score, last"], [0.00205, 0, None])
        self.assertAlmostEqual(found.device_parts[1]["generator_forward"], 20)

    def test_are_refused_in_a_line(self):
        empty = tempfile.TemporaryDirectory(prefix="gangway-test-")
        self.addCleanup(empty.cleanup)
        for words, says in (([RUNS[0]], "1 of 2 to 8 runs were named"), ([*RUNS, f"{RUNS[0]}@3"], "leave @3 out (gangway checkpoints"),
                            ([*RUNS, "nowhere"], "no run 'nowhere'"), ([*RUNS, "--fail-above", "many"], "--fail-above 'many': a percentage"),
                            ([RUNS[0], empty.name, "--parts"], "its ticks do not tell the parts of a step")):
            with self.subTest(says=says), self.assertRaises(gangway.Failed) as failed:
                carried_out(*words)
            self.assertIn(says, failed.exception.line)


class Parts(unittest.TestCase):
    def test_leave_out_the_first_tick_that_tells_some(self):
        ticks = {"parts.data": [None, 5, 1, None], "parts.other": [None, 7, None, 3], "kimg": [1, 2, 3, 4]}
        self.assertEqual(part_means(ticks, "parts."), {"data": 500, "other": 1500, "step": 2000})
        self.assertEqual(part_means({name: values[:2] for name, values in ticks.items()}, "parts."),
                         {"data": 5000, "other": 7000, "step": 12000})
        self.assertEqual(part_means(ticks, "device_parts."), {})


if __name__ == "__main__":
    unittest.main()
