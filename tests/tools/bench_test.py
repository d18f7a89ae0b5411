#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests `gangway bench`. tests/bench and tests/distributed/measuring.py have whole benchmarks.

    GANGWAY_BIN=build/release/bin bench_test.py [unittest arguments]
"""
import contextlib
import io
import json
import os
import subprocess
import sys
import tempfile
import threading
import unittest
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "share/python"
sys.path.insert(0, str(PACKAGE))
from gangway import Failed  # noqa: E402
from gangway.tools import bench, measured, trials  # noqa: E402
from gangway.tools.bench import allreduce, checkpoint, job, node, overlap, page, recovery, state  # noqa: E402
from gangway.tools.measured import MeasuredRun, OutOfTime, Output, StepFigures, output_of, time_limit  # noqa: E402

KEPT = Path(__file__).parent / "bench"
DEADLINE = 30  # seconds


def lines(*ticks):
    return "".join(f"{json.dumps(tick)}\n" for tick in ticks)


class Overlaps(unittest.TestCase):
    def table(self, rows, compute, rate=0.0, hosts=1):
        return overlap.text_of(overlap.Overlap([overlap.Row(*row[:2], [StepFigures(*row[2:])]) for row in rows], compute, rate, hosts))

    def test_say_what_is_hidden_and_how_near_the_bound_is(self):
        text = self.table([("mpi", "none", 0.2, 0.1, 2e6), ("mpi", "across", 0.125, 0.025, 2e6)], 0.1, 1e7, 2)
        self.assertRegex(text, "mpi +none +200.00 +200.00 +100.00 +- +100.00 +100.00 +50 %")
        self.assertRegex(text, "mpi +across +125.00 +125.00 +25.00 +75 % +100.00 +100.00 +80 %")

    def test_take_the_wire_where_it_is_the_larger(self):
        row = ("mpi", "across", 0.5, 0.0, 4e6)
        self.assertRegex(self.table([row], 0.1, 1e7), "- +100.00 +400.00 +80 %")
        self.assertRegex(self.table([row], None), "- +0.00 +0.00 +0 %")

    def test_read_rates_in_powers_of_ten(self):
        self.assertEqual([overlap.rate_of(text) for text in ("1gbit", "100mbit", "64kbit")], [1.25e8, 1.25e7, 8e3])
        for text in ("", "1", "gbit", "0gbit", "1 gbit", "1GB", "-1gbit"):
            with self.assertRaises(Failed):
                overlap.rate_of(text)

    def test_count_the_hosts_that_workers_fill(self):
        with tempfile.NamedTemporaryFile("w") as file:
            file.write("# mine\na slots = 2\nb slots=1  # two\nb\n\nc\n")
            file.flush()
            self.assertEqual([overlap.used_hosts(file.name, workers) for workers in (1, 2, 3, 4, 5, 9)], [1, 1, 2, 2, 3, 3])


def saving_tick(step, seconds, waited, held=0.0, saves=()):
    return {"step": step, "seconds_tick": seconds, "exposed_percent": 100 * waited / seconds, "snapshots": int(held > 0),
            "snapshot_seconds": 2 * held, "snapshot_wait_seconds": held, "checkpoints": list(saves)}


class Checkpoints(unittest.TestCase):
    # A step of 100 ms waits 10 ms; the snapshot of step 4 is reported with step 5.
    STATS = lines(saving_tick(1, 9, 5), saving_tick(2, 0.1, 0.01), saving_tick(3, 0.1, 0.01), saving_tick(4, 0.102, 0.011),
                  saving_tick(5, 0.104, 0.013, 0.008), saving_tick(6, 0.1, 0.01, saves=[{"step": 4, "seconds": 0.5, "mib": 2}]),
                  saving_tick(7, 0.1, 0.01))

    def setUp(self):
        run = checkpoint.TrainedRun(100, 10, 0.1, checkpoint.Stalls([0.01, 0.03], [0, 0.005], [0.02, 0.02], [0.02, 0.04]), [(0.1, 50e6)])
        times = {"plain_copy": 0.004, "snapshot": 0.006, "plain_write": 0.05, "save": 0.1, "plain_read": 0.04, "load": 0.05}
        self.costs = checkpoint.Costs(50_000_000, 100, 50, [run, run], [run._replace(seconds=9.9), run._replace(seconds=9.8)], [times],
                                      {"the rival": [0.1, 0.2]})

    def test_set_the_steps_around_a_snapshot_against_the_others(self):
        run = checkpoint.trained_run(self.STATS, 1)
        self.assertEqual((run.steps, round(run.seconds, 9), round(run.step_seconds, 9)), (6, 0.606, 0.1))
        self.assertEqual([[round(one, 9) for one in stalls] for stalls in run.stalls], [[0.008], [0.004], [0.006], [0.016]])
        self.assertEqual(run.saves, [(0.5, 2 << 20)])

    def test_refuse_a_run_that_is_too_short_and_a_line_that_is_no_tick(self):
        for stats, warmup in ((self.STATS, 7), ('{"step": 4}\n', 0), ("not JSON\n", 0), ("[]\n", 0)):
            with self.assertRaises(Failed):
                checkpoint.trained_run(stats, warmup)

    def test_have_percentiles_and_shares_of_the_time(self):
        text = checkpoint.stall_table(self.costs)
        for row in ("updates waited for the copy +4 +10.00 +30.00 +30.00 +0.400 %", "compute waited more +4 +0.00 +5.00 +5.00 +0.050 %",
                    "lane copied, beside +4 +20.00 +40.00", "memcpy, no training +1 +4.00 +4.00 +4.00 +-",
                    "copy and hash, no training +1 +6.00", "the rival +2 +100.00 +200.00"):
            self.assertRegex(text, row)
        none = self.costs._replace(runs=[self.costs.runs[0]._replace(stalls=checkpoint.Stalls([], [], [], []))])
        self.assertRegex(checkpoint.stall_table(none), "updates waited for the copy +0 +- +- +- +-")

    def test_compare_the_turns_of_one_round(self):
        self.assertEqual(checkpoint.speed_line(self.costs), "steps/s 10.000 with a checkpoint every 50 steps, 10.101 without: ratio 0.9800 "
                                                            "(minimum 0.9800) of 2 rounds")

    def test_set_the_store_against_the_disk(self):
        self.assertEqual(checkpoint.store_table(self.costs), "disk                                     MB/s  of the limit\n"
                         "---------------------------  ----------------  ------------\n"
                         "plain direct writes, synced  1000 (1000-1000)             -\n"
                         "save, no training               500 (500-500)  50 % (50-50)\n"
                         "save behind the training        500 (500-500)          50 %\n"
                         "plain direct reads           1250 (1250-1250)             -\n"
                         "load, every chunk verified   1000 (1000-1000)  80 % (80-80)\n")

    def test_collect_rivals_by_their_names(self):
        rows = {}
        checkpoint.add_rivals(lines({"row": "a", "stalls": [0.1]}, {"row": "b", "stalls": []}), rows)
        checkpoint.add_rivals(lines({"row": "a", "stalls": [0.2]}), rows)
        self.assertEqual(rows, {"a": [0.1, 0.2], "b": []})
        for line in ("Traceback\n", lines({"row": 1, "stalls": []}), "[]\n"):
            with self.assertRaises(Failed):
                checkpoint.add_rivals(line, rows)

    def test_have_the_size_asked_for(self):
        for megabytes in (1, 50, 500, 5000):
            model = state.model_of(megabytes)
            self.assertLess(abs(model.state_bytes / (megabytes * 1e6) - 1.015), 0.015 + 0.1 / megabytes)
            self.assertGreaterEqual(model.batch, 2)

    def test_take_percentiles_by_nearest_rank(self):
        self.assertEqual([state.percentile([3, 1, 2], p) for p in (1, 50, 99)], [1, 2, 3])
        self.assertEqual(state.percentile([7], 50), 7)


class Watched(unittest.TestCase):
    """Tests a run directory whose lines appear when the test writes them."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="gangway-test-")
        self.addCleanup(folder.cleanup)
        self.run_folder = Path(folder.name)
        (self.run_folder / "logs").mkdir()
        self.ended = threading.Event()
        self.watch = recovery.Watch(self.run_folder, self.ended)

    def log(self, *words):
        with open(self.run_folder / "logs/rank-0000.log", "a") as file:
            file.write("".join(f"2026-11-29T16:31:59.334 [rank 0] [6373] info: {line}\n" for line in words))

    def place(self, *pids):
        (self.run_folder / "placement.json").write_text(json.dumps({"ranks": [{"pid": pid} for pid in pids]}))

    def test_steps_are_counted(self):
        self.log("tick 3    kimg 0.1", "gangway 0.1.0", "tick 5    kimg 0.2")
        self.watch.wait_for_steps(5)
        self.assertEqual(self.watch.step, 5)

    def test_a_kill_is_followed_until_a_new_step_is_done(self):
        worker, is_read, read_all = subprocess.Popen(["sleep", "60"]), threading.Event(), self.watch._read_all
        self.place(os.getpid(), worker.pid)
        self.log("tick 7 ")

        def go_on():
            worker.wait(DEADLINE)
            is_read.clear()
            (self.run_folder / "restarts.jsonl").write_text("{}\n")
            is_read.wait(DEADLINE)
            self.log("gangway 0.1.0", "resume snapshot of step 5", "tick 6 ", "tick 7 ", "tick 8 ")

        self.watch._read_all = lambda: (read_all(), is_read.set())
        other = threading.Thread(target=go_on)
        other.start()
        found = self.watch.kill_and_watch("worker", 3)
        other.join()
        self.assertEqual((found.kind, found.redone, self.watch.step), ("worker", 2, 8))
        self.assertTrue(all(part >= 0 for part in found[1:6]))

    def test_processes_are_found_by_their_ranks(self):
        self.place(os.getpid(), 11, 12)
        self.assertEqual([self.watch.process_of("worker", rank) for rank in (1, 2, 3)], [11, 12, 11])
        self.assertEqual((self.watch.process_of("coordinator"), self.watch.process_of("mpirun")), (os.getpid(), os.getppid()))
        self.place(os.getpid())
        with self.assertRaises(recovery.Over):
            self.watch.process_of("worker", 1)

    def test_the_end_of_the_run_ends_the_wait(self):
        self.ended.set()
        with self.assertRaises(recovery.Over):
            self.watch.wait_for_steps(1)

    def test_recoveries_are_told_by_what_was_killed(self):
        found = [recovery.Recovery(kind, 1.05, 6.26, 2, 0.22, 2.77, 17) for kind in ("worker", "worker", "mpirun")]
        self.assertEqual(recovery.text_of(recovery.Recoveries(found, 2, [4, 4])),
                         "killed  losses  detect, fence  start  restore  first step  before replay   p99  replay  steps again\n"
                         "------  ------  -------------  -----  -------  ----------  -------------  ----  ------  -----------\n"
                         "worker       2           1.05   6.26     2.00        0.22           9.53  9.53    2.77        17.00\n"
                         "mpirun       1           1.05   6.26     2.00        0.22           9.53  9.53    2.77        17.00\n"
                         "goodput: 2.000 new steps a second, against 4.000 and 4.000 undisturbed: 50.0 %\n")


