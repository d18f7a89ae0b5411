#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests `gangway tune`: trials, choice, output, job file. tests/distributed/measuring.py runs it.

    GANGWAY_BIN=build/release/bin tune_test.py [unittest arguments]
"""
import contextlib
import copy
import functools
import io
import json
import math
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "share/python"))
import gangway  # noqa: E402
from gangway import Failed  # noqa: E402
from gangway.tools import trial_runs, trials, tune  # noqa: E402
from gangway.tools.edited_job import edited  # noqa: E402
from gangway.tools.measured import MeasuredRun, prepared  # noqa: E402
from gangway.tools.trials import Trial, TrialRun  # noqa: E402

RING = ROOT / "examples/ring8.yaml"
KEPT = Path(__file__).parent / "tune"
SMALL = ["model.width=16", "training.batch=64", "training.microbatches=4", "training.kimg=80"]
STATS = """{"step": 4, "seconds_tick": 40, "parts": {"data": 10}}
{"step": 6, "seconds_tick": 2, "parts": {"data": 0.25, "g_forward": 0.75}}
{"score": 1}
{"step": 12, "seconds_tick": 12, "parts": {"data": 0.5, "g_forward": 1.5}}
{"step": 16, "sec"""


@functools.cache
def told(keys, text=None):
    return prepared(RING, keys, text=text)


def job_with(*keys):
    return copy.deepcopy(told(keys)["job"])


def trial_with(**parts):
    return Trial("as typed", 2, runs=[TrialRun(24, 1.0, parts)])


def trial_of(keys, *seconds):
    return Trial(str(len(keys)), keys=keys, runs=[TrialRun(12, one, {}) for one in seconds])


def keys_of(found):
    return [key for trial in found for key in trial.keys]


class Runs(unittest.TestCase):
    def test_are_means_of_steps_behind_the_warm_up(self):
        self.assertEqual(trials.trial_run(STATS, 16)[:3],
                         (16, 14 / 8, {"data": (0.25 * 2 + 0.5 * 6) / 8, "g_forward": (0.75 * 2 + 1.5 * 6) / 8}))

    def test_have_the_gpus_parts_where_there_is_one(self):
        run = trials.trial_run('{"step": 4, "seconds_tick": 4, "parts": {"device": 1}}\n'
                               '{"step": 8, "seconds_tick": 4, "parts": {"device": 1}, "device_parts": {"data": 0.25}}\n'
                               '{"step": 16, "seconds_tick": 8, "parts": {"device": 1}}\n', 16)
        self.assertEqual(run.parts, {"data": 0.25})

    def test_that_tell_nothing_are_refused(self):
        with self.assertRaisesRegex(Failed, "of one build"):
            trials.trial_run('{"step": 4}\n', 16)

    def test_compare_whatever_a_turn_was_beset_with(self):
        self.assertAlmostEqual(trial_of([], 1.1, 4.4).seconds / trial_of([], 1.0, 4.0).seconds, 1.1, delta=1e-12)
        self.assertEqual(trial_with(data=1, g_forward=3).share("data", "device"), 0.25)

    def test_are_beaten_where_rounds_agree_alone(self):
        self.assertAlmostEqual(math.dist(trials.speedup_of([2, 4, 6], [1, 2, 3]), (2, 2)), 0)
        # Logarithms -0.1, 0, 0.1, 0.2, 0.3: mean 0.1, standard error 0.0707, times 2.132.
        gain, least = trials.speedup_of([math.exp(value / 10) for value in range(-1, 4)], [1.0] * 5)
        self.assertAlmostEqual(math.log(gain), 0.1)
        self.assertAlmostEqual(math.log(least), 0.1 - 0.150755, places=4)

    def test_of_the_fewest_keys_are_taken_of_those_as_fast(self):
        found = trials.simplest_of_fastest([trial_of([], 1.1, 2.2, 3.3), trial_of(["a", "b"], 1, 2, 3), trial_of(["a"], 1.2, 1.9, 3.2),
                                            trial_of(["c"], 1.1, 2.0, 3.2)])
        self.assertEqual(found.keys, ["c"])


class Candidates(unittest.TestCase):
    def test_of_keys_are_of_what_a_step_waits_for_alone(self):
        job = job_with("data.source=images:photos", "model.family=dcgan", "model.channels=3", "model.classes=0")
        self.assertEqual(trials.key_trials(job, trial_with(generator_forward=1.0), 2), [])
        of_data = trials.key_trials(job, trial_with(generator_forward=0.5, data=0.5), 2)
        self.assertEqual(keys_of(of_data), ["data.threads=2", "data.prefetch=4", "data.threads=4", "data.prefetch=8", "data.prefetch=16",
                                            "data.cache=auto"])
        self.assertEqual([trial.fills_cache for trial in of_data], [False, False, False, True])
        of_exchange = trials.key_trials(job, trial_with(generator_forward=0.5, messages=0.5), 2)
        self.assertEqual(keys_of(of_exchange), [f"layout.buckets={buckets}" for buckets in (2, 4, 16, 32)])

    def test_of_keys_change_no_numbers(self):
        job = job_with("checkpoint.snapshot_steps=1", "layout.recompute=true", "layout.stages=2", "data.threads=2")
        found = trials.key_trials(job, trial_with(snapshots=0.5, data=0.2, workers=0.3), 1)
        self.assertEqual(keys_of(found)[4:], ["data.prefetch=16", "checkpoint.snapshot_steps=auto", "layout.recompute=false"])
        self.assertFalse(any(trial.changes_numbers for trial in found))

    def test_of_keys_record_steps_on_a_gpu(self):
        job = job_with()
        job["numerics"] |= {"device": "cuda", "cuda_graph": "auto"}
        self.assertEqual(keys_of(trials.key_trials(job, trial_with(exchange=1.0), 2))[4:],
                         [f"numerics.cuda_graph={choice}" for choice in ("off", "branches", "overlap")])

    def test_of_layouts_are_those_of_a_plan_that_fit(self):
        ranking = json.loads((KEPT / "ranking.json").read_text())
        ranking[1]["fits"], ranking[2]["workers"] = False, 4
        found = trials.layout_trials(ranking, job_with(), Trial("as typed", 2), 3, 3)
        self.assertEqual([trial.name for trial in found], ["2 workers, overlap within, mpi", "2 workers, overlap none, auto",
                                                           "2 workers, overlap none, mpi"])
        self.assertEqual(found[1].keys, ["layout.overlap=none"])
        found = trials.layout_trials(ranking, job_with("layout.transport=mpi"), Trial("as typed", 1), math.inf, 1)
        self.assertEqual((found[0].name, found[0].keys), ("2 workers, overlap across, shm", ["layout.transport=shm"]))

    def test_of_overlap_are_the_other_ways(self):
        self.assertEqual(keys_of(trials.overlap_trials(job_with("layout.overlap=none"), trial_with())),
                         ["layout.overlap=across", "layout.overlap=within"])

    def test_of_numbers_keep_the_batch_and_say_that_numbers_change(self):
        found = trials.number_trials(job_with("training.batch=16", "training.microbatches=2"), trial_with(), 4)
        self.assertEqual([(trial.workers, trial.keys[0]) for trial in found],
                         [(1, "training.microbatches=1"), (4, "training.microbatches=4"), (4, "training.microbatches=8"),
                          (2, "numerics.memory_format=contiguous"), (2, "numerics.precision=bf16")])
        self.assertTrue(all(trial.changes_numbers for trial in found))

    def test_that_are_faster_alone_are_joined(self):
        def trial(more, seconds):
            best = Trial("best", 2, ["layout.stages=1"])
            made = trials.joined(best, Trial(more, 2, [more])) if more else best
            made.runs.append(TrialRun(24, seconds, {}))
            return made

        chosen = trials.finalists("best", [trial("a=1", 1.0), trial("a=2", 1.1), trial("b=1", 1.2), trial("c=1", 1.295), trial("", 1.3)])
        self.assertEqual([one.name for one in chosen], ["best, a=1", "best, a=2", "best, b=1", "best, a=1, b=1", "best"])
        self.assertEqual(chosen[3].keys, ["layout.stages=1", "a=1", "b=1"])
        self.assertEqual(len(trials.finalists("best", [trial("a=1", 1.0), trial("", 1.3)])), 2)


class Texts(unittest.TestCase):
    def test_count_the_runs_of_all_stages(self):
        # 9, 5 and 3 layouts, 4 trials of keys, 5 and 3 finalists, each forwards and backwards.
        self.assertEqual(trials.length_text(8, 3, 4, 2),
                         "up to 58 runs of some 6 s each, then 20 of 8 s as a proof: some 9 minutes in all\n")
        self.assertTrue(trials.length_text(8, 0, 4, 2).startswith("up to 34 runs "))

    def test_name_the_fastest_so_far(self):
        typed, failed = trial_of([], 2.0), Trial("3", failure="no memory")
        self.assertEqual(trials.so_far_text([], typed, 64), "")
        self.assertEqual(trials.so_far_text([trial_of(["a"], 1.5), trial_of(["a", "b"], 1, 1), failed, trial_of([], 4, 4)], typed, 64),
                         "so far: of 2 trials '2' is the fastest, 64.0 images/s against 16.0 as typed; nothing is proved, and no file is "
                         "written\n")

    def test_set_parts_beside_each_other(self):
        self.assertEqual(trials.parts_table(trial_with(a=0.1, data=0.5), trial_with(a=0.2)),
                         "ms a step, slowest worker  as typed    tuned\n-------------------------  --------  -------\n"
                         "data                        500.000    0.000\na                           100.000  200.000\n")


class EditedJob(unittest.TestCase):
    def test_has_a_value_in_the_place_of_another(self):
        for text, keys, result in (
                ("layout:\n  overlap: none  # why\n  data: 2\n", ["layout.overlap=across"],
                 "layout:\n  overlap: across  # why\n  data: 2\n"),
                ("layout: {overlap: none, shares: [1, 2]}\n", ["layout.overlap=within", "layout.shares=auto"],
                 "layout: {overlap: within, shares: auto}\n"),
                ("layout:\r\n  overlap: 'none'\r\n  data:\r\n", ["layout.overlap=within", "layout.data=2"],
                 "layout:\r\n  overlap: within\r\n  data: 2\r\n"),
                ("layout: auto\n", ["layout.data=2"], "layout: {data: 2}\n")):
            self.assertEqual(edited(text, keys), result)

    def test_has_a_key_beside_those_of_its_section(self):
        self.assertEqual(edited("# mine\nlayout:\n    data: 2\ntraining: {kimg: 1}\n", ["layout.buckets=4", "training.microbatches=2"]),
                         "# mine\nlayout:\n    buckets: 4\n    data: 2\ntraining: {microbatches: 2, kimg: 1}\n")
        self.assertEqual(edited("layout: {}\n", ["layout.cuts.generator=[2]"]), "layout: {cuts: {generator: [2]}}\n")

    def test_has_a_section_that_was_missing(self):
        self.assertEqual(edited("training: {kimg: 1}", ["layout.cuts.generator=[2]", "layout.data=2"]),
                         "training: {kimg: 1}\nlayout:\n  data: 2\n  cuts:\n    generator: [2]\n")

    def test_of_what_is_no_yaml_is_refused(self):
        with self.assertRaises(Failed):
            edited("layout: {\n", ["layout.data=2"])


class PlayedRuns(unittest.TestCase):
    """Emulates runs whose figures follow from their keys, as in the runs of the stored texts."""

    FACTORS = {"layout.buckets=16": 0.9, "layout.buckets=4": 0.95, "layout.overlap=within": 0.8}
    NOISE = (1.0, 1.003, 0.998, 1.001, 0.997)

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="gangway-test-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.job = self.folder / "job.yaml"
        self.job.write_text(RING.read_text())
        (self.folder / "job.profile.json").write_text("{}")
        self.runs, self.factors, self.fails, self.digests = {}, self.FACTORS, {"layout.transport=mpi": "no memory"}, {}
        self.stopped_at, self.plan = None, {"ranking": json.loads((KEPT / "ranking.json").read_text())}
        self.told, self.count, self.out = [], 0, io.StringIO()
        for module, name, played in ((trial_runs, "run_to_its_end", self.run_to_its_end), (trial_runs, "said_by", self.said_by),
                                     (tune, "said_by", self.said_by), (tune, "require_quiet_machine", lambda anyway: None),
                                     # Every trial has this job.
                                     (tune, "prepared", lambda job, keys=(), text=None: told(tuple(keys), text))):
            patch = mock.patch.object(module, name, played)
            patch.start()
            self.addCleanup(patch.stop)

    def run_to_its_end(self, words, outdir, name):
        number, self.count, words = self.count, self.count + 1, [*map(str, words)]
        workers = words[words.index("--workers") + 1] if "--workers" in words else "2"
        end, = (place for place, word in enumerate(words) if word.startswith("training.kimg=") and words[place + 1].startswith("output."))
        steps = round(float(words[end].partition("=")[2]) * 1000 / 64)
        self.runs.setdefault(" ".join([f"-n {workers}", *words[1 + len(SMALL):end], f"steps={steps}"]), []).append(number)
        if number == self.stopped_at:
            raise Failed("stopped by a signal; nothing is left behind", 130)
        for key, why in self.fails.items():
            if key in words:
                raise Failed(f"'gangway run job.yaml' failed: training\ngangway: {why}\n", 6)
        step = 0.02 * math.prod(factor for key, factor in self.factors.items() if key in words) * self.NOISE[number % len(self.NOISE)]
        folder = outdir / f"00000-{name}"
        folder.mkdir(parents=True)
        (folder / "placement.json").write_text(json.dumps({"ranks": [{"role": "coordinator"}, *[{"role": "worker"}] * int(workers)]}))
        self.digest = next((digest for key, digest in self.digests.items() if key in words), "0123")
        parts = {"generator_forward": 0.6 * step, "exchange": 0.4 * step}
        tick = steps // 12
        lines = [json.dumps({"step": done, "seconds_tick": step * tick, "parts": parts}) for done in range(tick, steps + 1, tick)]
        return MeasuredRun("\n".join(lines), False, folder)

    def said_by(self, *words):
        self.told.append([*map(str, words)])
        if words[0] == "plan" and not self.plan:
            raise Failed("job.profile.json: measured of another job")
        return {"digest": f"{getattr(self, 'digest', '')}\n", "plan": json.dumps(self.plan), "profile": ""}[words[0]]

    def tuned(self, **options):
        return gangway.tune(self.job, SMALL, workers=2, seconds=0.5, out=self.out, **options)

    def test_are_tried_told_and_taken_as_by_the_command_in_c_plus_plus(self):
        """Compares with release 0.1 on runs of these figures: `tune job.yaml model.width=16 training.batch=64 training.microbatches=4
        training.kimg=80 -n 2 --seconds 0.5`, without its lines on times."""
        with contextlib.redirect_stdout(self.out), mock.patch.dict(os.environ, GANGWAY_TYPED="gangway"):
            tune.command([f"{self.folder}/job.yaml", *SMALL, "-n", "2", "--seconds", "0.5", "--profile", f"{self.folder}/job.profile.json"])
        said = re.sub(r"(?m)(, \S+ left$| of some .* minutes in all$)", "", self.out.getvalue()).replace(f"{self.folder}/", "")
        self.assertEqual(said, (KEPT / "said.txt").read_text())
        self.assertEqual("".join(f"{what}: {' '.join(map(str, numbers))}\n" for what, numbers in self.runs.items()),
                         (KEPT / "runs.txt").read_text())
        self.assertEqual((self.folder / "job.tuned.yaml").read_text(), (KEPT / "job.tuned.yaml").read_text())
        record = json.loads((self.folder / "job.tuned.json").read_text())
        self.assertEqual("".join(f"{one['name']}; {' '.join(one['keys'])}; {len(one['runs'])} runs; {one['failure']}\n"
                                 for one in [*record["tried"], record["typed"], record["best"]]), (KEPT / "tried.txt").read_text())
        self.assertAlmostEqual(record["least_gain"], 1.3853574725)
        self.assertEqual({path.name for path in self.folder.iterdir()},
                         {"job.profile.json", "job.tuned.json", "job.tuned.yaml", "job.yaml"})

    def test_come_back_as_a_table(self):
        found = self.tuned()
        self.assertTrue(found.is_taken)
        self.assertEqual((found.best.keys, found.run_options), (["layout.overlap=within", "layout.buckets=16"], "-n 2"))
        self.assertAlmostEqual(found.rate(found.best) / found.rate(found.typed), 1.389, places=3)
        self.assertIn("layout:\n  buckets: 16\n  overlap: within\n", found.text)
        self.assertEqual({path.name for path in self.folder.iterdir()}, {"job.yaml", "job.profile.json"})

    def test_leave_a_job_alone_that_nothing_makes_faster(self):
        self.factors = {"layout.buckets=16": 0.995}
        self.assertFalse(self.tuned().is_taken)
        self.assertRegex(self.out.getvalue(), r"left alone: none of the \d+ trials is faster\n$")

    def test_try_keys_first_where_data_are_waited_for(self):
        with mock.patch.object(tune, "waits_most_for_data", lambda typed: True):
            self.tuned()
        self.assertRegex(self.out.getvalue(), r"in all\nmeasures   0 %: one change each, ")
        self.assertIn("images/s  as typed, layout.buckets=16, 2 workers, overlap within, auto\n", self.out.getvalue())

    def test_that_have_other_numbers_may_have_another_digest(self):
        self.digests = {"numerics.precision=bf16": "4567", "numerics.memory_format=contiguous": "89ab"}
        self.factors = {"numerics.precision=bf16": 0.5}
        found = self.tuned(new_job=True)
        self.assertTrue(found.best.changes_numbers)
        self.assertTrue(found.text.splitlines()[1].startswith("# Other numbers, another digest: -n 2 "))
        self.assertIn("\nnumerics:\n  precision: bf16\n", found.text)

    def test_of_one_job_have_one_digest(self):
        self.digests = {"layout.overlap=none": "4567"}
        with self.assertRaises(Failed) as failed:
            self.tuned()
        self.assertEqual(failed.exception.code, 1)
        self.assertEqual(failed.exception.line, "after 24 steps '2 workers, overlap none, auto' has the digest 4567, and other ways to run "
                                                "this job have 0123: that must never be; 'gangway doctor' looks at the machine")

    def test_that_fail_are_told_without_what_a_terminal_obeys(self):
        self.fails = {"layout.overlap=none": "no \x1b[31mmemory"}
        self.tuned()
        self.assertIn("         -           2 workers, overlap none, auto: no ?[31mmemory\n", self.out.getvalue())

    def test_of_the_job_as_typed_say_how_they_failed(self):
        self.fails = {"model.width=16": "no data"}
        with self.assertRaisesRegex(Failed, "gangway: no data"):
            self.tuned()
        self.assertEqual(self.count, 1)

    def test_that_a_signal_ends_leave_what_is_known(self):
        self.stopped_at = 17
        with self.assertRaisesRegex(Failed, "stopped by a signal"):
            self.tuned()
        self.assertRegex(self.out.getvalue(), "\nso far: of 5 trials '2 workers, overlap within, auto' is the fastest, 3998.7 images/s "
                                              "against 3195.2 as typed; nothing is proved, and no file is written\n$")

    def test_try_other_overlaps_where_there_is_no_plan(self):
        self.plan = None
        self.tuned()
        self.assertIn("note: no plan, so only overlaps are tried: job.profile.json: measured of another job\n", self.out.getvalue())
        self.assertIn("-n 2 layout.overlap=none steps=24", self.runs)

    def test_go_on_with_keys_where_a_plan_has_no_other_layout(self):
        self.plan = {"ranking": []}
        self.assertEqual(self.tuned().best.keys, ["layout.buckets=16"])

    def profile_of_the_plan(self, **options):
        self.factors, self.told = {}, []
        self.tuned(**options)
        plan, = (words for words in self.told if words[0] == "plan")
        return plan[plan.index("--profile") + 1], [words for words in self.told if words[0] == "profile"]

    def test_are_planned_by_the_profile_that_is_there_or_one_that_is_measured(self):
        file, hosts = self.folder / "profile.json", self.folder / "hosts"
        hosts.write_text("# two\nnode-a slots = 2 max_slots=4\n\nnode-b\n")
        for text in ("{}", "[]", "3", "{"):  # the plan reports what is no profile
            file.write_text(text)
            self.assertEqual(self.profile_of_the_plan(profile=file), (str(file), []))
        file.write_text("{}")
        made, measured = self.profile_of_the_plan(profile=file, hostfile=hosts)
        self.assertEqual(measured[0][1:], [str(self.job), *SMALL, "-o", made, "--seconds", "2.5", "--anyway", "--hostfile", str(hosts)])
        file.write_text('{"links": {}}')
        self.assertEqual(self.profile_of_the_plan(profile=file, hostfile=hosts), (str(file), []))
        made, measured = self.profile_of_the_plan(profile=file)  # a profile of only this host
        self.assertEqual((Path(made).name, measured), ("profile.json", []))
        self.assertNotEqual(made, str(file))

    def test_get_as_many_workers_as_hosts_have_slots(self):
        (self.folder / "hosts").write_text("# two\nnode-a slots = 2 max_slots=4\n\nnode-b\n")
        self.assertEqual(tune.slots_in(self.folder / "hosts"), {"node-a": 2, "node-b": 1})


class CommandLine(unittest.TestCase):
    def test_says_in_one_line_what_is_wrong(self):
        for words, says in ((["nowhere.yaml"], "no such file"), ([RING, "--seconds", "0"], "0 is not in the range 0.1 to 600"),
                            ([RING, "-n", "0"], "-n"), ([RING, "-o", "nowhere/x.yaml"], "no folder nowhere"), ([], "JOB.yaml"),
                            ([RING, "model.widht=3"], "did you mean 'model.width'"), ([RING, "--hostfile", "nowhere"], "no such file")):
            with self.subTest(words=words):
                done = subprocess.run([Path(os.environ["GANGWAY_BIN"]) / "gangway", "tune", *words], capture_output=True, text=True)
                self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
                self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
                self.assertTrue(done.stderr.startswith("gangway: "), done.stderr)
                self.assertIn(says, done.stderr)


if __name__ == "__main__":
    unittest.main()
