# SPDX-License-Identifier: MIT
"""Trains a tokenizer after VQGAN (Esser et al., 2021): an autoencoder with a codebook, and a patch
discriminator weighted by gradients at the decoder's last layer. Works for any number of workers."""
import gangway
import torch
import torch.nn.functional as F
from torch import nn


class Residual(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.parts = nn.Sequential(nn.GroupNorm(8, width), nn.SiLU(), nn.Conv2d(width, width, 3, padding=1),
                                   nn.GroupNorm(8, width), nn.SiLU(), nn.Conv2d(width, width, 3, padding=1))

    def forward(self, x):
        return x + self.parts(x)


class Codebook(nn.Module):
    """Replaces each vector by the nearest of `size`; gradients pass straight through (van den Oord
    et al., 2017). Compares angles, which keeps more codes in use (Yu et al., 2022)."""

    def __init__(self, size, width, commitment=0.25):
        super().__init__()
        self.vectors, self.commitment = nn.Parameter(torch.randn(size, width)), commitment

    def forward(self, z):
        given, vectors = F.normalize(z.movedim(1, -1), dim=-1), F.normalize(self.vectors, dim=-1)
        tokens = (given @ vectors.t()).argmax(-1)
        chosen = vectors[tokens]
        loss = (chosen - given.detach()).square().sum(-1).mean() + self.commitment * (chosen.detach() - given).square().sum(-1).mean()
        return (given + (chosen - given).detach()).movedim(-1, 1), tokens, loss


class Autoencoder(nn.Module):
    """Maps an image [N, C, H, W] to (its copy, tokens [N, H / 4, W / 4], the codebook's loss)."""

    def __init__(self, width=32, codes=128, channels=1):
        super().__init__()
        self.encoder = nn.Sequential(nn.Conv2d(channels, width, 3, padding=1), Residual(width), nn.Conv2d(width, width, 4, 2, 1),
                                     Residual(width), nn.Conv2d(width, width, 4, 2, 1), Residual(width), nn.Conv2d(width, 16, 1))
        self.codebook = Codebook(codes, 16)
        self.decoder = nn.Sequential(nn.Conv2d(16, width, 3, padding=1), Residual(width), nn.Upsample(scale_factor=2),
                                     nn.Conv2d(width, width, 3, padding=1), Residual(width), nn.Upsample(scale_factor=2),
                                     nn.Conv2d(width, width, 3, padding=1), Residual(width), nn.GroupNorm(8, width), nn.SiLU())
        self.last = nn.Conv2d(width, channels, 3, padding=1)

    def forward(self, image):
        quantized, tokens, loss = self.codebook(self.encoder(image))
        return torch.tanh(self.last(self.decoder(quantized))), tokens, loss


class Patches(nn.Module):
    def __init__(self, width=32, channels=1):
        super().__init__()
        self.logits = nn.Sequential(nn.Conv2d(channels, width, 4, 2, 1), nn.LeakyReLU(0.2), nn.Conv2d(width, 2 * width, 4, 2, 1),
                                    nn.GroupNorm(8, 2 * width), nn.LeakyReLU(0.2), nn.Conv2d(2 * width, 1, 3, padding=1))

    def forward(self, image):
        return self.logits(image)


class Features(nn.Module):
    """Compares pictures by frozen random layers (He et al., 2016); the authors use VGG-16's."""

    def __init__(self, channels, widths=(16, 32, 64)):
        super().__init__()
        self.layers = nn.ModuleList(nn.Conv2d(a, b, 3, 2, 1) for a, b in zip((channels, *widths), widths))
        self.requires_grad_(False)

    def forward(self, image):
        return [F.normalize(image := torch.relu(layer(image)), dim=1) for layer in self.layers]


class VQGAN(gangway.Step):
    takes = {"generator": torch.zeros(1, 28, 28)}

    def __init__(self, start=200, perceptual=1.0, adversarial=0.8):
        self.start, self.perceptual, self.adversarial = start, perceptual, adversarial
        self.features = Features(self.model["channels"])

    @gangway.phase(trains="generator", new_batch=True)
    def rebuild(self, batch, step):
        image = batch["image"]
        made, tokens, codebook = self.generator(image)
        distance = F.l1_loss(made, image)
        for ours, theirs in zip(self.features(made), self.features(image)):
            distance = distance + self.perceptual * (ours - theirs).square().sum(1).mean()
        figures = {"distance": distance, "codebook": codebook, "codes_in_use": tokens.unique().numel()}
        if step < self.start:
            return distance + codebook, figures
        judged = -self.discriminator(made).mean()
        last = self.generator.last.weight
        of_distance, of_judged = (torch.autograd.grad(one, last, retain_graph=True)[0].norm() for one in (distance, judged))
        weight = self.adversarial * (of_distance / (of_judged + 1e-4)).clamp(0, 1e4).detach()
        return distance + codebook + weight * judged, {**figures, "adaptive_weight": weight}

    @gangway.phase(trains="discriminator")
    def judge(self, batch, step):
        with torch.no_grad():
            made = self.generator(batch["image"])[0]
        real, fake = self.discriminator(batch["image"]), self.discriminator(made)
        return 0.5 * (F.relu(1 - real).mean() + F.relu(1 + fake).mean()) * float(step >= self.start)

    def show(self, batch):
        """Returns pictures, each above its reconstruction."""
        return torch.cat([batch["image"], self.generator(batch["image"])[0]], dim=2)
