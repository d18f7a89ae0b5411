# SPDX-License-Identifier: MIT
"""Defines GAT's networks in PyTorch alone, for networks_reference.py.

Written after the paper (arXiv 2509.24935) and the authors' code (github.com/hse1032/GAT, models/, losses/Rp_loss.py),
with PyTorch's modules where they exist. Attention is the fused operator; its plain kernel has second derivatives.
All in float64.
"""
import math

import torch
from torch import nn
from torch.nn import functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

EPSILON = 1e-6
LEAST_INFORMATION = 0.125  # least share of the picture at the first of four depths


def unit(x):
    return x * (x.square().mean(1, keepdim=True) + 1e-8).rsqrt()


class Gain(nn.Module):
    """Holds RMSNorm's weight."""

    def __init__(self, features):
        super().__init__()
        self.gain = nn.Parameter(torch.empty(features))


class Gains(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.before = nn.Parameter(torch.empty(features))
        self.behind = nn.Parameter(torch.empty(features))


class Style(nn.Module):
    def __init__(self, noise, classes, width):
        super().__init__()
        if classes:
            self.embedding = nn.Parameter(torch.empty(classes, noise))
        self.first = nn.Linear(2 * noise if classes else noise, width)
        self.second = nn.Linear(width, width)

    def forward(self, noise, labels):
        x = unit(noise)
        if hasattr(self, "embedding"):
            x = torch.cat([unit(F.embedding(labels, self.embedding)), x], 1)
        for layer, rate in ((self.first, 0.01), (self.second, 0.01)):
            x = F.linear(x if layer is self.first else F.silu(x), rate * layer.weight, rate * layer.bias)
        return x


class Positions(nn.Module):
    def __init__(self, tokens, width):
        super().__init__()
        self.positions = nn.Parameter(torch.empty(tokens, width))


class Layer(nn.Module):
    """Takes its gains from a style if there is one, else from weights."""

    def __init__(self, width, heads, style):
        super().__init__()
        if style:
            self.style = nn.Linear(width, 4 * width)
        else:
            self.attention, self.mlp = Gains(width), Gains(width)
        self.heads = heads
        self.taken, self.joined = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.query, self.key = Gain(width // heads), Gain(width // heads)
        hidden = int(2 / 3 * 4 * width)
        self.expand, self.contract = nn.Linear(width, 2 * hidden), nn.Linear(hidden, width)

    def forward(self, x, style=None):
        if style is None:
            before, behind = (self.attention.before, self.mlp.before), (self.attention.behind, self.mlp.behind)
        else:
            parts = self.style(F.silu(style)).unsqueeze(1).chunk(4, dim=2)
            before, behind = (1 + parts[0], 1 + parts[2]), (parts[1], parts[3])
        n, tokens, width = x.shape
        y = F.rms_norm(x, (width,), eps=EPSILON) * before[0]
        query, key, value = (part.view(n, tokens, self.heads, -1).transpose(1, 2)
                             for part in self.taken(y).split(width, dim=2))
        query = F.rms_norm(query, query.shape[-1:], self.query.gain, EPSILON)
        key = F.rms_norm(key, key.shape[-1:], self.key.gain, EPSILON)
        with sdpa_kernel(SDPBackend.MATH):
            y = F.scaled_dot_product_attention(query, key, value)
        x = x + behind[0] * self.joined(y.transpose(1, 2).reshape(n, tokens, width))
        gate, up = self.expand(F.rms_norm(x, (width,), eps=EPSILON) * before[1]).chunk(2, dim=2)
        return x + behind[1] * self.contract(F.silu(gate) * up)


class Picture(nn.Module):
    def __init__(self, width, pixels):
        super().__init__()
        self.style, self.picture = nn.Linear(width, width), nn.Linear(width, pixels)

    def forward(self, x, style, patch, side):
        x = F.rms_norm(x, x.shape[-1:], eps=EPSILON) * (1 + self.style(F.silu(style)).unsqueeze(1))
        return F.fold(self.picture(x).transpose(1, 2), side * patch, patch, stride=patch)


class Generator(nn.Module):
    """Numbers its layers as Gangway's blocks. Returns the pictures of all depths."""

    def __init__(self, noise, width, heads, blocks, parts, patch, side, channels, classes):
        super().__init__()
        self.patch, self.side = patch, side
        layers = [Style(noise, classes, width), Positions(side * side, width)]
        for block in range(blocks):
            layers += [Layer(width, heads, True)]
            layers += [Picture(width, channels * patch * patch)] if block + 1 in parts else []
        self.layers = nn.Sequential(*layers)

    def forward(self, noise, labels):
        style = self.layers[0](noise, labels)
        x = self.layers[1].positions.expand(len(noise), -1, -1)
        pictures = []
        for layer in self.layers[2:]:
            if isinstance(layer, Layer):
                x = layer(x, style)
            else:
                picture = layer(x, style, self.patch, self.side)
                pictures.append(pictures[-1] + picture if pictures else picture)
        return torch.cat(pictures, 1)


class Patches(nn.Module):
    def __init__(self, channels, patch, tokens, width):
        super().__init__()
        self.patch = nn.Linear(channels * patch * patch, width)
        self.positions = nn.Parameter(torch.empty(tokens, width))
        self.token = nn.Parameter(torch.empty(1, width))


class Head(nn.Module):
    def __init__(self, width, out):
        super().__init__()
        self.before, self.head = nn.Parameter(torch.empty(width)), nn.Linear(width, out)


class Embedding(nn.Module):
    def __init__(self, classes, features):
        super().__init__()
        self.embedding = nn.Parameter(torch.empty(classes, features))


class Discriminator(nn.Module):
    def __init__(self, noise, width, heads, blocks, parts, patch, side, channels, classes):
        super().__init__()
        self.patch, self.depths, self.channels = patch, len(parts), channels
        layers = [Patches(len(parts) * channels, patch, side * side, width)]
        layers += [Layer(width, heads, False) for _ in range(blocks)]
        layers += [Head(width, width if classes else 1)]
        self.layers = nn.Sequential(*layers, *([Embedding(classes, width)] if classes else []))

    def shares(self):
        """Returns the shares of noise, from the first depth to the last."""
        of_four = [1 - LEAST_INFORMATION ** (1 - depth / 3) + 0.01 for depth in range(4)]
        return of_four[4 - self.depths:]

    def noised(self, pictures, noise):
        """Adds one random walk, whose deviation is each depth's share."""
        walk, before, results = torch.zeros_like(pictures[0]), 0.0, []
        for picture, step, share in zip(pictures[::-1], noise[::-1], self.shares()[::-1]):
            kept = (1 - share) / (1 - before)
            walk = walk * kept + step * math.sqrt(share ** 2 - (before * kept) ** 2)
            results.insert(0, (1 - share) * picture + walk)
            before = share
        return torch.cat(results, 1)

    def forward(self, x, labels, noise):
        first, *layers = self.layers
        pictures = list(x.split(self.channels, 1)) if x.shape[1] > self.channels else [x] * self.depths
        x = self.noised(pictures, noise.split(self.channels, 1))
        x = first.patch(F.unfold(x, self.patch, stride=self.patch).transpose(1, 2)) + first.positions
        x = torch.cat([first.token.expand(len(x), -1, -1), x], 1)
        for layer in layers:
            if isinstance(layer, Layer):
                x = layer(x)
            elif isinstance(layer, Head):
                x = layer.head(F.rms_norm(x[:, 0], x.shape[-1:], layer.before, EPSILON))
            else:
                x = (x * F.embedding(labels, layer.embedding)).sum(1, keepdim=True)
        return x


def made(generator, sample, labels):
    return generator(sample["noise"], labels)


CASES = {
    "plain": ("{family: gat, resolution: 32, patch: 8, width: 12, latent: 8, blocks: 1}",
              {"noise": 8, "width": 12, "heads": 1, "blocks": 1, "parts": [1], "patch": 8, "side": 4,
               "channels": 1, "classes": 0}),
    "labels, colours, four depths":
        ("{family: gat, resolution: 32, patch: 8, width: 64, latent: 6, blocks: 6, classes: 5, channels: 3}",
         {"noise": 6, "width": 64, "heads": 2, "blocks": 6, "parts": [2, 3, 5, 6], "patch": 8, "side": 4,
          "channels": 3, "classes": 5}),
}
