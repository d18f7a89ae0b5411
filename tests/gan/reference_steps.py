# SPDX-License-Identifier: MIT
"""Runs steps of adversarial training in PyTorch alone, for steps_reference.py: passes, penalties, updates, averages.

Written after the papers and the authors' code of R3GAN (R3GAN/Trainer.py, training/training_loop.py), StyleGAN2-ADA
(training/loss.py, training/training_loop.py) and BigGAN (train_fns.py, utils.py), except for Gangway's own rules. The
discriminator comes first in a step, lazy penalties last. Every pass, penalties included, draws new noise and augmentations.
A schedule has its value at the end of the step. p changes after an update of the discriminator that follows the updates it
depends on; lazy penalties do not count. The authors draw the first layer of mixed styles once per batch; here each example
has its own. All micro-batches of an update begin with the same statistics, which then move by their mean. These are a mean
path length, the directions of spectral norms, and BatchNorm's statistics of the updated network.
"""
import math
from collections import defaultdict

import torch
from torch.nn import functional as F

from reference_augmentation import augmented

MOMENTUM = {"running_mean": 0.1, "running_var": 0.1, "direction": 1.0, "path_length": 0.01}
ROOT_FLOOR = 1e-12  # added to squared path lengths: the root's derivative is infinite at 0


def place_of(name):
    """Returns a module tensor's name, with layers numbered as Gangway's blocks: "2/first.weight"."""
    return name.removeprefix("layers.").replace(".", "/", 1)


def scheduled(base, schedule, images):
    if "decay" not in schedule:
        return base
    share = min(1.0, images / (1000 * schedule["end_kimg"]))
    left = {"cosine": 0.5 + 0.5 * math.cos(math.pi * share), "linear": 1.0 - share}[schedule["decay"]]
    final = schedule["final"] if "final" in schedule else schedule["final_factor"]
    return final + (base - final) * left


class Draws:
    """Gives the random numbers of one pass over a micro-batch."""

    def __init__(self, sample, prefix, used):
        self.sample, self.prefix, self.used = sample, prefix, used

    def __getitem__(self, what):
        self.used.add(self.prefix + what)
        return self.sample[self.prefix + what]


class Trained:
    """A network with its optimiser, its average and its statistics."""

    def __init__(self, name, module, begin, settings):
        self.name, self.module, self.settings, self.updates = name, module, settings, 0
        own = {key.removeprefix(f"{name}/"): value for key, value in begin.items() if key.startswith(f"{name}/")}
        self.parameters = {place_of(key): value for key, value in module.named_parameters()}
        for key, parameter in self.parameters.items():
            parameter.data = own.pop(key).clone()
        self.statistics = own
        self.optimizer = torch.optim.Adam(module.parameters(), eps=settings["optimizer"]["adam"]["eps"])
        self.average = {key: value.clone() for key, value in self.values().items()}
        self.forget_gradients()
        self.set_directions()

    def values(self):
        return {**{key: parameter.detach() for key, parameter in self.parameters.items()}, **self.statistics}

    def forget_gradients(self):
        """Sets all gradients to zero: some parameters get none from a penalty."""
        for parameter in self.parameters.values():
            parameter.grad = torch.zeros_like(parameter)

    def parts(self):
        """Returns the modules with statistics, by the beginning of the statistics' names."""
        return {place_of(key + "."): part for key, part in self.module.named_modules() if hasattr(part, "seen")}

    def set_directions(self):
        for name, part in self.parts().items():
            if hasattr(part, "direction"):
                part.direction = self.statistics[name + "direction"]

    def seen(self):
        return {name + what: value for name, part in self.parts().items() for what, value in part.seen.items()}

    def fold(self, seen):
        for name, values in seen.items():
            momentum = MOMENTUM[name.replace("/", ".").rsplit(".", 1)[1]]
            self.statistics[name] = torch.lerp(self.statistics[name], torch.stack(values).mean(0), momentum)
        self.set_directions()

    def update(self, lr, betas):
        for group in self.optimizer.param_groups:
            group.update(lr=lr, betas=betas)
        self.optimizer.step()
        self.updates += 1

    def move_average(self, decay):
        for name, value in self.values().items():
            self.average[name] = value + decay * (self.average[name] - value)

    def state(self):
        found = {f"{self.name}/{name}": value for name, value in self.values().items()}
        if "ema_kimg" in self.settings:
            found |= {f"{self.name}_ema/{name}": value for name, value in self.average.items()}
        for moment, name in (("first_moment", "exp_avg"), ("second_moment", "exp_avg_sq")):
            found |= {f"{self.name}_optimizer/{moment}/{key}": self.optimizer.state[parameter][name]
                      for key, parameter in self.parameters.items()}
        return {name: value.clone() for name, value in found.items()}