def trained(steps, seconds=0.5, parts=None):
    """Ticks of two steps."""
    ticks = [{"step": step, "seconds_tick": 2 * seconds, "parts": parts or {"data": 0.1, "generator_backward": 0.3}, "core_percent": 80,
              "sent_mib_per_step": 3, "resident_gib": 0.25, "name": "x"} for step in range(2, steps + 1, 2)]
    return lines(*ticks)


class Jobs(unittest.TestCase):
    """Uses a `gangway run` and a `gangway digest` that answer at once."""

    TOLD = {"images_per_step": 64, "workers": 2, "places_networks": False,
            "job": {"training": {"microbatches": 4}, "numerics": {"device": "cpu"}}}

    def setUp(self):
        self.commands, self.digests = [], {}
        self.fail = lambda workers: None
        lost = recovery.Recoveries([recovery.Recovery("worker", 1, 1, 1, seconds, 0, 0) for seconds in (1, 3)], 0, [])
        for place, answer in (("bench.job.prepared", lambda *words: self.TOLD), ("trial_runs.run_to_its_end", self.run_to_its_end),
                              ("trial_runs.said_by", lambda name, run: f"{self.digests.get(run.name, 'abc')}\n"),
                              ("bench.job.recoveries_of", lambda *words, **options: lost)):
            patch = mock.patch(f"gangway.tools.{place}", answer)
            patch.start()
            self.addCleanup(patch.stop)

    def run_to_its_end(self, words, folder, name):
        self.commands.append(words)
        workers = words[words.index("--workers") + 1]
        self.fail(workers)
        kimg = next(float(word.partition("=")[2]) for word in words if str(word).startswith("training.kimg="))
        return MeasuredRun(trained(round(kimg * 1000 / 64), 1 / workers), False, Path(f"run-{workers}"))

    def report(self, **options):
        measured_job = job.JobBench("a/toy.yaml", ["training.batch=64"], Path("runs"), is_scored=False, **options)
        with contextlib.redirect_stdout(io.StringIO()):
            return measured_job.report()

    def test_are_measured_on_each_number_of_workers_in_turns(self):
        report = self.report(workers=[1, 2, 4], rounds=2)
        self.assertEqual([words[words.index("--workers") + 1] for words in self.commands], [1, 2, 4, 1, 2, 4])
        self.assertEqual([row["images_per_second"] for row in report["rows"]], [64, 128, 256])
        self.assertEqual([row["efficiency"] for row in report["rows"]], [1, 1, 1])
        row = report["rows"][1]
        self.assertEqual((row["parts"], row["computing"]), ({"data": 0.25, "generator_backward": 0.75}, 0.75))
        self.assertEqual((row["core_percent"], row["sent_mib_per_second"], row["round_seconds"]), (80, 6, [0.5, 0.5]))
        self.assertEqual(report["recovery"], {"workers": 4, "losses": 2, "median_seconds": 5, "longest_seconds": 6})
        self.assertEqual([report[key] for key in ("job", "runs", "rounds", "digest", "score")], ["toy.yaml", 6, 2, "abc", None])
        self.assertNotIn("failures", report)

    def test_have_the_workers_that_suit_them(self):
        self.assertEqual([row["workers"] for row in self.report(rounds=1, losses=0)["rows"]], [1, 2])
        with self.assertRaisesRegex(Failed, "--workers 5: training.microbatches 4 cannot be shared by so many"):
            self.report(workers=[5])

    def test_whose_digests_differ_are_refused(self):
        self.digests["run-2"] = "abd"
        with self.assertRaises(Failed) as failed:
            self.report(workers=[1, 2])
        self.assertRegex(failed.exception.line, "^after 60 steps '2 workers' has the digest abd, and other ways to run this job have abc: ")
        self.assertEqual(failed.exception.code, 1)
        with time_limit(3600) as limit:
            report = self.report(workers=[1, 2], limit=limit)
        self.assertEqual(report["failures"], [report["unequal_digests"]])
        self.assertIsNone(report["recovery"])

    def test_tell_what_failed_within_a_time(self):
        def fail(workers):
            if workers == 2:
                raise Failed("'gangway run' failed: tick 1\ngangway: no room\n", 6)
        self.fail = fail
        with time_limit(3600) as limit:
            report = self.report(workers=[1, 2], limit=limit)
        self.assertEqual(([row["workers"] for row in report["rows"]], report["failures"]), ([1], ["2 workers: no room"]))
        self.assertEqual((report["rounds"], report["steps"]), (3, 12))

    def test_keep_a_time(self):
        with time_limit(0) as limit:
            def fail(workers):
                output_of(["true"], {})
            self.fail = fail
            report = self.report(limit=limit)
        self.assertEqual((report["rows"], report["rounds"], report["recovery"]), ([], 0, None))
        self.assertEqual(report["failures"], ["the time was over before all was measured: give it more --minutes"])

    def test_are_read_by_the_gpu_where_there_is_one(self):
        on_gpu = lines({"step": 4, "parts": {"a": 1}}, {"step": 6, "seconds_tick": 4, "parts": {"a": 9}, "device_parts": {"b": 1}},
                       {"step": 8, "seconds_tick": 2, "parts": {"a": 9}})
        run = trials.trial_run(on_gpu, 16)
        self.assertEqual((run.seconds, run.parts), (1.5, {"b": 1}))
        with self.assertRaises(Failed):
            trials.trial_run(on_gpu, 40)


