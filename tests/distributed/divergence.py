#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Trainings that diverge: they go back with other settings, alike on any layout and after a kill, or end with the story.

    GANGWAY_BIN=build/release/bin divergence.py [unittest arguments]
"""
import json
import re
import unittest

from train_command import EXAMPLES, GANGWAY, Trainings, kill_all

# With such a rate all weights are so large after an update that products of them overflow.
HUGE = ["generator.optimizer.adam.lr=1e9", "discriminator.optimizer.adam.lr=1e9"]
JOB = [EXAMPLES / "ring8.yaml", "model.width=32", "training.microbatches=6", "training.batch=96", "training.kimg=40",
       "output.tick_kimg=2", "output.pictures_kimg=0", "checkpoint.every_kimg=10",
       "training.divergence.policy=rollback"]
RECOVERS = [*HUGE, "training.divergence.lr_factor=1e-18"]


class Divergence(Trainings):
    def run_job(self, name, *words, workers=2):
        return self.call(GANGWAY, "run", *JOB, *words, "-n", workers, "--run", name)

    def decisions(self, name):
        [file] = (self.folder / "runs").glob(f"*-{name}/decisions.jsonl")
        return [json.loads(line) for line in file.read_text().splitlines()]

    def changes(self, name):
        return [(one["step"], one["kind"], one["lr_factor"], one["reseed"]) for one in self.decisions(name)]

    def num_marks(self, name, words):
        """In TensorBoard's files, of all starts of the run."""
        return sum(file.read_bytes().count(words) for file in (self.folder / "runs").glob(f"*-{name}/events.out.tfevents.*"))

    def manifests(self, name):
        return [json.loads(file.read_text())
                for file in (self.folder / "runs").glob(f"*-{name}/checkpoints/step-?????????/manifest.json")]

    def test_it_goes_back_with_lower_rates_and_recovers_alike_on_any_layout(self):
        digests = set()
        for workers in (1, 3):
            name = f"on{workers}"
            code, out, err = self.run_job(name, *RECOVERS, workers=workers)
            self.assertEqual(code, 0, out + err)
            self.assertRegex(out, r"goes back to step 0, with learning rates times 1e-18 and new random numbers \(1 of 3\)")
            self.assertEqual(self.changes(name), [(0, "rollback", 1e-18, 1)])
            self.assertTrue(all([event["kind"] for event in manifest["events"]] == ["rollback"]
                                for manifest in self.manifests(name)))
            digests.add(self.digest(name))
        self.assertEqual(len(digests), 1)
        code, out, err = self.call(GANGWAY, "events", "on1")
        self.assertEqual(code, 0, err)
        self.assertRegex(out, r"(?m)^ *0 +rollback +lr x 1e-18, retry 1's seed ")
        self.assertEqual(self.num_marks("on1", b"rollback: "), 1)

    def test_killed_after_the_rollback_it_goes_on_under_the_same_decisions(self):
        code, out, err = self.run_job("whole", *RECOVERS)
        self.assertEqual(code, 0, out + err)
        running = self.start("run", *JOB, *RECOVERS, "-n", 2, "--run", "killed")
        running.wait_for(r"^tick 3 ", after=running.wait_for(r"goes back to step 0"))
        kill_all(running.process)
        code, out, err = self.run_job("killed", *RECOVERS, workers=3)
        self.assertEqual(code, 0, out + err)
        self.assertEqual(self.changes("killed"), self.changes("whole"))
        self.assertEqual(self.digest("killed"), self.digest("whole"))

    def test_it_ends_with_the_story_when_the_retries_are_gone(self):
        code, out, err = self.run_job("lost", *HUGE, "training.divergence.retries=2")
        self.assertEqual(code, 4, out + err)
        self.assertIn("tried 2 times: from step 0 on with learning rates times 0.5", err)
        self.assertIn("training.divergence.retries=5", err)
        self.assertEqual(self.changes("lost"), [(0, "rollback", 0.5, 1), (0, "rollback", 0.5, 2)])
        status = json.loads(next((self.folder / "runs").glob("*-lost/status.json")).read_text())
        self.assertEqual(status["exit_code"], 4)
        self.assertNotIn("rolled_back", status)

    def test_a_rollback_is_to_a_step_that_follows_from_the_job(self):
        # Any loss is so large beside the median of those before it: trouble as soon as there are 25.
        code, out, err = self.run_job("bound", "training.divergence.loss_factor=1e-6", "training.divergence.rewind=10",
                                      "training.divergence.retries=1", "checkpoint.every_steps=5", "checkpoint.keep=99")
        self.assertEqual(code, 4, out + err)
        [rollback] = self.decisions("bound")
        self.assertEqual((rollback["step"], rollback["seen"]), (10, 26))
        self.assertIn("tried once", err)
        for manifest in self.manifests("bound"):
            kinds = [event["kind"] for event in manifest["events"]]
            self.assertTrue(manifest["step"] <= 10 or kinds == ["rollback"], manifest["step"])

    def test_losses_that_left_every_bound_are_a_divergence_though_they_are_finite(self):
        rates = [f"{network}.optimizer.adam.lr=50" for network in ("generator", "discriminator")]
        said = set()
        for run, workers in (("on1", 1), ("on3", 3)):
            code, out, err = self.run_job(run, *rates, "training.divergence.policy=stop", workers=workers)
            self.assertEqual(code, 4, out + err)
            self.assertRegex(err, r"gangway: step \d+: diverged: the \w+'s loss is \S+e\+\d+, and has been above 10000 "
                                  r"\(training.divergence.loss_bound\) for 25 steps: ")
            self.assertIn("training.divergence.policy=rollback", err)
            said.add(err.splitlines()[0])
        self.assertEqual(len(said), 1, said)
        code, out, err = self.run_job("back", *rates, "training.divergence.lr_factor=1e-5")
        self.assertEqual(code, 0, out + err)
        self.assertEqual(self.changes("back"), [(0, "rollback", 1e-5, 1)])

    def test_by_default_it_ends(self):
        code, out, err = self.run_job("plain", *HUGE, "training.divergence.policy=stop")
        self.assertEqual(code, 4, out + err)
        self.assertFalse(list((self.folder / "runs").glob("*-plain/decisions.jsonl")))


