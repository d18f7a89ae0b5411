# SPDX-License-Identifier: MIT
"""What tests/gpu/run asks of whole trainings on a GPU: equal digests, the cost of exactness, images a second."""
import gzip
import json
import os
import random
import re
import statistics
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2]
DEADLINE = 240  # seconds a training
IMAGES = 4096
JOB = """
model: {family: dcgan, resolution: 32, width: 64, latent: 100}
data: {source: "idx:%s"}
training: {kimg: 2, batch: 256, microbatches: 4}
numerics: {device: cuda}
output: {tick_kimg: 1, pictures_kimg: 0}
checkpoint: {every_kimg: 0}
"""


class Refused(Exception):
    """NCCL takes no second rank on this GPU."""


class Trainings:
    """A folder with a job and its images; runs are made in it."""

    def __init__(self, programs):
        self.programs = programs
        self.folder = Path(tempfile.mkdtemp(prefix="gangway-gpu-"))
        images = self.folder / "images"
        images.mkdir()
        pixels = random.Random(0).randbytes(IMAGES * 28 * 28)
        self.pixels = images / "train-images-idx3-ubyte.gz"
        with gzip.open(self.pixels, "wb", compresslevel=1) as file:
            file.write(struct.pack(">IIII", 0x803, IMAGES, 28, 28) + pixels)
        with gzip.open(images / "train-labels-idx1-ubyte.gz", "wb") as file:
            file.write(struct.pack(">II", 0x801, IMAGES) + bytes(i % 10 for i in range(IMAGES)))
        (self.folder / "job.yaml").write_text(JOB % images)
        self.count = 0

    def train(self, workers, *overrides, run=None):
        """Name of the finished run. @raise Refused, RuntimeError with what was said."""
        self.count += 1
        run = run or f"run{self.count}"
        words = [self.programs / "gangway", "run", "job.yaml", "-n", str(workers), "--run", run, *overrides]
        done = subprocess.run([str(word) for word in words], cwd=self.folder, timeout=DEADLINE, text=True, errors="replace",
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env={**os.environ, "NCCL_DEBUG": "WARN"})
        if done.returncode != 0:
            if re.search(r"Duplicate GPU", done.stdout):
                raise Refused
            raise RuntimeError(done.stdout[-4000:])
        return run

    def digest(self, run):
        return subprocess.run([str(self.programs / "gangway"), "digest", run], cwd=self.folder, check=True, text=True,
                              stdout=subprocess.PIPE, timeout=60).stdout.split()[0]

    def images_a_second(self, run):
        """Median over the ticks, the first left out: it holds the start."""
        file = next((self.folder / "runs").glob(f"*-{run}")) / "stats.jsonl"
        ticks = [json.loads(line) for line in file.read_text().splitlines()]
        return statistics.median(tick["images_per_second"] for tick in ticks[1:] if "images_per_second" in tick)


def digest_rows(trainings, row):
    """One row a layout: all have the bits of one worker that overlaps nothing."""
    layouts = [(1, "none"), (1, "across"), (2, "none"), (2, "within"), (2, "across"), (4, "across")]
    rows, expected = [], None
    for workers, overlap in layouts:
        name = f"training: {workers} worker{'s' if workers > 1 else ''}, overlap {overlap}"
        begin = time.monotonic()
        try:
            digest = trainings.digest(trainings.train(workers, f"layout.overlap={overlap}"))
        except Refused:
            rows.append(row(name, "skipped", time.monotonic() - begin, "NCCL refuses several ranks on this GPU"))
            continue
        except (RuntimeError, subprocess.SubprocessError) as error:
            print(error, file=sys.stderr)
            rows.append(row(name, "fail", time.monotonic() - begin, str(error).strip().splitlines()[-1]))
            continue
        expected = expected or digest
        rows.append(row(name, "pass" if digest == expected else "fail", time.monotonic() - begin, f"digest {digest}"))
    return rows


def resume_row(trainings, row):
    """Stopped half way and gone on with, against one go."""
    begin = time.monotonic()
    whole = trainings.digest(trainings.train(1))
    half = trainings.train(1, "training.kimg=1")
    halves = trainings.digest(trainings.train(1, "training.kimg=2", run=half))
    return row("training: resumed", "pass" if halves == whole else "fail", time.monotonic() - begin, f"digest {halves}")


WAYS = {  # of computing on one worker, and what the job says for it
    "deterministic kernels": [],
    "the fastest kernels": ["numerics.kernels=fastest"],
}


def speed_rows(trainings, row, rounds=3):
    """Images a second, interleaved: our ways, and PyTorch's on the same GPU."""
    begin = time.monotonic()
    figures = {way: [] for way in (*WAYS, "PyTorch, tuned")}
    with PyTorch(trainings) as pytorch:
        for _ in range(rounds):
            for way, overrides in WAYS.items():
                figures[way].append(trainings.images_a_second(trainings.train(1, "training.kimg=40", "output.tick_kimg=4", *overrides)))
            figures["PyTorch, tuned"].append(pytorch.images_a_second())
    best = statistics.median(figures["PyTorch, tuned"])
    lines = [f"{way:<24} {statistics.median(values):9.0f} images/s (least {min(values):.0f}), {statistics.median(values) / best:.2f} of PyTorch"
             for way, values in figures.items()]
    return row("training: images a second", "pass", time.monotonic() - begin), lines


class PyTorch:
    """bench/ddp's worker on the GPU, idle but when it is asked."""

    BATCH, WARM_UP, STEPS = 256, 20, 150

    def __init__(self, trainings):
        self.trainings = trainings

    def __enter__(self):
        self.process = subprocess.Popen(
            [sys.executable, str(SOURCE / "bench/ddp/worker.py"), "--network", "dcgan", "--rank", "0", "--workers", "1",
             "--batch", str(self.BATCH), "--microbatches", "4", "--tuned", "--device", "cuda", "--images",
             str(self.trainings.pixels)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout.readline() == "ready\n"
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()

    def images_a_second(self):
        self.process.stdin.write(f"{self.WARM_UP} {self.STEPS}\n")
        self.process.stdin.flush()
        return self.STEPS * self.BATCH / float(self.process.stdout.readline())
