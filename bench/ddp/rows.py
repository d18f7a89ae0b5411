# SPDX-License-Identifier: MIT
"""Runs the rows of run.py, PyTorch's and Gangway's, at a place (places.py)."""
import json
import os
import select
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

WARMUP_STEPS = 2
WARMUP_SECONDS = 2.0
REPLY_SECONDS = 300
COMPILE_SECONDS = 1500  # torch.compile compiles in the first steps
TICK_STEPS = 3
MIN_STEPS = 18  # of a run of gangway; at least half of them are measured
MAX_TRIES = 3
MEBIBYTE = 2**20
MODELS = {"dcgan": {"family": "dcgan", "resolution": 32, "width": 64, "latent": 100},
          "infogan": {"family": "infogan", "resolution": 28, "width": 64, "latent": 64}}


@dataclass
class Turn:
    """Holds the figures of one turn of a row."""
    rate: float                         # images a second, all workers
    link_bytes: float | None = None     # sent by the last host a step, by the switch
    worker_bytes: float | None = None   # sent by each worker a step, as Gangway counts its payload
    parts: dict | None = None           # of several workers: by part of a step (docs/tuning.md), each worker's seconds a step


class PytorchRow:
    """Runs processes of worker.py, which sleep until their turn."""

    def __init__(self, name, options, place, flags):
        self.name, self.batch, self.place = name, options.batch, place
        self.talks = "--ddp" in flags
        self.patience = COMPILE_SECONDS if "--compile" in flags else REPLY_SECONDS
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONUNBUFFERED": "1", **place.environment}
        command = [sys.executable, str(Path(__file__).with_name("worker.py")), "--network", options.net, "--workers",
                   str(options.workers), "--batch", str(options.batch), "--microbatches", str(options.microbatches),
                   "--device", options.device, "--rendezvous", place.rendezvous(name), *flags,
                   *(["--reuse-fakes"] if options.reuse_fakes else [])]
        self.workers = [subprocess.Popen([*place.on_host_of(rank), *command, "--rank", str(rank)], stdin=subprocess.PIPE,
                                         stdout=subprocess.PIPE, text=True, env=environment)
                        for rank in range(options.workers)]
        for worker in self.workers:
            self.reply(worker)
        self.rate = None
        self.measure(1.0)  # gives a first estimate of the rate

    def reply(self, worker):
        if not select.select([worker.stdout], [], [], self.patience)[0]:
            raise TimeoutError(f"{self.name}: a worker was silent for {self.patience} s")
        line = worker.stdout.readline()
        if not line:
            raise ChildProcessError(f"{self.name}: a worker ended with code {worker.wait()}; its error is above")
        return line

    def measure(self, seconds):
        steps = 2 if self.rate is None else max(2, round(seconds * self.rate / self.batch))
        sent = self.place.sent_bytes()
        for worker in self.workers:
            worker.stdin.write(f"{WARMUP_STEPS} {steps}\n")
            worker.stdin.flush()
        elapsed = [float(self.reply(worker)) for worker in self.workers]
        if self.talks:
            self.rate = self.batch * steps / max(elapsed)
        else:
            self.rate = sum(self.batch / len(elapsed) * steps / each for each in elapsed)
        return Turn(self.rate, link_bytes=(self.place.sent_bytes() - sent) / (WARMUP_STEPS + steps))

    def stop(self):
        for worker in self.workers:
            worker.kill()


@dataclass
class Run:
    """Says how to start one of the gangway runs that share a row's batch."""
    before: list    # words before the program, which run it on its host
    arguments: list  # of `gangway run`


