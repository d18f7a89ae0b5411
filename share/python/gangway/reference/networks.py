# SPDX-License-Identifier: MIT
"""A network, and the flat memory that its tensors lie in.

Weights, moments, averages and gradients of a network have one layout: tensor after tensor, each at a multiple of 64 elements,
since vectorised kernels round bodies and tails differently; blocks of the network at multiples of 4,096, of which norms are
sums. Parameters come first, then statistics: what is a mean over micro-batches and not trained (BatchNorm's running mean).
"""
import functools
import math
import random
import traceback

import numpy as np
import torch
from torch.nn import functional as operators

from gangway.errors import Failed
from gangway.reference import philox
from gangway.reference.philox import Keyed

TENSOR, BLOCK = 64, 4096
STATISTIC_MOMENTUM = 0.1  # that of BatchNorm, by which all statistics move


def _up(offset: int, multiple: int) -> int:
    return -(-offset // multiple) * multiple


class Layout:
    """Where tensors lie. @param parameters, statistics  (name, shape, block of the network) in the network's order"""

    def __init__(self, parameters, statistics, is_channels_last: bool):
        self._places = {}
        self._is_channels_last = is_channels_last
        self.parameters_end = self._place(parameters, 0)
        self.size = self._place(statistics, self.parameters_end)

    def _place(self, tensors, offset: int) -> int:
        before = 0
        for name, shape, block in tensors:
            if block != before:
                offset, before = _up(offset, BLOCK), block
            self._places[name] = (offset, tuple(shape))
            offset = _up(offset + math.prod(shape), TENSOR)
        return _up(offset, BLOCK)

    def view(self, flat: torch.Tensor, name: str) -> torch.Tensor:
        """Four axes lie in the job's memory format."""
        offset, shape = self._places[name]
        part = flat[offset:offset + math.prod(shape)]
        if self._is_channels_last and len(shape) == 4:
            n, c, h, w = shape
            return part.view(n, h, w, c).permute(0, 3, 1, 2)
        return part.view(shape)


def seed_all(seed: int) -> None:
    """All that a module may draw from."""
    torch.default_generator.manual_seed(seed)
    random.seed(seed)
    np.random.seed(seed & 0xFFFFFFFF)


class Module:
    """A network of the user's. It is called in training mode, with its statistics as the step began with them and generators
    seeded by the key, so that it draws the same wherever it runs."""

    def __init__(self, network: torch.nn.Module, statistics: list[str]):
        self._network = network.train()
        self.parameters = {name: values for name, values in network.named_parameters() if values.requires_grad}
        self.blocks = dict.fromkeys(self.parameters, 0)
        self._statistics = {}
        for name in (one for one in statistics if one not in self.parameters):
            owner, _, attribute = name.rpartition(".")
            self._statistics[name] = (functools.reduce(getattr, owner.split(".") if owner else [], network), attribute)
        # A buffer may hold whole numbers; its statistic is a mean of them, in float32.
        self._types = {name: getattr(*place).dtype for name, place in self._statistics.items()}
        self.statistics = {name: getattr(*place).shape for name, place in self._statistics.items()}
        self._given = {name: values.detach().clone() for name, values in
                       [*self.parameters.items(), *((name, getattr(*place)) for name, place in self._statistics.items())]}

    def initial(self, seed: int, number: int) -> dict:
        """What training begins with: what is in the file."""
        return self._given

    def freeze(self) -> None:
        self._network.eval()

    @property
    def network(self) -> torch.nn.Module:
        return self._network

    def prepare(self, running: dict) -> None:
        """Its statistics are what they are given to be, in copies that it may write to."""
        for name, place in self._statistics.items():
            kind = self._types[name]
            values = running[name]
            setattr(*place, values.clone(memory_format=torch.contiguous_format) if kind == torch.float32
                    else values.round().to(kind))

    def seen(self) -> dict:
        """{statistic: its value now}"""
        return {name: getattr(*place).detach().to(torch.float32) for name, place in self._statistics.items()}

    def forward(self, inputs, key: dict, running: dict):
        """→ (what it makes, {statistic: its value after this call})"""
        self.prepare(running)
        seed_all(int(Keyed(**key, draw=philox.DROPOUT).bits(0)[0]))
        try:
            made = self._network(*inputs)
        except Exception as error:  # whatever a network of the user's raises
            place = traceback.extract_tb(error.__traceback__)[-1]
            raise Failed(f"a network raises in forward, {place.filename}:{place.lineno}: {type(error).__name__}: "
                         f"{next(iter(str(error).splitlines()), '')}") from error
        return made, self.seen()


class Dense:
    """The built-in families mlp and dense without BatchNorm and labels: linear maps, of which each but the last is followed by
    its activation (job/families/mlp.cpp, job/families/dense.cpp)."""

    statistics: dict = {}

    def __init__(self, shapes: dict, activation: str, last: str = "none", last_gain: float = 2.0, dropout: float = 0.0,
                 picture=None):
        self.parameters = {name: torch.empty(shape, requires_grad=True) for name, shape in shapes.items()}
        self.blocks = {name: int(name.partition("/")[0]) for name in shapes}
        self._layers = [name for name in shapes if name.endswith("/weight")]
        self._activation, self._last, self._last_gain, self._dropout, self._picture = activation, last, last_gain, dropout, picture
        if any(math.prod(shape) >= 1 << 20 for shape in shapes.values()):
            raise Failed("a dense layer of 2^20 weights or more has a kernel of Gangway's own, which is not replayed")

    def initial(self, seed: int, number: int) -> dict:
        """He et al. (2015), eq. 10, before a rectifier; before none half of that variance in dense."""
        found = {}
        for position, (name, values) in enumerate(self.parameters.items()):
            is_last = name == self._layers[-1]
            gain = self._last_gain if is_last else 2.0
            keyed = Keyed(seed, phase=philox.INITIALISATION, repeat=number, block=position, draw=philox.WEIGHT)
            drawn = philox.shaped(keyed.normal(values.numel()), values.shape)
            found[name] = drawn.mul_(math.sqrt(gain / values.shape[1])) if name in self._layers else torch.zeros(values.shape)
        return found

    def forward(self, inputs, key: dict, running: dict):
        x = inputs[0].flatten(1)
        for block, name in enumerate(self._layers):
            x = operators.linear(x, self.parameters[name], self.parameters[name.replace("weight", "bias")])
            is_last = block + 1 == len(self._layers)
            x = _activated(x, self._last if is_last else self._activation)
            if self._dropout > 0 and not is_last:
                keyed = Keyed(**key, block=block, draw=philox.DROPOUT)
                keep = philox.shaped(keyed.uniform(x.numel()), x.shape) >= self._dropout
                x = x * keep.to(x.dtype).mul_(1.0 / (1.0 - self._dropout))
        return x.reshape(len(x), *self._picture) if self._picture else x, {}


def _activated(x, name: str):
    if name == "relu":
        return x.relu_()
    if name == "leaky-relu":
        return operators.leaky_relu_(x, 0.2)
    if name == "softplus":
        return operators.softplus(x)
    return x.tanh_() if name == "tanh" else x


class Network:
    """Its module, its flat memories as a checkpoint has them, and the leaf that gradients are added to now.

    @param kept_means  further statistics, of one number each: their momentum by name. Those of the module have 1: what a step's
      micro-batches make of them, in the mean, is the next value.
    """

    def __init__(self, name: str, module, checkpoint, moments: list[str], kept_means: dict, is_channels_last: bool):
        self.name, self.module, self.moment_names = name, module, moments
        self._momenta = {**dict.fromkeys(module.statistics, 1.0), **kept_means}
        parameters = [(one, values.shape, module.blocks[one]) for one, values in module.parameters.items()]
        statistics = [(one, module.statistics.get(one, (1,)), 0) for one in self._momenta]
        self.layout = Layout(parameters, statistics, is_channels_last)
        names = set(checkpoint.names)
        self.sections = {name: [*module.parameters, *self._momenta]}
        if f"{name}_ema/{next(iter(module.parameters))}" in names:
            self.sections[f"{name}_ema"] = self.sections[name]
        for moment in moments:
            self.sections[f"{name}_optimizer/{moment}"] = list(module.parameters)
        self.flat = {section: torch.zeros(self.layout.size) for section in self.sections}
        for section, tensors in self.sections.items():
            for one in tensors:
                self.layout.view(self.flat[section], one).copy_(checkpoint.tensor(f"{section}/{one}"))
        self.updates = int(checkpoint.tensor(f"{name}_optimizer/updates"))
        for one, values in module.parameters.items():
            values.data = self.layout.view(self.weights, one)

    @torch.no_grad()
    def begin(self, initial: dict) -> None:
        """As before the first step. @param initial  by tensor; others are zero"""
        for section, flat in self.flat.items():
            flat.zero_()
            if not section.startswith(f"{self.name}_optimizer/"):
                for one, values in initial.items():
                    self.layout.view(flat, one).copy_(values)
        self.updates = 0

    @property
    def weights(self) -> torch.Tensor:
        return self.flat[self.name]

    @property
    def average(self) -> torch.Tensor | None:
        return self.flat.get(f"{self.name}_ema")

    @property
    def running(self) -> dict:
        return {one: self.layout.view(self.weights, one) for one in self._momenta}

    def open_leaf(self) -> torch.Tensor:
        """What passes over one micro-batch add to from now on: gradients, and beside them statistics."""
        leaf = torch.zeros(self.layout.size)
        for one, values in self.module.parameters.items():
            values.grad = self.layout.view(leaf, one)
        self._sums = {one: self.layout.view(leaf, one) for one in self._momenta}
        self._seen = dict.fromkeys(self._momenta, 0)
        return leaf

    @torch.no_grad()
    def harvest(self, seen: dict) -> None:
        """All statistics move with one momentum: one of another's is scaled beforehand."""
        for one, values in seen.items():
            begin = self.layout.view(self.weights, one)
            self._sums[one].add_(begin + (values - begin) * (self._momenta[one] / STATISTIC_MOMENTUM))
            self._seen[one] += 1

    @torch.no_grad()
    def close_leaf(self, harvests: int) -> None:
        """Makes each statistic a sum of so many values, which is what the update divides by."""
        for one, count in self._seen.items():
            if count == 0 and harvests > 0:
                self._sums[one].copy_(self.layout.view(self.weights, one) * harvests)
            elif count != harvests:
                self._sums[one].mul_(harvests / count)

    def tensors(self) -> dict:
        """All, as a checkpoint names them."""
        found = {f"{section}/{one}": self.layout.view(self.flat[section], one)
                 for section, tensors in self.sections.items() for one in tensors}
        found[f"{self.name}_optimizer/updates"] = torch.tensor([self.updates])
        return found
