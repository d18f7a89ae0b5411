#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests `gangway replay`: stretches, output, leftovers. tests/distributed/replay.py runs it.

    GANGWAY_BIN=build/release/bin replay_test.py [unittest arguments]
"""
import contextlib
import fcntl
import io
import itertools
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "share/python"
sys.path.insert(0, str(PACKAGE))
from gangway import Failed  # noqa: E402
from gangway.tools import measured, recorded  # noqa: E402
from gangway.tools.measured import Output, scratch_folder  # noqa: E402
from gangway.tools.replay import Stretch, command, drawn_stretches, mt19937_64, replay, stretches_between  # noqa: E402

KEPT = Path(__file__).parent / "replay"
SAVED = [20, 40, 60, 80]
DEADLINE = 30  # seconds


def told(name):
    return (KEPT / name).read_text()


class Stretches(unittest.TestCase):
    def test_go_from_each_checkpoint_to_the_next(self):
        self.assertEqual(stretches_between(SAVED), [Stretch(20, 40), Stretch(40, 60), Stretch(60, 80)])
        self.assertEqual(stretches_between(SAVED, 40, 60), [Stretch(40, 60)])

    def test_begin_with_the_job_where_that_is_asked_for(self):
        self.assertEqual(stretches_between(SAVED, 0, 40), [Stretch(0, 20), Stretch(20, 40)])
        self.assertEqual(stretches_between(SAVED[:1], 0), [Stretch(0, 20)])

    def test_end_only_where_there_is_something_to_compare_with(self):
        for steps, first, last, says in ((SAVED, 30, None, "--from 30: there is no sound checkpoint of that step; there are 20, 40, 60, 80"),
                                         (SAVED, None, 90, "--to 90: there is no sound checkpoint"), (SAVED, 60, 60, "a replay goes forward"),
                                         (SAVED, None, 0, "--to 0: there is no sound checkpoint"), (SAVED, 60, 20, "a replay goes forward"),
                                         ([], None, None, "no sound checkpoint"), (SAVED[:1], None, None, "--from 0")):
            with self.subTest(says=says), self.assertRaisesRegex(Failed, re.escape(says)):
                stretches_between(steps, first, last)

    def test_that_are_drawn_keep_their_order_and_follow_from_the_seed(self):
        every, seen = stretches_between(SAVED, 0), set()
        for seed in range(32):
            drawn = drawn_stretches(every, 2, seed)
            self.assertEqual((len(drawn), drawn), (2, sorted(drawn)))
            self.assertEqual(drawn, drawn_stretches(every, 2, seed))
            seen.update(drawn)
        self.assertEqual(seen, set(every))
        self.assertEqual(drawn_stretches(every, 9, 0), every)

    def test_are_drawn_as_the_command_in_c_plus_plus_drew_them(self):
        self.assertEqual(next(itertools.islice(mt19937_64(5489), 9999, None)), 9981545732273789042)  # ISO C++, [rand.predef]
        of_three = stretches_between([20, 40, 60], 0)
        self.assertEqual([drawn_stretches(of_three, 1, seed)[0].first for seed in (1, 2, 3, 4, 5, 2**64 - 1)], [20, 20, 0, 40, 40, 20])


class RecordedRun(unittest.TestCase):
    """Has a run directory, and programs that answer as those of release 0.1 did for the stored texts."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="gangway-test-")
        self.addCleanup(folder.cleanup)
        self.runs = Path(folder.name) / "runs"
        self.run_folder = self.runs / "00003-toy"
        (self.runs / "00002-toy").mkdir(parents=True)
        for step, job, arithmetic in ((20, "one", "a"), (40, "other", "a"), (60, "other", "b")):
            self.save(self.run_folder, step, job, arithmetic)
        (self.run_folder / "status.json").write_text('{"exit_code": 0}')
        self.damage, self.digests, self.commands, self.run_code = {}, {}, [], 0
        for name, answer in (("recorded.output_of", self.answer), ("replay.output_of", self.answer), ("replay.prepared", self.prepared)):
            patch = mock.patch(f"gangway.tools.{name}", answer)
            patch.start()
            self.addCleanup(patch.stop)

    def save(self, run, step, job, arithmetic):
        checkpoint = run / f"checkpoints/step-{step:09}"
        checkpoint.mkdir(parents=True)
        (checkpoint / "manifest.json").write_text(json.dumps({"job_yaml": "a job", "job_fingerprint": job,
                                                              "software": {"arithmetic": arithmetic}}))

    def prepared(self, checkpoint, keys=(), environment=None):
        return {"fingerprint": "seed" if "training.seed=1" in keys else "", "networks": [{"name": "generator"}, {"name": "discriminator"}]}

    def answer(self, words, environment, insists=True):
        words = words[1:]
        self.commands.append(words)
        if words[:2] == ["checkpoints", "ls"]:
            rows = [f"{step:>4}   7.7  in the future  953.4 kB      1  {self.damage.get(step, 'pinned, complete, fid 3.1 best')}\n"
                    for step in (60, 40, 20)]
            return Output(0, "step  kimg            age      size  files  status\n" + "".join(rows))
        if words[0] == "run":
            self.save(Path(words[words.index("--outdir") + 1]) / "00000-replay", 40, "other", "b")
            return Output(self.run_code, "tick 1\ngangway: one\ngangway: two\n" if self.run_code else "done\n")
        if words[0] == "digest":
            return Output(0, self.digests["-replay@" in words[1], int(words[1].rpartition("@")[2])])
        self.assertEqual(words[:2], ["checkpoints", "diff"])
        return Output(1, "discriminator/1/weight: 1 of 16384 elements differ, by 3.73e-09 at most\n1 tensor differs\n")

    def carried_out(self, *words):
        """Returns the command's output with the line of a failure, in the stored texts' form, and its exit code."""
        said, code, end = io.StringIO(), 0, ""
        with contextlib.redirect_stdout(said):
            try:
                command([str(word) for word in words])
            except Failed as error:
                code, end = error.code, f"gangway: {error.line}\n"
        text = (said.getvalue() + end).replace(str(self.run_folder), "RUN")
        return re.sub(r"in \d+\.\d s", "in T s", text), code

    def test_that_is_proven_is_told_as_by_the_command_in_c_plus_plus(self):
        self.damage[40] = f"damaged: {self.run_folder}/checkpoints/step-000000040/manifest.json: cannot be read: No such file or directory"
        self.digests = {(again, 60): "65ae099e01f7fa1e0df2b77eacbe748a\n" for again in (False, True)}
        self.assertEqual(self.carried_out("toy", "--outdir", self.runs), (told("proven.txt"), 0))

    def test_that_differs_is_told_as_by_the_command_in_c_plus_plus(self):
        self.digests = {(False, 40): "dc354ea0aefb8f99d3b3a59b2c59fdba\n"
                                     "note   declared inexact (inexact=wire): it may depend on which worker computed what\n",
                        (True, 40): "cedc3909e8e1b1f8e7c853ce929d4c0b\n"}
        self.assertEqual(self.carried_out(self.run_folder), (told("different.txt"), 1))

    def test_is_trained_again_in_its_layout_or_with_all_networks_on_each_worker(self):
        self.digests = {(again, step): "0\n" for again in (False, True) for step in SAVED}
        proven = replay(self.run_folder, ["output.grid=4"], first=0, last=40)
        self.assertEqual([(proof.stretch, proof.is_same) for proof in proven.proofs], [((0, 20), True), ((20, 40), True)])
        from_start, from_checkpoint = [words for words in self.commands if words[0] == "run"]
        self.assertEqual(from_start[from_start.index("--resume") + 1], "never")
        self.assertEqual(from_checkpoint[from_checkpoint.index("--resume") + 1], f"{self.run_folder}/checkpoints/step-000000020")
        self.assertNotIn("-n", from_start)
        self.assertNotIn("layout.stages=1", from_start)
        replay(self.run_folder, first=40, workers=3)
        grouped = self.commands[-3]
        self.assertEqual(grouped[grouped.index("-n") + 1], "3")
        self.assertTrue({"layout.stages=1", "~layout.generator", "~layout.cuts.discriminator", "layout.shares=auto"} <= set(grouped))

    def test_is_refused_where_it_cannot_be_repeated(self):
        for words, says, code in (([f"{self.run_folder}@40"], "a replay has two ends: leave @40 out", 2),
                                  (["toy@x"], "'toy@x': after @ comes the step of a checkpoint, as in toy@120", 2),
                                  (["toy", "--outdir", self.runs, "training.seed=1"], "a replay trains the recorded job", 2),
                                  (["nowhere"], "no run 'nowhere': it is neither a directory nor the name of a run in runs (--outdir)", 2)):
            with self.subTest(words=words):
                text, got = self.carried_out(*words)
                self.assertIn(says, text)
                self.assertEqual((got, len(text.splitlines())), (code, 1))
        self.run_code = 3
        self.assertEqual(self.carried_out(self.run_folder), ("gangway: steps 20 to 40 could not be trained again: two\n", 3))

    def test_is_refused_while_it_is_under_way(self):
        (self.run_folder / "lock").touch()
        with open(self.run_folder / "lock") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            self.assertFalse(recorded.is_under_way(self.run_folder))  # status.json has its end
            (self.run_folder / "status.json").unlink()
            self.assertIn("is under way", self.carried_out(self.run_folder)[0])
        self.assertFalse(recorded.is_under_way(self.run_folder))

    def test_is_found_by_its_path_and_by_its_name(self):
        for run, found in (("toy", "00003-toy"), ("00002-toy", "00002-toy")):
            self.assertEqual(recorded.run_folder(run, str(self.runs)), str(self.runs / found))
        os.symlink(self.run_folder, self.runs / "link")
        self.assertEqual(recorded.run_folder(f"{self.runs}/link/"), f"{self.runs}/link/")