class GangwayRow:
    """Starts new gangway runs each turn: one with all workers, or several without communication."""

    def __init__(self, name, options, place, folder, runs, overrides=()):
        self.name, self.options, self.place = name, options, place
        self.folder, self.runs, self.overrides = Path(folder), runs, overrides
        self.num_turns, self.rate = 0, None
        self.measure(options.seconds / 2)

    def job(self, seconds):
        batch = self.options.batch // len(self.runs)
        kimg_per_second = (self.rate or 300) / len(self.runs) / 1000
        kimg = max(kimg_per_second * (seconds + WARMUP_SECONDS + 1), MIN_STEPS * batch / 1000)
        return {"model": MODELS[self.options.net], "data": {"source": "fashion-mnist"},
                "training": {"kimg": kimg, "batch": batch, "microbatches": self.options.microbatches // len(self.runs),
                             **({"reuse_fakes": True} if self.options.reuse_fakes else {})},
                "generator": {"ema_kimg": 0}, "numerics": {"threads": 1, "device": self.options.device},
                "checkpoint": {"every_kimg": 0},
                "output": {"tick_kimg": TICK_STEPS * batch / 1000, "pictures_kimg": 0}}

    def measure(self, seconds):
        for _ in range(MAX_TRIES):
            sent = self.place.sent_bytes()
            runs = self.train(seconds)
            sent = self.place.sent_bytes() - sent
            end = min(ticks[-1]["unix_seconds"] for ticks in runs)  # all runs train until then
            steady = [steady_ticks([tick for tick in ticks if tick["unix_seconds"] <= end]) for ticks in runs]
            if all(steady):
                self.rate = sum(map(rate_of, steady))
                return self.turn(steady, sent / runs[0][-1]["step"])
            # Retry with a longer run: the machine was slower than the estimated rate.
            self.rate = 2 * sum(ticks[-1]["images_per_second"] for ticks in runs)
        raise ValueError(f"gangway's runs of {seconds:g} s are too short to measure: raise --seconds")

    def turn(self, runs, link_bytes):
        first, *counted = runs[0]
        num_steps = counted[-1]["step"] - first["step"]
        sent = sum(tick["sent_mib_per_step"] * MEBIBYTE * (tick["step"] - before["step"])
                   for before, tick in zip(runs[0], counted))
        return Turn(self.rate, link_bytes, worker_bytes=sent / num_steps / (self.options.workers // len(self.runs)),
                    parts=counted[-1].get("parts_by_rank"))

    def train(self, seconds):
        """Starts new runs at once, waits for them, and returns the ticks of each."""
        self.num_turns += 1
        names = [f"{self.name.replace(' ', '-')}-{self.num_turns}-{part}" for part in range(len(self.runs))]
        job = self.folder / f"{names[0]}.yaml"
        job.write_text(json.dumps(self.job(seconds)))  # JSON is YAML
        started = [self.start(run, job, name) for run, name in zip(self.runs, names)]
        try:
            for process in started:
                self.finish(process)
        finally:
            for process in started:
                process.kill()  # does nothing to one that has ended
        stats = [next((self.folder / "runs").glob(f"*-{name}/stats.jsonl")) for name in names]
        return [[json.loads(line) for line in file.read_text().splitlines()] for file in stats]

    def start(self, run, job, name):
        command = [*run.before, self.options.gangway, "run", str(job), *run.arguments, "--outdir",
                   str(self.folder / "runs"), "--run", name, *self.overrides, *self.options.set]
        return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                text=True, env={**os.environ, "OMP_NUM_THREADS": "1"})

    def finish(self, process):
        output, _ = process.communicate(timeout=REPLY_SECONDS)
        if process.returncode != 0:
            raise ChildProcessError(f"'{' '.join(process.args)}' ended with code {process.returncode}:\n{output[-4000:]}")

    def stop(self):
        pass


def steady_ticks(ticks):
    """Returns the ticks after WARMUP_SECONDS of training; none if they have too few steps."""
    steady = [tick for tick in ticks if tick["seconds_total"] - ticks[0]["seconds_total"] >= WARMUP_SECONDS]
    return steady if steady and steady[-1]["step"] - steady[0]["step"] >= MIN_STEPS / 2 else []


def rate_of(ticks):
    """Returns images a second from the end of the first tick to the end of the last."""
    return 1000 * (ticks[-1]["kimg"] - ticks[0]["kimg"]) / (ticks[-1]["unix_seconds"] - ticks[0]["unix_seconds"])
