#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`gangway tune`: a job that decodes large pictures anew comes back with a cache or more threads, the same digest, and the
file as it was written.

    GANGWAY_BIN=build/release/bin tune.py [unittest arguments]
"""
import json
import shutil
import signal
import time
import unittest
from pathlib import Path

from PIL import Image

from train_command import EXAMPLES, GANGWAY, Trainings, descendants, segments_of, snapshot_files

ORPHANS_END = 5  # seconds: kOrphanLimit (run/tether.hpp) and what mpirun takes behind it

JOB = """# Mine.
model: {family: dcgan, resolution: 32, width: 8, latent: 8}
data:
  source: images:photos  # large ones
training: {kimg: 1, batch: 8, microbatches: 1}
"""


def is_alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def is_worker(pid):
    try:
        return Path(f"/proc/{pid}/comm").read_text().startswith("gangway-worker")
    except OSError:
        return False


class Tune(Trainings):
    def setUp(self):
        super().setUp()
        photos = self.folder / "photos"
        photos.mkdir()
        for number in range(16):
            picture = Image.linear_gradient("L").resize((500, 500)).rotate(23 * number)
            picture.convert("RGB").save(photos / f"{number}.png", compress_level=1)
        (self.folder / "job.yaml").write_text(JOB)

    def tune(self, *words):
        return self.call(GANGWAY, "tune", "job.yaml", "-n", "1", "--seconds", "0.1", "--anyway", *words,
                         XDG_CACHE_HOME=str(self.folder / "cache"), TMPDIR=str(self.folder))

    def test_a_job_bound_by_its_data_is_mended(self):
        code, out, err = self.tune()
        self.assertEqual(code, 0, out + err)
        tuned = (self.folder / "job.tuned.yaml").read_text()
        self.assertIn("# Mine.", tuned)
        self.assertIn("  source: images:photos  # large ones", tuned)
        self.assertRegex(tuned, r"(?m)^  (cache: auto|(threads|prefetch): \d+)$")  # which ends the wait is the machine's
        record = json.loads((self.folder / "job.tuned.json").read_text())
        self.assertTrue(record["taken"])
        self.assertGreater(record["least_gain"], 1.01)
        self.assertEqual([path for path in self.folder.glob("gangway-*") if path.is_dir()], [], "left behind")
        for name, file in {"before": "job.yaml", "after": "job.tuned.yaml"}.items():
            self.train(file, "training.kimg=0.08", run=name, workers=1)
        self.assertEqual(self.digest("before"), self.digest("after"))

    def test_a_stopped_one_leaves_nothing(self):
        tune = self.start("tune", "job.yaml", "-n", "1", "--anyway", TMPDIR=str(self.folder))
        tune.wait_for("^as typed")
        pids = descendants(tune.process.pid)
        tune.send(signal.SIGTERM)
        self.assertEqual(tune.end(), 128 + signal.SIGTERM)
        tune.wait_until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in pids), "the end of all processes")
        self.assertEqual([path for path in self.folder.glob("gangway-*") if path.is_dir()], [])

    def test_wrong_words(self):
        for words, what in ((["--seconds", "0"], "--seconds"), (["training.bach=8"], "did you mean")):
            code, _, err = self.call(GANGWAY, "tune", "job.yaml", *words)
            self.assertEqual(code, 2)
            self.assertIn(what, err)


class Killed(Trainings):
    """What measures is killed, or told to end, while a run of it trains."""

    SLOW = ["model.width=1024", "training.batch=4096"]
    COMMANDS = {"tune": ["tune", "job.yaml", *SLOW, "-n", "1", "--anyway"],
                "fit": ["run", "job.yaml", *SLOW, "--fit", "-n", "1"],
                "bench": ["bench", "job", "job.yaml", "--workers", "1", "--steps", "12", "--rounds", "1", "--no-score", "--losses", "9",
                          "--anyway"],
                "node": ["bench", "node", "--device", "cpu", "--workers", "1", *SLOW]}
    LATER = {"bench": "^measures recovery", "node": "^measures a job"}

    def begin(self, name):
        """Its processes once one of its workers is there; of a benchmark, of the run whose workers it kills."""
        shutil.copy(EXAMPLES / "ring8.yaml", self.folder / "job.yaml")
        self.running = self.start(*self.COMMANDS[name], name=f"said-{name}", TMPDIR=str(self.folder))
        self.running.wait_for(self.LATER.get(name, ""))
        self.running.wait_until(lambda: any(is_worker(pid) for pid in descendants(self.running.process.pid)), "a worker")
        return descendants(self.running.process.pid)

    def test_leaves_no_process_no_segment_and_no_half_file(self):
        for name in ("tune", "fit"):
            with self.subTest(name):
                pids = self.begin(name)
                segments = segments_of(pids)
                self.running.send(signal.SIGKILL)
                self.running.end()
                end = time.monotonic() + ORPHANS_END
                while left := [pid for pid in pids if is_alive(pid)]:
                    self.assertLess(time.monotonic(), end, f"{left} of {pids} live")
                    time.sleep(0.01)
                self.assertEqual([segment for segment in segments if Path(segment).exists()], [])
                self.assertEqual(snapshot_files(self.folder), [])
                self.assertEqual(list(self.folder.glob("*tuned*")), [])

    def test_an_interrupt_is_one_line_and_its_code(self):
        for name in self.COMMANDS:
            with self.subTest(name):
                pids = self.begin(name)
                self.running.send(signal.SIGINT)
                self.running.deadline = 20
                self.assertEqual(self.running.end(), 128 + signal.SIGINT)
                self.assertEqual([line for line in self.running.said().splitlines() if line.startswith("gangway: ")
                                  and "NOT QUIET" not in line], ["gangway: stopped by a signal; nothing is left behind"])
                self.assertEqual([pid for pid in pids if is_alive(pid)], [])
                self.assertEqual([path for path in self.folder.glob("gangway-*") if path.is_dir()], [])


class BenchJob(Trainings):
    def test_one_report(self):
        code, out, err = self.call(GANGWAY, "bench", "job", EXAMPLES / "ring8.yaml", "--workers", "1,2", "--rounds", "1",
                                   "--steps", "24", "--losses", "1", "--anyway", TMPDIR=str(self.folder))
        self.assertEqual(code, 0, out + err)
        report = json.loads((self.folder / "ring8.bench.json").read_text())
        self.assertEqual([row["workers"] for row in report["rows"]], [1, 2])
        for row in report["rows"]:
            self.assertGreater(row["images_per_second"], 0)
            self.assertAlmostEqual(sum(row["parts"].values()), 1, places=3)
        self.assertEqual(report["rows"][0]["efficiency"], 1)
        self.assertEqual(report["recovery"]["losses"], 1)
        self.assertRegex(out, r"(?m)^score after 24 steps: covered [0-8], modes 8, good_share ")
        page = (self.folder / "ring8.bench.html").read_text()
        self.assertIn("<rect", page)
        self.assertNotIn("<script", page)
        self.assertEqual([path for path in self.folder.glob("gangway-*") if path.is_dir()], [], "left behind")
        code, _, err = self.call(GANGWAY, "bench", "job", EXAMPLES / "ring8.yaml", "--workers", "3")
        self.assertEqual(code, 2)
        self.assertIn("training.microbatches 2 cannot be shared", err)


class BenchNode(Trainings):
    WORDS = ["bench", "node", "--device", "cpu", "--workers", "1,2", "--minutes", "0.7", "model.width=8", "training.batch=16"]

    def node(self, *words, program=GANGWAY):
        return self.call(program, *self.WORDS, *words, TMPDIR=str(self.folder))

    def report(self):
        return json.loads((self.folder / "node.bench.json").read_text())

    def test_one_report_of_a_machine(self):
        code, out, err = self.node()
        self.assertEqual(code, 0, out + err)
        report = self.report()
        self.assertEqual([row["workers"] for row in report["job"]["rows"]], [1, 2])
        self.assertGreater(report["job"]["rows"][1]["efficiency"], 0)
        self.assertIsNone(report["job"]["unequal_digests"])
        self.assertIn("all ", out)
        self.assertEqual({row["row"] for row in report["transports"]["rows"]}, {"shm", "mpi", "MPI_Allreduce", "copy"})
        self.assertIn("cores", [finding["item"] for finding in report["findings"]])
        self.assertGreater(report["machine"]["memory_gib"], 0)
        self.assertLess(report["seconds"], 0.7 * 60)
        page = (self.folder / "node.bench.html").read_text()
        for wanted in (report["machine"]["processor"], "MPI_Allreduce", "<rect", "have one digest"):
            self.assertIn(wanted, page)
        for unwanted in ("<script", "style="):
            self.assertNotIn(unwanted, page)
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), ["err", "node.bench.html", "node.bench.json", "out"])

    def test_unequal_digests_are_told(self):
        """A `gangway run` that has another seed with two workers."""
        for program in Path(GANGWAY).parent.iterdir():
            (self.folder / program.name).symlink_to(program)
        (self.folder / "gangway").unlink()
        (self.folder / "gangway").write_text(f"""#!/bin/sh
