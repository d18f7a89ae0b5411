#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Whole jobs under mpirun with a worker that trains nothing (fake_worker.cpp): how a run ends, whatever happens to it.

    distributed_test.py BIN_DIR FAKE_WORKER [unittest arguments]
"""
import contextlib
import json
import os
import random
import shlex
import signal
import socket
import subprocess
import sys
import time
import unittest
from pathlib import Path

from fake_job import DEADLINE, LONG, Job, environment


class Normal(Job):
    def test_runs_to_the_end_and_says_that_it_is_finished_when_started_again(self):
        code, out, err = self.run_job("-n", "2")
        self.assertEqual((code, err), (0, ""), out)
        self.assertEqual([line.split()[:2] for line in out.splitlines() if line.startswith("tick")],
                         [["tick", str(i)] for i in range(1, 5)])
        self.assertEqual(self.read("status.json")["exit_code"], 0)
        self.assertEqual(len((self.folder / "runs/00000-job/stats.jsonl").read_text().splitlines()), 4)
        code, out, err = self.run_job("-n", "2")
        self.assertEqual((code, err), (0, ""))
        self.assertIn("finished", out)
        self.assertFalse((self.folder / "runs/00001-job").exists())

    def test_goes_on_with_more_workers_and_reports_the_same_losses(self):
        self.assertEqual(self.run_job("-n", "1", "training.kimg=1.28")[0], 0)
        code, out, _ = self.run_job("-n", "3")
        self.assertEqual(code, 0)
        self.assertIn("resume step-000000020", out)
        resumed = [json.loads(line) for line in (self.folder / "runs/00000-job/stats.jsonl").read_text().splitlines()]
        self.assertEqual(self.run_job("-n", "4", "--run", "other")[0], 0)
        straight = [json.loads(line) for line in (self.folder / "runs/00001-other/stats.jsonl").read_text().splitlines()]
        for key in ("tick", "step", "generator_loss", "discriminator_loss"):
            self.assertEqual([tick[key] for tick in resumed], [tick[key] for tick in straight], key)

    def test_runs_under_a_bare_mpirun(self):
        run = subprocess.run(["mpirun", "--oversubscribe", "--bind-to", "none", "-n", "3", self.gangway, "train", "job.yaml"],
                             cwd=self.folder, env=environment(), capture_output=True, text=True, timeout=DEADLINE)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertEqual(self.read("status.json")["exit_code"], 0)


class Signals(Job):
    def test_sigusr1_saves_and_leaves_with_75_and_the_same_command_goes_on(self):
        process = self.start("-n", "2", LONG)
        self.wait_for_ticks()
        process.send_signal(signal.SIGUSR1)
        code, out, err = self.end(process)
        self.assertEqual((code, err), (75, ""), out)
        step = self.read("status.json")["reason"].split("step ")[1].split(":")[0]
        self.assertRegex(out, rf"ckpt   step-{int(step):09d}  2 files  [0-9.]+ MiB  written in [0-9.]+ s, [0-9]+ MB/s")
        code, out, _ = self.run_job("-n", "2", f"training.kimg={(int(step) + 10) * 0.064:.3f}")
        self.assertEqual(code, 0)
        self.assertIn(f"resume step-{int(step):09d}", out)

    def test_a_run_from_another_ones_checkpoint_goes_on_and_is_not_thrown_back(self):
        self.assertEqual(self.run_job("-n", "1", "training.kimg=0.64")[0], 0)
        from_path = ["--run", "branch", "--resume", "runs/00000-job"]
        process = self.start("-n", "2", LONG, *from_path)
        self.wait_for_ticks_after("resume step-000000010")
        process.send_signal(signal.SIGUSR1)
        code, out, _ = self.end(process)
        self.assertEqual(code, 75, out)
        reason = self.read("status.json", run="00001-branch")["reason"]
        self.assertIn("--resume auto --run 00001-branch", reason)
        step = int(reason.split("step ")[1].split(":")[0])
        code, _, err = self.run_job("-n", "2", LONG, *from_path)
        self.assertEqual(code, 5)
        for word in ("runs/00000-job", f"step-{step:09d}", "--resume auto", "another --run"):
            self.assertIn(word, self.one_line(err))
        again = shlex.split(reason.split("to go on: ")[1]) + [f"training.kimg={(step + 10) * 0.064:.3f}"]
        self.assertEqual(again[0], self.gangway)
        code, out, _ = self.run_job(*again[3:])
        self.assertEqual(code, 0)
        self.assertIn(f"resume step-{step:09d}", out)

    def test_sigterm_saves_and_leaves_with_75(self):
        process = self.start("-n", "2", LONG)
        self.wait_for_ticks()
        process.send_signal(signal.SIGTERM)
        self.assertEqual(self.end(process)[0], 75)

    def test_a_hangup_saves_and_leaves_with_75(self):
        process = self.start("-n", "1", LONG)
        self.wait_for_ticks()
        process.send_signal(signal.SIGHUP)
        self.assertEqual(self.end(process)[0], 75)

    def test_more_signals_at_any_moment_of_the_save_tear_nothing(self):
        for _ in range(6):
            process = self.start("-n", "2", LONG, worker="--step-ms 1")
            self.wait_for(self.folder / "out", "tick ")
            coordinator = self.pid_of(0)
            os.kill(coordinator, signal.SIGTERM)
            for number in random.choices((signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2), k=4):
                time.sleep(random.uniform(0.0, 0.01))  # the moment is what varies
                with contextlib.suppress(ProcessLookupError):
                    os.kill(coordinator, number)
            code, out, err = self.end(process)
            self.assertEqual((code, err), (75, ""), out)
            step = int(self.read("status.json")["reason"].split("step ")[1].split(":")[0])
            verified = subprocess.run([self.gangway, "checkpoints", "verify", "job"], cwd=self.folder, capture_output=True, text=True)
            self.assertEqual(verified.returncode, 0, verified.stdout)
            self.assertIn(f"step-{step:09d}  ok", verified.stdout)

    def test_sigusr2_saves_and_goes_on(self):
        process = self.start("-n", "2", LONG, "checkpoint.every_kimg=0")
        self.wait_for_ticks()
        process.send_signal(signal.SIGUSR2)
        self.wait_for(self.folder / "out", "ckpt   step-")
        self.assertIsNone(process.poll())
        process.send_signal(signal.SIGINT)
        self.assertEqual(self.end(process)[0], 75)

    def test_a_second_sigint_ends_at_once_with_130(self):
        process = self.start("-n", "1", LONG, worker="--step-ms 5 --hang-at 100")
        self.wait_for_ticks()
        self.wait_for(self.folder / "out", "tick 9 ")
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        self.wait_for(self.folder / "err", "again ends at once")
        process.send_signal(signal.SIGINT)
        self.assertEqual(self.end(process)[0], 130)

    def test_a_save_that_fails_on_leaving_is_143(self):
        process = self.start("-n", "2", LONG, "checkpoint.every_kimg=0", worker="--fail-saves")
        self.wait_for_ticks()
        process.send_signal(signal.SIGTERM)
        self.assertEqual(self.end(process)[0], 143)

    def test_a_save_that_fails_on_ctrl_c_is_130(self):
        process = self.start("-n", "2", LONG, "checkpoint.every_kimg=0", worker="--fail-saves")
        self.wait_for_ticks()
        process.send_signal(signal.SIGINT)
        self.assertEqual(self.end(process)[0], 130)


class Losses(Job):
    def test_a_killed_worker_ends_the_job_at_once_and_is_named(self):
        process = self.start("-n", "2", LONG)
        self.wait_for(self.folder / "out", "ckpt   step-0")  # there is something to go on from
        victim = self.pid_of(2)
        killed = time.monotonic()
        os.kill(victim, signal.SIGKILL)
        self.wait_for(self.folder / "err", "first failure")
        self.assertLess(time.monotonic() - killed, 30, "it is not layout.timeout_seconds, 60, that shows it")
        code, _, err = self.end(process)
        self.assertEqual(code, 3)
        line = self.one_line(err)
        for word in ("rank 2", socket.gethostname(), str(victim), "SIGKILL"):
            self.assertIn(word, line)
        error = self.read("error.json")
        self.assertEqual((error["rank"], error["pid"], error["job_exit_code"]), (2, victim, 3))
        self.assertIn("step-0", error["last_checkpoint"])
        self.assertIn("gangway run job.yaml", error["resume_command"])
        self.assertEqual(self.read("status.json")["exit_code"], 3)
        self.assertIn("go on", err)

    def test_a_crashed_worker_is_named_with_its_signal(self):
        process = self.start("-n", "2", LONG)
        self.wait_for_ticks()
        victim = self.pid_of(2)
        os.kill(victim, signal.SIGSEGV)
        code, _, err = self.end(process)
        self.assertEqual(code, 3)
        for word in ("rank 2", str(victim), "died of SIGSEGV"):
            self.assertIn(word, self.one_line(err))
        self.assertEqual(self.read("error.json")["signal"], "SIGSEGV")

    def test_a_worker_that_never_gets_ready_is_named(self):
        mpirun = ["mpirun", "--enable-recovery", "--oversubscribe", "--bind-to", "none", "-n", "3"]
        run = subprocess.run([*mpirun, self.gangway, "train", "job.yaml", "--start-deadline", "2"], cwd=self.folder,
                             env=environment(FAKE_WORKER_OPTIONS="--never-ready --only 2"), capture_output=True, text=True,
                             timeout=DEADLINE)
        line = self.one_line(run.stderr)
        self.assertIn("rank 2", line)
        self.assertIn("is not ready", line)
        self.assertEqual(self.read("status.json")["exit_code"], 3)

    def test_a_dead_coordinator_ends_the_workers_and_is_reported(self):
        process = self.start("-n", "2", LONG)
        self.wait_for_ticks()
        workers = [self.pid_of(1), self.pid_of(2)]
        os.kill(self.pid_of(0), signal.SIGKILL)
        code, _, err = self.end(process)
        self.assertEqual(code, 3)
        self.assertIn("coordinator", self.one_line(err))
        for pid in workers:
            self.assertFalse(Path(f"/proc/{pid}").exists())

    def test_a_dead_mpirun_is_reported(self):
        process = self.start("-n", "2", LONG)
        self.wait_for_ticks()
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        os.kill(int(children[0]), signal.SIGKILL)
        code, _, err = self.end(process)
        self.assertEqual(code, 3)
        self.assertIn("mpirun was killed by signal 9", self.one_line(err))

    def test_a_run_that_was_killed_a_moment_ago_can_be_started_again_at_once(self):
        process = self.start("-n", "2", LONG)
        self.wait_for_ticks()
        process.send_signal(signal.SIGKILL)
        process.wait()
        code, out, err = self.run_job("-n", "2", "training.kimg=0.64")
        self.assertEqual((code, err), (0, ""), out)


class Failures(Job):
    def test_a_loss_that_is_not_finite_is_4(self):
        code, _, err = self.run_job("-n", "2", worker="--diverge-at 15 --only 1")
        self.assertEqual(code, 4)
        self.assertIn("step 15", self.one_line(err))
        self.assertEqual(self.read("status.json")["exit_code"], 4)

    def test_a_worker_that_stops_gives_its_reason_and_code(self):
        code, _, err = self.run_job("-n", "2", worker="--stop-at 15 --only 2")
        self.assertEqual(code, 2)
        self.assertIn("the data ended", self.one_line(err))

    def test_saves_that_keep_failing_are_loud_and_train_to_the_end(self):
        code, out, err = self.run_job("-n", "2", worker="--fail-saves")
        self.assertEqual(code, 6)
        self.assertIn("warn  checkpoint of step 10 failed", out)
        self.assertIn("ALARM 3 checkpoints in a row", out)
        self.assertIn("the last checkpoint could not be saved", self.one_line(err))
        self.assertIn("tick 4 ", out)

    def test_scores_that_cannot_be_had_cost_warnings(self):
        code, out, err = self.run_job("-n", "2", "checkpoint.keep_best=1")  # beside these programs is no gangway-model
        self.assertEqual((code, err), (0, ""), out)
        self.assertIn("warn  the checkpoint of step 40 has got no score: ", out)
        self.assertIn("gangway-model cannot be started", out)

    def start_on_a_disk_that_fills_up(self):
        runs = self.folder / "runs"
        runs.mkdir()
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", runs], capture_output=True, text=True)
        if mounted.returncode != 0:
            self.skipTest(f"no tmpfs can be mounted: {mounted.stderr.strip()}")
        self.addCleanup(subprocess.run, ["umount", "-l", runs], check=False)
        process = self.start("-n", "2", LONG)
        self.wait_for_ticks()
        with open(runs / "filler", "wb", buffering=0) as filler, self.assertRaises(OSError):
            while True:
                filler.write(bytes(1 << 12))
        self.wait_for(self.folder / "out", "ALARM 3 checkpoints in a row")
        return process, runs

    def test_a_full_disk_does_not_stop_the_training_and_is_used_again_when_there_is_room(self):
        process, runs = self.start_on_a_disk_that_fills_up()
        (runs / "filler").unlink()
        alarm = (self.folder / "out").read_text().rindex("ALARM")
        end = time.monotonic() + DEADLINE
        while "ckpt   step-" not in (self.folder / "out").read_text()[alarm:]:
            self.assertLess(time.monotonic(), end, "no checkpoint was saved after there was room")
            time.sleep(0.01)
        process.send_signal(signal.SIGTERM)
        code, out, err = self.end(process)
        self.assertEqual(code, 75, out + err)
        self.assertEqual([path.name for path in runs.glob("*/checkpoints/.tmp-*")], [])

    def test_a_disk_that_is_full_to_the_last_byte_is_143_when_it_is_to_save_and_leave(self):
        process, runs = self.start_on_a_disk_that_fills_up()
        self.wait_for(self.folder / "out", "cannot be written")
        process.send_signal(signal.SIGTERM)
        code, out, err = self.end(process)
        self.assertEqual(code, 143, out + err)
        self.assertIn("No space left on device", self.one_line(err))
        # A discarded checkpoint may have made room for the small file: then that says it.
        if next(runs.glob("*/status.json"), None) is None:
            self.assertIn("the job's end could not be recorded, exit code 143", err)
        else:
            self.assertEqual(self.read("status.json")["exit_code"], 143)
        for what in ("stats.jsonl", "the TensorBoard file", "the log file"):
            self.assertLessEqual(out.count(f"warn  {what} cannot be written"), 1, out)
        self.assertIn("cannot be written", out)

    def test_more_workers_than_microbatches_is_2(self):
        code, _, err = self.run_job("-n", "5")
        self.assertEqual(code, 2)
        self.one_line(err)
        run = subprocess.run(["mpirun", "--oversubscribe", "--bind-to", "none", "-n", "6", self.gangway, "train", "job.yaml"],
                             cwd=self.folder, env=environment(), capture_output=True, text=True, timeout=DEADLINE)
        self.assertEqual(run.returncode, 2)
        self.assertIn("micro", self.one_line(run.stderr))

    def test_a_checkpoint_of_another_model_is_5(self):
        self.assertEqual(self.run_job("-n", "1", "training.kimg=0.64")[0], 0)
        code, _, err = self.run_job("-n", "1", "model.width=64")
        self.assertEqual(code, 5)
        self.assertIn("model.width 64, was 32", self.one_line(err))
        self.assertIn("width 64", self.one_line(err))
        self.assertEqual(self.read("status.json")["exit_code"], 5)

    def test_a_changed_job_goes_on_with_a_warning(self):
        self.assertEqual(self.run_job("-n", "1", "training.kimg=0.64")[0], 0)
        code, out, _ = self.run_job("-n", "1", "training.kimg=1.28", "generator.optimizer.adam.lr=1e-3")
        self.assertEqual(code, 0)
        self.assertIn("warn  the job has changed", out)

    def test_a_damaged_checkpoint_is_passed_over_with_a_line(self):
        self.assertEqual(self.run_job("-n", "1", "training.kimg=1.28")[0], 0)
        part = self.folder / "runs/00000-job/checkpoints/step-000000020/worker-0000-of-0001.safetensors"
        part.write_bytes(part.read_bytes()[:-1] + b"\x7f")
        code, out, _ = self.run_job("-n", "1", "training.kimg=1.28")
        self.assertEqual(code, 0)
        self.assertIn("resume step-000000010", out)
        self.assertIn("step-000000020", out)

    def test_no_checkpoint_where_one_must_be_is_5(self):
        self.assertEqual(self.run_job("--resume", "must")[0], 5)

    def test_a_port_in_use_is_6(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            port = taken.getsockname()[1]
            code, _, err = self.run_job("-n", "1", "--lifeline-port", str(port))
        self.assertEqual(code, 6)
        # The ranks' tethers take the next port, and another process may happen to hold that one.
        self.assertRegex(self.one_line(err), f"port ({port}|{port + 1}) ")

    def test_without_mpirun_inside_a_slurm_like_environment_is_6(self):
        for variables in ({"SLURM_NTASKS": "3", "SLURM_PROCID": "0"}, {"SLURM_NTASKS": "3", "SLURM_PROCID": "0", "PMIX_RANK": "0"},
                          {}):
            run = subprocess.run([self.gangway, "train", "job.yaml"], cwd=self.folder, env=environment(**variables),
                                 capture_output=True, text=True, timeout=DEADLINE)
            self.assertEqual(run.returncode, 6, run.stderr)
            self.assertTrue("mpirun" in run.stderr or "srun" in run.stderr)

    def test_a_run_in_use_is_6(self):
        process = self.start("-n", "1", LONG)
        self.wait_for_ticks()
        (self.folder / "out").rename(self.folder / "first-out")
        run = subprocess.run([self.gangway, "run", "job.yaml", LONG], cwd=self.folder, env=environment(), capture_output=True,
                             text=True, timeout=DEADLINE)
        self.assertEqual(run.returncode, 6)
        self.assertIn(str(self.pid_of(0)), self.one_line(run.stderr))
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(timeout=DEADLINE), 75)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
