#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares whole steps in PyTorch alone, in float64, with Gangway's steps with the same draws.

    steps_reference.py STEP_SAMPLE [unittest arguments]

A case is a job, as in its file, and the networks of the other references that it trains. The comparison covers a step's
whole state: weights, averages, moments (of squares: their roots) and statistics, relative to a tensor's largest value. It
must then notice every mistake of reference_mistakes.py.

Adam's eps is large. With a small one the first updates are signs, and rounding decides them where gradients are near zero.
Seeds are chosen so that no activation is so near to its kink that rounding moves it across, which would change gradients by
more than the bound. The test prints that distance. Narrow networks make such seeds frequent.
"""
import json
import math
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import torch
from safetensors.torch import load_file
from torch.nn import functional as F

import biggan_reference
import r3gan_reference
import stylegan2_reference
from reference_mistakes import MISTAKES
from reference_steps import Steps

BOUND = 1e-5  # of a tensor's largest value
LEAST = 0.1  # of the network's largest moment: errors of smaller moments are relative to this


def trained(lr, betas, eps=0.01, **more):
    return {"optimizer": {"adam": {"lr": lr, "betas": betas, "eps": eps}}, **more}


def to(end, **final):
    return {"decay": "cosine", "end_kimg": end, **final}


def training(seed, loss, **more):
    return {"kimg": 1, "batch": 8, "microbatches": 2, "seed": seed, "loss": loss, **more}


CASES = {
    "r3gan": (3, r3gan_reference, {
        "model": {"family": "r3gan", "width": 1, "widest_side": 8, "blocks": 1, "latent": 4, "channels": 3, "classes": 10},
        "training": training(
            28, "relativistic", generator_reals="new", r2={"gamma": 0.5},
            r1={"gamma": 1.0, "schedule": to(0.03, final_factor=0.1)},
            augment={"policy": "ada", "kinds": ["blit", "color", "cutout"], "strength": 1,
                     "multipliers": {"color": 0.5}, "penalties": "original"}),
        "generator": trained(0.02, [0.0, 0.9], ema_kimg=0, ema_rampup="none", schedule=to(
            0.03, final_factor=0.25, beta2=to(0.03, final=0.99), ema=to(0.03, final=0.02))),
        "discriminator": trained(0.02, [0.0, 0.9], schedule=to(0.03, final_factor=0.25, beta2=to(0.03, final=0.99)))},
        {"noise": 4, "widths": [4, 4, 2, 1], "groups": [1] * 4, "blocks": 1, "channels": 3, "classes": 10}),
    "r3gan without labels": (3, r3gan_reference, {
        "model": {"family": "r3gan", "width": 1, "widest_side": 8, "blocks": 1, "latent": 4},
        "training": training(37, "relativistic", r1={"gamma": 1.0}, r2={"gamma": 0.5}),
        "generator": trained(0.02, [0.0, 0.9], ema_kimg=0.02),
        "discriminator": trained(0.02, [0.0, 0.9])},
        {"noise": 4, "widths": [4, 4, 2, 1], "groups": [1] * 4, "blocks": 1, "channels": 1, "classes": 0}),
    "stylegan2": (5, stylegan2_reference, {
        "model": {"family": "stylegan2", "width": 1, "latent": 4, "mapping_layers": 2, "channels": 3, "classes": 10,
                  "style_mixing": 0.9, "deviation_group": 2, "discriminator_mapping_layers": 1},
        "training": training(
            8, "nonsaturating", fake_labels="data", r1={"gamma": 2.0, "interval": 2},
            path_length={"weight": 2.0, "interval": 2},
            augment={"policy": "ada", "kinds": ["blit", "color"], "strength": "adaptive", "target": -0.9, "kimg": 0.02,
                     "interval": 2, "multipliers": {"color": 0.5}, "penalties": "original"}),
        "generator": trained(0.02, [0.5, 0.9], ema_kimg=0.02, ema_rampup=0.5),
        "discriminator": trained(0.02, [0.5, 0.9])},
        {"widths": [8, 4, 2, 1], "noise": 4, "channels": 3, "classes": 10, "layers": 2, "mixing": 0.9, "group": 2,
         "label_layers": 1}),
    "stylegan2 as for CIFAR-10": (3, stylegan2_reference, {
        "model": {"family": "stylegan2", "width": 1, "latent": 4, "mapping_layers": 2, "style_mixing": 0,
                  "deviation_group": 4, "discriminator_residual": False},
        "training": training(1, "nonsaturating", r1={"gamma": 0.5}),
        "generator": trained(0.02, [0.0, 0.99], ema_kimg=0.02, ema_rampup=0.05),
        "discriminator": trained(0.02, [0.0, 0.99])},
        {"widths": [8, 4, 2, 1], "noise": 4, "channels": 1, "classes": 0, "layers": 2, "mixing": 0.0,
         "is_residual": False}),
    "biggan": (3, biggan_reference, {
        "model": {"family": "biggan", "resolution": 32, "width": 1, "latent": 8, "channels": 3, "classes": 10},
        "training": training(44, "hinge", orthogonal_weight=1e-3),
        "generator": trained(0.1, [0.0, 0.999], 1.0, ema_kimg=0.02, ema_rampup="none", ema_start_kimg=0.03),
        "discriminator": trained(0.02, [0.0, 0.999], 1.0, steps=2)},
        {**biggan_reference.AT_32, "noise": 8, "width": 1, "colours": 3, "classes": 10, "attention": 0}),
    "biggan with separate embeddings": (3, biggan_reference, {
        "model": {"family": "biggan", "resolution": 32, "width": 1, "latent": 8, "classes": 10, "conditioning": "separate"},
        "training": training(66, "hinge"),
        "generator": trained(0.1, [0.0, 0.999], 1.0, ema_kimg=0.02, ema_rampup="none"),
        "discriminator": trained(0.02, [0.0, 0.999], 1.0)},
        {**biggan_reference.AT_32, "noise": 8, "width": 1, "colours": 1, "classes": 10, "attention": 0,
         "conditioning": "separate"}),
}


def kind_of(name):
    """Returns the kind of a tensor: weights, a moment or a statistic, and its network."""
    parts = name.split("/")
    is_moment, last = parts[0].endswith("_optimizer"), name.replace("/", ".").rsplit(".", 1)[-1]
    is_statistic = last in ("path_length", "direction", "signs", "strength", "updates", "running_mean", "running_var")
    return " ".join(parts[:2] if is_moment else [parts[0], last] if is_statistic else parts[:1])


def largest(values):
    return values.abs().max().item()


def errors(found, expected):
    """Returns the largest error by kind."""
    found, expected = [{name: value.sqrt() if "second_moment" in name else value for name, value in values.items()}
                       for values in (found, expected)]
    least, worst = {}, {}
    for name, value in expected.items():
        if "_optimizer/" in name:
            least[kind_of(name)] = max(least.get(kind_of(name), 0.0), LEAST * largest(value))
    for name, value in expected.items():
        kind, apart = kind_of(name), largest(found[name] - value)
        error = apart and apart / max(largest(value), least.get(kind, 0.0), 1e-30)
        worst[kind] = max(worst.get(kind, 0.0), math.inf if math.isnan(error) else error)
    return worst


class Kinks:
    """Measures the smallest distance of activations from their kinks, as a share of their root mean square."""

    def __enter__(self):
        self.nearest, self.plain = 1.0, {name: getattr(F, name) for name in ("relu", "leaky_relu")}
        for name, function in self.plain.items():
            setattr(F, name, lambda x, *more, function=function: self.looked_at(x.detach()) or function(x, *more))
        return self

    def __exit__(self, *_):
        for name, function in self.plain.items():
            setattr(F, name, function)

    def looked_at(self, x):
        away = x[x != 0].abs()  # exact zeros, as in a cutout, are zero in both
        self.nearest = min([self.nearest, *(away.min() / x.square().mean().sqrt()).reshape(-1).tolist()])


class Sample:
    """A case's draws and states from Gangway."""

    def __init__(self, name):
        steps, self.family, self.job, self.arguments = CASES[name]
        with tempfile.TemporaryDirectory(prefix="gangway-test-") as folder:
            subprocess.run([SAMPLE, folder, str(steps), json.dumps(self.job)], check=True,
                           env={**os.environ, "OMP_NUM_THREADS": "1"})
            self.tensors = load_file(Path(folder) / "sample.safetensors")
        self.steps = steps

    def reference(self, kind=Steps):
        modules = {name: network(**self.arguments).double() for name, network in
                   (("generator", self.family.Generator), ("discriminator", self.family.Discriminator))}
        return kind(self.job, modules, self.tensors)

    def state(self, step):
        start = f"state/{step}/"
        return {name.removeprefix(start): value for name, value in self.tensors.items() if name.startswith(start)}

    def draws(self):
        return {name for name in self.tensors if not name.startswith("state/")}


