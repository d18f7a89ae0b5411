# SPDX-License-Identifier: MIT
"""Whole trainings on a GPU, as steps of tests/gpu/run, in a folder with a job and its images."""
import functools
import gzip
import json
import os
import random
import re
import statistics
import struct
import sys
import tempfile
from pathlib import Path

from harness import KILLED, Failure, Skip

SOURCE = Path(__file__).resolve().parents[2]
DEBIANS_IMAGES = Path("/usr/share/datasets/fashion-mnist")
NOISE_IMAGES = 4096
REFERENCE = "training: 1 worker, overlap none"
EAGER = "speed: PyTorch, eager fp32 in the same pieces"
SETTLING_SECONDS = 2.0  # not measured
ROUNDS = 3
RUN_SECONDS = 10  # of a measured, alternating training
JOB = """
model: {family: dcgan, resolution: 32, width: 64, latent: 100}
data: {source: "idx:%s"}
training: {kimg: 2, batch: 256, microbatches: 4}
numerics: {device: cuda}
output: {tick_kimg: 1, pictures_kimg: 0}
checkpoint: {every_kimg: 0}
"""


class Trainings:
    def __init__(self, programs):
        self.gangway = programs.get("gangway")
        self.count = 0

    @functools.cached_property
    def folder(self):
        """Is made when the first training needs it, because listing the steps must make nothing."""
        self.scratch = tempfile.TemporaryDirectory(prefix="gangway-gpu-")  # removed with this object
        folder = Path(self.scratch.name)
        (folder / "job.yaml").write_text(JOB % self.images(folder))
        return folder

    def images(self, folder):
        named = os.environ.get("GANGWAY_FASHION_MNIST")
        if named and not Path(named).is_dir():
            raise Failure(f"GANGWAY_FASHION_MNIST names no folder: {named}")
        self.image_folder = Path(named).resolve() if named else DEBIANS_IMAGES
        if not self.image_folder.is_dir():
            self.image_folder = folder / "images"
            write_noise(self.image_folder)
        return self.image_folder

    def pixels(self):
        """Returns the file with the training images, for PyTorch."""
        assert self.folder
        return next(self.image_folder.glob("train-images-idx3-ubyte*"))

    def start(self, bench, workers, *overrides, run=None, before=(), seconds=None, stop_at=None,
              **environment):
        """Returns a run's name and its end."""
        if self.gangway is None:
            raise Skip("no gangway among the programs")
        self.count += 1
        run = run or f"run{self.count}"
        command = [*before, self.gangway, "run", "job.yaml", "-n", workers, "--run", run, *overrides]
        return run, bench.run(command, seconds=seconds, cwd=self.folder, stop_at=stop_at, **environment)

    def train(self, bench, workers, *overrides, **how):
        """Returns the name of a run that succeeded. @raise Skip, Failure"""
        run, done = self.start(bench, workers, *overrides, **how)
        if re.search("Duplicate GPU", done.output):
            raise Skip("NCCL refuses several workers on this GPU")
        done.require()
        return run

    def ask(self, bench, command, run, *flags):
        """Returns another gangway command's output on a run. @raise Failure"""
        return bench.run([self.gangway, command, run, *flags], cwd=self.folder, seconds=30).require().output

    def digest(self, bench, run):
        said = self.ask(bench, "digest", run).split()
        if not said:
            raise Failure("gangway digest said nothing")
        return said[0]

    def digest_of(self, bench, workers, *overrides, **how):
        return self.digest(bench, self.train(bench, workers, *overrides, **how))

    def reference(self, bench):
        """Returns the job's own digest, from its row or computed now."""
        return bench.data.get(REFERENCE, {}).get("digest") or self.digest_of(bench, 1, "layout.overlap=none")

    def folder_of(self, run):
        return next((self.folder / "runs").glob(f"*-{run}"))

    def said(self, run, words):
        """Returns the first line of the run's logs with `words`, or None."""
        for file in sorted(self.folder_of(run).rglob("*.log")):
            for line in file.read_text(errors="replace").splitlines():
                if words in line:
                    return line
        return None

    def ticks(self, run):
        file = self.folder_of(run) / "stats.jsonl"
        return [json.loads(line) for line in file.read_text().splitlines()]


