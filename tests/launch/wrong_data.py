# SPDX-License-Identifier: MIT
"""Data that cannot be trained on, as users name them by mistake: each dry run ends in one line with a remedy."""

import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import unittest

import numpy
from PIL import Image

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "distributed"))
from clean_environment import environment  # noqa: E402

GANGWAY = pathlib.Path(os.environ["GANGWAY_BIN"]).resolve() / "gangway"
USAGE, ENVIRONMENT, PREEMPTED = 2, 6, 75
JOB = "model: {width: 8, latent: 8}\ntraining: {kimg: 1, batch: 8, microbatches: 2}\n"


def write_picture(path, mode="RGB", size=(32, 32), seed=0):
    path.parent.mkdir(parents=True, exist_ok=True)
    values = numpy.random.default_rng(seed).integers(0, 256, (size[1], size[0], 3), numpy.uint8)
    Image.fromarray(values).convert(mode).save(path)


def wait_until(holds, seconds=30):
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.02)


def is_alive(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def write_tars(folder):
    """Makes photos.tar, and files that users mistake for it."""
    with tarfile.open(folder / "photos.tar", "w") as tar:
        tar.add(folder / "photos", "photos")
    whole = (folder / "photos.tar").read_bytes()
    (folder / "cut.tar").write_bytes(whole[:len(whole) // 2])
    (folder / "damaged.tar").write_bytes(b"x" + whole[1:])
    (folder / "double.tar").write_bytes(whole + whole)


class WrongData(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.scratch.cleanup)
        cls.folder = folder = pathlib.Path(cls.scratch.name)
        for i in range(12):
            write_picture(folder / f"photos/{i}.png", seed=i)
            write_picture(folder / f"grey/{i}.png", "L", seed=i)
            write_picture(folder / f"labels/{'cat' if i % 2 else 'dog'}/{i}.png", seed=i)
        (folder / "words").mkdir()
        (folder / "words/notes.txt").write_text("no picture\n")
        whole = (folder / "photos/0.png").read_bytes()
        (folder / "cut").mkdir()
        (folder / "cut/0.png").write_bytes(whole[:len(whole) // 2])
        write_picture(folder / "lonely/a/0.png")
        write_picture(folder / "lonely/b/1.png")
        (folder / "gif").mkdir()
        (folder / "gif/0.gif").write_bytes(b"GIF89a")
        write_tars(folder)
        (folder / "photos.zip").write_text("no ZIP\n")
        (folder / "list").mkdir()
        write_picture(folder / "list/0.png")
        (folder / "list/dataset.json").write_text('{"labels": [["1.png", 0]]}')
        (folder / "job.yaml").write_text(JOB)
        (folder / "tab.yaml").write_text("data:\n\tsource: images:photos\n")

    def dry_run(self, *words, job="job.yaml"):
        ended = subprocess.run([str(GANGWAY), "run", job, "-n", "1", "--dry-run", *words], cwd=self.folder,
                               env=environment(), capture_output=True, text=True, timeout=60)
        return ended.returncode, ended.stdout, ended.stderr

    def refuse(self, *words, says, job="job.yaml"):
        with self.subTest(words=words):
            code, out, err = self.dry_run(*words, job=job)
            self.assertEqual(code, USAGE, out + err)
            self.assertEqual(len(err.splitlines()), 1, err)
            for part in says:
                self.assertIn(part, err)
            self.assertNotIn("Placement", out)

    def test_settings_that_cannot_be_trained_on_end_in_one_line(self):
        """tests/data has the words of each reader, tests/job/rules_test.cpp those of each rule."""
        for source, *says in (
                ("images:nowhere", "nowhere", "check the path in data.source"),
                ("images:words", "words: holds no .png, .jpg, .jpeg or .webp file", "check the path"),
                ("images:cut", "cut/0.png: damaged or truncated PNG", "replace or remove"),
                ("images:photos.zip", "photos.zip", "ZIP"),
                ("images:photos/0.png", "photos/0.png", "folder"),
                ("images:gif", "1, such as 0.gif", "mogrify"),
                ("images:cut.tar", "cut.tar: is cut", "copy it or make it again"),
                ("images:damaged.tar", "damaged.tar: is no tar, or a damaged one (at byte 0)", "make it again"),
                ("images:double.tar", "double.tar: has more behind its end", "name each of them"),
                ("'images:photos-{0..3}.tar'", "photos-0.tar: does not exist", "check the path"),
                ("./photos.tar", "did you mean 'images:./photos.tar'?"),
                ("images:list", "dataset.json", "0.png"),
                ("imgaes:photos", "'imgaes:photos' is no source", "did you mean 'images:photos'?"),
                ("fashon-mnist", "did you mean 'fashion-mnist'?"),
                ("toy:ring8", "'toy:ring8' has points", "model.family mlp"),
                ("idx:nowhere", "nowhere: does not exist", "check the path in data.source")):
            self.refuse(f"data.source={source}", says=says)

    def test_data_are_refused_before_networks_in_python_are_tried(self):
        tried = self.folder / "tried"
        (self.folder / "nets.py").write_text(f"open({str(tried)!r}, 'w')\nclass Generator:\n    pass\n")
        for source, *says in (("images:nowhere", "check the path in data.source"), ("images:words", "holds no .png"),
                              ("images:photos.zip", "ZIP")):
            self.refuse(f"data.source={source}", "model.generator=nets.py:Generator", "model.channels=3", says=says)
        self.assertFalse(tried.exists())

    def test_the_trial_of_networks_in_python_is_announced_and_ends_with_the_command(self):
        programs = self.folder / "bin"
        programs.mkdir()
        shutil.copy(GANGWAY, programs)
        model = programs / "gangway-model"
        model.write_text("#!/bin/sh\necho $$ > tried\nexec sleep 60\n")
        model.chmod(0o755)
        (self.folder / "nets.py").write_text("class Generator:\n    pass\n")
        words = [programs / "gangway", "run", "job.yaml", "-n", "1", "--dry-run", "data.source=images:photos", "model.channels=3",
                 "model.generator=nets.py:Generator"]
        pipes = {"cwd": self.folder, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        with subprocess.Popen(words, env=environment(), **pipes) as running:
            line = next((line for line in running.stdout if line.startswith("tries ")), "")
            self.assertIn("tries  the networks of nets.py", line)
            wait_until(lambda: (self.folder / "tried").exists() and (self.folder / "tried").read_text().endswith("\n"))
            running.terminate()
            self.assertEqual(running.wait(timeout=20), PREEMPTED)
        pid = int((self.folder / "tried").read_text())
        wait_until(lambda: not is_alive(pid))
        ended = subprocess.run(words, env=environment(TMPDIR="/nowhere"), timeout=60, **pipes)
        self.assertEqual((ended.returncode, len(ended.stderr.splitlines())), (ENVIRONMENT, 1), ended.stderr)

    def test_pictures_that_do_not_fit_the_job_end_in_one_line(self):
        two_sides = ("model.family=unet", "training.recipe=pix2pix")
        for words, *says in (
                (("data.source=images:photos", "model.classes=2"), "has no labels", "model.classes is 2"),
                (("data.source=images:labels", "model.classes=1"), "has 2 classes", "set it to 2"),
                (("data.source=images:photos", "data.limit=13"), "13 examples are more than the 12", "use 12 at most"),
                (("data.source=images:photos", "data.zoom=0"), "data.zoom", "1 to 16"),
                (("data.source=pairs:lonely", *two_sides), "0.png", "lonely")):
            self.refuse(*words, says=says)

    def test_a_tab_in_the_file_is_named_with_its_line(self):
        self.refuse(job="tab.yaml", says=["tab.yaml:2", "spaces"])

    @unittest.skipIf(os.geteuid() == 0, "root may read everything")
    def test_a_folder_that_may_not_be_read_ends_in_one_line(self):
        locked = self.folder / "locked"
        locked.mkdir(mode=0)
        self.refuse("data.source=images:locked", says=["locked", "ermission"])

    def test_what_can_be_trained_and_is_hardly_meant_gets_a_note(self):
        for words, *says in (
                (("data.source=images:photos", "model.channels=1"), "colour pictures", "model.channels=3"),
                (("data.source=images:grey", "model.channels=3"), "grey pictures", "model.channels=1"),
                (("data.source=images:labels", "model.classes=5"), "has 2 labels", "model.classes=2"),
                (("data.source=images:labels", "model.classes=0"), "has 2 labels", "model.classes=2"),
                (("data.source=images:photos", "training.batch=64"), "12 examples", "training.batch=12")):
            with self.subTest(words=words):
                code, out, err = self.dry_run(*words)
                self.assertEqual((code, err), (0, ""), out)
                notes = [line for line in out.splitlines() if line.startswith("note ") and says[0] in line]
                self.assertEqual(len(notes), 1, out)
                self.assertIn(says[1], notes[0])

    def test_channels_and_classes_follow_the_data_and_stay_in_the_job(self):
        for name, channels, classes in (("photos", 3, 0), ("grey", 1, 0), ("labels", 3, 2)):
            with self.subTest(name):
                code, out, err = self.dry_run(f"data.source=images:{name}")
                self.assertEqual((code, err), (0, ""), out)
                self.assertIn(f"Data: images:{name}, 12 examples{', 2 labels' if classes else ''}\n", out)
                self.assertRegex(out, rf"(?m)^ +channels: {channels}$")
                self.assertRegex(out, rf"(?m)^ +classes: {classes}$")


if __name__ == "__main__":
    unittest.main()
