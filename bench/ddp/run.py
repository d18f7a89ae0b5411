#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Images per second of Gangway beside PyTorch's DistributedDataParallel, measured in turns in one run.

    .venv/bin/python bench/ddp/run.py [--net dcgan|infogan] [--rounds 7] [--seconds 6]

The same network, batch, data and algorithm with as many processes of one thread each:
    ddp plain         both networks wrapped, Gloo, otherwise PyTorch's DCGAN tutorial
    ddp tuned B MB    fused Adam, channels-last, no discriminator weight gradients in the generator phase, gradients as
                      bucket views, no buffers broadcast, buckets of B MB
    never talk        the tuned processes without any communication: what the machine gives to this code at most
    gangway           build/release/bin/gangway run, pictures and checkpoints only at its ends

Each round measures every row once, beginning with another row each time. PyTorch's processes live through the whole run
and sleep on a pipe between their turns; each turn begins with two steps that are not timed. Gangway is started anew for
each turn, and its first ticks (2 s at least) are not counted; its rate includes its own reporting. A machine that does
other work is refused: --anyway measures there and says so.
"""
import argparse
import json
import os
import select
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
WARMUP_STEPS = 2
WARMUP_SECONDS = 2.0
MAX_BUSY = 0.10  # share of all cores that others may use
REPLY_SECONDS = 300
TICK_STEPS = 3
MIN_STEPS = 18  # of a run of gangway; half of them are measured at least
MAX_TRIES = 3


class PytorchRow:
    """Worker processes of worker.py, asleep until their turn."""

    def __init__(self, name, options, folder, flags):
        self.name, self.batch = name, options.batch
        self.talks = "--ddp" in flags
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo", "PYTHONUNBUFFERED": "1"}
        command = [sys.executable, str(Path(__file__).with_name("worker.py")), "--network", options.net, "--workers",
                   str(options.workers), "--batch", str(options.batch), "--microbatches", str(options.microbatches),
                   "--rendezvous", str(Path(folder) / name.replace(" ", "-")), *flags]
        self.workers = [subprocess.Popen([*command, "--rank", str(rank)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                         text=True, env=environment) for rank in range(options.workers)]
        for worker in self.workers:
            self.reply(worker)
        self.rate = None
        self.measure(1.0)  # a first guess of the rate

    def reply(self, worker):
        if not select.select([worker.stdout], [], [], REPLY_SECONDS)[0]:
            raise TimeoutError(f"{self.name}: a worker was silent for {REPLY_SECONDS} s")
        line = worker.stdout.readline()
        if not line:
            raise ChildProcessError(f"{self.name}: a worker ended with code {worker.wait()}; its error is above")
        return line

    def measure(self, seconds):
        steps = 2 if self.rate is None else max(2, round(seconds * self.rate / self.batch))
        for worker in self.workers:
            worker.stdin.write(f"{WARMUP_STEPS} {steps}\n")
            worker.stdin.flush()
        elapsed = [float(self.reply(worker)) for worker in self.workers]
        if self.talks:
            self.rate = self.batch * steps / max(elapsed)
        else:
            self.rate = sum(self.batch / len(elapsed) * steps / each for each in elapsed)
        return self.rate

    def stop(self):
        for worker in self.workers:
            worker.kill()


class GangwayRow:
    """A run of the gangway program each turn."""

    def __init__(self, options, folder):
        self.name, self.options, self.folder = "gangway", options, Path(folder)
        self.num_runs, self.rate = 0, None
        self.measure(options.seconds / 2)

    def job(self, seconds):
        kimg_per_second = (self.rate or 300) / 1000
        model = {"dcgan": {"family": "dcgan", "resolution": 32, "width": 64, "latent": 100},
                 "infogan": {"family": "infogan", "resolution": 28, "width": 64, "latent": 64}}[self.options.net]
        kimg = max(kimg_per_second * (seconds + WARMUP_SECONDS + 1), MIN_STEPS * self.options.batch / 1000)
        return {"model": model, "data": {"source": "fashion-mnist"},
                "training": {"kimg": kimg, "batch": self.options.batch, "microbatches": self.options.microbatches},
                "generator": {"ema_kimg": 0}, "numerics": {"threads": 1},
                "checkpoint": {"every_kimg": 0},
                "output": {"tick_kimg": TICK_STEPS * self.options.batch / 1000, "pictures_kimg": 0}}

    def measure(self, seconds):
        for _ in range(MAX_TRIES):
            ticks = self.run(seconds)
            steady = steady_rate(ticks)
            if steady is not None:
                self.rate = steady
                return steady
            # Longer than asked for: the machine was slower than the guess that the length was made from.
            self.rate = 2 * ticks[-1]["images_per_second"]
        raise ValueError(f"gangway's runs of {seconds:g} s are too short to measure: raise --seconds")

    def run(self, seconds):
        """The ticks of a new run."""
        self.num_runs += 1
        name = f"round{self.num_runs}"
        job = self.folder / f"{name}.yaml"
        job.write_text(json.dumps(self.job(seconds)))  # JSON is YAML
        command = [self.options.gangway, "run", str(job), "-n", str(self.options.workers), "--outdir",
                   str(self.folder / "runs"), "--run", name, *self.options.set]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=REPLY_SECONDS,
                              env={**os.environ, "OMP_NUM_THREADS": "1"})
        if done.returncode != 0:
            raise ChildProcessError(f"'{' '.join(command)}' ended with code {done.returncode}:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
        stats, = (self.folder / "runs").glob(f"*-{name}/stats.jsonl")
        return [json.loads(line) for line in stats.read_text().splitlines()]

    def stop(self):
        pass


def steady_rate(ticks):
    """Images per second over the ticks that end after the first WARMUP_SECONDS of training; nothing if they are too few."""
    begin = next((tick for tick in ticks if tick["seconds_total"] - ticks[0]["seconds_total"] >= WARMUP_SECONDS), None)
    if begin is None or ticks[-1]["step"] - begin["step"] < MIN_STEPS / 2:
        return None
    return 1000 * (ticks[-1]["kimg"] - begin["kimg"]) / (ticks[-1]["unix_seconds"] - begin["unix_seconds"])


def busy_share(seconds=1.0):
    """Share of all cores' time that is used, by anyone or stolen from this machine."""
    def read():
        fields = [int(value) for value in Path("/proc/stat").read_text().split("\n")[0].split()[1:9]]
        return sum(fields), fields[3] + fields[4]  # idle, waiting for disks
    total, idle = read()
    time.sleep(seconds)
    total_after, idle_after = read()
    return 1 - (idle_after - idle) / max(1, total_after - total)


