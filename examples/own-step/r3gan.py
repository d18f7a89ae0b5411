# SPDX-License-Identifier: MIT
"""Trains R3GAN (Huang et al., 2024) in plain PyTorch: networks without normalisation, relativistic
loss, R1 and R2 as exact second derivatives. Works for any number of workers (docs/own-step.md)."""
import gangway
import torch
import torch.nn.functional as F
from torch import nn


class Residual(nn.Module):
    """Applies 1x1, grouped 3x3, 1x1; begins as the identity (Zhang et al., 2019)."""

    def __init__(self, width, expansion=2, group=16):
        super().__init__()
        inner = width * expansion
        self.narrow = nn.Conv2d(width, inner, 1)
        self.middle = nn.Conv2d(inner, inner, 3, padding=1, groups=max(1, inner // group), bias=False)
        self.wide = nn.Conv2d(inner, width, 1, bias=False)
        nn.init.zeros_(self.wide.weight)

    def forward(self, x):
        return x + self.wide(F.leaky_relu(self.middle(F.leaky_relu(self.narrow(x), 0.2)), 0.2))


class Generator(nn.Module):
    def __init__(self, latent=64, width=32, channels=1, resolution=28):
        super().__init__()
        self.side, self.width = resolution // 4, width
        self.basis = nn.Linear(latent, width * self.side * self.side)
        self.stages = nn.ModuleList(Residual(width) for _ in range(3))
        self.picture = nn.Conv2d(width, channels, 1)

    def forward(self, noise):
        x = self.basis(noise).unflatten(1, (self.width, self.side, self.side))
        for number, stage in enumerate(self.stages):
            x = stage(x if number == 0 else F.interpolate(x, scale_factor=2, mode="nearest"))
        return torch.tanh(self.picture(x))


class Discriminator(nn.Module):
    def __init__(self, width=32, channels=1, resolution=28):
        super().__init__()
        self.first = nn.Conv2d(channels, width, 1)
        self.stages = nn.ModuleList(Residual(width) for _ in range(3))
        self.logit = nn.Linear(width * (resolution // 4) ** 2, 1)

    def forward(self, image):
        x = self.first(image)
        for number, stage in enumerate(self.stages):
            x = stage(x if number == 0 else F.avg_pool2d(x, 2))
        return self.logit(x.flatten(1))


class R3GAN(gangway.Step):
    def __init__(self, gamma=1.0):
        self.gamma = gamma

    def made(self, count):
        return self.generator(torch.randn(count, self.model["latent"]))

    @gangway.phase(trains="discriminator", new_batch=True)
    def judge(self, batch, step):
        real = batch["image"].requires_grad_()
        with torch.no_grad():
            fake = self.made(len(real))
        fake.requires_grad_()
        of_real, of_fake = self.discriminator(real), self.discriminator(fake)
        gradients = torch.autograd.grad(of_real.sum() + of_fake.sum(), (real, fake), create_graph=True)
        penalty = self.gamma / 2 * sum(one.square().sum((1, 2, 3)).mean() for one in gradients)
        return F.softplus(of_fake - of_real).mean() + penalty, {"penalty": penalty, "real_logit": of_real.mean()}

    @gangway.phase(trains="generator")
    def make(self, batch, step):
        real = batch["image"]
        return F.softplus(self.discriminator(real) - self.discriminator(self.made(len(real)))).mean()
