#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Whether a wait of a quarter of a step shows as a quarter of a step, in the part where it belongs (docs/step-parts.md).

    GANGWAY_BIN=build/release/bin .venv/bin/python bench/waits/planted.py [--rounds 3] [--only NAME] [--all]

Each job runs without and with the wait, in turns. Waits of one rank are sleeps of its compute thread, a third as long as the
step that was measured without; slow reads are sleeps of whoever opens a picture; the others come from the job itself.
`planted`: the sleep, or where the job brings the wait, by how much the step is longer; `told`: by how much its part is; `longer`:
by how much the step is. All in percent of the longer step, medians over the rounds. --all: by how much each part is longer.
"""
import os
import statistics
from pathlib import Path

from short_runs import clothes_with, measure

SHIM = Path(os.environ["GANGWAY_BIN"]).resolve().parent / "bench/libplanted_wait.so"
BATCH = 64
# name of the part, workers, rank that sleeps (0: none), keys of both, keys with the wait
CASES = [
    ("workers", 2, 2, [], []),
    ("messages", 2, 2, ["layout.transport=mpi"], []),
    ("tensors", 2, 2, ["layout.stages=2"], []),
    ("other", 1, 1, [], []),
    ("data", 1, 0, ["data.prefetch=1"], []),
    ("pictures", 1, 0, [], ["output.pictures_kimg=0.064", "output.grid=8"]),
    ("discriminator_penalty", 1, 0, [], ["training.r1.gamma=1", "training.r1.interval=2"]),
]


def sleeping(rank, seconds):
    return {"LD_PRELOAD": str(SHIM), "PLANTED_RANK": str(rank), "PLANTED_SECONDS": str(seconds)}


def slow_reads(seconds):
    return {"LD_PRELOAD": str(SHIM), "PLANTED_READ_SECONDS": str(seconds)}


def read_seconds(runs, job, base):
    """For how long a read has to sleep so that a step waits for its data for a third of what it takes without."""
    trial = 2 * base / BATCH  # certainly longer than it computes
    decoding = runs.step(job, 1, **slow_reads(trial))[0] / BATCH - trial
    return 4 / 3 * base / BATCH - decoding


def case(runs, options, part, workers, rank, keys, planted):
    job = clothes_with(keys)
    if part == "data":
        job.append(f"data.source=images:{runs.photos(32)}")
    rows, all_parts = [], []
    seconds = read_seconds(runs, job, runs.step(job, workers)[0]) if part == "data" else 0.0
    for _ in range(options.rounds):
        base, base_parts = runs.step(job, workers)
        how = sleeping(rank, base / 3) if rank else slow_reads(seconds) if seconds else {}
        longer, parts = runs.step([*job, *planted], workers, **how)
        grown = {name: 100 * (parts.get(name, 0.0) - base_parts.get(name, 0.0)) / longer
                 for name in parts.keys() | base_parts.keys()}
        all_parts.append(grown)
        rows.append((100 * (base / 3 if rank else longer - base) / longer, grown[part], 100 * (longer - base) / longer))
    was, told, more = (statistics.median(column) for column in zip(*rows))
    spread = max(abs(a - b) for a, b, _ in rows)
    print(f"{part:24} {was:7.1f} % {told:7.1f} % {told - was:+7.1f} {spread:7.1f} {more:7.1f} %", flush=True)
    if options.all:
        for name in sorted(all_parts[0]):
            print(f"    {name:30}", *(f"{grown.get(name, 0.0):+6.1f}" for grown in all_parts), flush=True)


if __name__ == "__main__":
    measure(__doc__, CASES, f"{'part':24} {'planted':>9} {'told':>9} {'apart':>7} {'at most':>7} {'longer':>9}", case,
            lambda parser: parser.add_argument("--all", action="store_true"))
