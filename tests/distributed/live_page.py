#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The page of a running job in a real browser, in a wide and a phone's window, light and dark. Ticks appear, a pause shows, a
lost connection shows and returns, and so does a resumed run. axe-core finds nothing serious.

    GANGWAY_BIN=build/release/bin live_page.py [unittest arguments]    (Debian's chromium)
"""
import json
import re
import shutil
import sys
import unittest

from browser import AXE, CHROMIUM, WINDOWS, Browser
from page_client import ENDLESS, RING, Page
from train_command import EXAMPLES, GANGWAY, Trainings

SKIPPED = 77
NUM_TICKS = "document.querySelector('.plot').getAttribute('aria-valuemax')"


class LivePage(Trainings):
    deadline = 120

    def begin(self, name, address="auto", words=()):
        running = self.start("run", RING, "-n", "2", "--run", "seen", ENDLESS, "output.tick_kimg=5", "output.pictures_kimg=20",
                             "checkpoint.every_kimg=50", f"output.http={address}", *words, name=name)
        running.wait_for("^page ")
        return Page(running, next((self.folder / "runs").glob("*-seen")))

    def look(self, url, width, colours="light", page=None):
        page = page or self.browser.page()
        page.show(url, width, colours=colours)
        page.wait("document.querySelector('.chart svg path.line')")
        return page

    def setUp(self):
        super().setUp()
        self.browser = Browser().__enter__()
        self.addCleanup(self.browser.__exit__)

    def text(self, page, selector):
        return page.run(f"document.querySelector({json.dumps(selector)}).textContent")

    def test_has_the_sounds_that_a_generator_makes(self):
        shutil.copytree(EXAMPLES / "own-step", self.folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
        job = self.start("run", "hifigan.yaml", "-n", "1", "--run", "heard", "training.batch=6", "training.microbatches=1", ENDLESS,
                         "model.generator.width=16", "output.grid=2", "output.tick_kimg=0.012", "output.pictures_kimg=0.024")
        job.wait_for("^page ")
        page = self.look(f"http://127.0.0.1:{Page(job, next((self.folder / 'runs').glob('*-heard'))).port}/", 390)
        page.wait("document.querySelector('.picture-sound')?.hidden === false")
        page.run("(sound => { sound.preload = 'auto'; sound.load(); })(document.querySelector('.picture-sound'))")
        page.wait("document.querySelector('.picture-sound').duration > 0")
        self.assertEqual(page.problems, [])
        self.assertEqual(page.serious_faults() if AXE else [], [])

    def test_follows_the_job(self):
        job = self.begin("said")
        address = f"http://127.0.0.1:{job.port}/"
        page = self.look(address, 1440)
        page.wait("document.querySelector('.link').textContent === 'Live'")
        page.wait("['training', 'running'].includes(document.querySelector('.state').textContent)")
        before = int(page.run(NUM_TICKS))
        page.wait(f"Number({NUM_TICKS}) > {before + 3}")
        page.wait("/straggler|ready|joined/.test(document.querySelector('#workers tbody').textContent)")
        page.wait(f"document.querySelector('.picture')?.src.startsWith('{address}pictures/fakes')")
        self.assertEqual([url for url in page.requests if not url.startswith(address)], [])
        self.assertEqual(page.problems, [])

        code, out, err = self.call(GANGWAY, "pause", "seen")
        self.assertEqual(code, 0, out + err)
        page.wait("document.querySelector('.state').textContent === 'paused'")
        self.assertIn("paused by", self.text(page, ".tile-below"))
        self.assertEqual(self.call(GANGWAY, "resume", "seen")[0], 0)
        page.wait("document.querySelector('.state').textContent === 'training'")

        job.running.kill_all()
        page.wait("document.querySelector('.link').dataset.kind === 'lost'")
        self.assertRegex(self.text(page, ".link"), "Connection lost .* Trying again")
        again = self.begin("again", f"127.0.0.1:{job.port}")
        page.wait("document.querySelector('.link').dataset.kind === 'live'")
        then = int(page.run(NUM_TICKS))
        page.wait(f"Number({NUM_TICKS}) > {then + 3}")

        self.assertEqual(self.call(GANGWAY, "stop", "seen")[0], 0)
        page.wait("document.querySelector('.link').dataset.kind === 'ended'")
        self.assertRegex(self.text(page, ".link"), "^Run ended")
        self.assertEqual(again.running.end(), 75)
        resumed = self.begin("resumed", f"127.0.0.1:{job.port}")
        page.wait("document.querySelector('.link').dataset.kind === 'live'")
        page.wait("document.querySelector('.state').textContent === 'training'")
        resumed.running.kill_all()

    def test_is_whole_in_every_window(self):
        # Rare enough that each picture is there before the next one, on a busy machine too.
        job = self.begin("said", words=["output.tick_kimg=100", "output.pictures_kimg=500", "checkpoint.every_kimg=0"])
        page = self.browser.page()
        for width, colours in WINDOWS:
            with self.subTest(width=width, colours=colours):
                self.look(f"http://127.0.0.1:{job.port}/", width, colours, page)
                page.wait("document.querySelector('.link').textContent === 'Live'")
                page.wait("document.querySelector('.picture')?.naturalWidth > 32")
                self.assertEqual(page.run("document.documentElement.scrollWidth"), width, "it scrolls sideways")
                background = page.run("getComputedStyle(document.body).backgroundColor")
                self.assertEqual(sum(map(int, re.findall(r"\d+", background))) < 200, colours == "dark", background)
                self.assertEqual(page.serious_faults() if AXE else [], [])
                self.assertEqual(page.problems, [])
        job.running.kill_all()


if __name__ == "__main__":
    if CHROMIUM is None:
        print("skipped: there is no chromium (./launch/setup installs it)")
        sys.exit(SKIPPED)
    unittest.main()
