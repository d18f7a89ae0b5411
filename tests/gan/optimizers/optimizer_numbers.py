#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Prints the numbers of optimizer_numbers_test.cpp: four weights after 20 updates by torch.optim, in float64.

torch.optim has no Lion: its code follows Chen et al., 2023, algorithm 2.
"""
import math

import torch

WEIGHTS = [1.5, -0.75, 0.5, -2.0]
UPDATES = 20


class Lion(torch.optim.Optimizer):
    def __init__(self, parameters, lr, betas, weight_decay):
        super().__init__(parameters, {"lr": lr, "betas": betas, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            keep, decay = group["betas"]
            for weight in group["params"]:
                momentum = self.state[weight].setdefault("momentum", torch.zeros_like(weight))
                weight.mul_(1 - group["lr"] * group["weight_decay"])
                weight.sub_((momentum * keep + weight.grad * (1 - keep)).sign() * group["lr"])
                momentum.mul_(decay).add_(weight.grad, alpha=1 - decay)


def gradient(update):
    return [math.sin(0.7 * update + i) + 0.25 * weight for i, weight in enumerate(WEIGHTS)]


def trained(make):
    weights = torch.tensor(WEIGHTS, dtype=torch.float64, requires_grad=True)
    optimizer = make([weights])
    for update in range(1, UPDATES + 1):
        weights.grad = torch.tensor(gradient(update), dtype=torch.float64)
        optimizer.step()
    return weights.tolist()


CASES = {
    "Rmsprop": lambda p: torch.optim.RMSprop(p, lr=1e-3, alpha=0.99),
    "RmspropMomentum": lambda p: torch.optim.RMSprop(p, lr=1e-3, alpha=0.9, eps=1e-6, weight_decay=0.01, momentum=0.7),
    "Sgd": lambda p: torch.optim.SGD(p, lr=1e-2),
    "SgdMomentum": lambda p: torch.optim.SGD(p, lr=1e-2, momentum=0.9, weight_decay=0.01),
    "Lion": lambda p: Lion(p, lr=1e-3, betas=(0.9, 0.99), weight_decay=0.1),
}

if __name__ == "__main__":
    for name, make in CASES.items():
        print(name, ", ".join(f"{weight:.9f}" for weight in trained(make)))
