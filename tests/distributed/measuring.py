#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The measuring commands on tiny jobs: profile, plan, scale, find-lr, run --fit, tune and bench node. They read each other's
files, and leave no others at any end. tests/plan, tests/launch and tests/tools have their results. Needs Pillow.

    GANGWAY_BIN=build/release/bin measuring.py [unittest arguments]
"""
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import unittest
from pathlib import Path

from PIL import Image

from train_command import EXAMPLES, GANGWAY, Trainings, descendants, segments_of, snapshot_files

RING = EXAMPLES / "ring8.yaml"
SMALL = ["model.width=32", "training.batch=64", "training.microbatches=4"]
PNG = b"\x89PNG\r\n\x1a\n"
ORPHANS_END = 5  # seconds: kOrphanLimit (run/tether.hpp), and mpirun's end
PHOTOS = """# Mine.
model: {family: dcgan, resolution: 32, width: 8, latent: 8}
data:
  source: images:photos  # large ones
training: {kimg: 1, batch: 8, microbatches: 1}
"""


def words_of(pid, file):
    try:
        return Path(f"/proc/{pid}/{file}").read_bytes().decode(errors="replace")
    except OSError:
        return ""  # it has ended


def is_alive(pid):
    return words_of(pid, "stat").rpartition(")")[2].split()[:1] not in ([], ["Z"])


class Measuring(Trainings):
    def setUp(self):
        super().setUp()
        self.temporary = self.folder / "tmp"
        self.temporary.mkdir()

    def said(self, *words, code=0, **variables):
        ended, out, err = self.call(GANGWAY, *words, TMPDIR=self.temporary, **variables)
        self.assertEqual(ended, code, out + err)
        self.assertEqual(list(self.temporary.glob("gangway-*")), [])
        return out + err


class Plans(Measuring):
    def ranking(self, profile):
        (self.folder / "ring8.profile.json").write_text(json.dumps(profile))
        return json.loads(self.said("plan", RING, *SMALL, "-n", 2, "--json", "--rows", 100))["ranking"]

    def test_a_profile_is_planned_with_and_stages_that_a_plan_chooses_train_to_one_workers_digest(self):
        said = self.said("profile", RING, *SMALL, "layout.stages=2", "--seconds", "0.3", "--anyway")  # for any layout of the job
        self.assertRegex(said, r"(?m)^generator +0 +\d")
        self.assertRegex(said, r"(?m)^all +\d+\.\d+ \+- ")
        profile = json.loads((self.folder / "ring8.profile.json").read_text())
        self.assertEqual(profile["images_per_microbatch"], 16)
        self.assertEqual([network["name"] for network in profile["networks"]], ["generator", "discriminator"])
        self.assertTrue(all(cost["time"]["seconds"] > 0 for cost in profile["instructions"] if "ward" in cost["operation"]))
        self.assertTrue(all(block["kept_bytes"] >= block["output_bytes"] > 0 for block in profile["blocks"]))
        for words, complaint in (((RING, "model.width=64", *SMALL[1:]), "measured of another job"),
                                 ((RING, *SMALL, "--profile", "nowhere.json"), "nowhere.json: no profile there"),
                                 ((RING, *SMALL, "-n", 5), "5")):
            self.refused(2, "plan", *words, says=[complaint])
        whole = json.loads(self.said("plan", RING, *SMALL, "-n", 2, "--whole", "--json"))["ranking"]
        as_is, = json.loads(self.said("plan", RING, *SMALL, "layout.overlap=none", "-n", 2, "--as-is", "--json"))["ranking"]
        self.assertEqual([as_is["step_seconds"]], [one["step_seconds"] for one in whole if one["layout"] == as_is["layout"]])
        self.assertIn("\n4 workers, overlap across, shm ", self.said("plan", RING, *SMALL, "-n", 4, "--as-is"))  # for any machine
        self.refused(2, "plan", RING, *SMALL, "--as-is", says=["--workers"])
        self.said("plan", RING, *SMALL, "-n", 2, "--whole", "--schedule", "lists")
        first = (self.folder / "lists/rank-1.txt").read_text().splitlines()
        self.assertEqual(first[0], "# rank 1: generator, micro-batches 0-1; discriminator, micro-batches 0-1")
        self.assertEqual(len([line for line in first if line.startswith("reduce ")]), 2)
        hosts = EXAMPLES / "clusters/two-hosts.yaml"
        self.assertIn(f"Run it: {GANGWAY} run", self.said("plan", RING, *SMALL, "--cluster", hosts, "--what-if", "slow:host-0=3"))
        # An expensive discriminator, and a machine too small for whole networks.
        for cost in profile["instructions"]:
            cost["time"]["seconds"] = 1e-2 if cost["network"] == "discriminator" and "ward" in cost["operation"] else 1e-6
        for block in profile["blocks"]:
            block.update(kept_bytes=1, output_bytes=1)
        profile["memory"]["working_bytes"] = 0  # as measured it may exceed the savings of stages for so small a model
        devices = profile["cores"] // profile["threads"]
        profile["memory_bytes"] = devices  # too little for every layout: stages are cut by memory, too
        ranking = self.ranking(profile)
        least = {kind: min(one["memory_bytes"] for one in ranking if (" stages" in one["layout"]) == kind and "apart" not in one["layout"])
                 for kind in (False, True)}
        self.assertLess(least[True], least[False])
        # A layout that fits must leave a sixteenth free.
        profile["memory_bytes"] = devices * (least[True] + least[False]) // 2 * 17 // 16
        best = self.ranking(profile)[0]
        self.assertTrue(best["fits"])
        self.assertIn("stages", best["layout"])
        short = ["training.kimg=1", "output.pictures_kimg=0", "--progress", "lines"]
        self.assertIn("plan: none", self.said("run", RING, *SMALL, *short, "model.width=64", "layout.plan=auto", "-n", 1))
        self.said("run", RING, *SMALL, *short, "-n", 1, "--run", "alone")
        said = self.said("run", RING, *SMALL, *short, "layout=auto", "-n", 2, "--run", "auto")
        self.assertIn(f"plan: {best['layout']}\n", said)
        job = (self.folder_of("auto") / "job.yaml").read_text()
        self.assertRegex(job, r"stages: 2")
        self.assertRegex(job, r"plan: none")
        self.assertEqual(self.digest("auto"), self.digest("alone"))

    def test_scale_measures_beside_the_prediction_and_draws(self):
        said = self.said("scale", RING, *SMALL, "--workers", "1,2", "--strong", "--rounds", 1, "--steps", 12, "--anyway", "-o", "s.png")
        self.assertIn("strong scaling\n", said)
        self.assertIn("Amdahl: ", said)
        self.assertTrue((self.folder / "s.png").read_bytes().startswith(PNG))
        self.assertFalse((self.folder / "runs").exists())
        self.refused(2, "scale", RING, *SMALL, "--workers", "1,8", says=["cannot be shared by so many"])

    def test_a_busy_machine_is_refused_before_anything_is_measured(self):
        busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(os.cpu_count())]
        try:
            self.assertRegex(self.said("profile", RING, *SMALL, code=6),
                             r"gangway: other processes use \d+ % of this machine: wait until it is quiet, or measure with --anyway")
        finally:
            for process in busy:
                process.kill()
                process.wait()
        self.assertFalse((self.folder / "ring8.profile.json").exists())


class Others(Measuring):
    def test_find_lr_names_the_rate_that_diverges_and_draws_the_losses_whatever_the_environment_says(self):
        out = self.said("find-lr", RING, *SMALL, "-n", 2, "--from", "1e-5", "--to", "100", "--steps", 70, "-o", "lr.png",
                        GANGWAY_TRAINING_KIMG="100", GANGWAY_OUTPUT_TICK_KIMG="7")
        self.assertIn("lr of generator, discriminator from 1e-05 to 100 in 70 steps\n", out)
        diverged = float(re.search(r"(?m)^diverges at lr (\S+) \(step \d+\): ", out)[1])
        self.assertGreater(diverged, 1e-2)
        self.assertLess(diverged, 100.1)
        suggested = float(re.search(r"(?m)^suggested lr: ([^,\s]+), 1/(?:4|10) of where .*; try it and lower ones: ", out)[1])
        self.assertLess(suggested / diverged, 0.11)
        self.assertRegex(out, r"(?m)^ *lr +step +generator loss +discriminator loss$")
        self.assertTrue((self.folder / "lr.png").read_bytes().startswith(PNG))
        self.assertFalse((self.folder / "runs").exists())
        self.refused(2, "find-lr", RING, "--network", "critic", says=["the job has no network 'critic'"])
        self.refused(2, "tune", RING, "--seconds", "0", says=["--seconds"])
        self.refused(6, "bench", "node", "-o", "nowhere/node", says=["no file can be written there"])

    def test_fit_tells_the_peak_of_the_run(self):
        # More steps, checkpoints and pictures than are measured.
        job = [RING, "training.kimg=8", "model.width=256", "output.tick_kimg=1", "checkpoint.every_kimg=3"]
        out = self.said("run", *job, "-n", 2, "--fit")
        self.assertRegex(out, r"(?m)^fits: [\d.]+ of [\d.]+ GiB of the (host|control group) in use at the most$")
        told = [float(peak) for peak in re.findall(r"(?m)^ +\d+ +(\d+) MiB +\d+ MiB$", out)]
        self.assertEqual(len(told), 2)
        self.assertFalse((self.folder / "runs").exists())
        self.train(*job, run="ring", workers=2)
        last = json.loads((self.folder_of("ring") / "stats.jsonl").read_text().splitlines()[-1])
        for one, other in zip(told, last["memory_by_rank"]["peak_gib"]):
            self.assertAlmostEqual(one / (1024 * other), 1, delta=0.1)


class Ended(Measuring):
    """Kills or stops a measuring command while one of its runs trains."""

    SLOW = ["model.width=1024", "training.batch=4096"]
    # With the process whose start triggers the end; `bench job` kills workers of the run that then trains.
    COMMANDS = {"tune": (["tune", "job.yaml", *SLOW, "-n", "1", "--anyway"], "", "gangway-worker"),
                "fit": (["run", "job.yaml", *SLOW, "--fit", "-n", "1"], "", "gangway-worker"),
                "bench": (["bench", "job", "job.yaml", "--workers", "1", "--steps", "12", "--rounds", "1", "--no-score", "--losses", "9",
                           "--anyway"], "^measures recovery", "gangway-worker"),
                "node": (["bench", "node", "--device", "cpu", "--workers", "1", *SLOW], "^measures a job", "gangway-worker"),
                "find-lr": (["find-lr", "job.yaml", *SMALL, "--steps", "100000"], "", "gangway-worker")}

    def begin(self, name):
        """Returns its processes, once the triggering process runs."""
        shutil.copy(RING, self.folder / "job.yaml")
        words, said, process = self.COMMANDS[name]
        self.running = self.start(*words, name=f"said-{name}", TMPDIR=str(self.temporary))
        self.running.wait_for(said)
        self.running.wait_until(lambda: any(process in words_of(pid, "cmdline") for pid in descendants(self.running.process.pid)[1:]),
                                process)
        return descendants(self.running.process.pid)

    def wait_for_the_end_of(self, pids):
        end = time.monotonic() + ORPHANS_END
        while left := [pid for pid in pids if is_alive(pid)]:
            self.assertLess(time.monotonic(), end, f"{left} of {pids} live")
            time.sleep(0.01)

    def test_by_a_kill_leaves_no_process_no_segment_and_no_half_file(self):
        pids = self.begin("fit")
        segments = segments_of(pids)
        self.running.send(signal.SIGKILL)
        self.running.end()
        self.wait_for_the_end_of(pids)
        self.assertEqual([segment for segment in segments if Path(segment).exists()], [])
        self.assertEqual(snapshot_files(self.folder), [])

    def test_by_an_interrupt_says_one_line_and_leaves_nothing(self):
        for name in ("tune", "bench", "node", "find-lr"):
            with self.subTest(name):
                pids = self.begin(name)
                self.running.send(signal.SIGINT)
                self.running.deadline = 20
                self.assertEqual(self.running.end(), 128 + signal.SIGINT, self.running.said())
                self.assertEqual([line for line in self.running.said().splitlines() if line.startswith("gangway: ")
                                  and "NOT QUIET" not in line], ["gangway: stopped by a signal; nothing is left behind"])
                self.wait_for_the_end_of(pids)
                self.assertEqual(list(self.temporary.glob("gangway-*")), [])
                self.assertEqual([*self.folder.glob("*.tmp"), *self.folder.glob("*tuned*")], [])


class Tuned(Measuring):
    def test_mends_a_job_that_is_bound_by_its_data(self):
        photos = self.folder / "photos"
        photos.mkdir()
        for number in range(16):
            picture = Image.linear_gradient("L").resize((500, 500)).rotate(23 * number)
            picture.convert("RGB").save(photos / f"{number}.png", compress_level=1)
        (self.folder / "job.yaml").write_text(PHOTOS)
        self.said("tune", "job.yaml", "-n", "1", "--seconds", "0.1", "--anyway", XDG_CACHE_HOME=str(self.folder / "cache"))
        tuned = (self.folder / "job.tuned.yaml").read_text()
        self.assertIn("# Mine.", tuned)
        self.assertIn("  source: images:photos  # large ones", tuned)
        self.assertRegex(tuned, r"(?m)^  (cache: auto|(threads|prefetch): \d+)$")  # the key that helps depends on the machine
        record = json.loads((self.folder / "job.tuned.json").read_text())
        self.assertTrue(record["taken"])
        self.assertGreater(record["least_gain"], 1.01)
        for name, file in {"before": "job.yaml", "after": "job.tuned.yaml"}.items():
            self.train(file, "training.kimg=0.08", run=name, workers=1)
        self.assertEqual(self.digest("before"), self.digest("after"))


class WholeBenchNode(Measuring):
    WORDS = ["bench", "node", "--device", "cpu", "--workers", "1,2", "--minutes", "0.7", "model.width=8", "training.batch=16"]

    def report(self):
        return json.loads((self.folder / "node.bench.json").read_text())

    def test_one_report_of_a_machine(self):
        out = self.said(*self.WORDS)
        report = self.report()
        self.assertEqual([row["workers"] for row in report["job"]["rows"]], [1, 2])
        self.assertGreater(report["job"]["rows"][1]["efficiency"], 0)
        self.assertIsNone(report["job"]["unequal_digests"])
        self.assertIn("all ", out)
        self.assertEqual({row["row"] for row in report["transports"]["rows"]}, {"shm", "mpi", "MPI_Allreduce", "copy"})
        self.assertIn("cores", [finding["item"] for finding in report["findings"]])
        self.assertLess(report["seconds"], 0.7 * 60)
        page = (self.folder / "node.bench.html").read_text()
        for wanted in (report["machine"]["processor"], "MPI_Allreduce", "<rect", "have one digest"):
            self.assertIn(wanted, page)
        for unwanted in ("<script", "style="):
            self.assertNotIn(unwanted, page)

    def test_unequal_digests_are_told(self):
        """A `gangway run` that uses another seed on two workers."""
        for program in Path(GANGWAY).parent.iterdir():
            (self.folder / program.name).symlink_to(program)
        (self.folder / "gangway").unlink()
        (self.folder / "gangway").write_text(f"""#!/bin/sh
