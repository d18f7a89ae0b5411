#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests `gangway scale` on a stand-in's runs: fits, tables, and a run that fails. Real runs:
tests/distributed/measuring.py.

    GANGWAY_BIN=build/release/bin scale_test.py [unittest arguments]
"""
import contextlib
import io
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "share/python"))
import gangway  # noqa: E402
from gangway import Failed  # noqa: E402
from gangway.tools.scale import Row, Scaling, command, fit_of, scale_text  # noqa: E402

RING = [str(ROOT / "examples/ring8.yaml"), "model.width=32", "training.batch=64", "training.microbatches=4"]
SAID = Path(__file__).parent / "scale/said.txt"
REAL = Path(os.environ.get("GANGWAY_BIN", ROOT / "build/release/bin")) / "gangway"
# A `gangway` whose step times depend on the run's name; its predictions depend on workers and batch.
STAND_IN = f"""#!/bin/sh
echo "$@" >> "${{0%/*}}/commands"
case $1 in
  plan) case "$*" in *batch=128*) s=0.27653 ;; *"-n 2"*) s=0.149268 ;; *) s=0.119769 ;; esac
    echo "{{\\"ranking\\": [{{\\"step_seconds\\": $s}}]}}"; exit ;;
  job) exec {REAL} "$@" ;;
esac
while [ $# -gt 0 ]; do case $1 in --outdir) out=$2 ;; --run) name=$2 ;; esac; shift; done
case $name in
  $FAILS) echo "gangway: no memory is left" >&2; exit 6 ;;
  strong-1-?) ms=300 ;; strong-2-0) ms=180 ;; strong-2-1) ms=190 ;; strong-1-*) ms=310 ;; strong-2-*apart0) ms=150 ;; strong-2-*) ms=170 ;;
  weak-1-?) ms=305 ;; weak-2-?) ms=330 ;; *) ms=320 ;;
esac
mkdir -p $out/00000-$name
for step in 3 6 9 12; do
  echo "{{\\"step\\": $step, \\"seconds_tick\\": 0.$ms, \\"exposed_percent\\": 0, \\"sent_mib_per_step\\": 0}}"
