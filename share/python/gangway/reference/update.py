# SPDX-License-Identifier: MIT
"""Updates a network from its leaves: mean by a fixed tree, optimiser, statistics, average."""
import math

import numpy as np
import torch

from gangway.errors import Failed
from gangway.reference import networks, schedule
from gangway.reference.networks import Network

MOMENTS = {"adam": ["first_moment", "second_moment"], "adamw": ["first_moment", "second_moment"],
           "rmsprop": ["momentum", "square_average"], "sgd": ["momentum"], "lion": ["momentum"]}


def tree_sum(leaves: list[torch.Tensor]) -> torch.Tensor:
    """Sums leaves by halving [0, M) recursively: for 6, ((0 + (1 + 2)) + (3 + (4 + 5)))."""
    if len(leaves) == 1:
        return leaves[0]
    middle = len(leaves) // 2
    return tree_sum(leaves[:middle]) + tree_sum(leaves[middle:])


def _pairwise(values):
    if len(values) <= 1:
        return float(values[0]) if len(values) else 0.0
    middle = len(values) // 2
    return _pairwise(values[:middle]) + _pairwise(values[middle:])


def norm_of(gradient: torch.Tensor) -> float:
    """Returns the norm in double precision: eight sums a block of 4,096 elements, then a tree."""
    lanes = gradient.view(-1, networks.BLOCK // 8, 8).double().square()
    total = torch.zeros(lanes.shape[0], 8, dtype=torch.float64)
    for row in range(lanes.shape[1]):
        total += lanes[:, row]
    return math.sqrt(_pairwise([_pairwise(block) for block in total.tolist()]))


def clipped(mean: torch.Tensor, parameters_end: int, clip_norm: float) -> None:
    """Clips `mean` in place to the job's norm (Pascanu et al., 2013). Raises Failed on inf, nan."""
    norm = norm_of(mean[:parameters_end])
    if not math.isfinite(norm):
        raise Failed("the step's gradient is not finite: its update was skipped, and there is nothing to replay", 2)
    scale = torch.tensor(min(1.0, clip_norm / (norm + 1e-6)), dtype=torch.float32)
    if scale != 1:
        mean[:parameters_end] *= scale


def settings_at(spec: dict, images: float, burn_in: float, laziness: float) -> tuple[str, dict]:
    """Returns (optimiser, its scheduled numbers). @param spec  the network's section of the job"""
    kind, numbers = next(iter(spec["optimizer"].items()))
    numbers = {name: list(value) if isinstance(value, list) else value for name, value in numbers.items()}
    courses = spec.get("schedule", {})
    if spec.get("lazy_interval", 0) > 0:
        laziness = spec["lazy_interval"] / (spec["lazy_interval"] + 1.0)
    numbers["lr"] = (numbers["lr"] * schedule.warmed_up(courses, images) * schedule.decayed(1.0, courses, images, burn_in) * laziness)
    if "betas" in numbers:
        second = courses.get("beta2")
        if courses.get("final_beta2", 0) > 0:
            second = {"decay": "cosine", "final": courses["final_beta2"]}
        for place, course in enumerate((courses.get("beta1"), second)):
            numbers["betas"][place] = schedule.scheduled(numbers["betas"][place], course, images, burn_in)
    for name in ("betas", "alpha", "momentum"):  # shares of a moment that are kept (StyleGAN2, appendix B)
        if isinstance(numbers.get(name), list):
            numbers[name] = [math.pow(one, laziness) for one in numbers[name]]
        elif name in numbers:
            numbers[name] = math.pow(numbers[name], laziness)
    return kind, numbers


def optimise(kind: str, numbers: dict, update: int, weights, gradient, moments) -> None:
    """Updates whole flat memories in place. Slices of whole blocks would give the same bits."""
    if kind in ("adam", "adamw"):  # Kingma and Ba, 2015; Loshchilov and Hutter, 2019
        fused = torch._fused_adam_ if kind == "adam" else torch._fused_adamw_
        fused([weights], [gradient], [moments[0]], [moments[1]], [], [torch.tensor(float(update))], lr=numbers["lr"],
              beta1=numbers["betas"][0], beta2=numbers["betas"][1], weight_decay=numbers["weight_decay"], eps=numbers["eps"],
              amsgrad=False, maximize=False)
        return
    # Each operation rounds once: scalars are float32, like the weights.
    lr, decay = _float(numbers["lr"]), _float(numbers["weight_decay"])
    if kind == "sgd":  # Sutskever et al., 2013
        moments[0].copy_(moments[0] * _float(numbers["momentum"]) + (gradient + decay * weights))
        weights.copy_(weights - lr * moments[0])
    elif kind == "rmsprop":  # Tieleman and Hinton, 2012
        gradient = gradient + decay * weights
        share = _float(1.0 - numbers["alpha"])
        moments[1].copy_(moments[1] * _float(numbers["alpha"]) + share * gradient * gradient)
        root = torch.from_numpy(np.sqrt(moments[1].numpy()))  # torch's, by MKL, may be 1 ulp off
        moments[0].copy_(moments[0] * _float(numbers["momentum"]) + gradient / (root + _float(numbers["eps"])))
        weights.copy_(weights - lr * moments[0])
    else:  # lion: Chen et al., 2023, algorithm 2
        beta1, beta2 = numbers["betas"]
        sign = (moments[0] * _float(beta1) + _float(1.0 - beta1) * gradient).sign()
        weights.copy_(weights - lr * (sign + decay * weights))
        moments[0].copy_(moments[0] * _float(beta2) + _float(1.0 - beta2) * gradient)


def _float(number: float) -> torch.Tensor:
    return torch.tensor(number, dtype=torch.float32)


def average_decay(spec: dict, images: float, images_per_step: float, updates: int, burn_in: float) -> float:
    """Returns the average's decay: half-life in images (Karras et al., 2018), bounded at first."""
    courses = spec.get("schedule", {})
    half_life = schedule.scheduled(spec["ema_kimg"], courses.get("ema"), images, burn_in) * 1000.0
    ramp_up = spec.get("ema_rampup", "auto")
    if not isinstance(ramp_up, str):
        half_life = min(half_life, ramp_up * (images - images_per_step))
    if half_life <= 0 or images < spec.get("ema_start_kimg", 0) * 1000.0:
        return 0.0
    decay = math.exp2(-images_per_step / half_life)
    return min(decay, (1.0 + updates) / (10.0 + updates)) if ramp_up == "auto" else decay


@torch.no_grad()
def update(network: Network, leaves: list[torch.Tensor], plan: dict) -> None:
    """Updates a network. @param plan  what Step._plan() returns; average_decay None: not now"""
    end = network.layout.parameters_end
    mean = tree_sum(leaves) * torch.tensor(1.0 / len(leaves), dtype=torch.float32)
    if plan["clip_norm"] > 0:
        clipped(mean, end, plan["clip_norm"])
    network.updates += 1
    moments = [network.flat[f"{network.name}_optimizer/{name}"][:end] for name in network.moment_names]
    optimise(*plan["optimizer"], network.updates, network.weights[:end], mean[:end], moments)
    if plan["harvests"] > 0:
        running = network.weights[end:]
        share = torch.tensor(1.0, dtype=torch.float32) / plan["harvests"]
        running += _float(networks.STATISTIC_MOMENTUM) * (mean[end:] * share - running)
    if network.average is not None and plan["average_decay"] is not None:
        network.average.add_(_float(1.0 - plan["average_decay"]) * (network.weights - network.average))