class Steps:
    """Trains from state 0 of `sample`, with its draws. @param job  as in its file"""

    def __init__(self, job, modules, sample):
        self.sample, self.used, self.training = sample, set(), job["training"]
        begin = {name.removeprefix("state/0/"): value for name, value in sample.items() if name.startswith("state/0/")}
        self.generator, self.discriminator = [Trained(name, modules[name], begin, job[name]) for name in modules]
        self.is_conditional = job["model"].get("classes", 0) > 0
        self.is_relativistic = self.training["loss"] == "relativistic"
        self.is_hinge = self.training["loss"] == "hinge"
        self.repeats = job["discriminator"].get("steps", 1)
        self.images_per_step = self.training["batch"] * self.repeats
        self.r1, self.r2 = self.training.get("r1", {}), self.training.get("r2", {})
        self.lengths, self.augment = self.training.get("path_length", {}), self.training.get("augment", {})
        self.is_adaptive = self.augment.get("strength") == "adaptive"
        self.strength = 0.0 if self.is_adaptive else self.augment.get("strength")
        self.signs, self.step, self.interval = [], 0, 1

    def state(self):
        return self.generator.state() | self.discriminator.state()

    # A step.

    def take(self):
        lazy, apart = self.r1.get("interval", 1), self.lengths.get("interval", 1)
        penalties = [name for name in ("r1", "r2") if self.training.get(name)]
        judged = ["pair"] if self.is_relativistic else ["real", "fake"]
        for repeat in range(self.repeats):
            if self.is_adaptive and len(self.signs) == self.augment["interval"]:
                self.strength, self.signs = self.next_strength(sum(self.signs) / len(self.signs)), []
            self.update(self.discriminator, "discriminator", judged + (penalties if lazy == 1 else []), repeat)
            self.adapt()
        self.update(self.generator, "generator", ["generate_pair" if self.is_relativistic else "generate"])
        if lazy > 1 and self.step % lazy == 0:
            self.update(self.discriminator, "discriminator_regulariser", penalties, interval=lazy)
        if self.lengths and self.step % apart == 0:
            self.update(self.generator, "generator_regulariser", ["path_length"], interval=apart)
        self.generator.move_average(self.average_decay())
        self.step += 1

    def update(self, network, phase, passes, repeat=0, interval=1):
        self.interval, self.seen, count = interval, defaultdict(list), self.training["microbatches"]
        for microbatch in range(count):
            for name in passes:
                draws = self.draws(phase, repeat, name, microbatch)
                (getattr(self, "pass_" + name)(draws) / count).backward()
                for what, value in network.seen().items():
                    self.seen[what].append(value)
        if phase == "generator":
            self.add_orthogonal(network, self.training.get("orthogonal_weight", 0.0))
        network.update(*self.rates(network))
        self.told = self.seen.pop("signs", None)
        network.fold(self.seen)
        self.generator.forget_gradients()
        self.discriminator.forget_gradients()

    def draws(self, phase, repeat, name, microbatch):
        return Draws(self.sample, f"{self.step}/{phase}/{repeat}/{name}/{microbatch}/", self.used)

    @property
    def images(self):
        return (self.step + 1) * self.images_per_step

    def rates(self, network):
        """Returns lr and betas of an update."""
        adam, schedule = network.settings["optimizer"]["adam"], network.settings.get("schedule", {})
        lazy = self.laziness(network)
        betas = [scheduled(beta, schedule.get(name, {}), self.images)
                 for name, beta in zip(("beta1", "beta2"), adam["betas"])]
        return adam["lr"] * scheduled(1.0, schedule, self.images) * lazy, tuple(beta ** lazy for beta in betas)

    def laziness(self, network):
        """Corrects for one more update in `interval` steps (StyleGAN2, appendix B)."""
        interval = (self.lengths if network is self.generator else self.r1).get("interval", 1)
        between = interval * (1 if network is self.generator else self.repeats)
        return between / (between + 1) if interval > 1 else 1.0

    def average_decay(self):
        settings = self.generator.settings
        half_life = 1000 * scheduled(settings["ema_kimg"], settings.get("schedule", {}).get("ema", {}), self.images)
        ramp = settings.get("ema_rampup", "auto")
        if isinstance(ramp, float):
            half_life = min(half_life, ramp * (self.images - self.images_per_step))
        if half_life == 0 or self.images < 1000 * settings.get("ema_start_kimg", 0.0):
            return 0.0
        decay, updates = 0.5 ** (self.images_per_step / half_life), self.generator.updates
        return min(decay, (1 + updates) / (10 + updates)) if ramp == "auto" else decay

    def adapt(self):
        """Adapts p after an update of the discriminator, by the signs of its logits."""
        if not self.is_adaptive:
            return
        self.signs.append(torch.stack(self.told).mean().item())
        told = {"augment.strength": self.strength, "augment.signs": sum(self.signs), "augment.updates": len(self.signs)}
        for name in self.discriminator.statistics:
            if name.split("/")[1] in told:
                self.discriminator.statistics[name] = torch.tensor([told[name.split("/")[1]]]).double()

    def next_strength(self, signs):
        images = self.training["batch"] * len(self.signs)
        way = math.copysign(images / (1000 * self.augment["kimg"]), signs - self.augment["target"])
        return max(self.strength + way, 0.0)

    @staticmethod
    def add_orthogonal(network, beta):
        """Adds the gradient of Brock et al., 2019, eq. 3."""
        for name, parameter in network.parameters.items():
            if beta and name.endswith("weight") and parameter.dim() > 1:
                rows = parameter.flatten(1)
                overlap = (rows @ rows.T * (1 - torch.eye(len(rows)).double())).square().sum()
                (beta * overlap).backward()

    # Parts of several passes.

    def fake_labels(self, draws):
        if not self.is_conditional:
            return None
        return draws["real_labels" if self.is_relativistic else "fake_labels"].long()

    def real_labels(self, draws):
        return draws["real_labels"].long() if self.is_conditional else None

    def generated(self, draws):
        labels, module = self.fake_labels(draws), self.generator.module
        if hasattr(module, "styles"):
            return module(draws, module.styles(draws, draws["noise"], labels))
        return module(draws["noise"], labels)

    def detached(self, draws):
        with torch.no_grad():
            return self.generated(draws)

    def strengths(self):
        multipliers = self.augment.get("multipliers", {})
        return {kind: self.strength * multipliers.get(kind, 1.0) for kind in self.augment["kinds"]}

    def shown(self, pictures, draws, which):
        """Returns pictures as the discriminator sees them."""
        return augmented(pictures, draws["augment_" + which], self.strengths()) if self.augment else pictures

    def of_real(self, draws):
        return self.discriminator.module(self.shown(draws["real"], draws, "real"), self.real_labels(draws))

    def of_fake(self, pictures, draws):
        return self.discriminator.module(self.shown(pictures, draws, "fake"), self.fake_labels(draws))

    def penalty(self, gamma, pictures, draws, which):
        """Penalises the gradient by the pictures before or after augmentation: training.augment.penalties."""
        pictures = pictures.detach().requires_grad_(True)
        shown = self.shown(pictures, draws, which)
        if self.augment.get("penalties", "augmented") == "augmented":
            pictures = shown = shown.detach().requires_grad_(True)
        labels = self.real_labels(draws) if which == "real" else self.fake_labels(draws)
        logits = self.discriminator.module(shown, labels)
        gradient, = torch.autograd.grad(logits.sum(), pictures, create_graph=True)
        weight = gamma * scheduled(1.0, self.r1.get("schedule", {}), self.images) * self.interval
        return weight / 2 * gradient.square().sum([1, 2, 3]).mean()

    # Passes, by Gangway's names.

    def pass_real(self, draws):
        logits = self.of_real(draws)
        self.seen["signs"].append(logits.detach().sign().mean())
        return F.relu(1 - logits).mean() if self.is_hinge else F.softplus(-logits).mean()

    def pass_fake(self, draws):
        logits = self.of_fake(self.detached(draws), draws)
        return F.relu(1 + logits).mean() if self.is_hinge else F.softplus(logits).mean()

    def pass_generate(self, draws):
        logits = self.of_fake(self.generated(draws), draws)
        return -logits.mean() if self.is_hinge else F.softplus(-logits).mean()

    def pass_pair(self, draws):
        return F.softplus(self.of_fake(self.detached(draws), draws) - self.of_real(draws)).mean()

    def pass_generate_pair(self, draws):
        return F.softplus(self.of_real(draws) - self.of_fake(self.generated(draws), draws)).mean()

    def pass_r1(self, draws):
        return self.penalty(self.r1["gamma"], draws["real"], draws, "real")

    def pass_r2(self, draws):
        return self.penalty(self.r2["gamma"], self.detached(draws), draws, "fake")

    def pass_path_length(self, draws):
        module, name = self.generator.module, "0/path_length"
        styles = module.styles(draws, draws["noise"], self.fake_labels(draws))
        pictures = module(draws, styles)
        noise = draws["path_noise"] / pictures.shape[-1]  # the root of the pixels of a square
        gradient, = torch.autograd.grad((pictures * noise).sum(), styles, create_graph=True)
        lengths = (gradient.square().sum(2).mean(1) + ROOT_FLOOR).sqrt()
        mean = torch.lerp(self.generator.statistics[name], lengths.mean(), 0.01)
        self.seen[name].append(lengths.detach().mean().reshape(1))
        return self.lengths["weight"] * self.interval * (lengths - mean).square().mean()
