# SPDX-License-Identifier: MIT
"""Layers for networks of your own that torch.jit.script takes: spectral norm (PyTorch's own does not script) and the
self-attention of SAGAN. make_attention_networks.py beside this file has networks of them (docs/bring-your-own.md)."""
import torch
from torch import nn
from torch.nn import functional


def normalised(vector: torch.Tensor) -> torch.Tensor:
    return functional.normalize(vector, dim=0, eps=1e-12)


def largest_singular_value(weight: torch.Tensor, left: torch.Tensor, iterate: bool) -> tuple[torch.Tensor, torch.Tensor]:
    """Of the matrix `weight`, by a power iteration that begins with `left` (Miyato et al., 2018, algorithm 1).

    Also gives what the next iteration begins with. Gradients go through the weight alone.
    """
    with torch.no_grad():
        right = normalised(torch.mv(weight.t(), left))
        if iterate:
            left = normalised(torch.mv(weight, right))
    return torch.dot(left, torch.mv(weight, right)), left


class SpectralLinear(nn.Linear):
    """nn.Linear whose weight is divided by its largest singular value."""

    def __init__(self, in_features: int, out_features: int, bias: bool = True):
        super().__init__(in_features, out_features, bias)
        self.register_buffer("left", normalised(torch.randn(out_features)))  # part of the state, as BatchNorm's mean is

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        sigma, left = largest_singular_value(self.weight, self.left, self.training)
        if self.training:
            self.left = left
        return functional.linear(features, self.weight / sigma, self.bias)


class SpectralConv2d(nn.Conv2d):
    """nn.Conv2d likewise: its weight is the matrix [out, in * height * width]."""

    def __init__(self, in_channels: int, out_channels: int, kernel_size: int, stride: int = 1, padding: int = 0,
                 bias: bool = True):
        super().__init__(in_channels, out_channels, kernel_size, stride, padding, bias=bias)
        self.register_buffer("left", normalised(torch.randn(out_channels)))

    def forward(self, maps: torch.Tensor) -> torch.Tensor:
        sigma, left = largest_singular_value(self.weight.flatten(1), self.left, self.training)
        if self.training:
            self.left = left
        return self._conv_forward(maps, self.weight / sigma, self.bias)


class SpectralConvTranspose2d(nn.ConvTranspose2d):
    """nn.ConvTranspose2d likewise: its weight is the matrix [out, in * height * width]."""

    def __init__(self, in_channels: int, out_channels: int, kernel_size: int, stride: int = 1, padding: int = 0,
                 bias: bool = True):
        super().__init__(in_channels, out_channels, kernel_size, stride, padding, bias=bias)
        self.register_buffer("left", normalised(torch.randn(out_channels)))

    def forward(self, maps: torch.Tensor) -> torch.Tensor:  # without output_size, which needs a list
        sigma, left = largest_singular_value(self.weight.transpose(0, 1).flatten(1), self.left, self.training)
        if self.training:
            self.left = left
        return functional.conv_transpose2d(maps, self.weight / sigma, self.bias, self.stride, self.padding)


class SelfAttention(nn.Module):
    """[N, C, H, W] -> the same: each pixel looks at all others (Zhang et al., 2019, section 3: SAGAN).

    Begins as the identity: gamma is 0. C is 8 at least.
    """

    def __init__(self, channels: int):
        super().__init__()
        self.query = SpectralConv2d(channels, channels // 8, 1, bias=False)  # f of the paper
        self.key = SpectralConv2d(channels, channels // 8, 1, bias=False)  # g
        self.value = SpectralConv2d(channels, channels // 2, 1, bias=False)  # h
        self.out = SpectralConv2d(channels // 2, channels, 1, bias=False)  # v
        self.gamma = nn.Parameter(torch.zeros(1))

    def forward(self, maps: torch.Tensor) -> torch.Tensor:
        query, key, value = self.query(maps).flatten(2), self.key(maps).flatten(2), self.value(maps).flatten(2)
        weights = torch.softmax(torch.bmm(query.transpose(1, 2), key), dim=2)  # [N, pixels that look, pixels looked at]
        seen = torch.bmm(value, weights.transpose(1, 2)).reshape(maps.shape[0], -1, maps.shape[2], maps.shape[3])
        return maps + self.gamma * self.out(seen)
