# SPDX-License-Identifier: MIT
"""Makes networks.py into classes that a job names (docs/python.md), and worker.py's step into a
job's own step (docs/own-step.md). Gangway's rows `python` and `own-step` train them."""
import gangway
import torch
from torch import nn
from torch.nn.functional import softplus

from networks import NETWORKS


class Generator(nn.Module):
    def __init__(self, net):
        super().__init__()
        self.main = NETWORKS[net]()[0]

    def forward(self, noise):
        return self.main(noise)


class Discriminator(nn.Module):
    def __init__(self, net):
        super().__init__()
        self.main = NETWORKS[net]()[1]

    def forward(self, image):
        return self.main(image)


class Step(gangway.Step):
    def made(self, count):
        return self.generator(torch.randn(count, self.model["latent"]))

    @gangway.phase(trains="discriminator", new_batch=True)
    def judge(self, batch, step):
        real = batch["image"]
        with torch.no_grad():
            fake = self.made(len(real))
        return softplus(-self.discriminator(real)).mean() + softplus(self.discriminator(fake)).mean()

    @gangway.phase(trains="generator")
    def make(self, batch, step):
        return softplus(-self.discriminator(self.made(len(batch["image"])))).mean()
