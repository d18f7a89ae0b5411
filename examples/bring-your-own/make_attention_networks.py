#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A small SAGAN of the layers beside this file, for the same job file (docs/bring-your-own.md).

    make_attention_networks.py [FOLDER]        writes generator.pt and discriminator.pt there; the current folder otherwise
"""
import sys
from pathlib import Path

import torch
from torch import nn

from layers import SelfAttention, SpectralConv2d, SpectralConvTranspose2d, SpectralLinear

LATENT = 64  # model.latent


class Generator(nn.Module):
    """noise [N, 64] -> pictures [N, 1, 28, 28] in [-1, 1]"""

    def __init__(self):
        super().__init__()
        self.start = SpectralLinear(LATENT, 64 * 49)
        self.grow = nn.Sequential(
            nn.BatchNorm2d(64), nn.ReLU(), SpectralConvTranspose2d(64, 32, 4, 2, 1),
            nn.BatchNorm2d(32), nn.ReLU(), SelfAttention(32), SpectralConvTranspose2d(32, 1, 4, 2, 1), nn.Tanh())

    def forward(self, noise: torch.Tensor) -> torch.Tensor:
        return self.grow(self.start(noise).reshape(-1, 64, 7, 7))


class Discriminator(nn.Module):
    """pictures [N, 1, 28, 28] -> logits [N, 1]"""

    def __init__(self):
        super().__init__()
        self.look = nn.Sequential(
            SpectralConv2d(1, 32, 4, 2, 1), nn.LeakyReLU(0.1), SelfAttention(32),
            SpectralConv2d(32, 64, 4, 2, 1), nn.LeakyReLU(0.1))
        self.judge = SpectralLinear(64 * 49, 1)

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        return self.judge(self.look(image).flatten(1))


def initialise(module):
    if isinstance(module, (nn.Conv2d, nn.ConvTranspose2d, nn.Linear)):
        nn.init.orthogonal_(module.weight)


def main():
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    torch.manual_seed(0)  # what is in the files is what training begins with
    for name, network in {"generator": Generator(), "discriminator": Discriminator()}.items():
        network.apply(initialise)
        torch.jit.script(network).save(folder / f"{name}.pt")


if __name__ == "__main__":
    main()