done > $out/00000-$name/stats.jsonl
"""


def row(workers, seconds):
    return Row(workers, 100, None, [seconds], [])


class Fits(unittest.TestCase):
    def test_find_amdahls_serial_share(self):
        fit = fit_of("strong", [row(1, 1), row(2, 0.55), row(4, 0.325)])
        for found, expected in ((fit.fixed, 0.1), (fit.varying, 0.9), (fit.serial_share, 0.1), (fit.seconds("strong", 9), 0.2)):
            self.assertAlmostEqual(found, expected)

    def test_find_what_each_worker_more_costs(self):
        fit = fit_of("weak", [row(1, 1), row(2, 1.1), row(4, 1.3)])
        self.assertAlmostEqual(fit.fixed, 1)
        self.assertAlmostEqual(fit.varying, 0.1)

    def test_are_not_serial_below_nothing_and_take_one_row(self):
        faster = fit_of("strong", [row(1, 1), row(2, 0.4)])
        self.assertEqual(faster.fixed, 0)
        self.assertGreater(faster.varying, 0.8)
        self.assertEqual(fit_of("strong", [row(1, 1)]).seconds("strong", 1), 1)


class Texts(unittest.TestCase):
    def test_set_measurement_beside_prediction_and_what_is_possible(self):
        two = Row(2, 100, 0.65, [0.625, 0.6, 0.65], [0.6, 0.6, 0.6])
        text = scale_text(Scaling("strong", [row(1, 1), two]))
        self.assertRegex(text, r"2 +625.00 +4.0 % +160.0 +650.00 +\+4.0 % +500.00 +625.00 +80.0 % +600.00 +96.0 %\n")
        self.assertIn("Amdahl: 25.0 % of one worker's step is serial; the speedup over one worker is at most 4.0\n", text)
        self.assertIn("each additional worker costs 100.00 ms a step\n", scale_text(Scaling("weak", [row(1, 1), row(2, 1.1)])))


class Measurements(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="gangway-test-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        (self.folder / "gangway").write_text(STAND_IN)
        (self.folder / "gangway").chmod(0o755)
        for patch in (mock.patch("gangway.tools.scale.require_quiet_machine"),
                      mock.patch.dict(os.environ, GANGWAY_BIN=str(self.folder), TMPDIR=str(self.folder), FAILS="none"),
                      mock.patch("tempfile.tempdir", None)):
            patch.start()
            self.addCleanup(patch.stop)

    def said(self, *words):
        with contextlib.redirect_stdout(io.StringIO()) as out:
            command([*RING, "--steps", "12", "--rounds", "2", *words])
        self.assertEqual([*self.folder.glob("gangway-*")], [])
        return re.sub(r"(?m), \d+s left$", ", 0s left", out.getvalue())

    def commands(self, name):
        return [line for line in (self.folder / "commands").read_text().splitlines() if line.startswith(name)]

    def test_are_told_as_by_the_command_in_c_plus_plus(self):
        """Compares with the output of release 0.1 for such runs, with a profile of these predictions."""
        self.assertEqual(self.said("--profile", "p.json"), SAID.read_text())
        self.assertIn("training.batch=128 training.microbatches=8 --profile p.json --as-is -n 2 --json", self.commands("plan")[-1])
        runs = self.commands("run")
        self.assertEqual(len(runs), 2 * (2 + 3 + 2 + 3))
        self.assertTrue(all("--resume never" in run and "layout.restarts=0" in run for run in runs))
        self.assertIn("no prediction: no profile is here (`gangway profile` makes it)\n", self.said("--workers", "1", "--strong"))

    def test_are_drawn(self):
        plot = self.folder / "s.png"
        last = self.said("--weak", "-o", str(plot)).splitlines()[-1]
        self.assertEqual(last, f"{plot}: images/s by workers, weak scaling: measured blue, predicted orange, fit green, ideal gray")
        self.assertTrue(plot.read_bytes().startswith(b"\x89PNG\r\n\x1a\n"))

    def test_are_a_table_in_python_and_keep_runs_where_they_are_asked_to(self):
        strong, = gangway.scale(RING[0], RING[1:], workers=(1, 3), kinds=["strong"], rounds=1, steps=12, outdir=self.folder / "runs")
        one, three = strong.rows
        self.assertEqual((one.workers, one.images_per_step, one.predicted, len(one.apart)), (1, 64, None, 1))
        self.assertAlmostEqual(one.seconds, 0.1)
        self.assertEqual(three.apart, [])  # 4 micro-batches cannot be split into three equal shares
        self.assertAlmostEqual(strong.ideal(three), 0.1 / 3)
        self.assertEqual({run.name for run in (self.folder / "runs").iterdir()},
                         {"00000-strong-1-0", "00000-strong-1-0-apart0", "00000-strong-3-0"})

    def test_end_with_the_last_words_of_a_run_that_fails_also_beside_others(self):
        for name in ("strong-2-0", "strong-2-0-apart1"):
            os.environ["FAILS"] = name
            with self.subTest(name), self.assertRaises(Failed) as failed:
                self.said("--strong")
            self.assertEqual(failed.exception.code, 6)
            self.assertRegex(failed.exception.line, f"^'.*/gangway run .* --run {name} .*' failed: gangway: no memory is left\n")

    def test_are_refused_in_one_line_before_anything_is_trained(self):
        for words, says in ((["--workers", "2,1"], "--workers 2,1: expected numbers from 1 that rise, as 1,2,4"),
                            (["--workers", "0,1"], "expected numbers from 1"),
                            (["--workers", "1,8"], "--workers 8: training.microbatches 4 cannot be shared by so many; use fewer, --weak,"),
                            (["-o", str(self.folder)], "that is a folder"), (["-o", "nowhere/s.png"], "there is no folder nowhere"),
                            (["model.widht=3"], "did you mean 'model.width'"), (["--strong", "--weak"], "not allowed with"),
                            (["--workers", "two"], "--workers"), (["--steps", "3"], "3 is not in the range 12 to")):
            with self.subTest(words=words), self.assertRaises(Failed) as failed:
                self.said(*words)
            self.assertEqual((failed.exception.code, len(failed.exception.line.splitlines())), (2, 1))
            self.assertIn(says, failed.exception.line)
        self.assertEqual(self.commands("run"), [])


class CommandLine(unittest.TestCase):
    def test_is_handed_to_python_and_asks_the_plan_for_its_profile(self):
        done = subprocess.run([REAL, "scale", *RING, "--profile", "nowhere.json"], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertEqual(done.stderr, "gangway: nowhere.json: no profile there; make one with `gangway profile JOB.yaml -o nowhere.json`, "
                                      "or name it with --profile\n")


if __name__ == "__main__":
    unittest.main()
