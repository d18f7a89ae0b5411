# SPDX-License-Identifier: MIT
"""A layer that tests/python/nets.py imports from its own folder."""
from torch import nn


def look(width):
    return nn.Sequential(nn.Conv2d(1, width, 4, 4), nn.Softplus(), nn.Conv2d(width, width, 3, padding=1), nn.SiLU())
