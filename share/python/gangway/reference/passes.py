# SPDX-License-Identifier: MIT
"""Defines the phases of a GAN's step, and the passes of each phase over a micro-batch, as gan/recipes/adversarial.cpp. A pass draws,
applies networks, and ends in losses or a penalty. Its gradients go only to this micro-batch's leaf of the network that its phase trains."""
import math
from dataclasses import dataclass, field

import torch
from torch.nn.functional import relu, softplus

from gangway.reference import philox
from gangway.reference.philox import Keyed

LOSSES = {
    # Goodfellow et al., 2014, eq. 1 and section 3, on logits
    "nonsaturating": {"real": lambda x: softplus(-x).mean(), "fake": lambda x: softplus(x).mean(),
                      "generator": lambda x: softplus(-x).mean(),
                      "targets": lambda x, t: (softplus(-x) + (1.0 - _beside(t, x)) * x).mean()},
    # Mao et al., 2017, eq. 2 with a = 0, b = c = 1
    "least-squares": {"real": lambda x: (x - 1.0).square().mean(), "fake": lambda x: x.square().mean(),
                      "generator": lambda x: (x - 1.0).square().mean(), "targets": lambda x, t: (x - _beside(t, x)).square().mean()},
    # Lim and Ye, 2017
    "hinge": {"real": lambda x: relu(1.0 - x).mean(), "fake": lambda x: relu(1.0 + x).mean(), "generator": lambda x: -x.mean()},
    # Arjovsky et al., 2017, eq. 3
    "wasserstein": {"real": lambda x: -x.mean(), "fake": lambda x: x.mean(), "generator": lambda x: -x.mean()},
}
NORM_FLOOR = 1e-12  # added below a root, whose derivative is infinite at 0


def _beside(targets, logits):
    return targets.reshape(-1, *[1] * (logits.dim() - 1))


def relativistic(x, y):
    """Returns the loss that pushes logits x above y (Jolicoeur-Martineau, 2019)."""
    return softplus(y - x).mean()


def r1(gradient, weight: float):
    """Returns eq. 9 of Mescheder et al., 2018, of the gradient [N, …] of logits by examples."""
    return gradient.flatten(1).square().sum(1).mean() * (weight / 2.0)


def gradient_penalty(gradient, weight: float):
    """Returns the penalty of Gulrajani et al., 2017, eq. 3."""
    return ((gradient.flatten(1).square().sum(1) + NORM_FLOOR).sqrt() - 1.0).square().mean() * weight


@dataclass
class Phase:
    trains: tuple  # names of networks
    passes: list = field(default_factory=list)  # functions of a Pass, in the order in which their gradients are added
    repeats: int = 1
    interval: int = 1  # runs in each step whose number it divides
    first_reals: int | None = None  # the step's batch of reals for repeat 0; None: the last read
    harvests: int = 0  # forward passes a micro-batch whose statistics count


