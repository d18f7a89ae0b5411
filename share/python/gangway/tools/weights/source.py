# SPDX-License-Identifier: MIT
"""Maps the tensors of one network of a file to Gangway's names."""
import re
from typing import Callable, NamedTuple

import torch

from gangway.errors import Failed
from gangway.tools.weights.files import CANNOT_BE_USED, Part


class Entry(NamedTuple):
    ours: str    # within the network: "0/weight"
    theirs: str
    change: Callable = lambda values: values  # from their values to ours; linear, as it is also applied to moments


def flat(values):
    return values.reshape(-1)


def transposed(values):
    return values.t()


def both(ours: str, theirs: str, change: Callable = lambda values: values) -> list[Entry]:
    """Returns the entries of "OURSweight" and "OURSbias"."""
    return [Entry(f"{ours}{name}", f"{theirs}.{name}", change) for name in ("weight", "bias")]


class Source:
    """The tensors of a part, by their names without `prefix`."""

    def __init__(self, part: Part, prefix: str = ""):
        self.role, self._file = part.role, part.file
        self.settings = {name.removeprefix(prefix): found for name, found in part.settings.items()}
        self.tensors = {name.removeprefix(prefix): values for name, values in part.tensors.items()}
        self.parameters = [name.removeprefix(prefix) for name in part.parameters]

    def refuse(self, what: str):
        raise Failed(f"{self._file}: {self.role or 'its network'} {what}", CANNOT_BE_USED)

    def __contains__(self, name: str) -> bool:
        return name in self.tensors

    def shape(self, name: str) -> tuple:
        if name not in self.tensors:
            self.refuse(f"has no tensor '{name}'")
        return tuple(self.tensors[name].shape)

    def size(self, name: str, axis: int = 0) -> int:
        shape = self.shape(name)
        return shape[axis] if axis < len(shape) else self.refuse(f"has tensor '{name}' with {len(shape)} axes")

    def numbers(self, pattern: str) -> list[int]:
        """Returns the numbers that the pattern's group matches in the names, ascending."""
        return sorted({int(found[1]) for name in self.tensors if (found := re.fullmatch(pattern, name))})

    def without(self, pattern: str) -> "Source":
        """Drops tensors that are computed from others, or that only record a training."""
        self.tensors = {name: values for name, values in self.tensors.items() if not re.fullmatch(pattern, name)}
        return self

    def mapped(self, entries: list[Entry]) -> dict:
        """Returns {our name: tensor}. Raises Failed if a tensor is missing, not finite, or left over."""
        found = {}
        for ours, theirs, change in entries:
            self.shape(theirs)
            values = self.tensors[theirs].to(torch.float32)
            if not torch.isfinite(values).all():
                self.refuse(f"has a value in '{theirs}' that is not finite; take earlier weights")
            found[ours] = change(values).contiguous()
        if left := sorted(self.tensors.keys() - {entry.theirs for entry in entries}):
            self.refuse(f"has tensor '{left[0]}', for which Gangway's family has no place")
        return found

    def moments(self, entries: list[Entry], state: dict) -> dict:
        """Returns Adam's moments and updates by our names. @param state  as torch.optim.Adam saves it"""
        changes = {entry.theirs: entry for entry in entries}
        names = [name for name in self.parameters or self.tensors if name in changes]
        found, updates = {}, 0
        for number, name in enumerate(names):
            values = state["state"].get(number, {})
            for theirs, ours in (("exp_avg", "first_moment"), ("exp_avg_sq", "second_moment")):
                if theirs not in values:
                    continue
                if values[theirs].shape != self.tensors[name].shape:
                    self.refuse(f"has an optimiser of other tensors: its moment of '{name}' is {list(values[theirs].shape)}")
                found[f"{ours}/{changes[name].ours}"] = changes[name].change(values[theirs].to(torch.float32)).contiguous()
            updates = max(updates, int(values.get("step", 0)))
        return {**found, "updates": torch.tensor([updates])}


class Network(NamedTuple):
    """A network in Gangway's terms."""
    part: str       # "G" or "D"
    recipe: str     # a published job (examples/published) whose training it begins with; empty: any
    keys: dict      # of the job: {"model.width": 64}
    entries: list[Entry]
    source: Source
    notes: list[str] = []  # what differs from its program
