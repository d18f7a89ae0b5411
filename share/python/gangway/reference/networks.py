# SPDX-License-Identifier: MIT
"""Defines a network and the flat memory of its tensors. Weights, moments, averages and gradients share one layout. Tensors begin at
multiples of 64 elements, because vectorised kernels round body and tail differently; blocks, of which a norm is the sum, at multiples
of 4,096. Parameters come first, then statistics (BatchNorm's means)."""
import functools
import math
import traceback

import torch
from torch.nn import functional as operators

from gangway.errors import Failed
from gangway.examples import seed_all
from gangway.reference import philox
from gangway.reference.philox import Keyed

TENSOR, BLOCK = 64, 4096
STATISTIC_MOMENTUM = 0.1  # BatchNorm's; all statistics move by it
ACTIVATIONS = {"relu": torch.relu_, "leaky-relu": lambda x: operators.leaky_relu_(x, 0.2), "softplus": operators.softplus,
               "tanh": torch.tanh_, "none": lambda x: x}


def _up(offset: int, multiple: int) -> int:
    return -(-offset // multiple) * multiple


class Layout:
    """Places tensors in flat memory. @param parameters, statistics  (name, shape, block) of each"""

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
        """Returns the tensor's part of `flat`; four axes have the job's memory format."""
        offset, shape = self._places[name]
        part = flat[offset:offset + math.prod(shape)]
        if self._is_channels_last and len(shape) == 4:
            n, c, h, w = shape
            return part.view(n, h, w, c).permute(0, 3, 1, 2)
        return part.view(shape)


class Module:
    """Wraps a user's network. Each call is in training mode, with the statistics of the step's start, and seeded by the key."""

    def __init__(self, network: torch.nn.Module, statistics: list[str]):
        self.network = network.train()
        self.parameters = {name: values for name, values in network.named_parameters() if values.requires_grad}
        self.blocks = dict.fromkeys(self.parameters, 0)
        self._statistics = {}
        for name in (one for one in statistics if one not in self.parameters):
            owner, _, attribute = name.rpartition(".")
            self._statistics[name] = (functools.reduce(getattr, owner.split(".") if owner else [], network), attribute)
        # A buffer may hold integers; its statistic is their mean, in float32.
        self._types = {name: getattr(*place).dtype for name, place in self._statistics.items()}
        self.statistics = {name: getattr(*place).shape for name, place in self._statistics.items()}
        self._given = {name: values.detach().clone() for name, values in
                       [*self.parameters.items(), *((name, getattr(*place)) for name, place in self._statistics.items())]}

    def initial(self, seed: int, number: int) -> dict:
        """Returns the weights and statistics that the user's module was made with."""
        return self._given

    def prepare(self, running: dict) -> None:
        """Sets the module's statistics to copies of `running`, which forward() may overwrite."""
        for name, place in self._statistics.items():
            kind = self._types[name]
            values = running[name]
            setattr(*place, values.clone(memory_format=torch.contiguous_format) if kind == torch.float32 else values.round().to(kind))

    def seen(self) -> dict:
        """Returns {statistic: its value now}."""
        return {name: getattr(*place).detach().to(torch.float32) for name, place in self._statistics.items()}

    def forward(self, inputs, key: dict, running: dict):
        """Returns (output, {statistic: value after it}). Raises Failed if the network raises."""
        self.prepare(running)
        seed_all(int(Keyed(**key, draw=philox.DROPOUT).bits(0)[0]))
        try:
            made = self.network(*inputs)
        except Exception as error:  # any exception of the user's network
            place = traceback.extract_tb(error.__traceback__)[-1]
            raise Failed(f"a network raises in forward, {place.filename}:{place.lineno}: {type(error).__name__}: "
                         f"{next(iter(str(error).splitlines()), '')}") from error
        return made, self.seen()


class Dense:
    """Computes the families mlp and dense without BatchNorm and labels, as job/families/mlp.cpp and dense.cpp. `last`: activation."""

    statistics: dict = {}

    def __init__(self, shapes: dict, activation: str, last: str = "none", last_gain: float = 2.0, dropout: float = 0.0, picture=None):
        self.parameters = {name: torch.empty(shape, requires_grad=True) for name, shape in shapes.items()}
        self.blocks = {name: int(name.partition("/")[0]) for name in shapes}
        self._layers = [name for name in shapes if name.endswith("/weight")]
        self._activation, self._last, self._last_gain, self._dropout, self._picture = activation, last, last_gain, dropout, picture
        if any(math.prod(shape) >= 1 << 20 for shape in shapes.values()):
            raise Failed("a dense layer of 2^20 weights or more has a kernel of Gangway's own, which is not replayed")

    def initial(self, seed: int, number: int) -> dict:
        """Draws weights of variance 2 / inputs (He et al., 2015, eq. 10); last_gain in the last."""
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
            x = ACTIVATIONS[self._last if is_last else self._activation](x)
            if self._dropout > 0 and not is_last:
                keyed = Keyed(**key, block=block, draw=philox.DROPOUT)
                keep = philox.shaped(keyed.uniform(x.numel()), x.shape) >= self._dropout
                x = x * keep.to(x.dtype).mul_(1.0 / (1.0 - self._dropout))
        return x.reshape(len(x), *self._picture) if self._picture else x, {}


class Network:
    """Holds a module, its flat memories from a checkpoint, and the leaf that collects gradients.
    @param kept_means  {scalar statistic outside the module: momentum}. Those of the module have 1: a step's mean is the next value."""

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
        """Resets to the state before the first step. @param initial  by tensor; others are zero"""
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
        """Returns a new leaf, which collects a micro-batch's gradients and statistics."""
        leaf = torch.zeros(self.layout.size)
        for one, values in self.module.parameters.items():
            values.grad = self.layout.view(leaf, one)
        self._sums = {one: self.layout.view(leaf, one) for one in self._momenta}
        self._seen = dict.fromkeys(self._momenta, 0)
        return leaf

    @torch.no_grad()
    def harvest(self, seen: dict) -> None:
        """Adds statistics to the leaf, scaled because the update moves all by one momentum."""
        for one, values in seen.items():
            begin = self.layout.view(self.weights, one)
            self._sums[one].add_(begin + (values - begin) * (self._momenta[one] / STATISTIC_MOMENTUM))
            self._seen[one] += 1

    @torch.no_grad()
    def close_leaf(self, harvests: int) -> None:
        """Scales each statistic to a sum of `harvests` values: the update divides by that."""
        for one, count in self._seen.items():
            if count == 0 and harvests > 0:
                self._sums[one].copy_(self.layout.view(self.weights, one) * harvests)
            elif count != harvests:
                self._sums[one].mul_(harvests / count)

    def tensors(self) -> dict:
        """Returns all tensors under their names in a checkpoint."""
        found = {f"{section}/{one}": self.layout.view(self.flat[section], one)
                 for section, tensors in self.sections.items() for one in tensors}
        found[f"{self.name}_optimizer/updates"] = torch.tensor([self.updates])
        return found
