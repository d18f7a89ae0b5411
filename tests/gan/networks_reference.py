#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares networks and losses of R3GAN, GAT, BigGAN and StyleGAN2 in PyTorch alone with Gangway's for the same weights and
inputs.

    networks_reference.py NETWORKS_SAMPLE [unittest arguments]

Each family's module has its networks, its cases (a job's model, and the networks' arguments for it), and the published sizes
of both networks, if there are some. All in float64.
"""
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import torch
from safetensors.torch import load_file
from torch.nn import functional as F

import biggan_reference
import gat_reference
import r3gan_reference
import stylegan2_reference

TOLERANCE = 1e-10  # of a tensor's largest value
FAMILIES = [r3gan_reference, gat_reference, biggan_reference, stylegan2_reference]
CASES = [(family, f"{family.__name__}: {name}", *case) for family in FAMILIES for name, case in family.CASES.items()]
PENALTIES = "training: {loss: relativistic, r1: {gamma: 3}, r2: {gamma: 2}}\ndata: {source: 'images:none'}\n"


def weights_of(sample, network, prefix=""):
    start = f"{prefix}{network}/"
    return {"layers." + name.removeprefix(start).replace("/", "."): values
            for name, values in sample.items() if name.startswith(start)}


def zero_centred_penalty(images, logits):
    gradient, = torch.autograd.grad(logits.sum(), images, create_graph=True)
    return gradient.square().sum([1, 2, 3])


def discriminator_loss(judged, real, real_labels, fake, fake_labels):
    real, fake = real.requires_grad_(True), fake.requires_grad_(True)
    of_real, of_fake = judged(real, real_labels), judged(fake, fake_labels)
    penalties = 3 / 2 * zero_centred_penalty(real, of_real) + 2 / 2 * zero_centred_penalty(fake, of_fake)
    return (F.softplus(of_fake - of_real).squeeze(1) + penalties).mean()


class Networks(unittest.TestCase):
    def expect_equal(self, values, expected, what, rounding=0.0):
        self.assertEqual(values.shape, expected.shape, what)
        apart = (values.detach() - expected).abs().max().item()
        self.assertLessEqual(apart, max(TOLERANCE * expected.abs().max().item(), rounding), what)

    def expect_gradients(self, family, module, expected):
        found = {name: torch.zeros_like(parameter) if parameter.grad is None else parameter.grad
                 for name, parameter in module.named_parameters()}
        self.assertEqual(set(found), set(expected))
        rounding = getattr(family, "ROUNDING", 0.0) * max(values.abs().max().item() for values in expected.values())
        for name, values in found.items():
            self.expect_equal(values, expected[name], name, rounding)
        module.zero_grad()

    def check(self, family, arguments, sample):
        generator, discriminator = family.Generator(**arguments).double(), family.Discriminator(**arguments).double()
        generator.load_state_dict(weights_of(sample, "generator"))
        discriminator.load_state_dict(weights_of(sample, "discriminator"))
        real_labels, fake_labels = sample["real_labels"].long(), sample["fake_labels"].long()
        more = [sample["depth_noise"]] if "depth_noise" in sample else []

        def judged(pictures, labels):
            return discriminator(pictures, labels, *more)

        if hasattr(family, "path_length_loss"):
            loss = family.path_length_loss(generator, sample, fake_labels, torch.tensor(0.5).double(), 2.0)
            loss.backward()
            self.expect_equal(loss, sample["path_length_loss"].reshape(()), "path lengths")
            self.expect_gradients(family, generator, weights_of(sample, "generator", "path_gradient/"))
        images = family.made(generator, sample, fake_labels)
        of_real = judged(sample["real"], real_labels)
        self.expect_equal(images, sample["images"], "images")
        self.expect_equal(of_real, sample["logits"], "logits")
        loss = F.softplus(of_real - judged(images, fake_labels)).mean()
        loss.backward()
        self.expect_equal(loss, sample["generator_loss"], "the generator's loss")
        self.expect_gradients(family, generator, weights_of(sample, "generator", "gradient/"))
        discriminator.zero_grad()
        loss = discriminator_loss(judged, sample["real"], real_labels, images.detach(), fake_labels)
        loss.backward()
        self.expect_equal(loss, sample["discriminator_loss"], "the discriminator's loss")
        self.expect_gradients(family, discriminator, weights_of(sample, "discriminator", "gradient/"))

    def test_networks_and_gradients_are_gangways(self):
        with tempfile.TemporaryDirectory(prefix="gangway-test-") as folder:
            jobs = [f"model: {model}\n{PENALTIES}" for _, _, model, _ in CASES]
            subprocess.run([SAMPLE, folder, *jobs], check=True)
            for number, (family, name, _, arguments) in enumerate(CASES):
                with self.subTest(name):
                    self.check(family, arguments, load_file(Path(folder) / f"{number}.safetensors"))

    def test_networks_are_as_large_as_the_authors(self):
        for family in (r3gan_reference, biggan_reference):
            for name, (arguments, *expected) in family.SIZES.items():
                with self.subTest(name), torch.device("meta"):
                    sizes = [sum(parameter.numel() for parameter in network(**arguments).parameters())
                             for network in (family.Generator, family.Discriminator)]
                    self.assertEqual(sizes, expected)


if __name__ == "__main__":
    SAMPLE = sys.argv.pop(1)
    torch.set_num_threads(1)
    unittest.main(verbosity=1)
