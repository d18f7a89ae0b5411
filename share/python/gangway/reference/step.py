# SPDX-License-Identifier: MIT
"""Replays a step: each phase and micro-batch in turn, in one process (docs/reference-step.md). The run's layout has no influence."""
import json

import torch

from gangway.reference import data, load, passes, philox, schedule, update
from gangway.reference.passes import Pass, Phase


class Step:
    """Replays the step after `number` steps. @param networks  by name; replay() updates them; events: the later checkpoint's decisions
    @param pack  as data.Reals takes it; own: the user's step (own_step.py), None: the recipe's; source: the user's data"""

    def __init__(self, job: dict, networks: dict, number: int, events: list, pack=None, own=None, source=None):
        self.job, self.networks, self.number = job, networks, number
        self.reals = data.Reals(job, pack, source)
        self.lr_factor, self.seed = settings_of(job["training"]["seed"], events, number)
        training = job["training"]
        self._is_channels_last = job["numerics"]["memory_format"] == "channels-last"
        self._images_per_step = training["batch"] * load.updates_of(job)
        # Images at the end of the step, so that a warm-up does not begin with a rate of zero.
        self._images = float((number + 1) * self._images_per_step)
        self._burn_in = 1000.0 * (training.get("burn_in_kimg") or training["kimg"])
        self._latest, self._kept = {}, {}
        self._phases = passes.phases_of(job) if own is None else own.phases()

    def replay(self) -> None:
        todo = [(index, phase, repeat) for index, phase in enumerate(self._phases)
                if self.number % phase.interval == 0 for repeat in range(phase.repeats)]
        for place, (index, phase, repeat) in enumerate(todo):
            trained = [self.networks[name] for name in phase.trains]
            leaves = {network.name: [] for network in trained}
            for microbatch in range(self.job["training"]["microbatches"]):
                for network in trained:
                    leaves[network.name].append(network.open_leaf())
                for number, work in enumerate(phase.passes):
                    at = {"phase": index, "repeat": repeat, "pass_": number, "microbatch": microbatch}
                    work(Pass(self, phase, at))
                for network in trained:
                    network.close_leaf(phase.harvests)
            for network in trained:
                is_last = all(network.name not in later.trains for _, later, _ in todo[place + 1:])
                update.update(network, leaves[network.name], self._plan(phase, network, is_last))

    def _plan(self, phase: Phase, network, is_last: bool) -> dict:
        """Returns an update's settings. The average moves once a step, at the last update."""
        spec = self.job[network.name]
        kind, numbers = update.settings_at(spec, self._images, self._burn_in, self._laziness(network.name))
        numbers["lr"] *= self.lr_factor
        decay = None
        if is_last and network.average is not None:
            decay = update.average_decay(spec, self._images, self._images_per_step, network.updates + 1, self._burn_in)
        return {"optimizer": (kind, numbers), "clip_norm": spec.get("clip_norm", 0), "harvests": phase.harvests, "average_decay": decay}

    def _laziness(self, name: str) -> float:
        """Returns n / (n + 1) for a lazy regulariser every n updates (StyleGAN2, appendix B)."""
        own = [phase for phase in self._phases if name in phase.trains]
        updates = sum(phase.repeats for phase in own if phase.interval == 1)
        factor = 1.0
        for phase in own:
            if phase.interval > 1:
                between = float(updates * phase.interval)
                factor *= between / (between + 1.0)
        return factor

    # Called by passes.

    def scheduled(self, base: float, course) -> float:
        return schedule.scheduled(base, course, self._images, self._burn_in)

    def read(self, phase: Phase, place: dict):
        """Returns the micro-batch's real examples: new ones, or the last that were read."""
        microbatch = place["microbatch"]
        if phase.first_reals is not None:
            is_new = self.job["training"].get("generator_reals") == "new"
            batch = self.number * (load.updates_of(self.job) + is_new) + phase.first_reals + place["repeat"]
            if self._latest.get(microbatch, (None,))[0] != batch:
                examples, labels = self.reals.read(batch, microbatch)
                if labels is not None and self._is_channels_last and examples.dim() == 4:
                    examples = examples.contiguous(memory_format=torch.channels_last)
                self._latest[microbatch] = (batch, examples, labels)
        return self._latest[microbatch][1:]

    def statistic(self, name: str) -> str | None:
        """Returns the discriminator's full name of a statistic; None if the job has none."""
        return next((one for one in self.networks["discriminator"].running if one.rpartition("/")[2] == name), None)

    def running(self, name: str):
        """Returns a copy of a statistic from before this update; None if there is none."""
        found = self.statistic(name)
        return None if found is None else self.networks["discriminator"].running[found].clone()

    def keep(self, of: Pass, inputs: tuple):
        """Generates examples for discriminator and generator alike (training.reuse_fakes)."""
        generator = self.networks["generator"]
        made, seen = generator.module.forward(inputs, of._network_key(0), generator.running)
        self._kept[of.place["microbatch"]] = (inputs, made, seen)
        return made.detach()

    def take_kept(self, of: Pass):
        """Returns (kept examples, their labels)."""
        inputs, made, seen = self._kept.pop(of.place["microbatch"])
        return of.take("generator", inputs, made, seen), inputs[1:]


def settings_of(seed: int, events: list, step: int) -> tuple[float, int]:
    """Returns (factor on learning rates, seed of draws) after the run's decisions (docs/divergence.md). Data keep the job's seed."""
    factor, retry = 1.0, 0
    for event in events:
        if event["kind"] in ("rollback", "plateau") and event["step"] <= step:
            detail = json.loads(event["detail"])
            factor *= detail["lr_factor"]
            retry = max(retry, detail["reseed"])
    if retry == 0:
        return factor, seed
    return factor, int(philox.split_mix(seed + (retry - 1) * philox.GOLDEN)[0])
