#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Run directories in which somebody has moved, mixed, linked and left things: the next start goes on from the newest checkpoint
that is whole, to the digest of an undisturbed training, and says in one line what it passed over (docs/fault-matrix.md).

    GANGWAY_BIN=build/release/bin restart_faults.py [unittest arguments]
"""
import ctypes
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "distributed"))
from train_command import EXAMPLES, GANGWAY, Trainings, environment  # noqa: E402

IMAGES_A_STEP = 96
JOB = [EXAMPLES / "ring8.yaml", "model.width=32", f"training.batch={IMAGES_A_STEP}", "training.microbatches=4",
       "output.pictures_kimg=0", "output.tick_kimg=0.96", "checkpoint.every_kimg=0", "checkpoint.every_steps=10",
       "checkpoint.keep=4"]


def length(steps):
    return f"training.kimg={steps * IMAGES_A_STEP / 1000}"


class Hash(ctypes.Structure):
    _fields_ = [("low", ctypes.c_uint64), ("high", ctypes.c_uint64)]


def sealed(text):
    """A manifest with the seal that its text wants: who can write a folder can do that."""
    library = ctypes.CDLL("libxxhash.so.0")
    library.XXH3_128bits.restype = Hash
    library.XXH3_128bits.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
    head, digits = re.fullmatch(r'(.*"seal_xxh3_128": ")([0-9a-f]{32}".*)', text, re.DOTALL).groups()
    found = library.XXH3_128bits((head + "0" * 32 + digits[32:]).encode(), len(text.encode()))
    return f"{head}{found.high:016x}{found.low:016x}{digits[32:]}"


class Restarts(Trainings):
    """Each test gets a run of 40 steps on two workers with checkpoints of steps 10, 20, 30 and 40."""

    @classmethod
    def setUpClass(cls):
        cls.template = Path(tempfile.mkdtemp(prefix="gangway-template-"))
        cls.addClassCleanup(shutil.rmtree, cls.template, ignore_errors=True)
        for run, steps, workers in (("faulty", 40, 2), ("whole", 50, 1)):
            words = [GANGWAY, "run", *JOB, length(steps), "-n", workers, "--run", run]
            subprocess.run([str(word) for word in words], cwd=cls.template, env=environment(), check=True,
                           stdout=subprocess.DEVNULL, timeout=cls.deadline)
        cls.whole = subprocess.run([GANGWAY, "digest", "whole"], cwd=cls.template, env=environment(), check=True, text=True,
                                   stdout=subprocess.PIPE).stdout.split()[0]

    def setUp(self):
        super().setUp()
        self.run_folder = self.folder / "runs" / "00000-faulty"
        shutil.copytree(self.template / "runs" / "00000-faulty", self.run_folder)
        self.checkpoints = self.run_folder / "checkpoints"
        self.newest = self.checkpoints / "step-000000040"
        self.assertTrue((self.newest / "manifest.json").exists())

    def worker(self, index, checkpoint=None):
        return (checkpoint or self.newest) / f"worker-{index:04}-of-0002.safetensors"

    def go_on(self, *words, workers=2):
        code, out, err = self.call(GANGWAY, "run", *JOB, length(50), "-n", workers, "--run", "faulty", *words)
        self.assertEqual(code, 0, out + err)
        return out

    def require_whole(self):
        self.assertEqual(self.digest("faulty"), self.whole)

    def require_older(self, expression):
        """The newest is passed over with a line, and saved anew; the damaged one is set aside."""
        out = self.go_on()
        self.assertRegex(out, rf"{expression}.*; going on from the older step-000000030\b")
        self.assertIn("resume step-000000030", out)
        self.require_whole()
        self.assertEqual(len(list(self.checkpoints.glob("damaged-step-000000040-*"))), 1)

    def edit_manifest(self, before, after):
        """An edit by somebody who knows how the seal is made."""
        path = self.newest / "manifest.json"
        text = path.read_text()
        self.assertTrue(before in text, before)
        path.write_text(sealed(text.replace(before, after, 1)))


class MovedFiles(Restarts):
    """Rows 28 and 29."""

    def test_a_missing_file_is_named(self):
        self.worker(1).unlink()
        self.require_older(r"step-000000040/worker-0001-of-0002\.safetensors: cannot be read: No such file or directory")

    def test_an_extra_file_is_named(self):
        shutil.copy(self.worker(1), self.newest / "worker-0002-of-0003.safetensors")
        self.require_older(r"step-000000040/worker-0002-of-0003\.safetensors: is not in the manifest")

    def test_swapped_files_are_named(self):
        self.worker(0).rename(self.newest / "x")
        self.worker(1).rename(self.worker(0))
        (self.newest / "x").rename(self.worker(1))
        self.require_older(r"step-000000040/worker-000[01]-of-0002\.safetensors: ")

    def test_a_file_of_another_step_is_named(self):
        shutil.copy(self.worker(0, self.checkpoints / "step-000000030"), self.worker(0))
        self.require_older(r"step-000000040/worker-0000-of-0002\.safetensors: says gangway\.step = 30, the manifest 40: "
                           r"a file of another checkpoint")


class Branches(Restarts):
    """Runs that begin with a checkpoint of another one, or with one that a rollback has put off their way."""

    def run_twig(self, *words, steps=50):
        return self.call(GANGWAY, "run", *JOB, length(steps), "-n", 1, "--run", "twig", *words)

    def test_what_a_run_was_before_it_branched_off_is_not_gone_on_with(self):
        code, out, err = self.run_twig(steps=10)
        self.assertEqual(code, 0, out + err)
        path = self.checkpoints / "step-000000030"
        running = self.start("run", *JOB, length(1_000_000), "-n", 1, "--run", "twig", "--resume", path,
                             "checkpoint.every_steps=0", "checkpoint.snapshot_steps=0")
        running.wait_for(r"^tick ")
        running.kill_all()
        code, out, err = self.run_twig()
        self.assertEqual(code, 5, out + err)
        self.assertRegex(err, rf"begun with checkpoint [0-9a-f]{{32}}, {path}, and has no valid checkpoint since: --resume with that path")
        code, out, err = self.run_twig("--resume", path)
        self.assertEqual(code, 0, out + err)
        self.assertEqual(self.digest("twig"), self.whole)
        code, out, err = self.run_twig(steps=60)
        self.assertEqual(code, 0, out + err)
        self.assertIn("resume step-000000050", out)

    def test_what_lies_behind_a_rollback_is_not_gone_on_with_in_the_same_run(self):
        code, out, err = self.run_twig(steps=40)
        self.assertEqual(code, 0, out + err)
        code, out, err = self.call(GANGWAY, "checkpoints", "pin", "twig@40")
        self.assertEqual(code, 0, out + err)
        # 25 steps of a start are the first with a median: any loss is too large beside it.
        code, out, err = self.run_twig("training.divergence.policy=rollback", "training.divergence.rewind=30",
                                       "training.divergence.retries=1", "training.divergence.loss_factor=1e-6", steps=70)
        self.assertEqual(code, 4, out + err)
        [abandoned] = (self.folder / "runs").glob("*-twig/checkpoints/abandoned-step-000000040-1")
        for checkpoint in abandoned.parent.glob("step-*"):
            if int(checkpoint.name[5:]) > 40:
                shutil.rmtree(checkpoint)
        code, out, err = self.run_twig("--resume", abandoned)
        self.assertEqual(code, 5, out + err)
        self.assertIn("lies behind a rollback of this run", err)


class OtherVersions(Restarts):
    """Row 35. That older formats load: tests/checkpoint/format_samples_test.cpp."""

    def test_a_newer_format_is_refused_with_the_remedy(self):
        self.edit_manifest('"format_version": 2', '"format_version": 3')
        self.require_older(r"step-000000040/manifest\.json: .*format.* 3.*: update gangway")

    def test_another_version_of_the_program_is_said(self):
        version = json.loads((self.newest / "manifest.json").read_text())["software"]["gangway"]
        self.edit_manifest(f'"gangway":"{version}"', '"gangway":"0.0.9"')
        out = self.go_on()
        self.assertIn(f"warn  gangway was 0.0.9 when the checkpoint was saved and is {version} now", out)
        self.assertIn("resume step-000000040", out)
        self.require_whole()

    def test_what_has_changed_in_the_job_is_said(self):
        out = self.go_on("generator.optimizer.adam.lr=0.002", "checkpoint.keep=3")
        self.assertIn("warn  the job has changed since step-000000040 was saved (generator.optimizer.adam.lr 0.002, was 0.001): "
                      "from here on it trains to other numbers", out)
        self.assertNotEqual(self.digest("faulty"), self.whole)


class Links(Restarts):
    """Row 36."""

    def test_links_in_the_place_of_checkpoints_and_files_are_refused(self):
        outside = self.folder / "outside"
        shutil.copytree(self.newest, outside)
        for name, target in (("step-000000099", outside), ("step-000000005", outside), ("latest", "/"),
                             (".old-step-000000006-0123456789abcdef", outside), (".tmp-step-000000007-0123456789abcdef", outside)):
            (self.checkpoints / name).symlink_to(target)
        (self.checkpoints / "LATEST").write_text("../../../../etc\n")
        self.worker(0).unlink()
        self.worker(0).symlink_to(outside / self.worker(0).name)
        before = sorted(path.name for path in outside.iterdir())
        out = self.go_on("checkpoint.keep=1")
        self.assertRegex(out, r"step-000000099: is a symbolic link, which is refused: name the folder itself; going on from the "
                              r"older step-000000030")
        self.assertRegex(out, r"step-000000040/worker-0000-of-0002\.safetensors: cannot be read: is a symbolic link, which is "
                              r"refused; going on from the older step-000000030")
        self.require_whole_of(out)
        self.assertEqual(sorted(path.name for path in outside.iterdir()), before, "something was removed through a link")

    def require_whole_of(self, out):
        """The link of step 99 stays in the way of those who want the newest: they say so and take the one before."""
        self.assertIn("resume step-000000030", out)
        (self.checkpoints / "step-000000099").unlink()
        self.require_whole()

    def test_a_manifest_that_points_out_of_its_folder_is_refused(self):
        shutil.copy(self.worker(0), self.folder / "x.safetensors")
        self.edit_manifest(self.worker(0).name, "../../../../x.safetensors")
        self.require_older(r"step-000000040/manifest\.json: .*x\.safetensors")

    def test_names_that_point_elsewhere_are_refused_by_every_command(self):
        keep = self.folder / "runs" / "keep"
        keep.write_text("")
        for words in (["run", *JOB, "--run", "../evil"], ["run", *JOB, "--run", ".."], ["digest", "faulty@../../x"],
                      ["checkpoints", "rm", "faulty@../.."], ["checkpoints", "rm", "--force", "faulty@.."],
                      ["checkpoints", "pin", "faulty@../../../x"]):
            with self.subTest(words=words[-1]):
                code, out, err = self.call(GANGWAY, *words)
                self.assertIn(code, (2, 5), out + err)
                self.assertEqual(len([line for line in err.splitlines() if line.startswith("gangway: ")]), 1, err)
        self.assertTrue(keep.exists())
        self.assertEqual(len(list(self.checkpoints.glob("step-*"))), 4)


class Leftovers(Restarts):
    """Row 31."""

    def owner(self, pid, start_ticks):
        return json.dumps({"host": socket.gethostname(), "boot_id": Path("/proc/sys/kernel/random/boot_id").read_text().strip(),
                           "pid_namespace": os.readlink("/proc/self/ns/pid"), "pid": pid, "start_ticks": start_ticks})

    def leave(self, name, owner):
        """A folder of a process that was killed when everything in it was written."""
        folder = self.checkpoints / name
        shutil.copytree(self.newest, folder)
        if owner:
            (folder / "owner.json").write_text(owner)
        return folder

    def test_what_dead_processes_left_is_removed_and_never_adopted(self):
        dead = [self.leave(".tmp-step-000000050-0123456789abcdef", self.owner(0x7FFFFFFF, 1)),
                self.leave(".tmp-step-000000060-0123456789abcdef", None),
                self.leave(".old-step-000000005-0123456789abcdef", None)]
        ticks = int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19])
        alive = self.leave(".tmp-step-000000070-0123456789abcdef", self.owner(os.getpid(), ticks))
        foreign = self.leave(".tmp-step-000000080-0123456789abcdef",
                             self.owner(1, 1).replace(socket.gethostname(), "another-host").replace('"boot_id": "', '"boot_id": "x'))
        (self.run_folder / "lock").write_text("pid 1 on another-host\n")
        (self.run_folder / "job.yaml.tmp").write_text("half")
        out = self.go_on()
        self.assertIn("resume step-000000040", out)
        self.require_whole()
        self.assertEqual([path.name for path in dead if path.exists()], [])
        self.assertTrue(alive.exists() and foreign.exists(), "not ours to remove")
        self.assertFalse((self.run_folder / "job.yaml.tmp").exists())


class TwoJobs(Trainings):
    """Row 32."""

    def test_of_two_starts_of_one_run_one_is_refused_and_the_other_goes_on(self):
        command = ["run", *JOB, length(10_000_000), "-n", 1, "--run", "shared"]
        self.train(*JOB, length(10), run="shared", workers=1)
        both = [self.start(*command, name=f"said{i}") for i in range(2)]
        refused = both[0].wait_until(lambda: [one for one in both if one.process.poll() is not None], "an end")[0]
        self.assertEqual(refused.end(), 6, refused.said())
        winner = both[1] if refused is both[0] else both[0]
        self.assertRegex(refused.said(), r"gangway: .*runs/00000-shared.* pid \d+")
        code, _, err = self.call("mpirun", "--oversubscribe", "--bind-to", "none", "-n", 2, GANGWAY, "train", *command[1:-4],
                                 "--run", "shared")
        self.assertNotEqual(code, 0)
        self.assertRegex(err, r"gangway: .*runs/00000-shared.* pid \d+")
        winner.wait_for(r"^ckpt   step-")
        winner.send(signal.SIGTERM)
        self.assertEqual(winner.end(), 75, winner.said())
        code, out, err = self.call(GANGWAY, "checkpoints", "verify", "shared")
        self.assertEqual(code, 0, out + err)


class Readers(Trainings):
    """Row 33."""

    def test_who_reads_while_old_ones_are_removed_gets_a_whole_one_or_a_line(self):
        running = self.start("run", *JOB, length(10_000_000), "-n", 1, "--run", "busy", "checkpoint.keep=1")
        running.wait_for(r"^ckpt   step-")
        codes = set()
        for _ in range(8):
            for words in (["digest", "busy"], ["checkpoints", "verify", "busy"], ["checkpoints", "ls", "busy"],
                          ["checkpoints", "show", "busy"]):
                code, out, err = self.call(GANGWAY, *words)
                self.assertEqual(code, 0, f"{words}: {out}{err}")
                self.assertEqual(err, "")
                self.assertNotIn("damaged", out)
            step = re.findall(r"^ckpt   step-(\d+)", running.said(), re.MULTILINE)[-1]
            code, out, err = self.call(GANGWAY, "digest", f"busy@{int(step)}")
            codes.add(code)
            if code != 0:
                self.assertEqual(code, 5, err)
                self.assertRegex(err, r"^gangway: [^\n]*\n$")
        running.send(signal.SIGTERM)
        self.assertEqual(running.end(), 75, running.said())


if __name__ == "__main__":
    unittest.main()
