#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""An installed Gangway, and a user's family built against it: examples/own-family/, as docs/python.md describes. All programs
come from the prefix, and know nothing of the build folder.

    GANGWAY_BIN=build/release/bin own_family.py [unittest arguments]
"""
import os
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

import train_command
from train_command import EXAMPLES, PROGRAMS, Trainings

SOURCE = EXAMPLES / "own-family"
RECIPE = EXAMPLES / "own-recipe"
BUILD = PROGRAMS.parent
# 24 steps, four micro-batches.
SMALL = ["training.batch=64", "training.microbatches=4", "training.kimg=1.536", "generator.ema_kimg=0.1",
         "output.tick_kimg=0.512", "output.pictures_kimg=0", "checkpoint.every_kimg=0.512"]


class OwnFamily(Trainings):
    @classmethod
    def setUpClass(cls):
        cls.place = Path(tempfile.mkdtemp(prefix="gangway-prefix-"))
        cls.addClassCleanup(shutil.rmtree, cls.place, ignore_errors=True)
        cls.prefix, cls.built = cls.place / "prefix", cls.place / "siren"
        cls.say("cmake", "--install", BUILD, "--prefix", cls.prefix)
        cls.say("cmake", "-G", "Ninja", "-S", SOURCE, "-B", cls.built, f"-DCMAKE_PREFIX_PATH={cls.prefix}")
        cls.say("cmake", "--build", cls.built)
        cls.gangway = cls.prefix / "bin/gangway"
        cls.addClassCleanup(setattr, train_command, "GANGWAY", train_command.GANGWAY)
        train_command.GANGWAY = str(cls.gangway)  # for Trainings

    @classmethod
    def say(cls, *words):
        done = subprocess.run([str(word) for word in words], cwd=cls.place, capture_output=True, text=True)
        if done.returncode != 0:
            raise AssertionError(f"{words}: {done.stdout[-2000:]}{done.stderr[-2000:]}")

    def setUp(self):
        super().setUp()
        shutil.copy(SOURCE / "job.yaml", self.folder)
        shutil.copytree(self.built, self.folder / "siren")

    def refuse(self, *arguments, says):
        self.refused(2, "run", "job.yaml", *SMALL, "-n", 1, *arguments, says=says)

    def test_trains_where_the_build_folder_is_not_to_be_seen_and_goes_on_from_its_own_copy(self):
        code, out, err = self.call(self.gangway, "run", "job.yaml", "--dry-run")
        self.assertEqual(code, 0, err)
        self.assertIn("Parameters: generator 8642, discriminator 8577\n", out)
        self.train("job.yaml", *SMALL, run="seen", workers=1)
        hide = ["unshare", "-m" if os.geteuid() == 0 else "-rm", "sh", "-c",
                'mount -t tmpfs none "$0" && test -z "$(ls -A "$0")" && exec "$@"', BUILD]
        code, _, err = self.call(*hide, "true")
        if code != 0:
            self.skipTest(f"no folder can be hidden from a process here: {err.strip()}")
        short = "training.kimg=0.512"
        for words in (["run", "job.yaml", *SMALL, short, "-n", 2, "--run", "hidden"], ["sample", "hidden", "-o", "grid.png"]):
            code, out, err = self.call(*hide, self.gangway, *words)
            self.assertEqual(code, 0, out + err)
        with (self.folder / "siren/libsiren.blocks.so").open("ab") as file:
            file.write(b"x")
        self.refuse("--run", "hidden", says=["model.library", "libsiren.so", "has changed"])
        shutil.rmtree(self.folder / "siren")  # the run has a copy
        self.train(self.folder_of("hidden") / "job.yaml", SMALL[2], run="hidden", workers=3)
        self.assertEqual(self.digest("hidden"), self.digest("seen"))

    def test_a_recipe_over_networks_of_its_own_choice_is_one_file(self):
        self.say("cmake", "-G", "Ninja", "-S", RECIPE, "-B", self.folder / "half_cycle", f"-DCMAKE_PREFIX_PATH={self.prefix}")
        self.say("cmake", "--build", self.folder / "half_cycle")
        job = [RECIPE / "job.yaml", "model.width=4", "model.blocks=1", "training.batch=16", "training.microbatches=4",
               "training.kimg=0.16", "output.pictures_kimg=0", f"model.library={self.folder}/half_cycle/libhalf_cycle.so"]
        self.train(*job, run="one", workers=1)
        self.train(*job, run="three", workers=3)
        self.assertEqual(self.digest("one"), self.digest("three"))
        code, out, err = self.call(self.gangway, "sample", "three", "-o", "rows.png")
        self.assertEqual(code, 0, out + err)

    def test_of_another_version_is_2_with_one_line(self):
        """tests/job/library/family_library_test.cpp has other mismatches."""
        blocks = self.folder / "siren/libsiren.blocks.so"
        content = blocks.read_bytes()
        version = re.search(rb"gangway-library-interface (\S+) ", content)[1]
        blocks.unlink()  # a loaded library must not be overwritten
        blocks.write_bytes(content.replace(version, b"9" + version[1:]))
        self.refuse(says=["libsiren.blocks.so", "is built for Gangway 9", "build it again"])

    def test_programs_load_nothing_from_the_build_folder_and_rows_no_libtorch(self):
        for program in sorted((self.prefix / "bin").iterdir()):
            loaded = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
            self.assertNotIn(str(BUILD), loaded)
            self.assertNotIn("not found", loaded)
        rows = subprocess.run(["ldd", self.built / "libsiren.so"], capture_output=True, text=True, check=True).stdout
        self.assertNotIn("libtorch", rows)

    def test_installed_headers_include_installed_headers(self):
        include = self.prefix / "include/gangway"
        headers = [path.relative_to(include).as_posix() for path in include.rglob("*.hpp")]
        self.assertIn("gan/library/library.hpp", headers)
        for header in headers:
            for included in re.findall(r'#include "([^"]+)"', (include / header).read_text()):
                self.assertIn(included, headers, header)

    def test_another_libtorch_is_one_line_of_cmake(self):
        false = self.place / "false"
        (false / "lib").mkdir(parents=True, exist_ok=True)
        (false / "lib/libtorch_cpu.so").touch()
        done = subprocess.run(["cmake", "-G", "Ninja", "-S", SOURCE, "-B", self.folder / "false",
                               f"-DCMAKE_PREFIX_PATH={self.prefix};{false}"], capture_output=True, text=True)
        self.assertNotEqual(done.returncode, 0)
        self.assertRegex(done.stderr.replace("\n", " "), r"with\s+which\s+this\s+Gangway\s+computes")


if __name__ == "__main__":
    unittest.main()