def write_noise(folder):
    folder.mkdir()
    pixels = random.Random(0).randbytes(NOISE_IMAGES * 28 * 28)
    with gzip.open(folder / "train-images-idx3-ubyte.gz", "wb", compresslevel=1) as file:
        file.write(struct.pack(">IIII", 0x803, NOISE_IMAGES, 28, 28) + pixels)
    with gzip.open(folder / "train-labels-idx1-ubyte.gz", "wb") as file:
        file.write(struct.pack(">II", 0x801, NOISE_IMAGES) + bytes(i % 10 for i in range(NOISE_IMAGES)))


def first(trainings):
    def show(bench):
        digest = trainings.digest_of(bench, 1, "layout.overlap=none")
        return f"digest {digest}", {"digest": digest}
    return show


def equal_digest(trainings, workers, *overrides, **environment):
    """Compares with the job's reference."""
    def show(bench):
        expected = trainings.reference(bench)
        digest = trainings.digest_of(bench, workers, *overrides, **environment)
        if digest != expected:
            raise Failure(f"digest {digest}, one worker's is {expected}")
        return f"digest {digest}", {"digest": digest}
    return show


def recorded(trainings, choice, *overrides, workers=1, layout=("layout.overlap=none",)):
    """Steps must really be replayed, with the bits of one worker's plain ones. Eight steps: two plain, one recorded, one
    computed both ways, four replayed."""
    def show(bench):
        plain = trainings.digest_of(bench, 1, "numerics.cuda_graph=off", *overrides) if overrides else trainings.reference(bench)
        run = trainings.train(bench, workers, f"numerics.cuda_graph={choice}", *layout, *overrides)
        if said := trainings.said(run, "numerics.cuda_graph:"):
            raise Failure(said)
        digest = trainings.digest(bench, run)
        if digest != plain:
            raise Failure(f"digest {digest} with numerics.cuda_graph={choice}, {plain} without")
        return f"digest {digest}"
    return show


def resumed(trainings):
    """Compares a run that is stopped half way and resumed with an uninterrupted one."""
    def show(bench):
        expected = trainings.reference(bench)
        half = trainings.train(bench, 1, "training.kimg=1")
        digest = trainings.digest_of(bench, 1, "training.kimg=2", run=half)
        if digest != expected:
            raise Failure(f"digest {digest} in two halves, {expected} in one go")
        return f"digest {digest}"
    return show


def two_overlaps(trainings, *overrides):
    """Trains a separate job on one worker, recorded without overlap and plain with overlap. Equal digests show that no wait is
    missing, and that no graph keeps old values."""
    def show(bench):
        digests = [trainings.digest_of(bench, 1, *overrides, f"layout.overlap={overlap}", f"numerics.cuda_graph={graph}")
                   for overlap, graph in (("none", "auto"), ("across", "off"))]
        if digests[0] != digests[1]:
            raise Failure(f"digest {digests[0]} without overlap and recorded, {digests[1]} across in plain launches")
        return f"digest {digests[0]}", {"digest": digests[0]}
    return show


def under_sanitizer(trainings, sanitizer):
    """Two steps of a small job, in which every access of its kernels is checked."""
    def show(bench):
        if sanitizer is None:
            raise Skip("no compute-sanitizer on this machine")
        small = ("model.width=8", "training.batch=16", "training.kimg=0.032", "layout.timeout_seconds=600")
        # Failed CUDA requests of libraries with a fallback are no errors.
        before = (sanitizer, "--target-processes", "all", "--report-api-errors", "no", "--error-exitcode", "9")
        _, done = trainings.start(bench, 1, *small, before=before)
        skip_where_sanitizer_cannot(done)
        done.require()
        return "no error in 2 steps"
    return show


