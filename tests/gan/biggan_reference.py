# SPDX-License-Identifier: MIT
"""Defines BigGAN's networks in PyTorch alone, for networks_reference.py and steps_reference.py.

Written after the paper (arXiv 1809.11096) and the authors' code (github.com/ajbrock/BigGAN-PyTorch, BigGAN.py and
layers.py), with their order of operators. All in float64.
"""
import torch
from torch import nn
from torch.nn import functional as F

ROUNDING = 1e-13  # of a network's largest gradient: smaller ones count as none, as a bias's before BatchNorm
EPSILON = 1e-5
SHARED = 128


class Map(nn.Module):
    """Divides a weight by its spectral norm. One power iteration continues from `direction`, at first a vector of equal
    numbers. `seen` gets the new direction."""

    def __init__(self, *shape, bias=True):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(shape))
        self.bias = nn.Parameter(torch.empty(shape[0])) if bias else None
        self.direction = torch.full([shape[0]], shape[0] ** -0.5, dtype=torch.float32, device="cpu")
        self.seen = {}

    def normalized(self):
        matrix = self.weight.flatten(1)
        with torch.no_grad():
            v = F.normalize(self.direction.to(matrix) @ matrix, dim=0, eps=1e-12)
            u = F.normalize(matrix @ v, dim=0, eps=1e-12)
        self.seen["direction"] = u
        return self.weight / (u @ matrix @ v)

    def forward(self, x):
        if x.dim() == 2:
            return F.linear(x, self.normalized(), self.bias)
        return F.conv2d(x, self.normalized(), self.bias, padding=self.weight.shape[-1] // 2)


class Scales(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(channels))
        self.bias = nn.Parameter(torch.empty(channels))


class Embedding(nn.Module):
    def __init__(self, classes, features):
        super().__init__()
        self.embedding = nn.Parameter(torch.empty(classes, features))

    def forward(self, labels):
        return F.embedding(labels, self.embedding)


def batch_norm(module, name, x, weight=None, bias=None):
    """Normalizes by the statistics of `x`, which `module.seen` gets."""
    module.seen[name + ".running_mean"] = x.detach().mean([0, 2, 3])
    module.seen[name + ".running_var"] = x.detach().var([0, 2, 3])
    return F.batch_norm(x, None, None, weight, bias, training=True, eps=EPSILON)


class Stem(nn.Module):
    def __init__(self, taken, channels):
        super().__init__()
        self.linear = Map(16 * channels, taken)

    def forward(self, noise):
        return self.linear(noise).view(len(noise), -1, 4, 4)


class Up(nn.Module):
    """Takes gains and shifts from maps of a condition with so many features, from `classes` embeddings, or from weights."""

    def __init__(self, channels, out, condition, classes):
        super().__init__()
        for name, features in (("first_norm", channels), ("second_norm", out)):
            for part in ("_gain", "_shift"):
                if condition:
                    setattr(self, name + part, Map(features, condition, bias=False))
                elif classes:
                    setattr(self, name + part, Embedding(classes, features))
            if not condition and not classes:
                setattr(self, name, Scales(features))
        self.first, self.second = Map(out, channels, 3, 3), Map(out, out, 3, 3)
        self.shortcut, self.seen = Map(out, channels, 1, 1), {}

    def norm(self, name, x, condition):
        if condition is None:
            scales = getattr(self, name)
            return batch_norm(self, name, x, scales.weight, scales.bias)
        gain = 1 + getattr(self, name + "_gain")(condition)
        shift = getattr(self, name + "_shift")(condition)
        return batch_norm(self, name, x) * gain[..., None, None] + shift[..., None, None]

    def forward(self, x, condition):
        h = F.interpolate(F.relu(self.norm("first_norm", x, condition)), scale_factor=2)
        h = self.second(F.relu(self.norm("second_norm", self.first(h), condition)))
        return h + self.shortcut(F.interpolate(x, scale_factor=2))


class Attention(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.query = Map(channels // 8, channels, 1, 1, bias=False)
        self.key = Map(channels // 8, channels, 1, 1, bias=False)
        self.value = Map(channels // 2, channels, 1, 1, bias=False)
        self.joined = Map(channels, channels // 2, 1, 1, bias=False)
        self.gain = nn.Parameter(torch.empty(1))

    def forward(self, x):
        batch, channels, height, width = x.shape
        query = self.query(x).view(batch, channels // 8, -1)
        key = F.max_pool2d(self.key(x), 2).view(batch, channels // 8, -1)
        value = F.max_pool2d(self.value(x), 2).view(batch, channels // 2, -1)
        shares = F.softmax(torch.bmm(query.transpose(1, 2), key), -1)
        told = torch.bmm(value, shares.transpose(1, 2)).view(batch, -1, height, width)
        return self.gain * self.joined(told) + x


class Picture(nn.Module):
    def __init__(self, channels, out):
        super().__init__()
        self.norm, self.picture, self.seen = Scales(channels), Map(out, channels, 3, 3), {}

    def forward(self, x):
        x = batch_norm(self, "norm", x, self.norm.weight, self.norm.bias)
        return torch.tanh(self.picture(F.relu(x)))


class Generator(nn.Module):
    def __init__(self, up, width, noise, colours, classes, attention, conditioning="hierarchical", **_):
        super().__init__()
        channels = [width * factor for factor in up]
        self.piece = noise // len(channels) if classes and conditioning == "hierarchical" else 0
        self.taken = noise - self.piece * (len(channels) - 1)
        is_shared = classes and conditioning != "separate"
        layers = [Stem(self.taken, channels[0])] + ([Embedding(classes, SHARED)] if is_shared else [])
        side = 4
        for before, after in zip(channels, channels[1:]):
            layers.append(Up(before, after, SHARED + self.piece if is_shared else 0, classes))
            side *= 2
            if side == attention:
                layers.append(Attention(after))
        self.layers = nn.ModuleList([*layers, Picture(channels[-1], colours)])

    def forward(self, noise, labels):
        begin, style, x = self.taken, None, None
        for layer in self.layers:
            if isinstance(layer, Stem):
                x = layer(noise[:, :begin])
            elif isinstance(layer, Embedding):
                style = layer(labels)
            elif isinstance(layer, Up):
                piece = noise[:, begin:begin + self.piece]
                told = labels if hasattr(layer, "first_norm_gain") else None
                x = layer(x, told if style is None else torch.cat([style, piece], 1))
                begin += self.piece
            else:
                x = layer(x)
        return x


class Down(nn.Module):
    def __init__(self, channels, out, halves, is_first):
        super().__init__()
        self.halves, self.is_first = halves, is_first
        self.first, self.second = Map(out, channels, 3, 3), Map(out, out, 3, 3)
        self.shortcut = Map(out, channels, 1, 1) if halves or channels != out else None

    def forward(self, x):
        h = self.second(F.relu(self.first(x if self.is_first else F.relu(x))))
        if self.is_first:
            return F.avg_pool2d(h, 2) + self.shortcut(F.avg_pool2d(x, 2))
        shortcut = self.shortcut(x) if self.shortcut else x
        return F.avg_pool2d(h, 2) + F.avg_pool2d(shortcut, 2) if self.halves else h + shortcut


class Head(nn.Module):
    def __init__(self, features, classes):
        super().__init__()
        self.linear = Map(1, features)
        if classes:
            self.embedding = Map(classes, features, bias=False)

    def forward(self, x, labels):
        h = F.relu(x).sum([2, 3])
        projection = F.embedding(labels, self.embedding.normalized()) * h if hasattr(self, "embedding") else 0 * h
        return self.linear(h) + projection.sum(1, keepdim=True)


class Discriminator(nn.Module):
    def __init__(self, down, halvings, width, colours, classes, side, attention, everywhere=False, **_):
        super().__init__()
        layers, channels = [], colours
        for index, factor in enumerate(down):
            layers.append(Down(channels, factor * width, index < halvings, index == 0))
            channels = factor * width
            side //= 2 if index < halvings else 1
            if everywhere or index < halvings and side == attention:
                layers.append(Attention(channels))
        self.layers = nn.ModuleList([*layers, Head(channels, classes)])

    def forward(self, x, labels):
        for layer in self.layers[:-1]:
            x = layer(x)
        return self.layers[-1](x, labels)


def made(generator, sample, labels):
    return generator(sample["noise"], labels)


AT_32 = {"up": [4, 4, 4, 4], "down": [4, 4, 4, 4], "halvings": 2, "side": 32}
AT_64 = {"up": [16, 16, 8, 4, 2], "down": [1, 2, 4, 8, 16], "halvings": 4, "side": 64}
AT_128 = {"up": [16, 16, 8, 4, 2, 1], "down": [1, 2, 4, 8, 16, 16], "halvings": 5, "side": 128}
CASES = {
    "plain": ("{family: biggan, resolution: 32, width: 4, latent: 6}",
              {**AT_32, "noise": 6, "width": 4, "colours": 1, "classes": 0, "attention": 0}),
    "labels, attention behind each block of the discriminator":
        ("{family: biggan, resolution: 32, width: 4, latent: 9, attention: 16, attention_everywhere: true, classes: 3}",
         {**AT_32, "noise": 9, "width": 4, "colours": 1, "classes": 3, "attention": 16, "everywhere": True}),
    "labels, attention, colours":
        ("{family: biggan, resolution: 32, width: 4, latent: 11, attention: 16, classes: 5, channels: 3}",
         {**AT_32, "noise": 11, "width": 4, "colours": 3, "classes": 5, "attention": 16}),
    "labels that a shared embedding tells":
        ("{family: biggan, resolution: 32, width: 4, latent: 9, classes: 3, conditioning: shared}",
         {**AT_32, "noise": 9, "width": 4, "colours": 1, "classes": 3, "attention": 0, "conditioning": "shared"}),
    "labels that each block has an embedding of":
        ("{family: biggan, resolution: 32, width: 4, latent: 9, classes: 3, conditioning: separate}",
         {**AT_32, "noise": 9, "width": 4, "colours": 1, "classes": 3, "attention": 0, "conditioning": "separate"}),
    "64 pixels":
        ("{family: biggan, resolution: 64, width: 4, latent: 10, attention: 16, classes: 3}",
         {**AT_64, "noise": 10, "width": 4, "colours": 1, "classes": 3, "attention": 16}),
}
SIZES = {"ImageNet": ({**AT_128, "noise": 120, "width": 96, "colours": 3, "classes": 1000, "attention": 64},
                      70_433_988, 87_982_370)}
