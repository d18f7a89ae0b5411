# SPDX-License-Identifier: MIT
"""Defines R3GAN's networks in PyTorch alone, for networks_reference.py and steps_reference.py.

Written after the authors' code (github.com/brownvc/R3GAN, R3GAN/Networks.py, Resamplers.py, Trainer.py), whose arguments
the cases give: widths and groups by stage from 4 pixels up. All in float64.
"""
import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

FILTER = [1, 2, 1]


def lowpass():
    line = np.convolve(FILTER, [1, 1]).reshape(1, -1)
    kernel = torch.tensor(line.T @ line, dtype=torch.float64)
    return (kernel / kernel.sum())[None, None]


def upsampled(x):
    n, c, h, w = x.shape
    y = F.conv_transpose2d(x.reshape(n * c, 1, h, w), 4 * lowpass(), stride=2, padding=len(FILTER) // 2)
    return y.reshape(n, c, 2 * h, 2 * w)


def downsampled(x):
    n, c, h, w = x.shape
    y = F.conv2d(x.reshape(n * c, 1, h, w), lowpass(), stride=2, padding=len(FILTER) // 2)
    return y.reshape(n, c, h // 2, w // 2)


class Residual(nn.Module):
    def __init__(self, width, groups):
        super().__init__()
        self.expand = nn.Conv2d(width, 2 * width, 1)
        self.grouped = nn.Conv2d(2 * width, 2 * width, 3, padding=1, groups=groups)
        self.contract = nn.Conv2d(2 * width, width, 1, bias=False)

    def forward(self, x):
        y = F.leaky_relu(self.expand(x), 0.2)
        return x + self.contract(F.leaky_relu(self.grouped(y), 0.2))


class Up(nn.Module):
    def __init__(self, before, after):
        super().__init__()
        if before != after:
            self.weight = nn.Parameter(torch.empty(after, before, 1, 1))

    def forward(self, x):
        return upsampled(F.conv2d(x, self.weight) if hasattr(self, "weight") else x)


class Down(Up):
    def forward(self, x):
        x = downsampled(x)
        return F.conv2d(x, self.weight) if hasattr(self, "weight") else x


class GenerativeBasis(nn.Module):
    def __init__(self, features, width):
        super().__init__()
        self.basis = nn.Parameter(torch.empty(width, 4, 4))
        self.weight = nn.Parameter(torch.empty(width, features))

    def forward(self, x):
        return self.basis.view(1, -1, 4, 4) * F.linear(x, self.weight).view(len(x), -1, 1, 1)


class DiscriminativeBasis(nn.Module):
    def __init__(self, width, features):
        super().__init__()
        self.basis = nn.Parameter(torch.empty(width, 4, 4))
        self.weight = nn.Parameter(torch.empty(features, width))

    def forward(self, x):
        return F.linear(F.conv2d(x, self.basis.unsqueeze(1), groups=len(self.basis)).flatten(1), self.weight)


class Embedding(nn.Module):
    def __init__(self, classes, features):
        super().__init__()
        self.embedding = nn.Parameter(torch.empty(classes, features))

    def forward(self, labels):
        return F.embedding(labels, self.embedding)


def pointwise(before, after):
    return nn.Conv2d(before, after, 1, bias=False)


class Generator(nn.Module):
    """Numbers its layers as Gangway's blocks."""

    def __init__(self, noise, widths, groups, blocks, channels, classes):
        super().__init__()
        layers = [Embedding(classes, noise)] if classes else []
        layers += [GenerativeBasis(2 * noise if classes else noise, widths[0])]
        for stage, width in enumerate(widths):
            layers += [Up(widths[stage - 1], width)] if stage else []
            layers += [Residual(width, groups[stage]) for _ in range(blocks)]
        self.layers = nn.Sequential(*layers, pointwise(widths[-1], channels))

    def forward(self, x, labels):
        for layer in self.layers:
            x = torch.cat([x, layer(labels)], 1) if isinstance(layer, Embedding) else layer(x)
        return x


class Discriminator(nn.Module):
    def __init__(self, noise, widths, groups, blocks, channels, classes):
        super().__init__()
        layers = [pointwise(channels, widths[-1])]
        for stage in reversed(range(len(widths))):
            layers += [Residual(widths[stage], groups[stage]) for _ in range(blocks)]
            layers += [Down(widths[stage], widths[stage - 1])] if stage else []
        layers += [DiscriminativeBasis(widths[0], widths[0] if classes else 1)]
        self.layers = nn.Sequential(*layers, *([Embedding(classes, widths[0])] if classes else []))

    def forward(self, x, labels):
        for layer in self.layers:
            x = (x * layer(labels)).sum(1, keepdim=True) if isinstance(layer, Embedding) else layer(x)
        return x


def made(generator, sample, labels):
    return generator(sample["noise"], labels)


CASES = {
    "plain": ("{family: r3gan, resolution: 32, width: 16, latent: 8, blocks: 1}",
              {"noise": 8, "widths": [16] * 4, "groups": [2] * 4, "blocks": 1, "channels": 1, "classes": 0}),
    "labels, colours, widths that differ":
        ("{family: r3gan, resolution: 64, width: 12, latent: 6, blocks: 2, classes: 5, channels: 3}",
         {"noise": 6, "widths": [24] * 4 + [12], "groups": [3] * 4 + [1], "blocks": 2, "channels": 3, "classes": 5}),
}
# The authors' presets (train.py), with the parameters of their networks: generator, discriminator.
SIZES = {
    "CIFAR-10": ({"noise": 64, "widths": [768] * 4, "groups": [96] * 4, "blocks": 2, "channels": 3, "classes": 0},
                 20_732_160, 20_683_776),
    "CIFAR-10 with labels": ({"noise": 64, "widths": [768] * 4, "groups": [96] * 4, "blocks": 2, "channels": 3,
                              "classes": 10}, 20_781_952, 21_280_512),
    "FFHQ-256": ({"noise": 64, "widths": [768] * 4 + [384, 192, 96], "groups": [96] * 4 + [48, 24, 12], "blocks": 2,
                  "channels": 3, "classes": 0}, 23_057_952, 23_009_568),
}
