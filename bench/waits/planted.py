#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks that a planted wait appears in the step's parts, in the right part and with the right length (docs/tuning.md).

    GANGWAY_BIN=build/release/bin .venv/bin/python bench/waits/planted.py [--rounds 3] [--only NAME] [--all]

Every second tick of a training has the wait. A rank's wait is a sleep of its compute thread, a
third of a step. A slow read sleeps at the opening of a picture; there, whole trainings alternate.
The job itself makes the other waits, in every second tick.
`planted`: the sleep, or the step's growth if the job makes the wait. `told`: the part's growth.
`longer`: the step's growth. All are percent of the longer step, medians over pairs of ticks.
`scatter`: the median deviation of `told - planted`. --all: the growth of each part.
"""
import os
import statistics
from pathlib import Path

from short_runs import clothes_with, measure

SHIM = Path(os.environ["GANGWAY_BIN"]).resolve().parent / "bench/libplanted_wait.so"
BATCH = 64
TURN = 10  # steps of a tick
IN_TURNS = ["training.kimg=12.8", "output.tick_kimg=0.64"]
STEP_BY_STEP = ["training.kimg=6.4", "output.tick_kimg=0.064"]
# (part, workers, rank that sleeps (0: none), rank whose parts are read, keys). Nothing hides a
# sleep: exchanges do not overlap, and the first stage has nothing to wait for.
CASES = [
    ("workers", 2, 2, 1, ["layout.overlap=none"]),
    ("messages", 2, 2, 1, ["layout.overlap=none", "layout.transport=mpi"]),
    ("tensors", 2, 1, 2, ["layout.stages=2"]),
    ("other", 1, 1, 1, []),
    ("data", 1, 0, 1, ["data.prefetch=1"]),
    ("pictures", 1, 0, 1, ["output.pictures_kimg=0.128", "output.grid=16"]),
    ("discriminator_penalty", 1, 0, 1, ["training.r1.gamma=1", "training.r1.interval=2"]),
]


def sleeping(rank, seconds):
    return {"LD_PRELOAD": str(SHIM), "PLANTED_RANK": str(rank), "PLANTED_SECONDS": str(seconds), "PLANTED_TURN": str(TURN)}


def slow_reads(seconds):
    return {"LD_PRELOAD": str(SHIM), "PLANTED_READ_SECONDS": str(seconds)}


def read_seconds(runs, job, base):
    """Returns the seconds that a read must sleep so that the wait for data is a third of a step."""
    trial = 2 * base / BATCH  # longer than it computes
    decoding = runs.step(job, 1, **slow_reads(trial))[0] / BATCH - trial
    return 4 / 3 * base / BATCH - decoding


def pairs(runs, options, part, workers, rank, teller, job):
    """Returns (seconds that a step sleeps, [(a step's parts, the same with the wait)])."""
    if part == "data":
        job = [*job, f"data.source=images:{runs.photos(32)}"]
        slow = slow_reads(read_seconds(runs, job, runs.step(job, workers)[0]))
        return 0.0, [(runs.step(job, workers)[1], runs.step(job, workers, **slow)[1]) for _ in range(options.rounds)]
    job = [*job, *(IN_TURNS if rank else STEP_BY_STEP)]
    sleep = runs.step(job, workers)[0] / 3 if rank else 0.0
    found = []
    for _ in range(options.rounds):
        ticks = [parts for *_, parts in runs.ticks(job, workers, teller, **(sleeping(rank, sleep) if sleep else {}))]
        halves = ticks[::2], ticks[1::2]
        longer = max(halves, key=lambda half: statistics.median(map(step_of, half)))
        found += zip(halves[longer is halves[0]], longer)
    return sleep, found


def step_of(parts):
    """Sums a step's parts: the tick is written late, when the next step's sleep has begun."""
    return sum(parts.values())


def case(runs, options, part, workers, rank, teller, keys):
    rows, all_parts = [], []
    sleep, found = pairs(runs, options, part, workers, rank, teller, clothes_with(keys))
    for base_parts, parts in found:
        base, longer = step_of(base_parts), step_of(parts)
        grown = {name: 100 * (parts.get(name, 0.0) - base_parts.get(name, 0.0)) / longer
                 for name in parts.keys() | base_parts.keys()}
        all_parts.append(grown)
        rows.append((100 * (sleep or longer - base) / longer, grown[part], 100 * (longer - base) / longer))
    was, told, more = (statistics.median(column) for column in zip(*rows))
    scatter = statistics.median(abs(b - a - told + was) for a, b, _ in rows)
    print(f"{part:24} {was:7.1f} % {told:7.1f} % {told - was:+7.1f} {scatter:7.1f} {more:7.1f} %", flush=True)
    if options.all:
        for name in sorted(all_parts[0]):
            print(f"    {name:30} {statistics.median(grown.get(name, 0.0) for grown in all_parts):+6.1f}", flush=True)


if __name__ == "__main__":
    measure(__doc__, CASES, f"{'part':24} {'planted':>9} {'told':>9} {'apart':>7} {'scatter':>7} {'longer':>9}", case,
            lambda parser: parser.add_argument("--all", action="store_true"))
