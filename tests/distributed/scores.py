#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Trainings that score their checkpoints and keep the best.

    GANGWAY_BIN=build/release/bin scores.py [unittest arguments]
"""
import json
import re
import unittest

from train_command import EXAMPLES, GANGWAY, Trainings

JOB = [EXAMPLES / "ring8.yaml", "-n", 2, "training.kimg=30", "output.pictures_kimg=0", "model.width=64",
       "checkpoint.every_kimg=5", "checkpoint.keep=1"]
SCORED = ["checkpoint.keep_best=1", "evaluation.images=1000"]


class Scores(Trainings):
    def finished(self, *words, run):
        code, out, err = self.call(GANGWAY, "run", *JOB, "--run", run, *words)
        self.assertEqual(code, 0, out + err)
        return out

    def kept(self, run):
        """Returns the steps of the existing checkpoints, and the scores by step."""
        folder = self.folder_of(run) / "checkpoints"
        steps = {int(path.name[5:]) for path in folder.glob("step-?????????")}
        scores = {int(path.name[5:14]): json.loads(path.read_text())["score"] for path in folder.glob("*.score.json")}
        return steps, scores

    def test_keep_the_best_one_and_the_last_one_and_change_no_bit(self):
        out = self.finished(*SCORED, run="scored")
        said = {int(step): float(value) for step, value in re.findall(r"^score  step (\d+) .* (-?[\d.]+)", out, re.M)}
        steps, scores = self.kept("scored")
        last = max(steps)
        self.assertIn(last, said, out)
        best = max(said, key=lambda step: (said[step], step))
        self.assertEqual(steps, {last, best}, out)
        self.assertEqual({step: round(score, 4) for step, score in scores.items()},
                         {step: said[step] for step in steps}, out)
        code, listed, err = self.call(GANGWAY, "checkpoints", "ls", "scored")
        self.assertEqual(code, 0, err)
        self.assertRegex(listed, rf"(?m)^ *{best} .*mode-score {said[best]:.4f}, best")
        self.assertNotIn("\nscore ", self.finished(run="plain"))
        self.assertEqual(self.kept("plain")[1], {})
        self.assertEqual(self.digest("scored"), self.digest("plain"))

    def test_each_metric_is_told_at_the_evaluations_own_steps(self):
        code, out, err = self.call(GANGWAY, "run", EXAMPLES / "fashion-mnist.yaml", "-n", 2, "--run", "told", "training.kimg=3",
                                   "model.width=8", "model.resolution=32", "data.limit=1000", "output.pictures_kimg=0",
                                   "evaluation.every_kimg=1", "evaluation.metrics=[swd,fd,pr]", "evaluation.images=200",
                                   "checkpoint.every_kimg=0", "checkpoint.keep=9")
        self.assertEqual(code, 0, out + err)
        told = re.findall(r"^score  step (\d+)  ([\w-]+) ([\d.]+)(  best)?$", out, re.M)
        steps = sorted({int(step) for step, *_ in told})
        self.assertLessEqual(set(steps), {16, 32, 47}, out)
        self.assertEqual(steps[-1], 47, out)  # if steps are faster than scores, only the newest checkpoint gets one
        metrics = ["SWD", "FD-LeNet", "precision", "recall"]
        self.assertEqual([metric for step, metric, *_ in told if int(step) == steps[-1]], metrics, out)
        lines = [json.loads(line) for line in (self.folder_of("told") / "stats.jsonl").read_text().splitlines()]
        in_stats = {line["step"]: line["scores"] for line in lines if "scores" in line}
        self.assertEqual(sorted(in_stats), steps)
        self.assertEqual(list(in_stats[steps[0]]), metrics)
        for step, metric, value, best in told:
            self.assertAlmostEqual(in_stats[int(step)][metric], float(value), places=3)
            self.assertTrue(not best or metric == "SWD", out)

    def test_a_spare_machine_takes_them(self):
        follower = self.start("evaluate", "scored", "--follow", "--threads", "1", name="followed")
        out = self.finished(*SCORED, "evaluation.where=spare", run="scored")
        self.assertEqual(follower.end(), 0)
        recorded = re.findall(r"^mode-score ([\d.]+) of step (\d+)", follower.said(), re.M)
        told = re.findall(r"^score  step (\d+)  mode-score ([\d.]+)", out, re.M)
        self.assertTrue(told, out)
        self.assertLessEqual(set(told), {(step, value) for value, step in recorded})
        self.assertEqual(told[-1][0], str(max(self.kept("scored")[0])), "the last one is waited for")


if __name__ == "__main__":
    unittest.main()
