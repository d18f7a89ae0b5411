#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests `gangway events`: its reading of a run directory, and its output."""
import contextlib
import io
import os
import shutil
import sys
import tempfile
import time
import unittest
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "share/python"))
import gangway  # noqa: E402
from gangway.tools.events import command  # noqa: E402

KEPT = Path(__file__).parent / "events"


class Events(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="gangway-test-")
        self.addCleanup(folder.cleanup)
        self.run_folder = Path(folder.name) / "00000-toy"
        shutil.copytree(KEPT, self.run_folder)

    def test_are_told_as_by_the_command_in_c_plus_plus(self):
        self.addCleanup(time.tzset)
        with mock.patch.dict(os.environ, {"TZ": "UTC"}), contextlib.redirect_stdout(io.StringIO()) as said:
            time.tzset()
            command(["toy", "--outdir", str(self.run_folder.parent)])
        self.assertEqual(said.getvalue(), (KEPT / "said.txt").read_text())

    def test_are_dicts_for_python(self):
        found = gangway.events(self.run_folder)
        self.assertEqual([(one["kind"], one["lr_factor"]) for one in found.decisions[:2]], [("rollback", 0.5), ("rollback", 0.25)])
        self.assertEqual([one.get("begun") for one in found.restarts], [0, None])
        self.assertEqual([one["who"] for one in found.requests], ["ann@node-a by unix", "gangway"])  # a crash has cut off the third

    def test_of_a_run_without_any_are_none(self):
        for name in ("decisions", "restarts", "steering"):
            (self.run_folder / f"{name}.jsonl").unlink()
        os.mkfifo(self.run_folder / "steering.jsonl")
        (self.run_folder / "decisions.jsonl").touch()
        with contextlib.redirect_stdout(io.StringIO()) as said:
            command([str(self.run_folder)])
        self.assertEqual(said.getvalue(), "nothing was decided in this run\n")

    def test_that_cannot_be_told_are_refused(self):
        for line in ('{"step": 3}', "[3]", '{"step": "3", "kind": "rollback", "lr_factor": 1, "reseed": 0, "seen": 5, "why": ""}', "\xff"):
            first = (KEPT / "decisions.jsonl").read_text().splitlines()[0]
            with self.subTest(line=line), self.assertRaisesRegex(gangway.Failed, "jsonl, line 2: is no decision: damaged") as failed:
                (self.run_folder / "decisions.jsonl").write_text(f"{first}\n{line}\n", encoding="latin-1")
                gangway.events(self.run_folder)
            self.assertEqual(failed.exception.code, 5)
        with self.assertRaisesRegex(gangway.Failed, "events are a run's, not a checkpoint's: leave @3 out"):
            gangway.events(f"{self.run_folder}@3")


if __name__ == "__main__":
    unittest.main()
