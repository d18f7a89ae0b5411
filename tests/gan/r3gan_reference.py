#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""R3GAN's networks and losses in PyTorch alone, against what Gangway's make of the same weights and inputs.

    r3gan_reference.py R3GAN_SAMPLE [unittest arguments]

Written after the authors' code (github.com/brownvc/R3GAN, R3GAN/Networks.py, Resamplers.py, Trainer.py), whose
arguments the cases spell out: widths and groups by stage from 4 pixels up. All in float64.
"""
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import load_file
from torch import nn
from torch.nn import functional as F

TOLERANCE = 1e-10  # of a tensor's largest value
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
    """Its layers are numbered as Gangway's blocks."""

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


def zero_centred_penalty(images, logits):
    gradient, = torch.autograd.grad(logits.sum(), images, create_graph=True)
    return gradient.square().sum([1, 2, 3])


def discriminator_loss(discriminator, real, real_labels, fake, fake_labels, r1, r2):
    real, fake = real.requires_grad_(True), fake.requires_grad_(True)
    of_real, of_fake = discriminator(real, real_labels), discriminator(fake, fake_labels)
    penalties = r1 / 2 * zero_centred_penalty(real, of_real) + r2 / 2 * zero_centred_penalty(fake, of_fake)
    return (F.softplus(of_fake - of_real).squeeze(1) + penalties).mean()


CASES = {
    "plain": ("model: {family: r3gan, resolution: 32, width: 16, latent: 8, blocks: 1}",
              {"noise": 8, "widths": [16] * 4, "groups": [2] * 4, "blocks": 1, "channels": 1, "classes": 0}),
    "labels, colours, widths that differ":
        ("model: {family: r3gan, resolution: 64, width: 12, latent: 6, blocks: 2, classes: 5, channels: 3}",
         {"noise": 6, "widths": [24] * 4 + [12], "groups": [3] * 4 + [1], "blocks": 2, "channels": 3, "classes": 5}),
}
PENALTIES = "training: {loss: relativistic, r1: {gamma: 3}, r2: {gamma: 2}}\ndata: {source: 'images:none'}\n"
# Of the authors' presets (train.py), and what their networks have then: generator, discriminator.
PRESETS = {
    "CIFAR-10": ({"noise": 64, "widths": [768] * 4, "groups": [96] * 4, "classes": 0}, 20_732_160, 20_683_776),
    "CIFAR-10 with labels": ({"noise": 64, "widths": [768] * 4, "groups": [96] * 4, "classes": 10},
                             20_781_952, 21_280_512),
    "FFHQ-256": ({"noise": 64, "widths": [768] * 4 + [384, 192, 96], "groups": [96] * 4 + [48, 24, 12], "classes": 0},
                 23_057_952, 23_009_568),
}


def weights_of(sample, network, prefix=""):
    start = f"{prefix}{network}/"
    return {"layers." + name.removeprefix(start).replace("/", "."): values
            for name, values in sample.items() if name.startswith(start)}


class R3gan(unittest.TestCase):
    def expect_equal(self, values, expected, what):
        self.assertEqual(values.shape, expected.shape, what)
        apart = (values.detach() - expected).abs().max().item()
        self.assertLessEqual(apart, TOLERANCE * expected.abs().max().item(), what)

    def expect_gradients(self, module, expected):
        found = {name: parameter.grad for name, parameter in module.named_parameters()}
        self.assertEqual(set(found), set(expected))
        for name, values in found.items():
            self.expect_equal(values, expected[name], name)

    def check(self, job, arguments):
        with tempfile.TemporaryDirectory(prefix="gangway-test-") as folder:
            file = Path(folder) / "sample.safetensors"
            subprocess.run([SAMPLE, file, f"{job}\n{PENALTIES}"], check=True)
            sample = load_file(file)
        generator, discriminator = Generator(**arguments).double(), Discriminator(**arguments).double()
        generator.load_state_dict(weights_of(sample, "generator"))
        discriminator.load_state_dict(weights_of(sample, "discriminator"))
        real_labels, fake_labels = sample["real_labels"].long(), sample["fake_labels"].long()
        images = generator(sample["noise"], fake_labels)
        of_real = discriminator(sample["real"], real_labels)
        self.expect_equal(images, sample["images"], "images")
        self.expect_equal(of_real, sample["logits"], "logits")
        loss = F.softplus(of_real - discriminator(images, fake_labels)).mean()
        loss.backward()
        self.expect_equal(loss, sample["generator_loss"], "the generator's loss")
        self.expect_gradients(generator, weights_of(sample, "generator", "gradient/"))
        discriminator.zero_grad()
        loss = discriminator_loss(discriminator, sample["real"], real_labels, images.detach(), fake_labels, 3.0, 2.0)
        loss.backward()
        self.expect_equal(loss, sample["discriminator_loss"], "the discriminator's loss")
        self.expect_gradients(discriminator, weights_of(sample, "discriminator", "gradient/"))

    def test_networks_and_gradients_are_gangways(self):
        for name, (job, arguments) in CASES.items():
            with self.subTest(name):
                self.check(job, arguments)

    def test_networks_are_as_large_as_the_authors(self):
        for name, (arguments, *expected) in PRESETS.items():
            with self.subTest(name), torch.device("meta"):
                sizes = [sum(parameter.numel() for parameter in network(blocks=2, channels=3, **arguments).parameters())
                         for network in (Generator, Discriminator)]
                self.assertEqual(sizes, expected)


if __name__ == "__main__":
    SAMPLE = sys.argv.pop(1)
    torch.set_num_threads(1)
    unittest.main(verbosity=1)
