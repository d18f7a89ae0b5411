#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The pages of `gangway report`, `gangway compare` and `gangway bench job` in a real browser, by mouse and keyboard, in a wide
and a phone's window, light and dark. No page requests anything outside its file, and axe-core finds nothing serious.

    GANGWAY_BIN=build/release/bin report_page.py [unittest arguments]    (Python of .venv, for axe-core; Debian's chromium)
"""
import json
import re
import shutil
import sys
import tempfile
import unittest
from pathlib import Path

from browser import AXE, AXE_WINDOWS, CHROMIUM, WINDOWS, Browser
from train_command import EXAMPLES, GANGWAY, Trainings, snapshot_files

JOB = [EXAMPLES / "ring8.yaml", "training.kimg=20", "model.width=32", "output.tick_kimg=1", "output.pictures_kimg=5",
       "checkpoint.every_kimg=10", "checkpoint.keep=2", "checkpoint.keep_best=1", "checkpoint.score_samples=500"]
SKIPPED = 77


class ReportPage(Trainings):
    """Shares two runs and their pages; the first one was traced, and resumed once."""

    @classmethod
    def setUpClass(cls):
        cls.runs = cls()
        cls.runs.folder = Path(tempfile.mkdtemp(prefix="gangway-test-"))
        cls.runs.train(*JOB, "--trace", "10:14", "training.kimg=10", run="first", workers=2)
        cls.runs.train(*JOB, run="first", workers=1)
        cls.runs.train(*JOB, "training.seed=7", run="second", workers=2)
        cls.report, cls.both = cls.runs.folder / "report.html", cls.runs.folder / "both.html"
        for words in (["report", "first", "--output", cls.report], ["compare", "first", "second", "--output", cls.both]):
            code, cls.said, err = cls.runs.call(GANGWAY, *words)
            assert code == 0, err
        cls.browser = Browser().__enter__()

    @classmethod
    def tearDownClass(cls):
        cls.browser.__exit__()
        for file in snapshot_files(cls.runs.folder):
            file.unlink(missing_ok=True)
        shutil.rmtree(cls.runs.folder, ignore_errors=True)
        cls.runs.doCleanups()

    def opened(self, file, width=1440, colours="light"):
        page = self.browser.page()
        page.show(file.as_uri(), width, colours=colours)
        page.wait("document.querySelector('.chart svg path.line')")
        self.addCleanup(lambda: self.assertEqual(page.problems, []))
        self.addCleanup(lambda: self.assertEqual([url for url in page.requests if not url.startswith("data:")], [file.as_uri()]))
        return page

    def text(self, page, selector):
        return page.run(f"document.querySelector({json.dumps(selector)}).textContent")

    def test_shows_the_run_in_every_window(self):
        for width, colours in WINDOWS:
            page = self.opened(self.report, width, colours)
            self.assertEqual(self.text(page, ".state"), "finished")
            self.assertRegex(self.text(page, ".progress-text"), r"100\.0 % 20\.\d* k of 20 k images")
            self.assertEqual(page.run("document.documentElement.scrollWidth"), width, "it scrolls sideways")
            for part in ("overview", "pictures", "curves", "more-curves", "timeline", "workers", "checkpoints", "events", "log"):
                self.assertTrue(page.run(f"document.getElementById('{part}').offsetHeight > 40"), part)
            background = page.run("getComputedStyle(document.body).backgroundColor")
            self.assertEqual(sum(map(int, re.findall(r"\d+", background))) < 200, colours == "dark", background)
            page.run("document.querySelectorAll('.picture').forEach((image) => image.decode())")
            self.assertTrue(page.run("document.querySelector('.picture').naturalWidth > 32"))

    def test_the_mouse_moves_what_can_be_moved(self):
        page = self.opened(self.report)
        last = self.text(page, ".legend-entry .value")
        page.point(".plot", along=0.2)
        self.assertRegex(self.text(page, ".chart-at"), r"^\d.* kimg$")
        self.assertNotEqual(self.text(page, ".legend-entry .value"), last)
        lines = page.run("document.querySelector('.chart').querySelectorAll('path.line').length")
        page.click(".legend-entry")
        self.assertEqual(page.run("document.querySelector('.chart').querySelectorAll('path.line').length"), lines - 1)
        page.click(".legend-entry")
        path = page.run("document.querySelector('path.line').getAttribute('d')")
        page.click(".chart figcaption .toggle")
        self.assertNotEqual(page.run("document.querySelector('path.line').getAttribute('d')"), path)
        page.click("#curves input[value='0.95']")
        self.assertTrue(page.run("document.querySelectorAll('path.line.raw').length > 0"))
        page.click("#curves input[value='hours']")
        page.point(".plot", along=0.2)
        self.assertRegex(self.text(page, ".chart-at"), r" of training$")
        page.click("#pictures .tools button")
        self.assertEqual(page.run("document.querySelector('#pictures img').alt"), "Real examples")
        page.click("#events input[value='scores']")
        self.assertRegex(self.text(page, "#events tbody"), "mode-score")
        self.assertNotRegex(self.text(page, "#events tbody"), "gangway 0")
        page.point("#timeline rect", along=0.5)
        self.assertRegex(self.text(page, ".timeline-told"), r"[mµ]s, from ")

    def test_the_keyboard_is_enough(self):
        page = self.opened(self.report, 390)
        page.press("Tab")
        self.assertEqual(page.run("document.activeElement.className"), "skip")
        page.run("document.querySelector('.plot').focus()")
        page.press("Home")
        self.assertEqual(page.run("document.activeElement.getAttribute('aria-valuenow')"), "0")
        first = page.run("document.activeElement.getAttribute('aria-valuetext')")
        self.assertRegex(first, r"kimg: discriminator [\d.]+, generator [\d.]+")
        page.press("ArrowRight")
        self.assertNotEqual(page.run("document.activeElement.getAttribute('aria-valuetext')"), first)
        page.run("document.querySelector('#pictures input').focus()")
        alt = "document.querySelector('#pictures img').alt"
        page.press("Home")
        self.assertRegex(page.run(alt), "after 0 k images")
        page.press("ArrowRight")
        self.assertNotRegex(page.run(alt), "after 0 k images")
        page.run("document.querySelector('.timeline-scroll').focus()")
        told = []
        for key in ("ArrowRight", "ArrowRight", "ArrowDown", "ArrowUp", "End", "Home"):
            page.press(key)
            told.append(self.text(page, ".timeline-told"))
            self.assertRegex(told[-1], r"[mµ]s, from ")
            self.assertEqual(page.run("document.querySelectorAll('#timeline rect.chosen').length"), 1, key)
        row = [words.partition(":")[0] for words in told]
        self.assertEqual(told[0], told[5], "the first key goes to the first stretch, and Home back to it")
        self.assertNotEqual(told[0], told[1])
        self.assertNotEqual(row[1], row[2])
        self.assertEqual(row[1], row[3])
        self.assertNotEqual(told[4], told[5])
        page.run("document.querySelector('.theme').focus()")
        for theme in ("light", "dark", "auto"):
            page.press("Enter")
            self.assertEqual(page.run("document.documentElement.dataset.theme"), theme)

    def test_the_resume_is_told_and_marked(self):
        page = self.opened(self.report)
        self.assertIn("start 2 of this run", self.text(page, ".job-line"))
        self.assertRegex(self.text(page, "#events tbody"), "resume")
        self.assertTrue(page.run("document.querySelectorAll('.marks line').length > 0"))

    def test_runs_are_set_side_by_side(self):
        self.assertRegex(self.said, r"(?m)^training\.seed +0 +7$")
        self.assertRegex(self.said, r"(?m)^mode-score, last +-?[\d.]+ +-?[\d.]+$")
        for width, colours in WINDOWS:
            page = self.opened(self.both, width, colours)
            self.assertEqual(page.run("document.documentElement.scrollWidth"), width, "it scrolls sideways")
            self.assertRegex(self.text(page, "#differences tbody"), "training.seed07")
            self.assertEqual(page.run("document.querySelectorAll('#pictures img:not([hidden])').length"), 2)
            page.run("document.querySelector('#pictures input').focus()")
            page.press("Home")
            self.assertEqual(self.text(page, "#pictures .picture-label"), "0 k images")

    def test_axe_finds_nothing_serious(self):
        if AXE is None:
            self.skipTest("axe-core-python is not installed: ./launch/setup")
        for file in (self.report, self.both):
            for width, colours in AXE_WINDOWS:
                page = self.browser.page()
                page.show(file.as_uri(), width, colours=colours)
                page.wait("document.querySelector('.chart svg path.line')")
                self.assertEqual(page.serious_faults(), [], (file.name, width, colours))

    def test_a_run_without_anything_has_a_page_too(self):
        empty = self.runs.folder / "empty"
        empty.mkdir(exist_ok=True)
        code, out, err = self.runs.call(GANGWAY, "report", empty)
        self.assertEqual(code, 0, err)
        page = self.browser.page()
        page.show((empty / "report.html").as_uri(), 390)
        page.wait("document.querySelector('.state')")
        self.assertEqual((self.text(page, ".state"), page.problems), ("not known", []))
        self.assertEqual(self.runs.call(GANGWAY, "report", "nobody")[0], 2)
        self.assertEqual(self.runs.call(GANGWAY, "compare", "first")[0], 2)


class BenchPage(Trainings):
    """`gangway bench job` writes figures to one file, and a page without scripts to another."""

    def test_is_whole_and_open_to_all_in_every_window(self):
        code, out, err = self.call(GANGWAY, "bench", "job", EXAMPLES / "ring8.yaml", "--workers", "1,2", "--rounds", "1", "--steps",
                                   "24", "--losses", "1", "--anyway", "-o", self.folder / "a-long-name-of-a-job.bench", TMPDIR=self.folder)
        self.assertEqual(code, 0, out + err)
        self.assertRegex(out, r"(?m)^score after 24 steps: covered [0-8], modes 8, good_share ")
        report = json.loads((self.folder / "a-long-name-of-a-job.bench.json").read_text())
        self.assertEqual([row["workers"] for row in report["rows"]], [1, 2])
        for row in report["rows"]:
            self.assertGreater(row["images_per_second"], 0)
            self.assertAlmostEqual(sum(row["parts"].values()), 1, places=3)
        self.assertEqual(report["rows"][0]["efficiency"], 1)
        self.assertEqual(report["recovery"]["losses"], 1)
        self.assertEqual([path for path in self.folder.glob("gangway-*") if path.is_dir()], [], "left behind")
        file = self.folder / "a-long-name-of-a-job.bench.html"
        with Browser() as browser:
            for width, colours in WINDOWS:
                page = browser.page()
                page.show(file.as_uri(), width, colours=colours)
                self.assertEqual(page.run("document.documentElement.scrollWidth"), width, "it scrolls sideways")
                self.assertTrue(page.run("document.querySelectorAll('rect').length > 8"))
                self.assertEqual((page.problems, page.requests), ([], [file.as_uri()]))
                if AXE is not None and (width, colours) in AXE_WINDOWS:
                    self.assertEqual(page.serious_faults(), [], (width, colours))


if __name__ == "__main__":
    if CHROMIUM is None:
        print("skipped: there is no chromium (./launch/setup installs it)")
        sys.exit(SKIPPED)
    unittest.main()