def skip_where_sanitizer_cannot(done):
    """Virtual machines may lack its requirements, and it is slow."""
    if re.search(r"Device not supported", done.output):
        raise Skip("compute-sanitizer does not support this device here")
    if done.code == KILLED:
        raise Skip("too slow for the time of one command")


SHARES = ("exposed_percent", "host_wait_percent", "data_percent", "check_percent", "snapshot_percent")


def rate_of_run(trainings, bench, overrides, seconds=None, **environment):
    """Returns images a second of a run's steady part, its thousand images, and its parts of time. A run that its deadline
    ended counts as far as it came."""
    run, done = trainings.start(bench, 1, "training.kimg=400", "output.tick_kimg=4", *overrides, seconds=seconds,
                                **environment)
    if done.code != KILLED:
        done.require()
    ticks = trainings.ticks(run)
    steady = [tick for tick in ticks if tick["seconds_total"] >= ticks[0]["seconds_total"] + SETTLING_SECONDS]
    if len(steady) < 2:
        raise Failure(f"{len(ticks)} ticks: too short to measure")
    kimg = steady[-1]["kimg"] - steady[0]["kimg"]
    rate = 1000 * kimg / (steady[-1]["unix_seconds"] - steady[0]["unix_seconds"])
    return rate, kimg, {key: statistics.median(tick.get(key, 0.0) for tick in steady) for key in SHARES}


def rate_of_pytorch(trainings, bench, steps, flags, seconds=None, **environment):
    """Returns images a second of bench/ddp's worker alone on the GPU, and its lines on kernels."""
    batch = 256
    command = [sys.executable, SOURCE / "bench/ddp/worker.py", "--network", "dcgan", "--rank", 0, "--workers", 1,
               "--batch", batch, "--tuned", "--device", "cuda", "--images", trainings.pixels(), *flags]
    done = bench.run(command, stdin=f"{steps // 4} {steps}\n", seconds=seconds, **environment).require()
    took = re.search(r"^\d+\.\d+(e-\d+)?$", done.output, re.MULTILINE)
    if took is None:
        raise Failure("no time was printed")
    return steps * batch / float(took[0]), re.findall(r"^ *\d+\.\d % .*$", done.output, re.MULTILINE)


def speed(trainings, *overrides, seconds=None, **environment):
    def show(bench):
        rate, kimg, shares = rate_of_run(trainings, bench, overrides, seconds, **environment)
        told = ", ".join(f"{key.removesuffix('_percent')} {value:.1f} %" for key, value in shares.items())
        return f"{rate:.0f} images/s over {kimg:.0f} kimg{beside_eager(bench, rate)}; {told}", {"images_per_second": rate, **shares}
    return show


def pytorch_speed(trainings, steps, *flags, seconds=None, **environment):
    def show(bench):
        rate, kernels = rate_of_pytorch(trainings, bench, steps, flags, seconds, **environment)
        return f"{rate:.0f} images/s over {steps} steps{beside_eager(bench, rate)}", {"images_per_second": rate, "kernels": kernels}
    return show


def ratio(trainings, steps, flags, *overrides):
    """Returns Gangway's rate over PyTorch's, measured alternately."""
    def show(bench):
        ours, theirs = [], []
        for _ in range(ROUNDS):
            theirs.append(rate_of_pytorch(trainings, bench, steps, flags)[0])
            ours.append(rate_of_run(trainings, bench, overrides, seconds=RUN_SECONDS)[0])
        ratios = [mine / other for mine, other in zip(ours, theirs)]
        return (f"{statistics.median(ratios):.2f} of PyTorch, least {min(ratios):.2f}; images/s ours "
                f"{', '.join(f'{rate:.0f}' for rate in ours)}, PyTorch {', '.join(f'{rate:.0f}' for rate in theirs)}",
                {"ours": ours, "theirs": theirs})
    return show


def beside_eager(bench, rate):
    eager = bench.data.get(EAGER, {}).get("images_per_second")
    return f", {rate / eager:.2f} of eager PyTorch" if eager else ""
