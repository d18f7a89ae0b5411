# SPDX-License-Identifier: MIT
"""Defines two plain PyTorch networks for job.yaml beside this file (docs/python.md)."""
import torch
from torch import nn
from torch.nn.utils.parametrizations import spectral_norm


class Up(nn.Module):
    """Doubles the size and halves the channels."""

    def __init__(self, channels):
        super().__init__()
        self.block = nn.Sequential(
            nn.Upsample(scale_factor=2), nn.Conv2d(channels, channels // 2, 3, padding=1, bias=False),
            nn.BatchNorm2d(channels // 2), nn.ReLU())

    def forward(self, maps):
        return self.block(maps)


class Generator(nn.Module):
    """Maps noise [N, latent] to pictures [N, 1, 28, 28] in [-1, 1]."""

    def __init__(self, latent=64, width=64):
        super().__init__()
        self.width = width
        self.start = nn.Sequential(nn.Linear(latent, width * 49, bias=False), nn.BatchNorm1d(width * 49), nn.ReLU())
        self.grow = nn.Sequential(Up(width), Up(width // 2))
        self.picture = nn.Conv2d(width // 4, 1, 3, padding=1)
        for module in self.modules():  # DCGAN, Radford et al. (2015), section 4
            if isinstance(module, (nn.Conv2d, nn.Linear)):
                nn.init.normal_(module.weight, 0.0, 0.02)

    def forward(self, noise):
        maps = self.start(noise).reshape(-1, self.width, 7, 7)
        return torch.tanh(self.picture(self.grow(maps)))


class Discriminator(nn.Module):
    """Maps pictures [N, 1, 28, 28] to logits [N, 1]."""

    def __init__(self, width=32, dropout=0.0):
        super().__init__()
        self.look = nn.Sequential(
            spectral_norm(nn.Conv2d(1, width, 4, 2, 1)), nn.LeakyReLU(0.2), nn.Dropout(dropout),
            spectral_norm(nn.Conv2d(width, 2 * width, 4, 2, 1)), nn.LeakyReLU(0.2), nn.Dropout(dropout))
        self.judge = spectral_norm(nn.Linear(2 * width * 49, 1))

    def forward(self, image):
        return self.judge(self.look(image).flatten(1))
