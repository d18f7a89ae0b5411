#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Diverging trainings roll back with other settings, equally on any layout and after a kill, or end with exit code 4 and an
explanation. tests/coordinator/trouble_test.cpp and run_core_trouble_test.cpp test each kind of trouble. Needs PyTorch.

    GANGWAY_BIN=build/release/bin divergence.py [unittest arguments]
"""
import json
import re
import unittest

import safetensors.numpy
import torch

from train_command import EXAMPLES, GANGWAY, Trainings, write_classes


def rates(value):
    return [f"{network}.optimizer.adam.lr={value}" for network in ("generator", "discriminator")]


# At this rate all weights are so large after an update that their products overflow.
HUGE = rates(1e9)
JOB = [EXAMPLES / "ring8.yaml", "model.width=32", "training.microbatches=6", "training.batch=96", "training.kimg=20",
       "output.tick_kimg=1", "output.pictures_kimg=0", "checkpoint.every_kimg=5",
       "training.divergence.policy=rollback"]
RECOVERS = [*HUGE, "training.divergence.lr_factor=1e-18"]
# 40 steps, a checkpoint every 10.
PLANTED = [EXAMPLES / "ring8.yaml", "model.width=16", "training.batch=64", "training.microbatches=4", "training.kimg=2.56",
           "output.tick_kimg=0.64", "output.pictures_kimg=0", "checkpoint.every_kimg=0", "checkpoint.every_steps=10",
           "checkpoint.keep=99"]
ONCE = ["training.divergence.policy=rollback", "training.divergence.rewind=10", "training.divergence.retries=1"]


class Stubborn(torch.nn.Module):
    """A generator of points whose last ReLU is dead: the same point for all noise, and no gradient."""

    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(2, 2)

    def forward(self, noise):
        return torch.relu(self.layer(noise) - 1e6)


class Brittle(torch.nn.Module):
    """A discriminator that divides by zero for a point in the middle of one mode of the ring."""

    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(2, 1)

    def forward(self, points):
        near = ((points - torch.tensor([1.41443, 0.0])).square().sum(1, keepdim=True) < 3e-6).to(points.dtype)
        return self.layer(points) + (near - near) / (1.0 - near)


class Rough(torch.nn.Module):
    """A discriminator whose logits are finite, with a NaN gradient: the root of zero."""

    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(2, 1)

    def forward(self, points):
        return self.layer(points) + (self.layer.weight * 0.0).abs().sqrt().sum()


class Diverging(Trainings):
    def run_job(self, name, *words, workers=2, job=JOB, code=0):
        ended, out, err = self.call(GANGWAY, "run", *job, *words, "-n", workers, "--run", name)
        self.assertEqual(ended, code, out + err)
        return out, err

    def decisions(self, name):
        return [json.loads(line) for file in self.folder_of(name).glob("decisions.jsonl") for line in file.read_text().splitlines()]

    def changes(self, name):
        return [(one["step"], one["kind"], one["lr_factor"], one["reseed"]) for one in self.decisions(name)]

    def manifests(self, name):
        return [json.loads(file.read_text()) for file in self.folder_of(name).glob("checkpoints/step-?????????/manifest.json")]


class Divergence(Diverging):
    def test_it_goes_back_with_lower_rates_and_recovers_alike_on_any_layout_and_after_a_kill(self):
        out, _ = self.run_job("whole", *RECOVERS, workers=1)
        self.assertRegex(out, r"goes back to step 0, with learning rates times 1e-18 and new random numbers \(1 of 3\)")
        self.assertEqual(self.changes("whole"), [(0, "rollback", 1e-18, 1)])
        self.assertTrue(all([event["kind"] for event in manifest["events"]] == ["rollback"] for manifest in self.manifests("whole")))
        code, out, err = self.call(GANGWAY, "events", "whole")
        self.assertEqual(code, 0, err)
        self.assertRegex(out, r"(?m)^ *0 +rollback +lr x 1e-18, retry 1's seed ")
        marks = self.folder_of("whole").glob("events.out.tfevents.*")  # one file per start
        self.assertEqual(sum(file.read_bytes().count(b"rollback: ") for file in marks), 1)
        running = self.start("run", *JOB, *RECOVERS, "-n", 2, "--run", "killed")
        running.wait_for(r"^tick 3 ", after=running.wait_for(r"goes back to step 0"))
        running.kill_all()
        self.run_job("killed", *RECOVERS, workers=3)
        self.assertEqual(self.changes("killed"), self.changes("whole"))
        self.assertEqual(self.digest("killed"), self.digest("whole"))

    def test_it_ends_with_the_story_when_the_retries_are_gone(self):
        _, err = self.run_job("lost", *HUGE, "training.divergence.retries=2", code=4)
        self.assertIn("tried 2 times: from step 0 on with learning rates times 0.5", err)
        self.assertIn("training.divergence.retries=5", err)
        self.assertEqual(self.changes("lost"), [(0, "rollback", 0.5, 1), (0, "rollback", 0.5, 2)])
        status = json.loads((self.folder_of("lost") / "status.json").read_text())
        self.assertEqual(status["exit_code"], 4)
        self.assertNotIn("rolled_back", status)

    def test_losses_that_left_every_bound_end_it_where_it_may_not_go_back(self):
        _, err = self.run_job("on3", *rates(50), "training.divergence.policy=stop", workers=3, code=4)
        self.assertRegex(err, r"gangway: step \d+: diverged: the \w+'s loss is \S+e\+\d+, and has been above 10000 "
                              r"\(training.divergence.loss_bound\) for 25 steps: ")
        self.assertIn("training.divergence.policy=rollback", err)
        self.assertEqual(self.decisions("on3"), [])


class EarlyStop(Diverging):
    # At a rate of almost zero no score is better than the first one, or by rounding than the second.
    JOB = [EXAMPLES / "ring8.yaml", "model.width=32", "training.microbatches=6", "training.batch=96", "training.kimg=96",
           "output.pictures_kimg=0", *rates(1e-30), "checkpoint.every_kimg=0", "checkpoint.every_steps=50", "checkpoint.keep_best=1",
           "checkpoint.score_samples=500", "checkpoint.early_stop.patience=3", "training.plateau.patience=1"]

    def end_of(self, name, workers):
        """Runs or resumes a job that stops early. Returns its decisions, where they came, and its digest."""
        out, _ = self.run_job(name, job=self.JOB, workers=workers)
        self.assertRegex(out, r"stopped early at step \d+: 3 scores in a row .* the best checkpoint is that of step \d+")
        decisions = self.decisions(name)
        self.assertEqual([one["kind"] for one in decisions][-2:], ["score", "early-stop"])
        self.assertEqual({one["kind"] for one in decisions}, {"score", "plateau", "early-stop"})
        told = [(one["step"], one["kind"], one["lr_factor"], one.get("score")) for one in decisions]
        step = int(re.search(r"stopped early at step (\d+)", out).group(1))
        self.assertEqual(decisions[-1]["step"], step)
        return json.dumps(told), step, self.digest(name)

    def test_killed_between_a_plateau_and_the_stop_it_ends_where_one_worker_would_have(self):
        whole = self.end_of("whole", workers=1)
        running = self.start("run", *self.JOB, "-n", 2, "--run", "killed")
        # The plateau begins at a later step, before or after the kill.
        running.wait_until(lambda: any('"plateau"' in file.read_text() for file in
                                       (self.folder / "runs").glob("*-killed/decisions.jsonl")), "a plateau")
        running.kill_all()
        self.assertNotIn("early-stop", [one["kind"] for one in self.decisions("killed")])
        self.assertEqual(self.end_of("killed", workers=3), whole)
        self.assertIn("stopped early at step", self.run_job("whole", job=self.JOB)[0])


class Planted(Diverging):
    """Each test is one divergence; no saved state may be poisoned."""

    def plant(self, *words, workers=1):
        """Returns the text of its end, the steps of each trouble and rollback, and its digest."""
        name = f"on{workers}"
        _, err = self.run_job(name, *words, workers=workers, job=PLANTED, code=4)
        self.assertIn("the training itself", err)
        folder = self.folder_of(name)
        self.assertRegex(json.loads((folder / "error.json").read_text())["resume_command"],
                         r" training\.divergence\.(policy=rollback|retries=\d+)$")
        self.assertEqual(list(folder.glob("checkpoints/.tmp-*")), [])
        for file in folder.glob("checkpoints/*/*.safetensors"):
            for tensor, value in safetensors.numpy.load_file(file).items():
                self.assertTrue(torch.from_numpy(value).isfinite().all(), f"{file}: {tensor}")
        steps = sorted(manifest["step"] for manifest in self.manifests(name))
        return err, [(one["seen"], one["step"]) for one in self.decisions(name)], steps, self.digest(name) if steps else None

    def own(self, kind, name):
        write_classes(self.folder / "nets.py", kind)
        return f"model.{name}={self.folder / 'nets.py'}:{kind.__name__}"

    def test_a_moment_that_no_loss_shows_is_found_by_the_snapshot(self):
        found = self.plant("discriminator.schedule={decay: exponential, start_kimg: 1.28, end_kimg: 1.92, final_factor: 1e9}",
                           "checkpoint.snapshot_steps=10", *ONCE, workers=3)
        self.assertEqual(found[1], [(41, 30)])

    def test_one_example_of_one_micro_batch_is_no_number_to_the_discriminator(self):
        words = [self.own(Brittle, "discriminator"), *ONCE]
        one, three = (self.plant(*words, workers=workers)[1:] for workers in (1, 3))
        self.assertEqual(one, three)
        [(seen, step)] = one[0]
        self.assertEqual(step, max(0, 10 * (seen // 10 - 1)))

    def test_a_gradient_that_is_no_number_is_skipped_where_it_is_clipped_until_it_is_too_much(self):
        err, *_ = self.plant(self.own(Rough, "discriminator"), "discriminator.clip_norm=1")
        self.assertRegex(err, "step 25: the gradient of the discriminator was not finite in 25 updates in a row")
        first = json.loads((self.folder_of("on1") / "stats.jsonl").read_text().splitlines()[0])
        self.assertIs(first["discriminator_update_skipped"], True)
        self.assertNotIn("discriminator_gradient_norm", first)

    def test_a_generator_of_dead_units_makes_the_same_again_and_again(self):
        err, *_ = self.plant(self.own(Stubborn, "generator"), "training.divergence.diversity=0.01",
                             "training.divergence.diversity_steps=12")
        self.assertRegex(err, r"step 12: the examples that the discriminator got differed 0 times .*the generator repeats the same examples")


if __name__ == "__main__":
    unittest.main()