class CommandLine(unittest.TestCase):
    def test_says_in_one_line_what_is_wrong(self):
        for words, says in ((["nowhere"], "no run 'nowhere'"), (["nowhere", "-n", "0"], "0 is not in the range 1 to"), ([], "RUN"),
                            (["nowhere", "--form", "3"], "--form"), (["nowhere", "--seed", "-1"], "-1 is not in the range 0 to")):
            with self.subTest(words=words):
                done = subprocess.run([sys.executable, "-m", "gangway.tools", "replay", *words], capture_output=True, text=True,
                                      env={**os.environ, "PYTHONPATH": str(PACKAGE)})
                self.assertEqual((done.returncode, done.stdout, len(done.stderr.splitlines())), (2, "", 1), done.stderr)
                self.assertTrue(done.stderr.startswith("gangway: "), done.stderr)
                self.assertIn(says, done.stderr)


class ScratchFolders(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="gangway-test-")
        self.addCleanup(folder.cleanup)
        self.parent = Path(folder.name)

    def test_are_gone_with_their_command_at_a_signal(self):
        program = ("import os, sys\nfrom gangway.tools.measured import output_of, scratch_folder\n"
                   "with scratch_folder(sys.argv[1]) as folder:\n"
                   "    output_of(['sh', '-c', 'echo $$ > {0}/part; mv {0}/part {0}/pid; exec sleep 60'.format(folder)], dict(os.environ), "
                   "insists=False)\n")
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            process = subprocess.Popen([sys.executable, "-c", program, str(self.parent)], stderr=subprocess.PIPE, text=True,
                                       env={**os.environ, "PYTHONPATH": str(PACKAGE)})
            end = time.monotonic() + DEADLINE
            while not (begun := [*self.parent.glob("*/files/pid")]) and time.monotonic() < end:
                time.sleep(0.01)
            pid = int(begun[0].read_text())
            process.send_signal(number)
            said = process.communicate(timeout=DEADLINE)[1]
            self.assertIn("stopped by a signal; nothing is left behind", said)
            self.assertEqual([*self.parent.iterdir()], [])
            self.assertFalse(Path(f"/proc/{pid}").exists())

    def test_tell_of_a_signal_that_comes_between_commands(self):
        with self.assertRaises(Failed) as failed, scratch_folder(str(self.parent)):
            os.kill(os.getpid(), signal.SIGTERM)
        self.assertEqual(failed.exception.code, 128 + signal.SIGTERM)
        self.assertEqual([*self.parent.iterdir()], [])

    def test_of_killed_owners_are_removed_when_the_next_is_made(self):
        old, young = self.parent / f"{measured.SCRATCH}old", self.parent / f"{measured.SCRATCH}young"
        for folder in (old, young):
            (folder / "files/runs").mkdir(parents=True)
        os.utime(old, (0, 0))
        with scratch_folder(str(self.parent)) as own:
            os.utime(own.parent, (0, 0))
            self.assertEqual({*self.parent.iterdir()}, {young, own.parent})
            with scratch_folder(str(self.parent)):
                self.assertTrue(own.exists())  # its process is alive


if __name__ == "__main__":
    unittest.main()