class Pass:
    """Runs a pass over a micro-batch. @param place  phase, repeat, pass_ and microbatch of keys"""

    def __init__(self, step, phase: Phase, place: dict):
        self.step, self.phase, self.place = step, phase, place
        self.job, self.training = step.job, step.job["training"]
        self.count = self.training["batch"] // self.training["microbatches"]
        self._applied = []  # (whether trained, inputs, output, its detached copy)

    # Draws numbers and reads examples.

    def _drawn(self, draw: int) -> Keyed:
        return Keyed(**self._key, draw=draw)

    @property
    def _key(self) -> dict:
        return {"seed": self.step.seed, "step": self.step.number, **self.place}

    def noise(self):
        shape = (self.count, self.job["model"]["latent"])
        return philox.shaped(self._drawn(philox.NOISE).normal(math.prod(shape)), shape)

    def labels(self) -> tuple:
        """Returns (labels of generated examples,), or () if the job has no labels."""
        classes = self.job["model"].get("classes", 0)
        if classes == 0:
            return ()
        places = torch.arange(self.count).numpy()
        if self.training.get("fake_labels") == "data":
            drawn = self.step.reals.source.read(self._drawn(philox.LABEL).below(places, len(self.step.reals)).astype("int64"))[1]
        else:
            drawn = self._drawn(philox.LABEL).below(places, classes).astype("int64")
        return (philox.shaped(drawn, drawn.shape),)

    def reals(self) -> tuple:
        """Returns (examples, labels), or (examples,) if the job has no labels."""
        examples, labels = self.step.read(self.phase, self.place)
        return (examples, labels) if self.job["model"].get("classes", 0) > 0 else (examples,)

    def batch(self) -> dict:
        """Returns {name: tensor} of the real examples, for a user's own step."""
        found, labels = self.step.read(self.phase, self.place)
        if labels is None:
            return found
        return {"image": found.detach(), **({"label": labels} if self.job["model"].get("classes", 0) > 0 else {})}

    def targets(self):
        """Draws targets for the logits of real examples (Salimans et al., 2016, section 3.4)."""
        uniform = philox.shaped(self._drawn(philox.LABEL_FLIP).uniform(self.count), (self.count,))
        return (1.0 - self.training["label_smoothing"]) * (uniform >= self.training["label_noise"]).float()

    def shares(self, like):
        """Draws a number in [0, 1) for each example, shaped to multiply `like`."""
        return philox.shaped(self._drawn(philox.MIX).uniform(self.count), (self.count, *[1] * (like.dim() - 1)))

    # Applies networks and propagates gradients.

    def apply(self, name: str, inputs: tuple, stream: int = 0, statistic: str | None = None):
        """Runs a network's forward, and detaches its output for learn(). @param stream  numbers applications; statistic: gets the output's mean"""
        network, is_trained = self.step.networks[name], name in self.phase.trains
        has_gradient = is_trained or any(one.requires_grad for one in inputs)
        with torch.set_grad_enabled(has_gradient):
            made, seen = network.module.forward(inputs, self._network_key(stream), network.running)
        if statistic is not None:
            seen = {**seen, statistic: made.detach().mean().reshape(1)}
        return self.take(name, inputs, made, seen)

    def take(self, name: str, inputs: tuple, made, seen: dict):
        """Detaches a network's output for `inputs`, and records the cut for learn()."""
        network, is_trained = self.step.networks[name], name in self.phase.trains
        if is_trained:
            network.harvest(seen)
        if not made.requires_grad or not (is_trained or any(one.requires_grad for one in inputs)):
            return made.detach()
        cut = made.detach().requires_grad_()
        self._applied.append((is_trained, inputs, made, cut))
        return cut

    def _network_key(self, stream: int) -> dict:
        return {**self._key, "pass_": 2 * self.place["pass_"] + stream}

    def generate(self, inputs: tuple):
        return self.apply("generator", inputs)

    def judge(self, inputs: tuple, stream: int, statistic: str | None = None):
        return self.apply("discriminator", inputs, stream, statistic)

    def learn(self, *losses) -> None:
        """Runs backward from the last loss to the first, then through the applications. Networks that are not trained get no gradient."""
        for loss in reversed(losses):
            loss.backward()
        for is_trained, inputs, made, cut in reversed(self._applied):
            if cut.grad is not None:
                towards = None if is_trained else [one for one in inputs if one.requires_grad]
                torch.autograd.backward(made, cut.grad, inputs=towards)

    def penalise(self, function, weight: float, inputs: tuple) -> None:
        """Adds gradients of a penalty on the discriminator's gradient by its first input. Its extra forward pass counts in no statistic."""
        network = self.step.networks["discriminator"]
        parameters = list(network.module.parameters.values())
        image = inputs[0].detach().requires_grad_()
        made, _ = network.module.forward((image, *inputs[1:]), self._network_key(0), network.running)
        ones = torch.ones_like(made).requires_grad_()
        gradient, = torch.autograd.grad(made, image, ones, create_graph=True)
        looked_at = gradient.detach().requires_grad_()
        of_penalty, = torch.autograd.grad(function(looked_at, weight), looked_at)
        found = torch.autograd.grad(gradient, [ones, image, *parameters], of_penalty, allow_unused=True)[2:]
        for parameter, addend in zip(parameters, found):
            if addend is not None:  # None for the last bias
                parameter.grad.add_(addend)


