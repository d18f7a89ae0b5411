# SPDX-License-Identifier: MIT
"""Distils a many-step teacher into a one-step generator (DMD2, Yin et al., 2024). The teacher knows
eight Gaussians on a ring: replace it by your diffusion model. The second network learns the score
of the generator's output, five times a step; its head tells real points from generated ones."""
import math

import gangway
import torch
import torch.nn.functional as F
from torch import nn


class Teacher(nn.Module):
    """Computes E[x0 | x0 + sigma noise] of the data: a known mixture of Gaussians."""

    def __init__(self, radius=math.sqrt(2), deviation=0.0141):
        super().__init__()
        turns = torch.arange(8) * math.pi / 4
        self.register_buffer("centres", radius * torch.stack([turns.cos(), turns.sin()], 1))
        self.variance = deviation ** 2

    def forward(self, noised, sigma):
        total = self.variance + sigma.square()
        share = F.softmax(-(noised[:, None] - self.centres).square().sum(2) / (2 * total), dim=1)
        return noised + sigma.square() / total * (share @ self.centres - noised)


def layers(takes, makes, width):
    return nn.Sequential(nn.Linear(takes, width), nn.SiLU(), nn.Linear(width, width), nn.SiLU(), nn.Linear(width, makes))


class Generator(nn.Module):
    def __init__(self, latent=2, width=128):
        super().__init__()
        self.point = layers(latent, 2, width)

    def forward(self, noise):
        return self.point(noise)


class FakeScore(nn.Module):
    """Denoises the generator's points, and judges them by the same features."""

    def __init__(self, width=128):
        super().__init__()
        self.features, self.logit = layers(3, width, width), nn.Linear(width, 1)
        self.denoised = nn.Linear(width, 2)

    def forward(self, image, sigma=None):
        sigma = torch.ones(len(image), 1) if sigma is None else sigma
        features = F.silu(self.features(torch.cat([image / (1 + sigma.square()).sqrt(), sigma.log() / 4], 1)))
        return image + sigma * self.denoised(features), self.logit(features)


class DMD2(gangway.Step):
    def __init__(self, gan_weight=0.01):
        self.teacher, self.gan_weight = Teacher(), gan_weight

    def noised(self, points):
        sigma = 0.02 * 100 ** torch.rand(len(points), 1)  # 0.02 to 2
        return points + sigma * torch.randn_like(points), sigma

    def made(self, count):
        return self.generator(torch.randn(count, self.model["latent"]))

    @gangway.phase(trains="fake_score", repeats=5, new_batch=True)
    def follow(self, batch, step):
        real = batch["image"]
        with torch.no_grad():
            fake = self.made(len(real))
        noised, sigma = self.noised(fake)
        denoised, of_fake = self.fake_score(noised, sigma)
        _, of_real = self.fake_score(*self.noised(real))
        score = ((denoised - fake) / sigma).square().mean()
        return score + self.gan_weight * (F.softplus(of_fake) + F.softplus(-of_real)).mean(), {"score_error": score}

    @gangway.phase(trains="generator")
    def generate(self, batch, step):
        points = self.made(len(batch["image"]))
        noised, sigma = self.noised(points)
        denoised, of_fake = self.fake_score(noised, sigma)
        with torch.no_grad():  # the difference of both scores, as the paper weights it (eq. 8 of DMD)
            wanted = self.teacher(noised, sigma)
            towards = (denoised - wanted) / (points - wanted).abs().mean(1, keepdim=True).clamp(min=0.01)
        matching = 0.5 * (points - (points - towards).detach()).square().sum(1).mean()
        return matching + self.gan_weight * F.softplus(-of_fake).mean()