def make_rows(options, folder):
    ddp = {"ddp plain": ["--ddp"]}
    for bucket in options.buckets:
        ddp[f"ddp tuned {bucket} MB"] = ["--ddp", "--tuned", "--bucket-mb", str(bucket)]
    rows = []
    try:
        for name, flags in {**ddp, "never talk": ["--tuned"]}.items():
            print(f"starting {name}", flush=True)
            rows.append(PytorchRow(name, options, folder, flags))
        if not options.without_gangway:
            print("starting gangway", flush=True)
            rows.append(GangwayRow(options, folder))
    except BaseException:
        stop_all(rows)
        raise
    return rows


def stop_all(rows):
    for row in rows:
        row.stop()


def measure_rounds(rows, options):
    """Returns images per second [row name][round], and in how many rounds others used the machine."""
    rates, num_loaded = {row.name: [] for row in rows}, 0
    for index in range(options.rounds):
        busy = busy_share()
        num_loaded += busy > MAX_BUSY
        first = index % len(rows)
        for row in rows[first:] + rows[:first]:
            rates[row.name].append(row.measure(options.seconds))
        line = "  ".join(f"{name} {values[-1]:.0f}" for name, values in rates.items())
        print(f"round {index + 1} of {options.rounds}: {line}" + (f"  (others used {busy:.0%})" if busy > MAX_BUSY else ""), flush=True)
    return rates, num_loaded


def print_table(rates, num_loaded, options):
    medians = {name: statistics.median(values) for name, values in rates.items()}
    best = max((name for name in rates if name.startswith("ddp")), key=medians.get)

    def against(name, other):
        ratios = [mine / theirs for mine, theirs in zip(rates[name], rates[other])]
        return f"{statistics.median(ratios):.3f} ({min(ratios):.2f}-{max(ratios):.2f})"

    print(f"\n{options.net}, batch {options.batch}, M = {options.microbatches}, {options.workers} workers of one thread, "
          f"{options.rounds} rounds of {options.seconds:g} s, {os.cpu_count()} cores")
    if num_loaded:
        print(f"NOT QUIET: others used more than {MAX_BUSY:.0%} of the machine before {num_loaded} of {options.rounds} rounds")
    print(f"{'images/s':<18}{'median':>8}{'minimum':>9}   {'to best DDP':<22}{'to never talk':<20}")
    for name, values in rates.items():
        print(f"{name:<18}{medians[name]:>8.1f}{min(values):>9.1f}   {against(name, best):<22}{against(name, 'never talk'):<20}")
    print(f"best DDP by median: {best}; ratios are medians of the rounds' ratios (smallest-largest)")


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--net", choices=["dcgan", "infogan"], default="dcgan")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=6, help="timed seconds of a row in a round (6)")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--batch", type=int, default=128, help="images a step, over all workers (128)")
    parser.add_argument("--microbatches", type=int, default=2, help="M, over all workers (2)")
    parser.add_argument("--buckets", type=int, nargs="+", default=[1, 4, 25], metavar="MB", help="of the tuned rows (1 4 25)")
    parser.add_argument("--gangway", default=str(ROOT / "build/release/bin/gangway"), metavar="PROGRAM")
    parser.add_argument("--set", nargs="+", default=[], metavar="KEY=VALUE", help="more of gangway's job")
    parser.add_argument("--without-gangway", action="store_true", help="PyTorch's rows alone")
    parser.add_argument("--anyway", action="store_true", help="measure on a machine that does other work, too")
    options = parser.parse_args()
    if options.microbatches % options.workers or options.batch % options.microbatches:
        parser.error("the workers must divide M, and M the batch")
    if not options.without_gangway and not os.access(options.gangway, os.X_OK):
        parser.error(f"'{options.gangway}' is not built: run ./launch/build, or measure PyTorch alone with --without-gangway")
    return options


def main():
    options = parse_options()
    busy = busy_share(2)
    if busy > MAX_BUSY and not options.anyway:
        print(f"others use {busy:.0%} of this machine: wait until it is quiet, or measure with --anyway", file=sys.stderr)
        return 6
    with tempfile.TemporaryDirectory(prefix="gangway-bench-") as folder:
        rows = make_rows(options, folder)
        try:
            rates, num_loaded = measure_rounds(rows, options)
        finally:
            stop_all(rows)
    print_table(rates, num_loaded, options)
    return 0


if __name__ == "__main__":
    sys.exit(main())
