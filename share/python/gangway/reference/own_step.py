# SPDX-License-Identifier: MIT
"""Runs the phases of a user's step on micro-batches (docs/own-step.md). As python/call/own_step.cpp."""
import functools

import torch

from gangway import step
from gangway.errors import Failed
from gangway.examples import seed_all
from gangway.reference import load, philox
from gangway.reference.passes import Pass, Phase
from gangway.reference.philox import Keyed


class OwnStep:
    def __init__(self, run, job: dict, networks: dict, trusts: bool):
        call, find, arguments = load.class_of(run, job["training"]["step"], job["training"]["step_hash"], trusts)
        self.job, self.networks = job, networks
        self._kept = {}  # by step and micro-batch
        try:
            found = find()
            seed_all(job["training"]["seed"])
            model = {key: job["model"].get(key, 0) for key in ("latent", "resolution", "channels", "classes")}
            self.step = step.made(found, {name: one.module.network for name, one in networks.items()}, model, arguments)
        except Exception as error:  # any exception of the user's code
            raise Failed(f"training.step: {call}: {type(error).__name__}: {error}".splitlines()[0]) from None

    def phases(self) -> list[Phase]:
        phases, reals = [], 0
        for method, (trains, repeats, every, is_new, is_captured) in step.phases_of(type(self.step)).items():
            phases.append(Phase(tuple(trains), [functools.partial(self.learn, method, is_captured)], repeats, every,
                                first_reals=reals if is_new else None, harvests=1))
            reals += repeats if is_new else 0
        return phases

    def learn(self, method: str, is_captured: bool, at: Pass) -> None:
        """Runs a phase, and adds gradients and statistics to the leaves of its trained networks."""
        batch = at.batch()
        for network in self.networks.values():
            network.module.prepare(network.running)
        seed_all(int(Keyed(**at._network_key(0), draw=philox.DROPOUT).bits(0)[0]))
        vars(self.step)["kept"] = self._kept.setdefault((at.step.number, at.place["microbatch"]), step.KeptTensors())
        made = getattr(self.step, method)(batch, torch.tensor(at.step.number) if is_captured else at.step.number)
        loss = made[0] if isinstance(made, tuple) else made
        trained = [self.networks[name] for name in at.phase.trains]
        for network in trained:
            network.harvest(network.module.seen())
        torch.autograd.backward(loss.reshape(()).float(), inputs=[one for network in trained for one in network.module.parameters.values()])