def real(of: Pass) -> None:
    inputs, other = of.reals(), of.step.running("lecam_fake")
    logits = of.judge(inputs, 0, of.step.statistic("lecam_real"))
    if of.training.get("label_smoothing", 0) > 0 or of.training.get("label_noise", 0) > 0:
        loss = LOSSES[of.training["loss"]]["targets"](logits, of.targets())
    else:
        loss = LOSSES[of.training["loss"]]["real"](logits)
    of.learn(loss, *_lecam(of, logits, other))


def fake(of: Pass) -> None:
    noise, labels, other = of.noise(), of.labels(), of.step.running("lecam_real")
    examples = _fakes(of, (noise, *labels))
    logits = of.judge((examples, *labels), 1, of.step.statistic("lecam_fake"))
    of.learn(LOSSES[of.training["loss"]]["fake"](logits), *_lecam(of, logits, other))


def _lecam(of: Pass, logits, other) -> list:
    """Returns eq. 3 of Tseng et al., 2021: pulls logits to the running mean of the other kind's."""
    return [] if other is None else [(logits - other).square().mean() * of.training["lecam"]["weight"]]


def _fakes(of: Pass, inputs: tuple):
    return of.step.keep(of, inputs) if of.training.get("reuse_fakes") else of.generate(inputs)


def pair(of: Pass) -> None:
    examples, *labels = of.reals()
    fakes = _fakes(of, (of.noise(), *labels))
    said = of.judge((examples, *labels), 0), of.judge((fakes, *labels), 1)
    of.learn(relativistic(*said))


def generate(of: Pass) -> None:
    if of.training.get("reuse_fakes"):
        examples, labels = of.step.take_kept(of)
    else:
        noise, labels = of.noise(), of.labels()
        examples = of.generate((noise, *labels))
    of.learn(LOSSES[of.training["loss"]]["generator"](of.judge((examples, *labels), 1)))


def generate_pair(of: Pass) -> None:
    examples, *labels = of.reals()
    fakes = of.step.take_kept(of)[0] if of.training.get("reuse_fakes") else of.generate((of.noise(), *labels))
    said = of.judge((examples, *labels), 0), of.judge((fakes, *labels), 1)
    of.learn(relativistic(said[1], said[0]))


def between(of: Pass) -> None:
    examples, *labels = of.reals()
    fakes, share = of.generate((of.noise(), *labels)), of.shares(examples)
    weight = of.training["gradient_penalty"] * of.step.scheduled(1.0, of.training.get("gradient_penalty_schedule"))
    of.penalise(gradient_penalty, weight, (share * examples + (1.0 - share) * fakes, *labels))


def on_reals(of: Pass) -> None:
    of.penalise(r1, _gamma(of, "r1"), of.reals())


def on_fakes(of: Pass) -> None:
    noise, labels = of.noise(), of.reals()[1:] if of.training["loss"] == "relativistic" else of.labels()
    of.penalise(r1, _gamma(of, "r2"), (of.generate((noise, *labels)), *labels))


def _gamma(of: Pass, name: str) -> float:
    """Returns gamma times the interval, to make up for skipped steps (StyleGAN2, appendix B)."""
    r1_keys = of.training["r1"]
    course = r1_keys.get("schedule")
    if r1_keys.get("final_factor", 1) != 1:
        course = {"decay": "cosine", "final": r1_keys["final_factor"]}
    return of.training[name]["gamma"] * of.phase.interval * of.step.scheduled(1.0, course)


def phases_of(job: dict) -> list[Phase]:
    """Returns the recipe adversarial's phases in order. A lazy regulariser is its own phase."""
    training, updates = job["training"], job["discriminator"]["steps"]
    couples = training["loss"] == "relativistic"
    discriminator = Phase(("discriminator",), [pair] if couples else [real, fake], repeats=updates, first_reals=0, harvests=2)
    if training.get("gradient_penalty", 0) > 0:
        discriminator.passes.append(between)
    regularisers = [one for one, name in ((on_reals, "r1"), (on_fakes, "r2")) if training.get(name, {}).get("gamma", 0) > 0]
    interval = training.get("r1", {}).get("interval", 1)
    reads = updates if training.get("generator_reals") == "new" else None
    phases = [discriminator, Phase(("generator",), [generate_pair if couples else generate], first_reals=reads, harvests=1)]
    if interval == 1:
        discriminator.passes += regularisers
    elif regularisers:
        phases.append(Phase(("discriminator",), regularisers, interval=interval))
    return phases
