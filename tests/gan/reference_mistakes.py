# SPDX-License-Identifier: MIT
"""Defines steps with one mistake each. steps_reference.py must notice each of them, so its comparison covers that point."""
import torch

from reference_steps import Steps

MISTAKES = {}  # by description: the case of steps_reference.py, and the steps


def mistake(case, what):
    def add(kind):
        MISTAKES[what] = (case, kind)
        return kind
    return add


class Instead:
    """Replaces some of the draws by other tensors."""

    def __init__(self, draws, **others):
        self.draws, self.others = draws, others

    def __getitem__(self, what):
        return self.others[what] if what in self.others else self.draws[what]


# R3GAN.

@mistake("r3gan", "generated pictures have labels of their own")
class OwnLabels(Steps):
    def fake_labels(self, draws):
        return (super().fake_labels(draws) + 3) % 10


@mistake("r3gan", "penalties look at pictures as they are shown")
class ShownPenalised(Steps):
    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.augment = {**self.augment, "penalties": "augmented"}


@mistake("r3gan", "a kind's multiplier is not looked at")
class NoMultiplier(Steps):
    def strengths(self):
        return dict.fromkeys(self.augment["kinds"], self.strength)


@mistake("r3gan", "the generator looks at the discriminator's real pictures")
class OldReals(Steps):
    def draws(self, phase, repeat, name, microbatch):
        draws = super().draws(phase, repeat, name, microbatch)
        if phase != "generator":
            return draws
        before = super().draws("discriminator", 0, "pair", microbatch)
        return Instead(draws, real=before["real"], real_labels=before["real_labels"])


@mistake("r3gan", "the generator's pictures are not augmented")
class PlainForGenerator(Steps):
    def pass_generate_pair(self, draws):
        augment, self.augment = self.augment, {}
        loss = super().pass_generate_pair(draws)
        self.augment = augment
        return loss


@mistake("r3gan", "the average ramps up although the job says none")
class Ramps(Steps):
    def average_decay(self):
        return min(super().average_decay(), (1 + self.generator.updates) / (10 + self.generator.updates))


def unscheduled(name):
    """Keeps all but one of a network's schedules."""
    class Unscheduled(Steps):
        def __init__(self, job, *arguments):
            network = job["generator"]
            kept = {key: value for key, value in network["schedule"].items() if key != name}
            super().__init__({**job, "generator": {**network, "schedule": kept}}, *arguments)
    return Unscheduled


MISTAKES |= {f"{what} has no schedule": ("r3gan", unscheduled(name))
             for what, name in (("the learning rate", "decay"), ("beta2", "beta2"), ("the average", "ema"))}


@mistake("r3gan", "gamma has no schedule")
class NoGammaSchedule(Steps):
    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.r1 = {"gamma": self.r1["gamma"]}


@mistake("r3gan without labels", "no penalty on generated pictures")
class NoR2(Steps):
    def pass_r2(self, draws):
        return 0.0 * super().pass_r2(draws)


@mistake("r3gan without labels", "the average does not ramp up")
class NoRamp(Steps):
    def average_decay(self):
        self.generator.updates += 1_000_000
        decay = super().average_decay()
        self.generator.updates -= 1_000_000
        return decay


@mistake("r3gan without labels", "micro-batches add up")
class Sums(Steps):
    def rates(self, network):
        for parameter in network.parameters.values():
            parameter.grad *= self.training["microbatches"]
        return super().rates(network)


# StyleGAN2-ADA.

@mistake("stylegan2", "labels of generated pictures are as likely as one another")
class UniformLabels(Steps):
    def fake_labels(self, draws):
        return torch.arange(len(super().fake_labels(draws))) * 7 % 10


@mistake("stylegan2", "the average moves behind each update")
class AverageBehindEachUpdate(Steps):
    def update(self, network, phase, *arguments, **more):
        super().update(network, phase, *arguments, **more)
        if phase == "generator_regulariser":
            self.generator.move_average(self.average_decay())


@mistake("stylegan2", "the average's half-life does not ramp up")
class NoShare(Steps):
    def average_decay(self):
        return 0.5 ** (self.images_per_step / (1000 * self.generator.settings["ema_kimg"]))


@mistake("stylegan2", "the average ramps up by the images up to the step's end")
class RampsByTheEnd(Steps):
    def average_decay(self):
        half_life = min(20.0, self.generator.settings["ema_rampup"] * self.images)
        return 0.5 ** (self.images_per_step / half_life)


def as_if_in_each_step(name):
    """Applies a lazy penalty without the factor for its interval."""
    def carried_out(self, draws):
        self.interval = 1
        return getattr(Steps, name)(self, draws)
    return type("AsIfInEachStep", (Steps,), {name: carried_out})


MISTAKES["R1 does not stand for the steps between"] = ("stylegan2", as_if_in_each_step("pass_r1"))
MISTAKES["path lengths do not stand for the steps between"] = ("stylegan2", as_if_in_each_step("pass_path_length"))


@mistake("stylegan2", "learning rates and betas are as without lazy penalties")
class NoCorrection(Steps):
    def laziness(self, network):
        return 1.0


