#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Prints learning rates of PyTorch's schedulers for tests/job/schedules/schedule_test.cpp. Needs PyTorch.

    torch_schedules.py

Prints one scheduler a line: the factor of the rate after 0, 1, ... STEPS steps, to 17 digits.
"""
import warnings

import torch
from torch.optim import lr_scheduler as schedulers

STEPS = 12
MAKERS = {
    "WarmUp": lambda sgd: schedulers.LinearLR(sgd, start_factor=0.25, end_factor=1.0, total_iters=5),
    "Linear": lambda sgd: schedulers.LinearLR(sgd, start_factor=1.0, end_factor=0.1, total_iters=10),
    "Cosine": lambda sgd: schedulers.CosineAnnealingLR(sgd, T_max=12, eta_min=0.05),
    "Restarts": lambda sgd: schedulers.CosineAnnealingWarmRestarts(sgd, T_0=4, eta_min=0.05),
    "Step": lambda sgd: schedulers.StepLR(sgd, step_size=3, gamma=0.7),
    "MultiStep": lambda sgd: schedulers.MultiStepLR(sgd, milestones=[2, 7, 11], gamma=0.3),
    "Exponential": lambda sgd: schedulers.ExponentialLR(sgd, gamma=0.8),
    "OneCycleCosine": lambda sgd: schedulers.OneCycleLR(sgd, max_lr=1.0, total_steps=STEPS + 1, pct_start=0.3,
                                                        div_factor=25.0, final_div_factor=1e4),
    "OneCycleLinear": lambda sgd: schedulers.OneCycleLR(sgd, max_lr=1.0, total_steps=STEPS + 1, pct_start=0.3,
                                                        div_factor=10.0, final_div_factor=100.0, anneal_strategy="linear"),
}


def rates(make):
    sgd = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1.0)
    scheduler = make(sgd)
    found = [sgd.param_groups[0]["lr"]]
    for _ in range(STEPS):
        sgd.step()
        scheduler.step()
        found.append(sgd.param_groups[0]["lr"])
    return found


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    for name, make in MAKERS.items():
        print(f"{name}: {', '.join(f'{rate:.17g}' for rate in rates(make))}")
