# SPDX-License-Identifier: MIT
"""Defines StyleGAN2's networks and path lengths in PyTorch alone, for networks_reference.py and steps_reference.py.

Written after the paper (Karras et al., 2020, arXiv 1912.04958) and the authors' code
(github.com/NVlabs/stylegan2-ada-pytorch, training/networks.py and loss.py). Here each example has its own weights, in
groups of one convolution; Gangway scales a convolution's inputs and outputs instead. Interpolation puts zeros between
pixels and sums shifted maps. All in float64.
"""
import math

import torch
from torch import nn
from torch.nn import functional as F

ROUNDING = 1e-12  # of a network's largest gradient: smaller ones count as none, as the last biases' by path lengths
TAPS = [1 / 8, 3 / 8, 3 / 8, 1 / 8]


def unit(x):
    return x / (x.square().mean(1, keepdim=True) + 1e-8).sqrt()


def activated(x):
    return math.sqrt(2) * F.leaky_relu(x, 0.2)


def interpolated(x, before, after, gain=1.0):
    """Pads by zeros, then filters by [1, 3, 3, 1] / 8 in both directions."""
    x = F.pad(x, [before, after, before, after])
    x = sum(tap * x[..., i:x.shape[-1] - 3 + i] for i, tap in enumerate(TAPS))
    return gain * sum(tap * x[..., i:x.shape[-2] - 3 + i, :] for i, tap in enumerate(TAPS))


def doubled(x):
    n, channels, height, width = x.shape
    apart = torch.stack([x, torch.zeros_like(x)], -1).reshape(n, channels, height, 2 * width)
    apart = torch.stack([apart, torch.zeros_like(apart)], -2).reshape(n, channels, 2 * height, 2 * width)
    return interpolated(apart, 2, 1, 4.0)


class Equal(nn.Module):
    """Holds a weight and a bias with equalised learning rate: dense, or with a kernel a convolution."""

    def __init__(self, inputs, outputs, kernel=None, bias=True, rate=1.0):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(outputs, inputs, *([kernel, kernel] if kernel else [])))
        if bias:
            self.bias = nn.Parameter(torch.empty(outputs))
        self.rate = rate

    def forward(self, x, stride=1, padding=0):
        weight = self.weight * self.rate / math.sqrt(self.weight[0].numel())
        bias = self.bias * self.rate if hasattr(self, "bias") else None
        return F.conv2d(x, weight, bias, stride, padding) if weight.dim() == 4 else F.linear(x, weight, bias)


class Mapping(nn.Module):
    """Maps noise, labels, or both, to styles."""

    def __init__(self, noise, classes, features, layers):
        super().__init__()
        self.classes, self.depth = classes, layers
        inputs = noise + (features if classes else 0)
        if classes:
            self.embedding = Equal(classes, features)
        for layer in range(layers):
            setattr(self, f"layer{layer}", Equal(features if layer else inputs, features, rate=0.01))

    def forward(self, noise, labels):
        parts = [] if noise is None else [unit(noise)]
        if self.classes:
            parts.append(unit(self.embedding(F.one_hot(labels, self.classes).double())))
        x = torch.cat(parts, 1)
        for layer in range(self.depth):
            x = activated(getattr(self, f"layer{layer}")(x))
        return x


