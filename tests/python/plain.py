# SPDX-License-Identifier: MIT
"""Computes the loss of tests/python/python_block_test.cpp by PyTorch alone: exit code 1 unless all bits are equal.

    plain.py CLASS SEED FILE
"""
import sys

import torch
from torch.nn import functional

import nets

name, seed, file = sys.argv[1], int(sys.argv[2]), sys.argv[3]
torch.set_num_threads(1)
expected = torch.load(file, weights_only=False)
torch.manual_seed(seed)
network = getattr(nets, name)()
image = expected["image"]


def judged(picture):
    torch.manual_seed(expected["seed"].item())
    return network(picture)


buffers = {key: value.clone() for key, value in network.named_buffers()}
logits = judged(image)
found = {f"buffer {key}": value.float() for key, value in network.named_buffers()}
for key, value in buffers.items():  # each pass begins with the state from before the step
    owner, _, last = key.rpartition(".")
    network.get_submodule(owner)._buffers[last] = value
picture = image.clone().requires_grad_()
gradient, = torch.autograd.grad(judged(picture).sum(), picture, create_graph=True)
loss = functional.softplus(-logits).mean() + gradient.flatten(1).square().sum(1).mean() * 5.0
names, parameters = zip(*network.named_parameters())
for key, value, grad in zip(names, parameters, torch.autograd.grad(loss, parameters)):
    found[f"parameter {key}"], found[f"gradient {key}"] = value.detach(), grad
found["loss"] = loss.detach()
other = [key for key, value in found.items() if key not in expected or not torch.equal(value, expected[key])]
missing = set(expected) - set(found) - {"image", "seed"}
print(f"{name}: {len(found)} tensors, other bits: {other}, missing: {sorted(missing)}")
sys.exit(1 if other or missing else 0)
