# SPDX-License-Identifier: MIT
"""`gangway init job` on typical folders: each job passes its dry run, and one is trained."""

import os
import pathlib
import random
import subprocess
import sys
import tempfile
import unittest

import numpy
from PIL import Image

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "distributed"))
from clean_environment import environment  # noqa: E402

GANGWAY = pathlib.Path(os.environ["GANGWAY_BIN"]).resolve() / "gangway"
USAGE = 2


def write_pictures(folder, count, mode="RGB", sides=(40, 90), labels=(), seed=1):
    """Draws discs of random colours, sizes and places on a background, alternately as PNG and JPEG."""
    draw = random.Random(seed)
    for i in range(count):
        side = draw.randint(*sides)
        y, x = numpy.mgrid[0:side, 0:side]
        disc = (y - side * draw.random()) ** 2 + (x - side * draw.random()) ** 2 < (side * draw.uniform(0.2, 0.4)) ** 2
        depth = 3 if mode == "RGB" else 1
        pixels = numpy.empty((side, side, depth), numpy.uint8)
        pixels[:] = [draw.randint(0, 255) for _ in range(depth)]
        pixels[disc] = [draw.randint(0, 255) for _ in range(depth)]
        place = folder / labels[i % len(labels)] if labels else folder
        place.mkdir(parents=True, exist_ok=True)
        image = Image.fromarray(pixels if depth == 3 else pixels[:, :, 0], mode)
        image.save(place / f"{i:04}.{'png' if i % 2 else 'jpg'}")


class InitJob(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.addCleanup(self.scratch.cleanup)
        self.folder = pathlib.Path(self.scratch.name)

    def call(self, *words):
        ended = subprocess.run([str(GANGWAY), *map(str, words)], cwd=self.folder, env=environment(), capture_output=True,
                               text=True, timeout=120)
        return ended.returncode, ended.stdout, ended.stderr

    def init(self, *words):
        code, out, err = self.call("init", "job", self.folder / "photos", "-n", 2, *words)
        self.assertEqual(code, 0, out + err)
        return out, (self.folder / "job.yaml").read_text()

    def test_jobs_of_all_kinds_of_folders_pass_their_dry_run(self):
        for name, kinds, expected in (
                ("grey", {"mode": "L", "sides": (28, 28)}, ["channels: 1", "resolution: 32", "classes: 0"]),
                ("colour", {"sides": (64, 64)}, ["channels: 3", "resolution: 64", "policy: ada"]),
                ("labels", {"labels": ("cats", "dogs")}, ["classes: 2"]),
                ("few of a label", {"count": 60, "labels": ("a", "b", "c")}, ["classes: 0"])):
            with self.subTest(name):
                photos = self.folder / "photos"
                write_pictures(photos, kinds.pop("count", 200), **kinds)
                out, job = self.init("--no-trial", "--force")
                for one in expected:
                    self.assertIn(one, job)
                self.assertRegex(out, r"(?m)^note    training\.kimg=\d+ is a guess, for no trial was made")
                self.assertIn(f"job.yaml: look it over, then: {GANGWAY} run job.yaml -n 2\n", out)
                code, said, err = self.call("run", "job.yaml", "-n", 2, "--dry-run")
                self.assertEqual(code, 0, said + err)
                photos.rename(self.folder / name)

    def test_a_trial_says_what_the_time_will_give_and_leaves_nothing(self):
        write_pictures(self.folder / "photos", 200, sides=(32, 32))
        out, job = self.init("--minutes", "0.5")
        self.assertRegex(out, r"(?m)^trial   2 workers, 32 pixels, width 32: \d+ pictures a second$")
        self.assertRegex(job, r"(?m)^# A trial here: \d+ pictures a second with 2 workers and width \d+; some [\d.]+ thousand in 0\.5 minutes")
        self.assertEqual(sorted(one.name for one in self.folder.iterdir()), ["job.yaml", "photos"])

    def test_what_cannot_be_is_said_in_one_line(self):
        write_pictures(self.folder / "photos", 3)
        (self.folder / "broken").mkdir()
        (self.folder / "broken/a.png").write_bytes(b"\x89PNG\r\n\x1a\nnothing")
        (self.folder / "empty").mkdir()
        (self.folder / "there.yaml").touch()
        for words, part in ((["nowhere"], "nowhere: there is no such folder or file"), (["empty"], "holds no .png"),
                            (["broken"], "gangway data check broken"),
                            (["photos", "--resolution", "256"], "--recipe r3gan-ffhq256"),
                            (["photos", "--recipe", "r3gan"], "there are biggan-128"),
                            (["photos", "-o", "there.yaml"], "--force")):
            with self.subTest(words):
                code, out, err = self.call("init", "job", *words)
                self.assertEqual((code, out), (USAGE, ""), err)
                self.assertIn(part, err)
                self.assertEqual(len(err.splitlines()), 1, err)


if __name__ == "__main__":
    unittest.main()
