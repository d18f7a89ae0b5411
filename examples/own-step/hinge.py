# SPDX-License-Identifier: MIT
"""Trains with the hinge loss (Lim and Ye, 2017): `gangway run job.yaml training.step=hinge.py:Hinge`."""
import gangway, torch
import torch.nn.functional as F


class Hinge(gangway.Step):
    def fakes(self, batch):
        return self.generator(torch.randn(len(batch["image"]), self.model["latent"]))

    @gangway.phase(trains="discriminator", new_batch=True)
    def judge(self, batch, step):
        real, fake = self.discriminator(batch["image"]), self.discriminator(self.fakes(batch).detach())
        return F.relu(1 - real).mean() + F.relu(1 + fake).mean()

    @gangway.phase(trains="generator")
    def make(self, batch, step):
        return -self.discriminator(self.fakes(batch)).mean()