case " $* " in *" --workers 2 "*) exec {GANGWAY} "$@" training.seed=7 ;; esac
exec {GANGWAY} "$@"
""")
        (self.folder / "gangway").chmod(0o755)
        shutil.copy(GANGWAY, self.folder / "real")
        # Programs find one another in their folder, also behind a link.
        (self.folder / "gangway-tools").unlink()
        shutil.copy(Path(GANGWAY).parent / "gangway-tools", self.folder)
        code, out, err = self.call(self.folder / "real", *self.WORDS, TMPDIR=self.temporary)
        self.assertEqual(code, 1, out + err)
        self.assertRegex(err, r"gangway: after \d+ steps '2 workers' has the digest [0-9a-f]+, and other ways")
        self.assertIn("2 workers", self.report()["job"]["unequal_digests"])
        self.assertIn("DIGESTS DIFFER", (self.folder / "node.bench.html").read_text())

    def test_the_time_is_kept(self):
        begin = time.monotonic()
        err = self.said(*self.WORDS, "model.width=64", "training.batch=256", code=6)
        self.assertLess(time.monotonic() - begin, 0.7 * 60)
        self.assertRegex(err, "(?m)^gangway: the time was over .*--minutes")
        self.assertEqual(self.report()["job"]["rows"], [])


if __name__ == "__main__":
    unittest.main()
