# SPDX-License-Identifier: MIT
"""Computes ADA's blits, colours and cutouts in PyTorch alone, for steps_reference.py.

Written after the paper (Karras et al., 2020, arXiv 2006.06676, appendix B) and the authors' code
(github.com/NVlabs/stylegan2-ada-pytorch, training/augment.py), picture by picture. Blits move whole pixels, which equals
the authors' resampling.
"""
import math

import torch
from torch.nn import functional as F

# The order of a sample's numbers: each kind has four uniform and four normal ones.
KINDS = ["flip", "turn", "shift", "scale", "rotation", "stretching", "late_rotation", "fine_shift", "brightness", "contrast",
         "luma_flip", "hue", "saturation", "filter", "noise", "cutout"]


class Chance:
    """Holds the random numbers of one picture, and the probabilities of its augmentations."""

    def __init__(self, numbers, strength):
        self.numbers, self.strength = numbers, strength

    def has(self, kind):
        return self.uniform(kind, 0) < self.strength

    def uniform(self, kind, which=1):
        return self.numbers[KINDS.index(kind)][which].item()

    def normal(self, kind):
        return self.numbers[KINDS.index(kind)][4].item()


def shifted(picture, right, down):
    """Moves a picture; mirrors it beyond its edges."""
    margin, side = max(abs(right), abs(down)), picture.shape[-1]
    wide = F.pad(picture[None], [margin] * 4, mode="reflect")[0] if margin else picture
    return wide[:, margin - down:margin - down + side, margin - right:margin - right + side]


def blitted(picture, chance):
    if chance.has("flip") and chance.uniform("flip") >= 0.5:
        picture = picture.flip(-1)
    if chance.has("turn"):
        picture = torch.rot90(picture, int(4 * chance.uniform("turn")), [-2, -1])
    if chance.has("shift"):
        ways = [round((2 * chance.uniform("shift", which) - 1) * 0.125 * picture.shape[-1]) for which in (1, 2)]
        picture = shifted(picture, *ways)
    return picture


def around(axis, angle):
    """Returns Rodrigues' formula as a homogeneous matrix."""
    x, y, z = axis
    crossing = torch.tensor([[0, -z, y], [z, 0, -x], [-y, x, 0]]).double()
    matrix = torch.eye(4).double()
    matrix[:3, :3] += math.sin(angle) * crossing + (1 - math.cos(angle)) * crossing @ crossing
    return matrix


def color_matrix(chance, channels):
    matrix, same = torch.eye(4).double(), torch.eye(4).double()
    grey = torch.tensor([1, 1, 1, 0]).double() / math.sqrt(3)
    along = torch.outer(grey, grey)
    if chance.has("brightness"):
        lighter = same.clone()
        lighter[:3, 3] = 0.2 * chance.normal("brightness")
        matrix = lighter @ matrix
    if chance.has("contrast"):
        gain = 2 ** (0.5 * chance.normal("contrast"))
        matrix = torch.diag(torch.tensor([gain, gain, gain, 1]).double()) @ matrix
    if chance.has("luma_flip") and chance.uniform("luma_flip") >= 0.5:
        matrix = (same - 2 * along) @ matrix
    if channels > 1 and chance.has("hue"):
        matrix = around(grey[:3].tolist(), (2 * chance.uniform("hue") - 1) * math.pi) @ matrix
    if channels > 1 and chance.has("saturation"):
        matrix = (along + (same - along) * 2 ** chance.normal("saturation")) @ matrix
    return matrix[:3]


def recolored(picture, chance):
    matrix = color_matrix(chance, len(picture))
    if len(picture) == 1:
        gains, shift = matrix.mean(0)[:3].sum(), matrix.mean(0)[3]
        return picture * gains + shift
    return torch.einsum("ij,jhw->ihw", matrix[:, :3], picture) + matrix[:, 3, None, None]


def cut_out(picture, chance):
    if not chance.has("cutout"):
        return picture
    places = (torch.arange(picture.shape[-1]).double() + 0.5) / picture.shape[-1]
    column, row = ((places - chance.uniform("cutout", which)).abs() < 0.25 for which in (1, 2))
    return picture * ~(row[:, None] & column[None])


DONE = {"blit": blitted, "color": recolored, "cutout": cut_out}


def augmented(pictures, numbers, strengths):
    """Augments pictures. @param strengths  p times the multiplier, by kind"""
    rows = []
    for picture, own in zip(pictures, numbers):
        for kind, do in DONE.items():
            if kind in strengths:
                picture = do(picture, Chance(own, strengths[kind]))
        rows.append(picture)
    return torch.stack(rows)