class EarlyStop(Trainings):
    # With rates of (nearly) nothing no score is better than the first, or by a lucky rounding the second.
    JOB = [EXAMPLES / "ring8.yaml", "model.width=32", "training.microbatches=6", "training.batch=96", "training.kimg=96",
           "output.pictures_kimg=0", "generator.optimizer.adam.lr=1e-30", "discriminator.optimizer.adam.lr=1e-30",
           "checkpoint.every_kimg=0", "checkpoint.every_steps=50", "checkpoint.keep_best=1",
           "checkpoint.score_samples=500", "checkpoint.early_stop.patience=3", "training.plateau.patience=1"]

    def end_of(self, name, workers):
        """What was decided in the run, which is begun or goes on and is to stop early; where; and what it has become."""
        code, out, err = self.call(GANGWAY, "run", *self.JOB, "-n", workers, "--run", name)
        self.assertEqual(code, 0, out + err)
        self.assertRegex(out, r"stopped early at step \d+: 3 scores in a row .* the best checkpoint is that of step \d+")
        [file] = (self.folder / "runs").glob(f"*-{name}/decisions.jsonl")
        decisions = [json.loads(line) for line in file.read_text().splitlines()]
        self.assertEqual([one["kind"] for one in decisions][-2:], ["score", "early-stop"])
        self.assertEqual({one["kind"] for one in decisions}, {"score", "plateau", "early-stop"})
        told = [(one["step"], one["kind"], one["lr_factor"], one.get("score")) for one in decisions]
        step = int(re.search(r"stopped early at step (\d+)", out).group(1))
        self.assertEqual(decisions[-1]["step"], step)
        return json.dumps(told), step, self.digest(name)

    def test_killed_between_a_plateau_and_the_stop_it_ends_where_it_would_have(self):
        whole = self.end_of("whole", workers=2)
        running = self.start("run", *self.JOB, "-n", 2, "--run", "killed")
        # The plateau holds from a later step on, which may lie before or behind the kill.
        running.wait_until(lambda: any('"plateau"' in file.read_text() for file in
                                       (self.folder / "runs").glob("*-killed/decisions.jsonl")), "a plateau")
        kill_all(running.process)
        [file] = (self.folder / "runs").glob("*-killed/decisions.jsonl")
        self.assertNotIn('"early-stop"', file.read_text())
        self.assertEqual(self.end_of("killed", workers=3), whole)

    def test_it_ends_alike_on_any_layout_where_no_score_is_better(self):
        ends = {self.end_of(f"on{workers}", workers) for workers in (1, 3)}
        self.assertEqual(len(ends), 1, ends)
        code, out, err = self.call(GANGWAY, "run", *self.JOB, "-n", 2, "--run", "on1")
        self.assertEqual(code, 0, err)
        self.assertIn("stopped early at step", out)


if __name__ == "__main__":
    unittest.main()
