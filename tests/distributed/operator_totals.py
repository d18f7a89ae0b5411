#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The operators that `gangway trace --top` shows, beside what PyTorch's own profiler says of the same step: the same modules,
losses and kernels in Python, on one thread. Names and calls must be equal; times are shown and judged by nobody, for other
programs run on the machine.

    GANGWAY_BIN=build/release/bin operator_totals.py [ROUNDS]
"""
import ctypes
import json
import subprocess
import sys
import unittest

import torch
from torch.nn.functional import softplus

from train_command import EXAMPLES, GANGWAY, Trainings

OWN = EXAMPLES / "bring-your-own"
sys.path.insert(0, str(OWN))
import make_networks  # noqa: E402

ROUNDS = 1
BATCH, WARM, STEPS = 64, 5, 10
OPERATORS = ("convolution_backward", "_convolution", "mkldnn_convolution", "bernoulli_", "native_batch_norm",
             "native_batch_norm_backward", "leaky_relu", "leaky_relu_backward", "mm", "addmm", "tanh", "clamp_min",
             "threshold_backward", "softplus")  # the networks' and the loss's own: what moves and updates tensors differs


class Reference:
    """One step of examples/bring-your-own/job.yaml by hand."""

    def __init__(self):
        self.generator, self.discriminator = (network().apply(make_networks.initialise).to(memory_format=torch.channels_last)
                                              for network in (make_networks.Generator, make_networks.Discriminator))
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
        """By operator: calls and milliseconds of its own."""
        for _ in range(WARM):
            self.step()
        with torch.autograd.profiler.profile(use_kineto=True) as profile:
            for _ in range(STEPS):
                self.step()
        return {row.key.removeprefix("aten::"): (row.count, row.self_cpu_time_total / 1000)
                for row in profile.key_averages()}


class Totals(Trainings):
    def setUp(self):
        super().setUp()
        torch.set_num_threads(1)
        for option, value in ((-4, 0), (-1, -1)):  # M_MMAP_MAX, M_TRIM_THRESHOLD: what is freed is kept, as workers do it
            ctypes.CDLL(None).mallopt(option, value)
        subprocess.run([sys.executable, OWN / "make_networks.py", self.folder], check=True)
        (self.folder / "job.yaml").write_text((OWN / "job.yaml").read_text())

    def traced(self, run):
        images = BATCH * (WARM + STEPS + 1)
        self.train("job.yaml", f"training.batch={BATCH}", "training.microbatches=1", f"training.kimg={images / 1000}",
                   "output.pictures_kimg=0", "--trace", f"{WARM}:{WARM + STEPS}", run=run, workers=1)
        code, out, err = self.call(GANGWAY, "trace", run, "--top", 1000, "--json")
        self.assertEqual(code, 0, err)
        rows = map(json.loads, out.splitlines())
        return {row["operator"].removeprefix("aten::"): (row["calls"], row["self_ms"]) for row in rows}

    def test_are_those_of_pytorchs_own_profiler(self):
        least = {}
        for round_number in range(ROUNDS):
            both = Reference().profile(), self.traced(f"run{round_number}")
            for name in OPERATORS:
                calls, times = zip(*(rows[name] for rows in both))
                self.assertEqual(*calls, name)
                least[name] = tuple(map(min, zip(times, least.get(name, times))))
        for name, (theirs, ours) in sorted(least.items(), key=lambda item: -item[1][0]):
            print(f"{name:27} {theirs:9.3f} ms {ours:9.3f} ms {ours / theirs:6.3f}")
        theirs, ours = map(sum, zip(*least.values()))
        print(f"{'all of them':27} {theirs:9.3f} ms {ours:9.3f} ms {ours / theirs:6.3f}")


if __name__ == "__main__":
    if len(sys.argv) > 1 and sys.argv[1].isdigit():
        ROUNDS = int(sys.argv.pop(1))
    unittest.main()
