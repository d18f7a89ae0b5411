#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Mixed folders of pictures of all kinds and sizes, also as a ZIP, on one and on three workers.

    GANGWAY_BIN=build/release/bin picture_folders.py [COUNT] [unittest arguments]

COUNT pictures (60) of sides 8 to 2,000 (to 400 if fewer than 1,000), from a printed seed; SEED=… repeats one.
"""
import json
import os
import random
import re
import subprocess
import sys
import tarfile
import unittest
import zipfile
from pathlib import Path

from train_command import EXAMPLES, GANGWAY, PROGRAMS, Trainings

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "data"))
import sample_pictures  # noqa: E402

COUNT = int(sys.argv.pop(1)) if sys.argv[1:2] and sys.argv[1].isdigit() else 60
SEED = int(os.environ.get("SEED", random.randrange(10**6)))
LARGEST = 2000 if COUNT >= 1000 else 400
CLOTHES = EXAMPLES / "fashion-mnist.yaml"
SMALL = ["model.width=16", "model.channels=3", "training.batch=64", "training.microbatches=4",
         "output.pictures_kimg=0", "checkpoint.every_steps=1"]


class PictureFolders(Trainings):
    deadline = 1200

    def job(self, source, *more):
        return [CLOTHES, *SMALL, f"data.source=images:{source}", f"training.kimg={max(COUNT, 64) / 1000}", *more]

    def write_pictures(self):
        folder = self.folder / "pictures"
        sample_pictures.write_random_pictures(folder, COUNT, SEED, largest=LARGEST)
        (folder / "x/Thumbs.db").write_text("no picture")
        return folder

    def write_zip(self, folder):
        packed = self.folder / "pictures.zip"
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
            for file in sorted(folder.rglob("*.*")):
                archive.write(file, file.relative_to(self.folder))
        return packed

    def write_tars(self, folder):
        """In the order of a disk, spread over three folders."""
        shards = self.folder / "shards"
        shards.mkdir()
        files = sorted(folder.rglob("*.*"))
        random.Random(SEED).shuffle(files)
        for shard in range(3):
            with tarfile.open(shards / f"set-{shard:04}.tar", "w") as tar:
                for file in files[shard::3]:
                    tar.add(file, file.relative_to(self.folder))
        return shards

    def trained(self, source, *keys, run, workers=1):
        """Runs or resumes a job. Returns its output."""
        code, out, err = self.call(GANGWAY, "run", *self.job(source), *keys, "-n", workers, "--run", run,
                                   XDG_CACHE_HOME=self.folder / "cache")
        self.assertEqual(code, 0, out + err)
        return out + err

    def test_a_folder_its_zip_its_tars_a_pack_a_cache_and_threads_have_one_digest_and_a_run_goes_on_with_others(self):
        folder = self.write_pictures()
        shards = self.write_tars(folder)
        packed = self.folder / "packed"
        code, out, err = self.call(GANGWAY, "data", "pack", shards, packed, "--resolution", 32)
        self.assertEqual(code, 0, out + err)
        ways = {"loose": (folder, 1), "zip": (self.write_zip(folder), 3, "data.threads=4"), "tars": (shards, 2),
                "values": (shards, 2, "data.cache=128K"), "decoded": (None, 1, f"data.source=pack:{packed}"),
                "filled": (folder, 2, "data.cache=auto", "data.threads=4"), "kept": (folder, 1, "data.cache=auto")}
        for run, (source, workers, *keys) in ways.items():
            said = self.trained(source, *keys, run=run, workers=workers)
            self.assertEqual("has room for" in said, run == "values", said)
        digests = {run: self.digest(run) for run in ways}
        self.assertEqual(len(set(digests.values())), 1, digests)
        self.assertEqual(len(list((self.folder / "cache").rglob("*.pictures"))), 2)
        self.assertNotIn("have changed", self.trained(shards, "training.kimg=0.128", run="loose"))
        shard = shards / "set-0001.tar"
        content = bytearray(shard.read_bytes())
        with tarfile.open(shard) as tar:
            member = max((one for one in tar if not one.name.endswith(".db")), key=lambda one: one.size)
        other = sample_pictures.png(random.Random(1), 8, 8, sample_pictures.GRAY, 1).content
        content[member.offset_data:member.offset_data + len(other)] = other
        shard.write_bytes(content)
        self.assertRegex(self.trained(shards, "training.kimg=0.192", run="loose"),
                         rf"warn  the data have changed .*set-0001\.tar!{re.escape(member.name)}")
        shard = packed / "00000.shard"
        shard.write_bytes(shard.read_bytes()[:-1])
        self.refused(2, "run", *self.job(folder, f"data.source=pack:{packed}"), "-n", 2, says=["00000.shard"])

    def test_a_bench_of_the_data_tells_where_the_time_goes(self):
        job = self.job(self.write_pictures(), "training.batch=16", "data.threads=2")
        left = self.folder / "tmp/gangway-scratch-killed"  # as of a killed bench
        left.mkdir(parents=True)
        os.utime(left, (0, 0))
        code, out, err = self.call(GANGWAY, "data", "bench", *job, "--images", 32, "--rounds", 1, "--json", TMPDIR=str(left.parent))
        self.assertEqual(code, 0, out + err)
        self.assertEqual(list(left.parent.iterdir()), [])
        rows = {row["name"]: row for row in json.loads(out)["rows"]}
        self.assertEqual(list(rows), ["synthetic", "cached", "warm", "cold"])
        for name, row in rows.items():
            self.assertGreater(row["images_per_second"], 0)
            self.assertAlmostEqual(sum(row["shares"].values()), 1)
            self.assertEqual(row["shares"]["decode"] > 0, name in ("warm", "cold"), rows)

    def test_a_broken_file_met_in_training_is_named_and_nothing_is_lost(self):
        folder = self.folder / "pictures"
        rng = random.Random(SEED)
        for i in range(512):
            folder.mkdir(exist_ok=True)
            (folder / f"{i:05}.png").write_bytes(sample_pictures.png(rng, 12, 12, sample_pictures.RGB, 8).content)
        for i in range(400, 404):  # in the job's order, one of these 4 of 512 comes within the first pass, and not at its start
            whole = (folder / f"{i:05}.png").read_bytes()
            (folder / f"{i:05}.png").write_bytes(whole[:len(whole) // 2])
        job = [CLOTHES, *SMALL, f"data.source=images:{folder}", "training.kimg=2", "data.prefetch=1"]
        code, out, err = self.call(GANGWAY, "run", *job, "-n", 2, "--run", "broken")
        self.assertEqual(code, 2, out + err)
        line, = [line for line in err.splitlines() if line.startswith("gangway: ")]
        self.assertRegex(line, r"0040[0-3]\.png: damaged or truncated PNG .*; replace or remove the file")
        for i in range(400, 404):
            (folder / f"{i:05}.png").write_bytes(sample_pictures.png(rng, 12, 12, sample_pictures.RGB, 8).content)
        code, out, err = self.call(GANGWAY, "run", *job, "-n", 2, "--run", "broken", "training.kimg=0.512")
        self.assertEqual(code, 0, f"after all were replaced: {out}{err}")

    def test_a_picture_of_60000_by_60000_pixels_is_refused_in_one_line(self):
        folder = self.folder / "pictures"
        folder.mkdir()
        header = sample_pictures.chunk(b"IHDR", b"\0\0\xea\x60\0\0\xea\x60\x08\x02\0\0\0")
        (folder / "huge.png").write_bytes(b"\x89PNG\r\n\x1a\n" + header + sample_pictures.chunk(b"IDAT", bytes(1000)))
        self.refused(2, "run", *self.job(folder), "-n", 1, says=["huge.png: 60000 x 60000 pixels cannot be read"])


if __name__ == "__main__":
    print(f"seed {SEED}, {COUNT} pictures")
    unittest.main()