def modulated(x, weight, factors, normalizes, stride=1):
    """Convolves each group with its example's weights; transposed if `stride` is 2."""
    n, inputs, height, width = x.shape
    outputs, _, kernel, _ = weight.shape
    own = weight[None] * factors[:, None, :, None, None]  # [N, out, in, k, k]
    if normalizes:
        own = own / (own.square().sum([2, 3, 4], keepdim=True) + 1e-8).sqrt()
    x = x.reshape(1, n * inputs, height, width)
    if stride == 2:
        own = own.transpose(1, 2).reshape(n * inputs, outputs, kernel, kernel)
        x = F.conv_transpose2d(x, own, stride=2, groups=n)
    else:
        x = F.conv2d(x, own.reshape(n * outputs, inputs, kernel, kernel), padding=kernel // 2, groups=n)
    return x.reshape(n, outputs, *x.shape[2:])


class Constant(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.constant = nn.Parameter(torch.empty(channels, 4, 4))


class Layer(nn.Module):
    def __init__(self, inputs, outputs, features, doubles):
        super().__init__()
        self.factors = Equal(features, inputs)
        self.weight, self.bias = nn.Parameter(torch.empty(outputs, inputs, 3, 3)), nn.Parameter(torch.empty(outputs))
        self.noise_strength = nn.Parameter(torch.empty(1))
        self.doubles = doubles

    def forward(self, x, style, noise):
        x = modulated(x, self.weight, self.factors(style), True, 2 if self.doubles else 1)
        x = interpolated(x, 1, 1, 4.0) if self.doubles else x
        return activated(x + noise * self.noise_strength + self.bias[:, None, None])


class Picture(nn.Module):
    def __init__(self, inputs, channels, features):
        super().__init__()
        self.factors = Equal(features, inputs)
        self.weight, self.bias = nn.Parameter(torch.empty(channels, inputs, 1, 1)), nn.Parameter(torch.empty(channels))

    def forward(self, x, style):
        factors = self.factors(style) / math.sqrt(self.weight[0].numel())
        return modulated(x, self.weight, factors, False) + self.bias[:, None, None]


class Generator(nn.Module):
    """Numbers its layers as Gangway's blocks."""

    def __init__(self, widths, noise, channels, classes, layers, mixing=0.9, **_):
        super().__init__()
        self.count, self.mixing = 2 * len(widths), mixing
        blocks = [Mapping(noise, classes, noise, layers), Constant(widths[0])]
        for i, width in enumerate(widths):
            blocks += [Layer(widths[i - 1], width, noise, True)] if i else []
            blocks += [Layer(width, width, noise, False), Picture(width, channels, noise)]
        self.layers = nn.Sequential(*blocks)

    def styles(self, sample, noise, labels):
        styles = self.layers[0](noise, labels)[:, None].repeat(1, self.count, 1)
        if not self.mixing:
            return styles
        other = self.layers[0](sample["style_noise"], labels)
        chance = sample["style_cut"]
        cuts = [1 + int(chance[i, 1] * (self.count - 1)) if chance[i, 0] < self.mixing else self.count
                for i in range(len(noise))]
        return torch.stack([torch.cat([styles[i, :cut], other[i].expand(self.count - cut, -1)])
                            for i, cut in enumerate(cuts)])

    def forward(self, sample, styles):
        x = self.layers[1].constant.expand(len(styles), -1, -1, -1)
        picture, place = None, 0
        for number, layer in enumerate(self.layers):
            if isinstance(layer, Layer):
                x = layer(x, styles[:, place], sample[f"layer_noise/{number}"])
                place += 1
            elif isinstance(layer, Picture):
                y = layer(x, styles[:, place])
                picture = y if picture is None else doubled(picture) + y
        return picture


class Halving(nn.Module):
    def __init__(self, inputs, outputs, is_residual):
        super().__init__()
        self.first, self.second = Equal(inputs, inputs, 3), Equal(inputs, outputs, 3)
        self.skip = Equal(inputs, outputs, 1, bias=False) if is_residual else None

    def forward(self, x):
        y = activated(self.first(x, padding=1))
        y = activated(self.second(interpolated(y, 2, 2), stride=2))
        return y if self.skip is None else (y + self.skip(interpolated(x, 1, 1)[..., ::2, ::2])) / math.sqrt(2)


class Epilogue(nn.Module):
    def __init__(self, channels, outputs, group):
        super().__init__()
        self.convolution, self.dense = Equal(channels + 1, channels, 3), Equal(16 * channels, channels)
        self.head, self.group = Equal(channels, outputs), group

    def forward(self, x):
        group = max(size for size in range(1, self.group + 1) if len(x) % size == 0)
        deviations = torch.empty_like(x[:, :1])
        for start in range(len(x) // group):
            members = x[start::len(x) // group]
            variance = members.var(0, correction=0)
            deviations = deviations.index_put((torch.arange(start, len(x), len(x) // group),),
                                              (variance + 1e-8).sqrt().mean())
        x = activated(self.convolution(torch.cat([x, deviations], 1), padding=1))
        return self.head(activated(self.dense(x.flatten(1))))


class Discriminator(nn.Module):
    def __init__(self, widths, channels, classes, layers, label_layers=None, group=4, is_residual=True, **_):
        super().__init__()
        widths = widths[::-1]
        blocks = [Equal(channels, widths[0], 1)]
        blocks += [Halving(*pair, is_residual) for pair in zip(widths, widths[1:])]
        blocks += [Epilogue(widths[-1], widths[-1] if classes else 1, group)]
        blocks += [Mapping(0, classes, widths[-1], label_layers or layers)] if classes else []
        self.layers = nn.Sequential(*blocks)

    def forward(self, x, labels):
        for layer in self.layers:
            if isinstance(layer, Equal):
                x = activated(layer(x))
            elif isinstance(layer, Mapping):
                x = (x * layer(None, labels)).sum(1, keepdim=True) / math.sqrt(x.shape[1])
            else:
                x = layer(x)
        return x


def made(generator, sample, labels):
    return generator(sample, generator.styles(sample, sample["noise"], labels))


def path_length_loss(generator, sample, labels, mean, weight):
    styles = generator.styles(sample, sample["noise"], labels)
    pictures = generator(sample, styles)
    gradient, = torch.autograd.grad((pictures * sample["path_noise"]).sum() / pictures.shape[-1], styles, create_graph=True)
    lengths = (gradient.square().sum(2).mean(1) + 1e-12).sqrt()
    return weight * (lengths - torch.lerp(mean, lengths.mean(), 0.01)).square().mean()


CASES = {
    "plain": ("{family: stylegan2, width: 2, latent: 6, mapping_layers: 2}",
              {"widths": [16, 8, 4, 2], "noise": 6, "channels": 1, "classes": 0, "layers": 2}),
    "labels, colours, 64 pixels":
        ("{family: stylegan2, resolution: 64, width: 1, latent: 5, mapping_layers: 3, classes: 5, channels: 3}",
         {"widths": [16, 8, 4, 2, 1], "noise": 5, "channels": 3, "classes": 5, "layers": 3}),
    "no skips, nothing compared, a mapping of its own, styles that are not mixed":
        ("{family: stylegan2, width: 2, latent: 6, mapping_layers: 2, classes: 4, style_mixing: 0, "
         "deviation_group: 1, discriminator_residual: false, discriminator_mapping_layers: 1}",
         {"widths": [16, 8, 4, 2], "noise": 6, "channels": 1, "classes": 4, "layers": 2, "mixing": 0.0,
          "label_layers": 1, "group": 1, "is_residual": False}),
}
