# SPDX-License-Identifier: MIT
"""Trains a vocoder after HiFi-GAN (Kong et al., 2020): sound from mel spectrograms, on synthetic
tones. Works for any number of workers (docs/own-step.md, docs/python.md)."""
import math

import gangway
import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils.parametrizations import weight_norm

RATE, SAMPLES, HOP, WINDOW, MELS = 16_000, 8_192, 128, 512, 40


class Tones:
    """Makes a gliding, fading harmonic sound for each index; each reading draws a part of it."""

    def __init__(self, size=2000):
        self.size = size

    def __len__(self):
        return self.size

    def __getitem__(self, index):
        own = torch.Generator().manual_seed(index)
        pitch, glide, decay = torch.tensor([110.0, -0.5, 1.0]) * torch.tensor([8.0, 1.0, 5.0]) ** torch.rand(3, generator=own)
        time = (torch.arange(SAMPLES) + torch.randint(SAMPLES, (1,))) / RATE
        phase = 2 * torch.pi * pitch * (time + glide * time.square() / 2)
        shares = torch.rand(6, generator=own) / torch.arange(1, 7)
        sound = sum(share * torch.sin(number * phase) for number, share in enumerate(shares, start=1))
        return {"audio": 0.6 * sound[None] / shares.sum() * torch.exp(-decay * time)}


class Mel(nn.Module):
    """Takes log magnitudes in mel bands (O'Shaughnessy, 1987): [N, 1, T] -> [N, MELS, T / HOP]."""

    def __init__(self):
        super().__init__()
        edges = 700 * (torch.logspace(0, math.log10(1 + RATE / 1400), MELS + 2) - 1)
        bins = torch.linspace(0, RATE / 2, WINDOW // 2 + 1)
        rise, fall = ((bins - a) / (b - a) for a, b in ((edges[:-2, None], edges[1:-1, None]), (edges[2:, None], edges[1:-1, None])))
        self.register_buffer("bands", torch.minimum(rise, fall).clamp(min=0))
        self.register_buffer("window", torch.hann_window(WINDOW))

    def forward(self, audio):
        whole = F.pad(audio, ((WINDOW - HOP) // 2, (WINDOW - HOP) // 2), mode="reflect")[:, 0]
        spectrum = torch.stft(whole, WINDOW, HOP, window=self.window, center=False, return_complex=True)
        return torch.log((self.bands @ (spectrum.real.square() + spectrum.imag.square() + 1e-9).sqrt()).clamp(min=1e-5))


class Generator(nn.Module):
    def __init__(self, width=64, rates=(8, 4, 4)):
        super().__init__()
        self.first = weight_norm(nn.Conv1d(MELS, width, 7, padding=3))
        widths = [width // 2 ** level for level in range(len(rates) + 1)]
        self.up = nn.ModuleList(weight_norm(nn.ConvTranspose1d(a, b, 2 * rate, rate, rate // 2))
                                for a, b, rate in zip(widths, widths[1:], rates))
        self.fields = nn.ModuleList(nn.ModuleList(weight_norm(nn.Conv1d(width, width, kernel, dilation=dilation, padding="same"))
                                                  for kernel in (3, 7) for dilation in (1, 3)) for width in widths[1:])
        self.last = weight_norm(nn.Conv1d(widths[-1], 1, 7, padding=3))

    def forward(self, mel):
        x = self.first(mel)
        for up, fields in zip(self.up, self.fields):
            x = up(F.leaky_relu(x, 0.1))
            x = x + sum(one(F.leaky_relu(x, 0.1)) for one in fields) / len(fields)  # receptive fields of several sizes
        return torch.tanh(self.last(F.leaky_relu(x)))


class Judge(nn.Module):
    """Judges the sound as an image of `period` columns. Returns features, the logits last."""

    def __init__(self, period, width):
        super().__init__()
        self.period, widths = period, (1, width, 2 * width, 4 * width)
        self.parts = nn.ModuleList(weight_norm(nn.Conv2d(a, b, (5, 1), (3, 1), (2, 0))) for a, b in zip(widths, widths[1:]))
        self.logit = weight_norm(nn.Conv2d(widths[-1], 1, (3, 1), padding=(1, 0)))

    def forward(self, audio):
        x = F.pad(audio, (0, -audio.shape[-1] % self.period), mode="reflect").unflatten(2, (-1, self.period))
        features = [x := F.leaky_relu(part(x), 0.1) for part in self.parts]
        return [*features, self.logit(x)]


class Discriminator(nn.Module):
    def __init__(self, width=8, periods=(1, 2, 3, 5, 7)):
        super().__init__()
        self.judges = nn.ModuleList(Judge(period, width) for period in periods)

    def forward(self, audio):
        return [judge(audio) for judge in self.judges]


class HiFiGAN(gangway.Step):
    takes = {"generator": torch.zeros(MELS, SAMPLES // HOP), "discriminator": torch.zeros(1, SAMPLES)}

    def __init__(self, mel_weight=45.0, feature_weight=2.0):
        self.mel, self.mel_weight, self.feature_weight = Mel(), mel_weight, feature_weight

    @gangway.phase(trains="discriminator", new_batch=True)
    def judge(self, batch, step):
        with torch.no_grad():
            fake = self.generator(self.mel(batch["audio"]))
        return sum((1 - real[-1]).square().mean() + made[-1].square().mean()
                   for real, made in zip(self.discriminator(batch["audio"]), self.discriminator(fake)))

    @gangway.phase(trains="generator")
    def make(self, batch, step):
        mel = self.mel(batch["audio"])
        fake = self.generator(mel)
        distance = F.l1_loss(self.mel(fake), mel)
        loss = self.mel_weight * distance
        for real, made in zip(self.discriminator(batch["audio"]), self.discriminator(fake)):
            alike = sum(F.l1_loss(a, b.detach()) for a, b in zip(made[:-1], real[:-1]))
            loss = loss + (1 - made[-1]).square().mean() + self.feature_weight * alike
        return loss, {"mel_distance": distance}

    def show(self, batch):
        return gangway.Audio(self.generator(self.mel(batch["audio"])), RATE)