@mistake("stylegan2", "betas are as without lazy penalties")
class NoCorrectionOfBetas(Steps):
    def rates(self, network):
        return super().rates(network)[0], tuple(network.settings["optimizer"]["adam"]["betas"])


@mistake("stylegan2", "p stops at 1")
class StopsAtOne(Steps):
    def next_strength(self, signs):
        return min(super().next_strength(signs), 1.0)


@mistake("stylegan2", "p moves with each update")
class MovesEachTime(Steps):
    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.augment = {**self.augment, "interval": 1}


@mistake("stylegan2", "p moves behind the last update that it looks at, and not behind the one after it")
class MovesAtOnce(Steps):
    def adapt(self):
        if self.told and len(self.signs) == self.augment["interval"] - 1:
            told = torch.stack(self.told).mean().item()
            self.signs.append(told)
            self.strength, self.signs = self.next_strength(sum(self.signs) / len(self.signs)), []
        else:
            super().adapt()


@mistake("stylegan2", "p moves as far as one update goes")
class MovesByOne(Steps):
    def next_strength(self, signs):
        return (self.strength + super().next_strength(signs)) / 2


@mistake("stylegan2", "styles of a micro-batch are mixed from one layer on")
class OneCut(Steps):
    def generated(self, draws):
        return super().generated(Instead(draws, style_cut=draws["style_cut"][:1].expand(len(draws["style_cut"]), 2)))


@mistake("stylegan2", "no styles are mixed in path lengths")
class NoMixingInPathLengths(Steps):
    def pass_path_length(self, draws):
        return super().pass_path_length(Instead(draws, style_cut=torch.ones_like(draws["style_cut"])))


@mistake("stylegan2", "the mean path length is a constant")
class MeanIsConstant(Steps):
    def pass_path_length(self, draws):
        lerp, torch.lerp = torch.lerp, lambda begin, end, share: begin + share * (end - begin).detach()
        loss = super().pass_path_length(draws)
        torch.lerp = lerp
        return loss


@mistake("stylegan2", "all of a micro-batch is compared by its deviation")
class LargeGroups(Steps):
    def __init__(self, job, modules, *arguments):
        for layer in modules["discriminator"].layers:
            if hasattr(layer, "group"):
                layer.group = 4
        super().__init__(job, modules, *arguments)


@mistake("stylegan2 as for CIFAR-10", "R1 is not halved")
class WholeGamma(Steps):
    def pass_r1(self, draws):
        return 2 * super().pass_r1(draws)


# BigGAN.

@mistake("biggan", "all updates of the discriminator look at the same real pictures")
class SameReals(Steps):
    def draws(self, phase, repeat, name, microbatch):
        draws = super().draws(phase, repeat, name, microbatch)
        if name != "real":
            return draws
        first = super().draws(phase, 0, name, microbatch)
        return Instead(draws, real=first["real"], real_labels=first["real_labels"])


@mistake("biggan", "the average begins at once")
class AverageAtOnce(Steps):
    def average_decay(self):
        return 0.5 ** (self.images_per_step / (1000 * self.generator.settings["ema_kimg"]))


@mistake("biggan", "a step shows the images of one update")
class ImagesOfOneUpdate(Steps):
    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.images_per_step = self.training["batch"]


@mistake("biggan", "weights are not kept orthogonal")
class NotOrthogonal(Steps):
    @staticmethod
    def add_orthogonal(network, beta):
        pass


@mistake("biggan", "the generator learns by the logarithm")
class Nonsaturating(Steps):
    def pass_generate(self, draws):
        return torch.nn.functional.softplus(-self.of_fake(self.generated(draws), draws)).mean()


@mistake("biggan", "power iterations begin anew")
class StillDirections(Steps):
    def update(self, network, *arguments, **more):
        before = {name: value for name, value in network.statistics.items() if name.endswith("direction")}
        super().update(network, *arguments, **more)
        network.statistics |= before
        network.set_directions()


@mistake("biggan", "each pass does a power iteration of its own")
class IterationsByPass(Steps):
    def draws(self, *place):
        for network in (self.generator, self.discriminator):
            seen = network.seen()
            network.statistics |= {name: value for name, value in seen.items() if name.endswith("direction")}
            network.set_directions()
        return super().draws(*place)


@mistake("biggan with separate embeddings", "statistics move while the discriminator is trained")
class StatisticsAtAnyTime(Steps):
    def pass_fake(self, draws):
        loss = super().pass_fake(draws)
        self.generator.fold({name: [value] for name, value in self.generator.seen().items() if "running" in name})
        return loss


@mistake("biggan with separate embeddings", "running variances are those of the examples, not of all there could be")
class BiasedVariance(Steps):
    def update(self, network, *arguments, **more):
        var = torch.Tensor.var
        torch.Tensor.var = lambda x, axes: var(x, axes, correction=0)
        super().update(network, *arguments, **more)
        torch.Tensor.var = var


@mistake("biggan with separate embeddings", "the loss is not the hinge")
class NoHinge(Steps):
    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.is_hinge = False
