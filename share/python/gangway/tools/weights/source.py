# SPDX-License-Identifier: MIT
"""Maps the tensors of one network of a file to Gangway's names."""
import re
from dataclasses import dataclass
from typing import Callable, NamedTuple

import torch

from gangway.errors import UNUSABLE, Failed


class Entry(NamedTuple):
    ours: str    # within the network: "0/weight"
    theirs: str
    change: Callable = lambda values: values  # from their values to ours; linear, as it is also applied to moments


def both(ours: str, theirs: str, change: Callable = lambda values: values, names=("weight", "bias")) -> list[Entry]:
    """Returns the entries of "OURSweight" and "OURSbias", or of other names that both programs have."""
    return [Entry(f"{ours}{name}", f"{theirs}.{name}", change) for name in names]


@dataclass
class Source:
    """One network of a file, or the state of its optimiser."""
    role: str        # "G", "D_A", "G_ema", "G_optim"; empty: the file does not say
    tensors: dict    # by name; of an optimiser the whole state
    settings: dict   # {module: its attributes}, where the file has objects
    parameters: list  # names of trained tensors in their order; empty: the file does not say
    file: str

    def refuse(self, what: str):
        raise Failed(f"{self.file}: {self.role or 'its network'} {what}", UNUSABLE)

    def values(self, name: str) -> torch.Tensor:
        if (found := self.tensors.get(name)) is None:
            self.refuse(f"has no tensor '{name}'")
        if found.nbytes > found.untyped_storage().nbytes():  # a few bytes may stand for gigabytes
            self.refuse(f"stores fewer values than its tensor '{name}' has elements")
        return found

    def size(self, name: str, axis: int = 0) -> int:
        shape = self.values(name).shape
        return shape[axis] if axis < len(shape) else self.refuse(f"has tensor '{name}' with {len(shape)} axes")

    def numbers(self, pattern: str) -> list[int]:
        """Returns the numbers that the pattern's group matches in the names, ascending."""
        return sorted({int(found[1]) for name in self.tensors if (found := re.fullmatch(pattern, name))})

    def drop(self, pattern: str) -> None:
        """Drops tensors that are computed from others, or that only record a training."""
        self.tensors = {name: values for name, values in self.tensors.items() if not re.fullmatch(pattern, name)}

    def require_filter(self, ending: str, wanted: list[int], written: str) -> None:
        """Requires that all resampling is by this filter, and drops its tensors."""
        for name in (name for name in self.tensors if name.endswith(ending)):
            line = (values := self.values(name)).sum(0) / values.sum() * sum(wanted)
            if line.shape != (len(wanted),) or (line - torch.tensor(wanted)).abs().max() > 1e-3:
                self.refuse(f"resamples by another filter than {written} ('{name}')")
        self.drop(f".*{re.escape(ending)}")

    def require_widths(self, widths: dict[int, int], wanted: Callable[[int], int]) -> None:
        """Requires the family's channels. @param widths  by side of the maps; wanted: the family's"""
        for side in (side for side, channels in widths.items() if channels != wanted(side)):
            self.refuse(f"has {widths[side]} channels at {side} pixels, where Gangway's family has {wanted(side)}")

    def mapped(self, entries: list[Entry]) -> dict:
        """Returns {our name: tensor}. Raises Failed if a tensor is missing, not finite, or left over."""
        found = {}
        for ours, theirs, change in entries:
            values = self.values(theirs).to(torch.float32)
            if not torch.isfinite(values).all():
                self.refuse(f"has a value in '{theirs}' that is not finite; take earlier weights")
            found[ours] = change(values).contiguous()
        if left := sorted(self.tensors.keys() - {entry.theirs for entry in entries}):
            self.refuse(f"has tensor '{left[0]}', for which Gangway's family has no place")
        return found

    def moments(self, entries: list[Entry], state: dict) -> dict:
        """Returns Adam's moments and updates by our names. @param state  as torch.optim.Adam saves it"""
        changes = {entry.theirs: entry for entry in entries}
        found, updates = {}, 0
        for number, name in enumerate(name for name in self.parameters if name in changes):
            values = state["state"].get(number, {})
            for theirs, ours in (("exp_avg", "first_moment"), ("exp_avg_sq", "second_moment")):
                moment = values.get(theirs, torch.zeros_like(self.tensors[name]))
                if moment.shape != self.tensors[name].shape:
                    self.refuse(f"has an optimiser of other tensors: its moment of '{name}' is {list(moment.shape)}")
                found[f"{ours}/{changes[name].ours}"] = changes[name].change(moment.to(torch.float32)).contiguous()
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
