#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Run directories with moved, mixed, linked and leftover files. The next start resumes from the newest complete checkpoint,
to the digest of an undisturbed training, and names skipped ones in one line (docs/going-on.md).

    GANGWAY_BIN=build/release/bin restart_faults.py [unittest arguments]
"""
import json
import os
import re
import shutil
import signal
import socket
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "distributed"))
from train_command import EXAMPLES, GANGWAY, Trainings  # noqa: E402

IMAGES_A_STEP = 96
JOB = [EXAMPLES / "ring8.yaml", "model.width=32", f"training.batch={IMAGES_A_STEP}", "training.microbatches=4",
       "output.pictures_kimg=0", "output.tick_kimg=0.96", "checkpoint.every_kimg=0", "checkpoint.every_steps=10",
       "checkpoint.keep=4"]


def length(steps):
    return f"training.kimg={steps * IMAGES_A_STEP / 1000}"


class Restarts(Trainings):
    def setUp(self):
        super().setUp()
        self.checkpoints = self.folder / "runs" / "00000-faulty" / "checkpoints"
        self.newest = self.checkpoints / "step-000000040"

    def worker(self, index):
        return self.newest / f"worker-{index:04}-of-0002.safetensors"

    def owner(self, pid, start_ticks):
        return json.dumps({"host": socket.gethostname(), "boot_id": Path("/proc/sys/kernel/random/boot_id").read_text().strip(),
                           "pid_namespace": os.readlink("/proc/self/ns/pid"), "pid": pid, "start_ticks": start_ticks})

    def leave(self, name, owner):
        """Makes a folder of a process that was killed after it had written everything."""
        folder = self.checkpoints / name
        shutil.copytree(self.newest, folder)
        if owner:
            (folder / "owner.json").write_text(owner)
        return folder

    def test_what_lies_in_the_way_is_passed_over_and_what_the_dead_left_is_removed(self):
        """Rows 28, 31 and 36: two files swapped, links, folders of dead and living processes, half a file."""
        self.train(*JOB, length(40), run="faulty", workers=2)
        self.refuse_names_that_point_elsewhere()
        outside = self.folder / "outside"
        shutil.copytree(self.newest, outside)
        for name, target in (("step-000000099", outside), ("step-000000005", outside), ("latest", "/"),
                             (".old-step-000000006-0123456789abcdef", outside), (".tmp-step-000000007-0123456789abcdef", outside)):
            (self.checkpoints / name).symlink_to(target)
        dead = [self.leave(".tmp-step-000000050-0123456789abcdef", self.owner(0x7FFFFFFF, 1)),
                self.leave(".tmp-step-000000060-0123456789abcdef", None),
                self.leave(".old-step-000000005-0123456789abcdef", None)]
        ticks = int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19])
        alive = self.leave(".tmp-step-000000070-0123456789abcdef", self.owner(os.getpid(), ticks))
        foreign = self.leave(".tmp-step-000000080-0123456789abcdef",
                             self.owner(1, 1).replace(socket.gethostname(), "another-host").replace('"boot_id": "', '"boot_id": "x'))
        (self.checkpoints.parent / "lock").write_text("pid 1 on another-host\n")
        (self.checkpoints.parent / "job.yaml.tmp").write_text("half")
        self.worker(0).rename(self.newest / "x")
        self.worker(1).rename(self.worker(0))
        (self.newest / "x").rename(self.worker(1))
        before = sorted(path.name for path in outside.iterdir())

        code, out, err = self.call(GANGWAY, "run", *JOB, length(50), "-n", 2, "--run", "faulty", "checkpoint.keep=1")
        self.assertEqual(code, 0, out + err)
        self.assertRegex(out, r"step-000000099: is a symbolic link, which is refused: name the folder itself; resuming from the "
                              r"older step-000000030\n")
        self.assertRegex(out, r"step-000000040/worker-000[01]-of-0002\.safetensors: .*; resuming from the older step-000000030\n")
        self.assertIn("resume step-000000030", out)
        (self.checkpoints / "step-000000099").unlink()  # readers would meet it, too
        self.assertEqual(self.digest("faulty"), self.digest_alone(*JOB, length(50)))
        self.assertEqual(len(list(self.checkpoints.glob("damaged-step-000000040-*"))), 1)
        self.assertEqual(sorted(path.name for path in outside.iterdir()), before, "something was removed through a link")
        self.assertEqual([path.name for path in dead if path.exists()], [])
        self.assertTrue(alive.exists() and foreign.exists(), "not ours to remove")
        self.assertFalse((self.checkpoints.parent / "job.yaml.tmp").exists())

    def refuse_names_that_point_elsewhere(self):
        for words in (["run", *JOB, "--run", "../evil"], ["digest", "faulty@../../x"], ["checkpoints", "rm", "--force", "faulty@.."],
                      ["checkpoints", "pin", "faulty@../../../x"]):
            with self.subTest(words=words[-1]):
                code, out, err = self.call(GANGWAY, *words)
                self.assertIn(code, (2, 5), out + err)
                self.assertEqual(len([line for line in err.splitlines() if line.startswith("gangway: ")]), 1, err)
        self.assertEqual(len(list(self.checkpoints.glob("step-*"))), 4)

    def run_twig(self, *words, steps):
        return self.call(GANGWAY, "run", *JOB, length(steps), "-n", 1, "--run", "twig", *words)

    def test_what_lies_behind_a_rollback_is_not_gone_on_with_in_the_same_run(self):
        code, out, err = self.run_twig(steps=40)
        self.assertEqual(code, 0, out + err)
        code, out, err = self.call(GANGWAY, "checkpoints", "pin", "twig@40")
        self.assertEqual(code, 0, out + err)
        # A median needs 25 steps of a start. Every loss is too large compared with it.
        code, out, err = self.run_twig("training.divergence.policy=rollback", "training.divergence.rewind=30",
                                       "training.divergence.retries=1", "training.divergence.loss_factor=1e-6", steps=70)
        self.assertEqual(code, 4, out + err)
        [abandoned] = (self.folder / "runs").glob("*-twig/checkpoints/abandoned-step-000000040-1")
        for checkpoint in abandoned.parent.glob("step-*"):
            if int(checkpoint.name[5:]) > 40:
                shutil.rmtree(checkpoint)
        code, out, err = self.run_twig("--resume", abandoned, steps=70)
        self.assertEqual(code, 5, out + err)
        self.assertIn("lies behind a rollback of this run", err)

    def test_who_reads_while_old_ones_are_removed_gets_a_whole_one_or_a_line(self):
        """Rows 32 and 33."""
        running = self.start("run", *JOB, length(10_000_000), "-n", 1, "--run", "busy", "checkpoint.keep=1")
        running.wait_for(r"^ckpt   step-")
        code, out, err = self.call(GANGWAY, "run", *JOB, "-n", 1, "--run", "busy")  # row 32
        self.assertEqual(code, 6, out + err)
        self.assertRegex(err, r"-busy: in use by pid \d+ on ")
        for _ in range(2):
            for words in (["digest", "busy"], ["checkpoints", "verify", "busy"], ["checkpoints", "ls", "busy"],
                          ["checkpoints", "show", "busy"]):
                code, out, err = self.call(GANGWAY, *words)
                self.assertEqual(code, 0, f"{words}: {out}{err}")
                self.assertEqual(err, "")
                self.assertNotIn("damaged", out)
            step = re.findall(r"^ckpt   step-(\d+)", running.said(), re.MULTILINE)[-1]
            code, out, err = self.call(GANGWAY, "digest", f"busy@{int(step)}")
            if code != 0:
                self.assertEqual(code, 5, err)
                self.assertRegex(err, r"^gangway: [^\n]*\n$")
        running.send(signal.SIGTERM)
        self.assertEqual(running.end(), 75, running.said())


if __name__ == "__main__":
    unittest.main()