class Reference(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.samples = {name: Sample(name) for name in CASES}

    def compare(self, sample, steps):
        """Returns the largest errors by kind."""
        worst = {}
        while steps.step < sample.steps:
            steps.take()
            expected, found = steps.state(), sample.state(steps.step)
            self.assertEqual(found.keys(), expected.keys())
            for network in ("generator", "discriminator"):  # gradients must not vanish, or little would be compared
                self.assertGreater(max(largest(value) for name, value in expected.items()
                                       if name.startswith(f"{network}_optimizer/first_moment/")), 1e-4, network)
            for kind, error in errors(found, expected).items():
                worst[kind] = max(worst.get(kind, 0.0), error)
        return worst

    def test_takes_the_same_steps(self):
        for name, sample in self.samples.items():
            with self.subTest(name), Kinks() as kinks:
                steps = sample.reference()
                worst = self.compare(sample, steps)
                print(f"{name}: nearest kink {kinks.nearest:.1e},",
                      ", ".join(f"{kind} {error:.1e}" for kind, error in sorted(worst.items())))
                self.assertEqual(sample.draws() - steps.used, set(), "drawn, and not looked at")
                self.assertLessEqual(max(worst.values()), BOUND, f"nearest kink {kinks.nearest:.1e}")

    def test_sees_each_mistake(self):
        for what, (name, kind) in MISTAKES.items():
            with self.subTest(what):
                sample, error = self.samples[name], 0.0
                steps = sample.reference(kind)
                while error <= BOUND and steps.step < sample.steps:
                    steps.take()
                    error = max(errors(sample.state(steps.step), steps.state()).values())
                print(f"{what}: {error:.1e} in step {steps.step} of {name}")
                self.assertGreater(error, BOUND)


if __name__ == "__main__":
    SAMPLE = sys.argv.pop(1)
    torch.set_num_threads(1)
    unittest.main(verbosity=1)
