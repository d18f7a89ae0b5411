#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares a linear VAE, trained by real programs, with its optimum in closed form. Needs PyTorch.

    GANGWAY_BIN=build/release/bin evidence_bound.py [unittest arguments]

Encoder and decoder are linear maps, with a Gaussian of variance 1 around the output. The code's posterior is then a Gaussian
of the encoder's kind, so the bound is tight. Its best value is that of probabilistic principal components (Tipping and Bishop,
1999, eq. 7; Lucas et al., 2019): with eigenvalues l_1 >= l_2 >= ... of the data's covariance, q of them coded,

    minus the bound = (sum over i <= q of (log l_i + 1) + sum over i > q of l_i) / 2;   of it the divergence sum log l_i / 2,

without the constant of the Gaussian, which the loss leaves out.
"""
import gzip
import json
import unittest
from pathlib import Path

import numpy
import torch
from torch import nn

from train_command import Trainings, write_classes

CODED = 8
IMAGES = Path("/usr/share/datasets/fashion-mnist/train-images-idx3-ubyte.gz")
JOB = f"""
model: {{encoder: nets.py:Encoder, decoder: nets.py:Decoder, resolution: 28, latent: {CODED}}}
data: {{source: fashion-mnist}}
training: {{recipe: vae, kimg: 400, batch: 256, microbatches: 2, reconstruction: squared}}
encoder: {{optimizer: {{adam: {{lr: 1e-2, betas: [0.9, 0.999]}}}}, schedule: {{decay: cosine, final_factor: 0}}}}
decoder: {{optimizer: {{adam: {{lr: 1e-1, betas: [0.9, 0.999]}}}}, schedule: {{decay: cosine, final_factor: 0}}}}
checkpoint: {{every_kimg: 400}}
output: {{pictures_kimg: 0, tick_kimg: 60}}
"""


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.code = nn.Linear(784, 16)  # two numbers per coded one

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        return self.code(0.05 * image.flatten(1))  # about unit size, so that one rate suits all weights


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.image = nn.Linear(8, 784)

    def forward(self, noise: torch.Tensor) -> torch.Tensor:
        return self.image(noise).view(-1, 1, 28, 28)


def best():
    """Returns (minus the bound, the divergence in it), in nats per image."""
    images = numpy.frombuffer(gzip.open(IMAGES).read()[16:], numpy.uint8).reshape(-1, 784) / 127.5 - 1.0
    eigenvalues = numpy.linalg.eigvalsh(numpy.cov(images, rowvar=False, bias=True))[::-1]
    coded, lost = eigenvalues[:CODED], eigenvalues[CODED:]
    assert coded[-1] > 1.0  # otherwise coding it would not pay
    return 0.5 * (numpy.log(coded) + 1.0).sum() + 0.5 * lost.sum(), 0.5 * numpy.log(coded).sum()


class EvidenceBound(Trainings):
    def test_a_linear_vae_comes_to_what_principal_components_reach(self):
        write_classes(self.folder / "nets.py", Encoder, Decoder)
        (self.folder / "job.yaml").write_text(JOB)
        self.train("job.yaml", run="linear", workers=2)
        ticks = [json.loads(line) for line in (self.folder / "runs/00000-linear/stats.jsonl").read_text().splitlines()]
        last = [tick for tick in ticks if tick["kimg"] > 300.0][0]  # a mean over the images of the tick
        reached = last["encoder_loss"] + last["decoder_loss"]
        bound, divergence = best()
        print(f"minus the bound {reached:.3f} of {bound:.3f}, divergence {last['encoder_loss']:.3f} of {divergence:.3f}")
        self.assertLess(abs(reached / bound - 1.0), 0.015)
        self.assertLess(abs(last["encoder_loss"] / divergence - 1.0), 0.03)


if __name__ == "__main__":
    unittest.main()