class Pages(unittest.TestCase):
    def test_are_those_of_the_command_in_c_plus_plus(self):
        for name, text, html in (("job", page.job_text, page.job_page), ("node", page.node_text, page.node_page)):
            report = json.loads((KEPT / f"{name}.json").read_text())
            self.assertEqual(text(report), (KEPT / f"{name}.txt").read_text())
            self.assertEqual(html(report), (KEPT / f"{name}.html").read_text())

    def test_say_first_what_is_wrong(self):
        report = json.loads((KEPT / "node.json").read_text())
        report["busy"] = "other processes use 31 % of this machine"
        report["job"]["unequal_digests"] = "after 24 steps they differ"
        for said in (page.node_text(report), page.node_page(report)):
            self.assertIn("NOT QUIET: other processes use 31 % of this machine, so these rates are too low", said)
            self.assertIn("DIGESTS DIFFER: after 24 steps they differ", said)
        bare = {**report, "busy": "", "job": None, "findings": None, "transports": None, "nccl": None, "failures": []}
        self.assertEqual(page.node_text(bare), page._machine(bare).text() + "\n\n")
        self.assertNotIn("<h2>A job", page.node_page(bare))


class Nodes(unittest.TestCase):
    def test_have_a_job_whose_micro_batches_suit_all_numbers_of_workers(self):
        self.assertIn("training: {batch: 64, microbatches: 2, kimg: 1}\nnumerics: {device: cpu}", node.job_text("cpu", 1, "RAMPS"))
        self.assertIn("training: {batch: 128, microbatches: 16, kimg: 1}", node.job_text("cpu", 9, "RAMPS"))
        self.assertIn("resolution: 64, width: 64, latent: 100}\ndata: {source: 'idx:RAMPS'}\ntraining: {batch: 512, microbatches: 8",
                      node.job_text("cuda", 8, "RAMPS"))
        with mock.patch.object(node, "usable_cores", lambda: 24):
            self.assertEqual(node.default_numbers("cpu"), [1, 2, 4, 8, 16])

    def test_have_pictures_of_their_own(self):
        with tempfile.TemporaryDirectory() as folder:
            node.write_pictures(file := Path(folder) / "ramps", 32)
            content = file.read_bytes()
        self.assertEqual(content[:16].hex(), "00000803000010000000002000000020")
        self.assertEqual(len(content), 16 + 4096 * 32 * 32)
        self.assertEqual(content[16 + 300 * 1024 + 5 * 32 + 9], (9 * (300 % 7) + 5 * (300 % 11) + 300) % 256)

    def test_exchanges_are_read_from_the_last_line(self):
        for said, code, expected in (('$ mpirun\n{"rows": []}\n', 0, {"rows": []}), ("$ mpirun\ngangway: no room\n", 6, "no room"),
                                     ("$ mpirun\nhalf\n", 0, "half"), ("", 1, "")):
            with mock.patch.object(allreduce, "output_of", lambda words, environment: Output(code, said)):
                if isinstance(expected, dict):
                    self.assertEqual(allreduce.figures_of("program", 2, "--json"), expected)
                else:
                    with self.assertRaisesRegex(Failed, f"'timeout 120 .*gangway ranks program -n 2 -- --json' failed: .*{expected}"):
                        allreduce.figures_of("program", 2, "--json")


