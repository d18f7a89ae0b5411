# SPDX-License-Identifier: MIT
"""Defines a user's own training step (docs/own-step.md). User files import it, also in workers."""


class Step:
    """Is the base of the class that `training.step` names. `__init__` gets the job's arguments. Before that, networks are attributes
    (`self.generator`), and so are the numbers of the job's section `model`: `self.model["latent"]`.
    A phase is a method `judge(self, batch, step)`, called for each micro-batch, `step` from 0. `batch["image"]` is float32 [N, C, H, W]
    in [-1, 1], `batch["label"]` int64 [N] with classes. It returns the scalar loss, or (loss, dict of figures). Step, phase and
    micro-batch seed torch, random and numpy.random. State in `self` is refused: another worker may run a micro-batch.
    Optional: show(self, batch) makes the run's pictures from the first examples: [N, C, H, W] in [-1, 1], C 1 or 3, or an Audio.
    score(self, batch) returns {name: number}, whose batch means are scores (the first decides). Both see averages in evaluation mode."""

    score_is_better = "lower"  # or "higher"
    takes = {}  # {network: an example of each input tensor}, if they differ from its role's

    def keep(self, name, tensor):
        """Sets `self.kept[name]` of this micro-batch to a detached copy, until the step ends."""
        self.kept[name] = tensor.detach().clone()

    @property
    def kept(self):
        return vars(self)["kept"]


class KeptTensors(dict):
    """Holds the tensors that a step's phases have kept of a micro-batch."""

    def __missing__(self, name):
        raise LookupError(f"no phase has kept {name!r} in this step; what there is: {', '.join(map(repr, self)) or 'nothing'}")


class Audio:
    """Holds clips for show(): samples [N, T] or [N, 1, T] in [-1, 1], `rate` of them a second."""

    def __init__(self, samples, rate):
        self.samples, self.rate = samples, rate


def phase(trains, repeats=1, every=1, new_batch=False, capture=False):
    """Marks a method as a phase. Phases run in the order of their definition in the class.
    @param trains  the network, or list of networks, whose weights minimise the loss; repeats: updates in a step
    @param every  steps from one update to the next; new_batch: each update reads new examples; otherwise it reuses the last ones
    @param capture  whether a GPU may record it as a CUDA graph: only device work; `step` and its figures are tensors. All phases must"""
    networks = [trains] if isinstance(trains, str) else list(trains)

    def mark(method):
        method.gangway_phase = (networks, int(repeats), int(every), bool(new_batch), bool(capture))
        return method
    return mark


def phases_of(found):
    """Returns {method: phase} in a step's order. If none reads new examples, the first one does."""
    phases = {}
    for owner in reversed(found.__mro__):
        phases.update((method, value.gangway_phase) for method, value in vars(owner).items() if hasattr(value, "gangway_phase"))
    if phases and not any(new for _, _, _, new, _ in phases.values()):
        first = next(iter(phases))
        phases[first] = (*phases[first][:3], True, phases[first][4])
    return phases


def made(found, networks, model, arguments):
    """Returns an object of the class, with networks and numbers set before its __init__ runs."""
    step = found.__new__(found)
    step.__dict__.update(networks, model=model, kept=KeptTensors())
    step.__init__(**arguments)
    return step
