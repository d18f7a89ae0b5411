#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Trainings into which a divergence was planted: each ends in recovery or with exit code 4 and its story, none silently, and what
follows is the same whatever the number of workers.

    GANGWAY_BIN=build/release/bin planted_divergences.py [unittest arguments]
"""
import json
import re
import unittest
from pathlib import Path

import safetensors.numpy
import torch

from train_command import EXAMPLES, GANGWAY, Trainings

IMAGES_A_STEP = 64
STEPS = 40
JOB = [EXAMPLES / "ring8.yaml", "model.width=16", f"training.batch={IMAGES_A_STEP}", "training.microbatches=4",
       f"training.kimg={STEPS * IMAGES_A_STEP / 1000}", "output.tick_kimg=0.64", "output.pictures_kimg=0",
       "checkpoint.every_kimg=0", "checkpoint.every_steps=10", "checkpoint.keep=99"]
BACK = ["training.divergence.policy=rollback", "training.divergence.rewind=10"]
ONCE = [*BACK, "training.divergence.retries=1"]


def rates(value, *networks):
    return [f"{network}.optimizer.adam.lr={value}" for network in networks or ("generator", "discriminator")]


# A margin is kept by a discriminator beside a generator that learns nothing and makes points far away: the loss is 0.
SATURATES = ["training.loss=hinge", *rates(1e-30, "generator"), *rates(1e-2, "discriminator"), "training.kimg=64",
             "generator.initialization=he", "generator.initialization_gain=30", "training.divergence.saturated_ticks=2",
             "training.divergence.loss_bound=0"]


class Stubborn(torch.nn.Module):
    """A generator of points whose last ReLU is dead: whatever the noise, the same point, and no gradient."""

    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(2, 2)

    def forward(self, noise):
        return torch.relu(self.layer(noise) - 1e6)


class Brittle(torch.nn.Module):
    """A discriminator that divides by zero for a point that is all but in the middle of one mode of the ring."""

    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(2, 1)

    def forward(self, points):
        near = ((points - torch.tensor([1.41443, 0.0])).square().sum(1, keepdim=True) < 3e-6).to(points.dtype)
        return self.layer(points) + (near - near) / (1.0 - near)


class Rough(torch.nn.Module):
    """A discriminator whose logits are numbers, and whose gradient is none: a root of nothing."""

    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(2, 1)

    def forward(self, points):
        return self.layer(points) + (self.layer.weight * 0.0).abs().sqrt().sum()


class Planted(Trainings):
    """Each test is one divergence."""

    def run_job(self, *words, workers=1, run="planted"):
        return self.call(GANGWAY, "run", *JOB, *words, "-n", workers, "--run", run)

    def decisions(self, run="planted"):
        files = list((self.folder / "runs").glob(f"*-{run}/decisions.jsonl"))
        return [json.loads(line) for file in files for line in file.read_text().splitlines()]

    def rollbacks(self, run="planted"):
        return [(one["seen"], one["step"], one["lr_factor"], one["reseed"])
                for one in self.decisions(run) if one["kind"] == "rollback"]

    def checkpoints(self, run="planted"):
        return sorted(int(folder.name[5:]) for folder in (self.folder / "runs").glob(f"*-{run}/checkpoints/step-?????????"))

    def require_finite(self, run="planted"):
        """Nothing that was saved is poisoned, and nothing is half saved."""
        self.assertEqual([path.name for path in (self.folder / "runs").glob(f"*-{run}/checkpoints/.tmp-*")], [])
        for file in (self.folder / "runs").glob(f"*-{run}/checkpoints/*/*.safetensors"):
            for name, value in safetensors.numpy.load_file(file).items():
                self.assertTrue(torch.from_numpy(value).isfinite().all(), f"{file}: {name}")

    def ends(self, *words, story, workers=1, seen=None):
        """It ends with 4 and a story, which names a command with a change."""
        code, out, err = self.run_job(*words, workers=workers)
        self.assertEqual(code, 4, out + err)
        self.assertRegex(err, story)
        self.assertIn("the training itself", err)
        self.assertNotIn("cause unknown", err)
        self.assertRegex(err.replace("|", " "), r"with a change")
        error = json.loads(next((self.folder / "runs").glob("*-planted/error.json")).read_text())
        self.assertRegex(error["resume_command"], r" training\.divergence\.(policy=rollback|retries=\d+)$")
        if seen is not None:
            self.assertRegex(err, rf"step {seen}: ")
        self.require_finite()
        return err

    def recovers(self, *words, back, workers=1):
        """It goes back, and trains to the end. `back`: step of the trouble and of the rollback, for each."""
        code, out, err = self.run_job(*words, workers=workers)
        self.assertEqual(code, 0, out + err)
        self.assertEqual([one[:2] for one in self.rollbacks()], back)
        self.assertEqual(self.checkpoints()[-1], STEPS)
        self.require_finite()
        return out

    def alike(self, *words, code):
        """One and three workers decide alike, and have the same numbers in the end."""
        found = []
        for workers in (1, 3):
            run = f"on{workers}"
            ended, out, err = self.run_job(*words, workers=workers, run=run)
            self.assertEqual(ended, code, out + err)
            digest = self.digest(run) if self.checkpoints(run) else None
            found.append((self.rollbacks(run), self.checkpoints(run), digest))
        self.assertEqual(found[0], found[1])
        return found[0]

    # Learning rates.

    def test_a_huge_rate_of_both_is_lowered(self):
        self.recovers(*rates(1e9), *BACK, "training.divergence.lr_factor=1e-12", back=[(2, 0)])

    def test_a_huge_rate_of_the_generator_alone_ends(self):
        self.ends(*rates(1e9, "generator"), story="loss of micro-batch 0 is -?(nan|inf)", seen=2)

    def test_a_huge_rate_of_the_discriminator_alone_is_tried_in_vain(self):
        self.ends(*rates(1e9, "discriminator"), *ONCE, story="tried once: from step 0 on with learning rates times 0.5")
        self.assertEqual(len(self.rollbacks()), 1)

    def test_a_schedule_that_explodes_late_goes_back_to_just_before(self):
        leap = "schedule={decay: linear, start_kimg: 1.6, end_kimg: 1.664, final_factor: 1e9}"
        found = self.alike(f"generator.{leap}", f"discriminator.{leap}", *BACK, "training.divergence.lr_factor=1e-12", code=0)
        self.assertEqual([one[:2] for one in found[0]], [(27, 10)])

    def test_a_moment_that_no_loss_shows_is_found_by_the_snapshot(self):
        found = self.alike("discriminator.schedule={decay: exponential, start_kimg: 1.28, end_kimg: 1.92, final_factor: 1e9}",
                           "checkpoint.snapshot_steps=10", *ONCE, code=4)
        self.assertEqual([one[:2] for one in found[0]], [(41, 30)])

    def test_no_second_moment_that_would_tame_a_rate(self):
        self.ends("generator.optimizer.adam.betas=[0, 0]", "discriminator.optimizer.adam.betas=[0, 0]", *rates(1e9),
                  story="loss of micro-batch", seen=2)

    # Penalties.

    def test_a_huge_weight_of_r1_under_a_bound_on_the_gradient(self):
        self.ends("training.r1.gamma=1e9", "training.divergence.gradient_norm=1e5",
                  story=r"the norm of the discriminator's gradient is .*, above training\.divergence\.gradient_norm 100000", seen=1)

    def test_an_exploding_penalty_is_found_in_the_same_step_by_all(self):
        found = self.alike("training.loss=wasserstein", "training.gradient_penalty=1e6", *ONCE,
                           "training.divergence.gradient_norm=100", code=4)
        self.assertEqual([one[:2] for one in found[0]], [(1, 0)])

    def test_a_penalty_whose_weight_grows_without_bound(self):
        err = self.ends("training.r1.gamma=1", "training.r1.schedule={decay: exponential, final_factor: 1e9}",
                        "training.divergence.gradient_norm=1e4", story="the norm of the discriminator's gradient is")
        self.assertGreater(int(re.search(r"step (\d+): the norm", err).group(1)), 5)

    def test_lecam_with_a_wrong_sign_is_refused(self):
        code, _, err = self.run_job("training.lecam.weight=-1")
        self.assertEqual(code, 2, err)
        self.assertIn("training.lecam.weight", err)

    # Precisions.

    def test_fp16_overflows_at_first_and_recovers_by_itself(self):
        code, out, err = self.run_job("numerics.precision=fp16", workers=2)
        self.assertEqual(code, 0, out + err)
        self.assertRegex(out, r"note  step 1: an update of the \w+ was skipped, its gradient was not finite; its loss scale is")
        self.assertEqual(self.decisions(), [])
        self.require_finite()

    def test_fp16_of_weights_that_it_has_no_numbers_for(self):
        self.ends("numerics.precision=fp16", *rates(1e5), story="loss of micro-batch|not finite in 25 updates in a row")

    def test_bf16_diverges_as_fp32_does(self):
        self.recovers("numerics.precision=bf16", *rates(1e9), *BACK, "training.divergence.lr_factor=1e-12", back=[(2, 0)],
                      workers=2)

    # Networks.

    def script(self, module, name):
        torch.manual_seed(1)
        file = self.folder / f"{name}.pt"
        torch.jit.script(module).save(str(file))
        return f"model.{name}={file}"

    def test_a_gradient_that_is_no_number_is_skipped_where_it_is_clipped_until_it_is_too_much(self):
        words = [self.script(Rough(), "discriminator"), "discriminator.clip_norm=1"]
        self.ends(*words, story="the gradient of the discriminator was not finite in 25 updates in a row", seen=25)
        stats = next((self.folder / "runs").glob("*-planted/stats.jsonl")).read_text().splitlines()
        self.assertIs(json.loads(stats[0])["discriminator_update_skipped"], True)
        self.assertNotIn("discriminator_gradient_norm", json.loads(stats[0]))

    def test_and_all_go_back_alike(self):
        found = self.alike(self.script(Rough(), "discriminator"), "discriminator.clip_norm=1", *ONCE, code=4)
        self.assertEqual([one[:2] for one in found[0]], [(25, 10)])

    def test_and_poisons_all_where_it_is_not(self):
        self.ends(self.script(Rough(), "discriminator"), story="loss of micro-batch 0 is -?nan")

    def test_a_generator_of_dead_units_makes_the_same_again_and_again(self):
        words = [self.script(Stubborn(), "generator"), "training.divergence.diversity=0.01",
                 "training.divergence.diversity_steps=12"]
        self.ends(*words, story=r"step 12: what the discriminator was given differed 0 times .*the same again and again")

    def test_and_goes_back_alike_on_any_layout(self):
        words = [self.script(Stubborn(), "generator"), "training.divergence.diversity=0.01",
                 "training.divergence.diversity_steps=12", *ONCE]
        found = self.alike(*words, code=4)
        self.assertEqual([one[:2] for one in found[0]], [(12, 0)])

    def test_one_example_of_one_micro_batch_is_no_number_to_the_discriminator(self):
        found = self.alike(self.script(Brittle(), "discriminator"), *ONCE, code=4)
        [(seen, step, _, _)] = found[0]
        self.assertEqual(step, max(0, 10 * (seen // 10 - 1)))

    def test_initial_weights_that_are_no_numbers_are_refused(self):
        code, out, err = self.run_job(run="healthy")
        self.assertEqual(code, 0, out + err)
        file = self.folder / "generator.safetensors"
        code, out, err = self.call(GANGWAY, "checkpoints", "export", "healthy", "-o", file)
        self.assertEqual(code, 0, out + err)
        tensors = safetensors.numpy.load_file(file)
        name = sorted(tensors)[0]
        tensors[name] = tensors[name].copy()
        tensors[name].reshape(-1)[0] = float("nan")
        safetensors.numpy.save_file(tensors, file)
        code, out, err = self.run_job(f"generator.weights={file}")
        self.assertEqual(code, 2, out + err)
        self.assertIn("generator.weights: ", err)
        self.assertIn(f"a value of tensor '{name}' is not finite", err)
        self.assertFalse(list((self.folder / "runs").glob("*-planted/checkpoints/*")))

    # Losses and labels.

    def test_a_dead_discriminator_is_told_of(self):
        code, out, err = self.run_job(*SATURATES)
        self.assertEqual(code, 0, out + err)
        self.assertRegex(out, r"warn  step \d+: the discriminator's loss has been below 1e-04 of its first")

    def test_and_is_trouble_where_the_job_says_so(self):
        self.ends(*SATURATES, "training.divergence.act_on_saturation=true",
                  story="the discriminator's loss has been below 1e-04 of its first")

    def test_a_loss_that_leaps(self):
        self.ends("training.divergence.loss_factor=50", "generator.schedule={decay: linear, start_kimg: 1.92, end_kimg: 1.984, "
                  "final_factor: 1e6}", story=r"step 3\d: the \w+'s loss is .* times the median")

    def test_a_wasserstein_loss_without_a_bound(self):
        self.ends("training.loss=wasserstein", "training.gradient_penalty=0", *rates(1e9), story="loss of micro-batch")

    def test_other_numbers_alone_do_not_help_and_the_story_says_what_was_tried(self):
        err = self.ends(*rates(1e9), *BACK, "training.divergence.lr_factor=1", "training.divergence.retries=2",
                        story="tried 2 times: from step 0 on with learning rates times 1 after step 2")
        self.assertIn("training.divergence.retries=5", err)
        self.assertEqual([one[3] for one in self.rollbacks()], [1, 2])


if __name__ == "__main__":
    unittest.main()
