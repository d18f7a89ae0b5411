#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Disks that fill up, fail, refuse, are slow, or hang during training. Training continues to the same digest, the last good
checkpoint stays, the user reads one line, and saving works again as soon as possible (docs/going-on.md).

    GANGWAY_BIN=build/release/bin DISK_FAULTS_LIBRARY=build/release/tests/libdisk_faults.so save_faults.py [unittest arguments]
"""
import errno
import json
import os
import re
import signal
import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "distributed"))
from train_command import EXAMPLES, GANGWAY, Trainings  # noqa: E402

WORKER_LOST = 3
LIBRARY = str(Path(os.environ["DISK_FAULTS_LIBRARY"]).resolve())
IMAGES_A_STEP = 96
STEPS_A_TICK = 20
JOB = [EXAMPLES / "ring8.yaml", "model.width=32", f"training.batch={IMAGES_A_STEP}", "training.microbatches=4",
       "output.pictures_kimg=0", f"output.tick_kimg={STEPS_A_TICK * IMAGES_A_STEP / 1000}", "checkpoint.every_kimg=0", "checkpoint.every_steps=50",
       "checkpoint.snapshot_steps=10"]
ENDLESS = "training.kimg=100000"
SAVED = r"^ckpt   step-(\d+)  .*\n"


class SaveFaults(Trainings):
    def setUp(self):
        super().setUp()
        self.faults = self.folder / "disk"
        self.faults.mkdir()
        self.order()

    def order(self, *lines):
        """Sets the failing calls: (call, errno or "hang", times per process, expression for the path)."""
        text = "".join(f"{call} {what} {times} {path}\n" for call, what, times, path in lines)
        (self.faults / "new").write_text(text)
        os.replace(self.faults / "new", self.faults / "faults")

    def calls(self):
        """Returns the calls on checkpoints: (process, call, path, result)."""
        file = self.faults / "calls"
        return [line.split(" ", 3) for line in file.read_text().splitlines()] if file.exists() else []

    def hang(self, running, call, path):
        """Makes calls on `path` hang, and waits for the first."""
        before = len(self.calls())
        self.order((call, "hang", 0, path))
        self.wait_for_hang(running, call, path, before)

    def wait_for_hang(self, running, call, path, before=0):
        running.wait_until(lambda: any(line[1] == call and line[3] == "hangs" and re.search(path, line[2])
                                       for line in self.calls()[before:]), f"{call} of {path}")

    def run_endlessly(self, *words, workers=2, by=()):
        return self.start("run", *JOB, ENDLESS, "-n", workers, "--run", "faulty", *words, by=by, LD_PRELOAD=LIBRARY,
                          DISK_FAULTS=str(self.faults))

    def begin(self, *words, by=()):
        """Starts an endless training, and waits until it has saved a checkpoint."""
        running = self.run_endlessly(*words, by=by)
        running.wait_for(SAVED)
        return running

    def run_folder(self):
        return self.folder / "runs" / "00000-faulty"

    def require_progress(self, running, ticks=5):
        """Expects that training continues: so many more ticks."""
        place = len(running.said())
        for _ in range(ticks):
            place = running.wait_for(r"^tick .*\n", place)

    def leave(self, running, code=75):
        running.send(signal.SIGTERM)
        self.assertEqual(running.end(), code, running.said())

    def require_undisturbed(self, running):
        """Expects no trace of the faults but lines: the digest of a sound disk, no temporary."""
        self.leave(running)
        step = int(re.findall(SAVED, running.said(), re.MULTILINE)[-1])
        self.train(*JOB, f"training.kimg={step * IMAGES_A_STEP / 1000}", run="whole", workers=1)
        self.assertEqual(self.digest("faulty"), self.digest("whole"))
        self.require_no_temporary()

    def require_no_temporary(self):
        left = [path.name for path in (self.run_folder() / "checkpoints").iterdir() if not path.name.startswith("step-")]
        self.assertEqual(left, [])

    def mount(self, path, *options):
        mounted = subprocess.run(["mount", *options, path], capture_output=True, text=True)
        if mounted.returncode != 0:
            self.skipTest(f"cannot mount: {mounted.stderr.strip()}")
        self.addCleanup(subprocess.run, ["umount", "-l", path], check=False)

    def require_last_good(self):
        """Expects the earlier checkpoint to be complete."""
        code, out, err = self.call(GANGWAY, "checkpoints", "verify", "faulty")
        self.assertEqual(code, 0, out + err)
        self.assertIn("step-", out)


class Disks(SaveFaults):
    """Rows 19 to 25 of the matrix, in one training. tests/checkpoint/crash_points_test.cpp has faults of each call."""

    def test_a_full_a_read_only_a_bad_and_a_hanging_disk_cost_checkpoints_alone(self):
        runs = self.folder / "runs"
        runs.mkdir()
        self.mount(runs, "-t", "tmpfs", "-o", "size=8m", "tmpfs")
        running = self.begin("layout.timeout_seconds=3", "checkpoint.keep=2", "output.pictures_kimg=5")
        self.fill(running, runs / "filler")
        self.forbid(running)
        self.fail_calls(running)
        self.let_a_file_hang(running)
        self.leave_while_a_manifest_hangs(running)
        running = self.begin("checkpoint.keep=2")
        self.require_undisturbed(running)

    def fill(self, running, filler):
        with open(filler, "wb", buffering=0) as file, self.assertRaises(OSError):
            while True:
                file.write(bytes(1 << 12))
        place = running.wait_for(r"^warn  checkpoint of step \d+ failed \(1 so far\), tried again soon: .*No space left on device; free some space")
        place = running.wait_for(r"^ALARM 3 checkpoints in a row could not be saved; what was trained since step \d+ is lost if "
                                 r"the run dies: .*No space left on device", place)
        self.require_last_good()
        filler.unlink()
        running.wait_for(SAVED, place)

    def forbid(self, running):
        folder = self.run_folder() / "checkpoints"
        self.mount(folder, "--bind", folder)
        place = len(running.said())
        subprocess.run(["mount", "-o", "remount,bind,ro", folder], check=True)
        place = running.wait_for(r"/checkpoints/\.tmp-step-[^ ]*: .*Read-only file system; choose a writable run directory", place)
        self.require_last_good()
        subprocess.run(["mount", "-o", "remount,bind,rw", folder], check=True)
        running.wait_for(SAVED, place)

    def fail_calls(self, running):
        for call, path in (("fsync", "/worker-0001-of-0002.safetensors$"), ("rename", r"/\.tmp-step-\d+-\w+$")):
            with self.subTest(call=call, path=path):
                place = len(running.said())
                self.order((call, errno.EIO, 1, path))
                place = running.wait_for(r"^(warn|ALARM) .*/checkpoints.*Input/output error", place)
                self.order()
                running.wait_for(SAVED, place)

    def let_a_file_hang(self, running):
        """No step waits for a hanging save, nor for a requested one."""
        self.hang(running, "fsync", "/worker-0001-of-0002.safetensors$")
        place = len(running.said())
        running.send(signal.SIGUSR2)
        place = running.wait_for(r"^ALARM checkpoint of step \d+ has waited \d+ s for the file of rank 2: the disk is slow or hangs; "
                                 r"training goes on, the newest on disk is of step \d+$", place)
        self.require_progress(running, ticks=10)
        self.require_last_good()
        self.order()
        running.wait_for(SAVED, place)

    def leave_while_a_manifest_hangs(self, running):
        self.hang(running, "fsync", "/manifest.json.tmp$")
        place = len(running.said())
        running.send(signal.SIGTERM)
        running.wait_for(r"^ALARM checkpoint of step \d+ has waited \d+ s for its manifest: the disk is slow or hangs", place)
        self.assertIsNone(running.process.poll())
        self.order()
        self.assertEqual(running.end(), 75, running.said())

    def test_a_job_that_fails_amid_a_save_leaves_nothing_of_it(self):
        running = self.begin()
        self.hang(running, "fsync", "/worker-0000-of-0002.safetensors$")
        ranks = json.loads((self.run_folder() / "placement.json").read_text())["ranks"]
        os.kill(ranks[2]["pid"], signal.SIGKILL)
        self.assertEqual(running.end(), WORKER_LOST, running.said())
        self.require_no_temporary()
        self.require_last_good()


class SlowDisks(SaveFaults):
    """Rows 24 and 25, to the end."""

    def test_no_step_waits_for_old_ones_to_go(self):
        running = self.begin("checkpoint.keep=1")
        self.hang(running, "unlink", r"/\.old-step-")
        self.require_progress(running, ticks=20)
        place = len(running.said())
        self.order()
        running.wait_for(SAVED, place)
        self.require_undisturbed(running)

    def test_a_file_system_that_answers_nobody_for_longer_than_the_timeout_ends_nothing(self):
        """Every write to the run directory hangs, also of logs and statistics."""
        runs = self.folder / "runs"
        runs.mkdir()
        image = self.folder / "image"
        with open(image, "wb") as file:
            file.truncate(128 << 20)
        subprocess.run(["mkfs.ext4", "-q", image], check=True)
        self.mount(runs, "-o", "loop", image)
        running = self.begin("layout.timeout_seconds=2")
        self.addCleanup(subprocess.run, ["fsfreeze", "--unfreeze", runs], capture_output=True)
        subprocess.run(["fsfreeze", "--freeze", runs], check=True)
        with self.assertRaises(subprocess.TimeoutExpired):
            running.process.wait(timeout=6)
        place = len(running.said())
        subprocess.run(["fsfreeze", "--unfreeze", runs], check=True)
        running.wait_for(SAVED, place)
        self.require_progress(running)
        self.require_undisturbed(running)

    def test_who_leaves_does_not_wait_for_a_dead_disk_for_ever(self):
        running = self.begin("layout.timeout_seconds=1")
        self.hang(running, "fsync", "/worker-0000-of-0002.safetensors$")
        running.send(signal.SIGTERM)
        self.assertEqual(running.end(), 6)
        self.assertRegex(running.said(), r"gangway: rank 1 .*: the disk of .* has taken no checkpoint data for 10 s: check it, "
                                         r"then start the same command again")
        self.order()
        self.require_last_good()
        running = self.begin()
        self.require_undisturbed(running)


if __name__ == "__main__":
    unittest.main()