class TimeLimits(unittest.TestCase):
    def test_end_what_runs_and_what_would_run(self):
        with time_limit(0.05):
            with self.assertRaises(OutOfTime):
                output_of(["sleep", "60"], {})
            with self.assertRaises(OutOfTime):
                output_of(["true"], {})
        self.assertEqual(output_of(["true"], {}).code, 0)

    def test_kept_folders_stay(self):
        with tempfile.TemporaryDirectory() as folder:
            with measured.kept_folder(f"{folder}/a/b") as kept:
                (kept / "run").touch()
            self.assertTrue((Path(folder) / "a/b/run").exists())
            (Path(folder) / "file").touch()
            with self.assertRaisesRegex(Failed, "file/b: cannot be made: "), measured.kept_folder(f"{folder}/file/b"):
                pass


class CommandLine(unittest.TestCase):
    def test_says_in_one_line_what_is_wrong(self):
        for words, says in (([], "COMMAND"), (["speed"], "invalid choice: 'speed'"), (["job", "a.yaml", "--steps", "3"], "range 12 to"),
                            (["overlap", "--modes", "all"], "all is none of none, within"), (["checkpoint", "--size", "0"], "range 1 to"),
                            (["overlap", "--line-rate", "fast", "--job", f"{ROOT}/examples/ring8.yaml"], "'fast' is no rate"),
                            (["job", f"{ROOT}/examples/ring8.yaml", "-o", "nowhere/x"], "there is no folder nowhere"),
                            (["overlap", "--hostfile", "/", "--job", f"{ROOT}/examples/ring8.yaml"], "--hostfile /: is a directory"),
                            (["node", "--workers", "65", "--device", "cpu"], "--workers 65: at most 64"),
                            (["recovery", "--kinds", "worker,host"], "host is none of worker, coordinator, mpirun")):
            with self.subTest(words=words), self.assertRaises(Failed) as failed:
                bench.command(words)
            self.assertIn(says, failed.exception.line)
            self.assertEqual((failed.exception.code, failed.exception.line.count("\n")), (2, 0))

    def test_lists_the_commands_and_names_a_job_that_is_missing(self):
        for words, code, says in ((["--help"], 0, "\n  recovery    Measure how soon a run resumes after a kill, part by part\n"),
                                  (["job", "nowhere.yaml"], 2, "gangway: nowhere.yaml: no such file")):
            done = subprocess.run([sys.executable, "-m", "gangway.tools", "bench", *words], capture_output=True, text=True,
                                  env={**os.environ, "PYTHONPATH": str(PACKAGE)})
            self.assertEqual(done.returncode, code)
            self.assertIn(says, done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main()