case " $* " in *" --workers 2 "*) exec {GANGWAY} "$@" training.seed=7 ;; esac
exec {GANGWAY} "$@"
""")
        (self.folder / "gangway").chmod(0o755)
        shutil.copy(GANGWAY, self.folder / "real")
        code, out, err = self.node(program=self.folder / "real")
        self.assertEqual(code, 1, out + err)
        self.assertRegex(err, r"gangway: after \d+ steps '2 workers' has the digest [0-9a-f]+, and other ways")
        self.assertIn("2 workers", self.report()["job"]["unequal_digests"])
        self.assertIn("DIGESTS DIFFER", (self.folder / "node.bench.html").read_text())

    def test_the_time_is_kept(self):
        begin = time.monotonic()
        code, out, err = self.node("model.width=64", "training.batch=256")
        self.assertLess(time.monotonic() - begin, 0.7 * 60)
        self.assertEqual(code, 6, out + err)
        self.assertRegex(err, "(?m)^gangway: the time was over .*--minutes")
        self.assertEqual(self.report()["job"]["rows"], [])
        self.assertEqual([path for path in self.folder.glob("gangway-*") if path.is_dir()], [])

    def test_wrong_words(self):
        for words, code, what in ((["--minutes", "0"], 2, "--minutes"), (["--workers", "0"], 2, "--workers"),
                                  (["--device", "tpu"], 2, "--device"), (["model.widht=8"], 2, "did you mean"),
                                  (["-o", "nowhere/node"], 6, "no file can be written there")):
            ended, _, err = self.node(*words)
            self.assertEqual((ended, len(err.splitlines())), (code, 1), err)
            self.assertIn(what, err)


if __name__ == "__main__":
    unittest.main()
