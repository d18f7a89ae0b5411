# SPDX-License-Identifier: MIT
"""Defines the networks of job/families/dcgan.cpp (32 pixels) and infogan.cpp (28) in PyTorch."""
import gzip
from pathlib import Path

import numpy
import torch
from torch import nn

FASHION_MNIST = Path("/usr/share/datasets/fashion-mnist/train-images-idx3-ubyte.gz")  # package dataset-fashion-mnist
LATENT = {"dcgan": 100, "infogan": 64}
RESOLUTION = {"dcgan": 32, "infogan": 28}


def up(channels_in, channels_out, stride=2, padding=1):
    """Makes a transposed convolution of 4 x 4, batch norm, ReLU."""
    return [nn.ConvTranspose2d(channels_in, channels_out, 4, stride, padding, bias=False),
            nn.BatchNorm2d(channels_out), nn.ReLU(inplace=True)]


def down(channels_in, channels_out):
    """Makes a convolution of 4 x 4 to half the size, batch norm, leaky ReLU."""
    return [nn.Conv2d(channels_in, channels_out, 4, 2, 1, bias=False),
            nn.BatchNorm2d(channels_out), nn.LeakyReLU(0.2, inplace=True)]


def dcgan(width=64):
    """Makes DCGAN (Radford et al., arXiv 1511.06434) for 32 pixels: 1.7 M parameters in all."""
    generator = nn.Sequential(
        nn.Unflatten(1, (LATENT["dcgan"], 1, 1)), *up(LATENT["dcgan"], 4 * width, 1, 0), *up(4 * width, 2 * width),
        *up(2 * width, width), nn.ConvTranspose2d(width, 1, 4, 2, 1, bias=False), nn.Tanh())
    discriminator = nn.Sequential(
        nn.Conv2d(1, width, 4, 2, 1, bias=False), nn.LeakyReLU(0.2, inplace=True), *down(width, 2 * width),
        *down(2 * width, 4 * width), nn.Flatten(), nn.Linear(4 * width * 16, 1, bias=False))
    return generator, discriminator


def infogan():
    """Makes the net of Lucic et al., arXiv 1711.10337: 13.2 M parameters, most in linear layers."""
    generator = nn.Sequential(
        nn.Linear(LATENT["infogan"], 1024, bias=False), nn.BatchNorm1d(1024), nn.ReLU(inplace=True),
        nn.Linear(1024, 128 * 49, bias=False), nn.BatchNorm1d(128 * 49), nn.ReLU(inplace=True),
        nn.Unflatten(1, (128, 7, 7)), *up(128, 64), nn.ConvTranspose2d(64, 1, 4, 2, 1), nn.Tanh())
    discriminator = nn.Sequential(
        nn.Conv2d(1, 64, 4, 2, 1), nn.LeakyReLU(0.2, inplace=True), *down(64, 128), nn.Flatten(),
        nn.Linear(128 * 49, 1024, bias=False), nn.BatchNorm1d(1024), nn.LeakyReLU(0.2, inplace=True), nn.Linear(1024, 1))
    return generator, discriminator


NETWORKS = {"dcgan": dcgan, "infogan": infogan}


class Images:
    """Holds 28 x 28 images (IDX, gzip) as bytes. Batches are float32 [N, 1, H, W] in [-1, 1]."""

    def __init__(self, network, file=FASHION_MNIST, device="cpu"):
        with gzip.open(file) as file:
            pixels = numpy.frombuffer(file.read(), numpy.uint8, offset=16).reshape(-1, 1, 28, 28)
        border = (RESOLUTION[network] - 28) // 2
        self.pixels = torch.from_numpy(numpy.pad(pixels, ((0, 0), (0, 0), (border, border), (border, border)))).to(device)

    def batch(self, indices):
        return self.pixels[indices].float().mul_(1 / 127.5).sub_(1)
