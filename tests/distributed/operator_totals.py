#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`gangway trace --top` counts the operators that PyTorch's profiler sees in the same step: the same modules, losses and
kernels in Python, on one thread.

    GANGWAY_BIN=build/release/bin operator_totals.py
"""
import json
import sys
import unittest

import torch
from torch.nn.functional import softplus

from train_command import EXAMPLES, GANGWAY, Trainings

OWN = EXAMPLES / "python"
sys.path.insert(0, str(OWN))
import nets  # noqa: E402

BATCH, WARM, STEPS = 64, 2, 3
OPERATORS = ("convolution_backward", "_convolution", "mkldnn_convolution", "bernoulli_", "native_batch_norm",
             "native_batch_norm_backward", "leaky_relu", "leaky_relu_backward", "mm", "addmm", "tanh", "clamp_min",
             "threshold_backward", "softplus")  # operators of networks and loss; those that move and update tensors differ


class Reference:
    """Runs one step of examples/python/job.yaml in Python, with the loss of Goodfellow et al."""

    def __init__(self):
        self.generator, self.discriminator = (network.to(memory_format=torch.channels_last)
                                              for network in (nets.Generator(), nets.Discriminator(dropout=0.2)))
        self.optimizers = [torch.optim.Adam(network.parameters(), lr=2e-4, betas=(0.5, 0.999))
                           for network in (self.discriminator, self.generator)]

    def made(self):
        return self.generator(torch.randn(BATCH, 64))

    def step(self):
        real = torch.rand(BATCH, 1, 28, 28) * 2 - 1
        self.discriminator.requires_grad_(True)
        with torch.no_grad():
            made = self.made()
        softplus(-self.discriminator(real)).mean().backward()
        softplus(self.discriminator(made)).mean().backward()
        self.update(0)
        self.discriminator.requires_grad_(False)
        softplus(-self.discriminator(self.made())).mean().backward()
        self.update(1)

    def update(self, which):
        self.optimizers[which].step()
        self.optimizers[which].zero_grad()

    def profile(self):
        """Returns the calls by operator."""
        for _ in range(WARM):
            self.step()
        with torch.autograd.profiler.profile(use_kineto=True) as profile:
            for _ in range(STEPS):
                self.step()
        return {row.key.removeprefix("aten::"): row.count for row in profile.key_averages()}


class Totals(Trainings):
    def setUp(self):
        super().setUp()
        torch.set_num_threads(1)

    def traced(self):
        images = BATCH * (WARM + STEPS + 1)
        self.train(OWN / "job.yaml", "training.loss=nonsaturating", f"training.batch={BATCH}", "training.microbatches=1",
                   f"training.kimg={images / 1000}", "output.pictures_kimg=0", "numerics.kernels=pytorch", "--trace",
                   f"{WARM}:{WARM + STEPS}", run="traced", workers=1)
        code, out, err = self.call(GANGWAY, "trace", "traced", "--top", 1000, "--json")
        self.assertEqual(code, 0, err)
        rows = map(json.loads, out.splitlines())
        return {row["operator"].removeprefix("aten::"): row["calls"] for row in rows}

    def test_are_those_of_pytorchs_own_profiler(self):
        theirs, ours = Reference().profile(), self.traced()
        for name in OPERATORS:
            self.assertEqual(theirs[name], ours[name], name)


if __name__ == "__main__":
    unittest.main()
