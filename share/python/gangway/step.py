# SPDX-License-Identifier: MIT
"""A training step of one's own (docs/own-step.md): imported from here by users' files, inside workers too."""


class Step:
    """What `training.step` names is a class derived from this. Before `__init__`, which gets the job's arguments, the job's
    networks are attributes (`self.generator`), and so are the numbers of the job's `model` section: `self.model["latent"]`.

    Each phase is a method: `judge(self, batch, step)`, called once for every micro-batch. `batch["image"]` is float32 [N, C, H, W]
    in [-1, 1], `batch["label"]` int64 [N] where the job has classes; `step` counts from 0. It returns the loss, a scalar, or the
    loss and a dict of figures. What it draws (torch, random, numpy.random) is seeded by step, phase and micro-batch; what it keeps
    in `self` is refused, because a micro-batch may be another worker's on another layout.

    It may have show(self, batch), which makes the run's pictures of the first examples, in the place of samples: a tensor
    [N, C, H, W] in [-1, 1], C 1 or 3, or an Audio. And score(self, batch), a dict of numbers for `gangway evaluate` and scores
    during training: their means over batches count, the first one decides. In both the networks have their averages, and are in
    evaluation.
    """

    score_is_better = "lower"  # or "higher"
    takes = {}  # of networks that take something else than their roles say: an example of each tensor, by network

    def keep(self, name, tensor):
        """A copy of the tensor, without its graph, is `self.kept[name]` of this micro-batch until the step ends."""
        self.kept[name] = tensor.detach().clone()

    @property
    def kept(self):
        return vars(self)["kept"]


class KeptTensors(dict):
    """What phases of a step have kept of a micro-batch."""

    def __missing__(self, name):
        raise LookupError(f"no phase has kept {name!r} in this step; what there is: {', '.join(map(repr, self)) or 'nothing'}")


class Audio:
    """Clips for show(): samples, [N, T] or [N, 1, T] in [-1, 1], of `rate` a second."""

    def __init__(self, samples, rate):
        self.samples, self.rate = samples, rate


def phase(trains, repeats=1, every=1, new_batch=False, capture=False):
    """Marks a method as a phase. Phases run in the order in which the class has them.

    trains:     name of the network whose weights the loss is made small with, or a list of names
    repeats:    updates of it a step
    every:      steps from one update to the next
    new_batch:  whether each of them looks at new examples; others look at those that were taken last
    capture:    whether it may be recorded as a CUDA graph where a GPU computes: it is work for the device alone, so that `step` and
                its figures are tensors; steps are recorded if all phases say so
    """
    networks = [trains] if isinstance(trains, str) else list(trains)

    def mark(method):
        method.gangway_phase = (networks, int(repeats), int(every), bool(new_batch), bool(capture))
        return method
    return mark


def phases_of(found):
    """What the class marks, by method, in the order of a step; where none takes new examples, the first does."""
    phases = {}
    for owner in reversed(found.__mro__):
        phases.update((method, value.gangway_phase) for method, value in vars(owner).items() if hasattr(value, "gangway_phase"))
    if phases and not any(new for _, _, _, new, _ in phases.values()):
        first = next(iter(phases))
        phases[first] = (*phases[first][:3], True, phases[first][4])
    return phases


def made(found, networks, model, arguments):
    """An object of the class, which has the job's networks and numbers before its own __init__ runs."""
    step = found.__new__(found)
    step.__dict__.update(networks, model=model, kept=KeptTensors())
    step.__init__(**arguments)
    return step
