#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Replaced pictures, or other pictures on another host, are noticed and named.

    GANGWAY_BIN=build/release/bin changed_data.py [unittest arguments]
"""
import re
import shutil
import sys
import unittest
from pathlib import Path

from other_build import copy_programs
from train_command import EXAMPLES, Trainings

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "data"))
import sample_pictures  # noqa: E402

USAGE = 2
COUNT = 40
JOB = [EXAMPLES / "fashion-mnist.yaml", "model.width=16", "model.channels=3", "training.batch=16",
       "training.microbatches=4", "output.pictures_kimg=0", "output.tick_kimg=0.064", "checkpoint.every_steps=4"]


class ChangedData(Trainings):
    def setUp(self):
        super().setUp()
        self.pictures = self.folder / "pictures"
        sample_pictures.write_random_pictures(self.pictures, COUNT, seed=7, largest=64)
        self.cache = {"XDG_CACHE_HOME": str(self.folder / "cache")}

    def files(self):
        return sorted(file for file in self.pictures.rglob("*") if file.is_file())

    def replace_all(self):
        """Replaces each picture by another one of its kind."""
        for ending in {file.suffix for file in self.files()}:
            files = [file for file in self.files() if file.suffix == ending]
            contents = [file.read_bytes() for file in files]
            for file, content in zip(files, contents[1:] + contents[:1]):
                file.write_bytes(content)

    def test_pictures_that_are_replaced_during_training_end_it_with_2_and_the_next_start_names_some(self):
        words = ["run", *JOB, f"data.source=images:{self.pictures}", "training.kimg=100", "-n", 2, "--run", "replaced"]
        running = self.start(*words, **self.cache)
        running.wait_for(r"^tick .*\n(.*\n)*tick ")
        self.replace_all()
        self.assertEqual(running.end(), USAGE, running.said())
        self.assertRegex(running.said(), rf"(?m)^gangway: .*{self.pictures}/\S+: has changed since it was listed")
        again = self.start(*words, name="again", **self.cache)
        line = r"(?m)^warn  the data have changed .*\(for example (.*)\): from here on"
        again.wait_for(line)
        named = re.search(line, again.said())
        for name in named[1].split(", "):
            self.assertTrue((self.pictures / name).exists(), name)
        again.wait_for(r"^tick ")
        removed = next(file for file in self.files() if file.suffix == ".png")
        removed.unlink()
        self.assertEqual(again.end(), USAGE, again.said())
        self.assertIn(f"{removed}: is gone since it was listed at the start; put it back", again.said())

    def test_a_start_from_a_snapshot_alone_says_that_pictures_were_replaced(self):
        words = ["run", *JOB, f"data.source=images:{self.pictures}", "training.kimg=100", "-n", 1, "--run", "kept",
                 "checkpoint.every_kimg=0", "checkpoint.every_steps=0", "checkpoint.snapshot_steps=1"]
        running = self.start(*words, **self.cache)
        running.wait_for(r"^tick ")
        running.kill_all()
        self.replace_all()
        again = self.start(*words, name="again", **self.cache)
        again.wait_for(r"^resume snapshot of step ")
        again.wait_for(r"^warn  the data have changed since the run last started \(for example ")

    def test_another_copy_on_another_host_is_refused_and_the_host_and_a_file_are_named(self):
        for copy in ("one", "other"):
            shutil.copytree(self.pictures, self.folder / copy / "pictures")
        first, second = (file.relative_to(self.pictures) for file in self.files()[20:22])
        (self.folder / "other/pictures" / first).write_bytes((self.pictures / second).read_bytes())
        programs = copy_programs(self.folder / "bin", ())
        worker = programs / "gangway-worker"
        worker.rename(programs / "real-worker")
        worker.write_text(f"""#!/bin/sh
if [ "$OMPI_COMM_WORLD_RANK" = 2 ]; then cd "{self.folder}/other"; else cd "{self.folder}/one"; fi
exec "{programs}/real-worker" "$@"
""")
        worker.chmod(0o755)
        (self.folder / "pictures").rename(self.folder / "first")
        shutil.copytree(self.folder / "first", self.folder / "pictures")  # read by the command
        code, out, err = self.call(programs / "gangway", "run", *JOB, "data.source=images:/proc/self/cwd/pictures",
                                   "training.kimg=1", "-n", 2, "--run", "copies", **self.cache)
        self.assertEqual(code, USAGE, out + err)
        self.assertRegex(out + err, r"rank [12] .*sees other examples than rank [12] .*"
                                    rf"the first file that differs is {first} or a file between ")
        self.assertNotIn("tick", out)


if __name__ == "__main__":
    unittest.main(verbosity=2)
