# SPDX-License-Identifier: MIT
"""Networks that python_block_test.cpp trains through Gangway, and plain.py by PyTorch alone."""
import random

import numpy
import torch
from torch import nn
from torch.nn import functional
from torch.nn.utils import parametrizations

import layers


class Generator(nn.Module):
    """noise [N, 16] -> pictures [N, 1, 32, 32]"""

    def __init__(self):
        super().__init__()
        self.start = nn.Linear(16, 512, bias=False)
        self.norm = nn.BatchNorm2d(8)
        self.grow = nn.ConvTranspose2d(8, 1, 4, 4)

    def forward(self, noise):
        maps = self.norm(self.start(noise).reshape(-1, 8, 8, 8)).relu()
        return self.grow(maps).tanh()


class Discriminator(nn.Module):
    """pictures [N, 1, 32, 32] -> logits [N, 1]; has a norm of each kind, and dropout"""

    def __init__(self):
        super().__init__()
        self.look = parametrizations.spectral_norm(nn.Conv2d(1, 8, 4, 4))
        self.norm = nn.BatchNorm2d(8)
        self.judge = nn.Linear(512, 1)

    def forward(self, image):
        x = functional.leaky_relu(self.norm(self.look(image)), 0.2)
        return self.judge(functional.dropout(x, 0.3, self.training).flatten(1))


class Smooth(nn.Module):
    def __init__(self):
        super().__init__()
        self.look, self.judge = layers.look(8), nn.Linear(512, 1)

    def forward(self, image):
        return self.judge(self.look(image).flatten(1))


class Normed(nn.Module):
    """Has what Gangway's kernels compute: convolutions, a norm with an activation, a large layer."""

    def __init__(self):
        super().__init__()
        self.look = nn.Sequential(nn.Conv2d(1, 16, 4, 2, 1), nn.LeakyReLU(0.2), nn.Conv2d(16, 32, 4, 4, bias=False),
                                  nn.BatchNorm2d(32, momentum=None), nn.LeakyReLU(0.2, inplace=True), nn.Flatten(),
                                  nn.Linear(512, 2048), nn.BatchNorm1d(2048), nn.ReLU())
        self.judge = nn.Linear(2048, 1)

    def forward(self, image):
        return self.judge(self.look(image))


class Hooked(Normed):
    """Looks at what a norm makes, which is not what the activation makes of it."""

    def __init__(self):
        super().__init__()
        self.look[3].register_forward_hook(lambda norm, given, made: made.clamp(min=-1.0))


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(32, 32, bias=False)
        self.second = nn.Linear(32, 32, bias=False)
        self.second.weight = self.first.weight
        self.fixed = nn.Parameter(torch.ones(3, dtype=torch.float64), requires_grad=False)
        self.register_buffer("constant", torch.ones(1))
        self.register_buffer("steps", torch.zeros((), dtype=torch.long))
        self.judge = nn.Linear(1024, 1)

    def forward(self, image):
        if self.training:
            self.steps += 1
        return self.judge(self.second(self.first(image)).flatten(1)) * self.constant


class Draws(nn.Module):
    def __init__(self):
        super().__init__()
        self.judge = nn.Linear(1024, 1)

    def forward(self, image):
        drawn = torch.rand(1).item() + random.random() + float(numpy.random.rand())
        return self.judge(image.flatten(1)) * drawn


class Features(nn.Module):
    """pictures [N, 1, S, S] -> maps of two sizes"""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Conv2d(1, 4, 3, padding=1), nn.Conv2d(4, 6, 3, padding=1)

    def forward(self, image):
        fine = self.first(image).relu()
        return fine, self.second(functional.avg_pool2d(fine, 2)).relu()


class WeightNorm(nn.Module):
    wrap = staticmethod(parametrizations.weight_norm)

    def __init__(self):
        super().__init__()
        self.judge = self.wrap(nn.Linear(1024, 1))

    def forward(self, image):
        return self.judge(image.flatten(1))


class OldWeightNorm(WeightNorm):
    wrap = staticmethod(nn.utils.weight_norm)


class SpectralNorm(WeightNorm):
    wrap = staticmethod(parametrizations.spectral_norm)


class OldSpectralNorm(WeightNorm):
    wrap = staticmethod(nn.utils.spectral_norm)


class Lazy(nn.Module):
    def __init__(self):
        super().__init__()
        self.look, self.judge = nn.LazyConv2d(4, 4, 4), nn.LazyLinear(1)

    def forward(self, image):
        return self.judge(self.look(image).flatten(1))


class HalfTrained(nn.Module):
    def __init__(self):
        super().__init__()
        self.drop, self.judge = nn.Dropout(0.5), nn.Linear(1024, 1)

    def train(self, mode=True):
        super().train(mode)
        self.drop.eval()
        return self

    def forward(self, image):
        return self.judge(self.drop(image.flatten(1)))


class Prints(nn.Module):
    def __init__(self):
        super().__init__()
        self.judge = nn.Linear(1024, 1)
        print("made")

    def forward(self, image):
        print("called")
        return self.judge(image.flatten(1))
