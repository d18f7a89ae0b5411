#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Whether a wait of a quarter of a step shows as a quarter of a step, in the part where it belongs (docs/step-parts.md).

    GANGWAY_BIN=build/release/bin .venv/bin/python bench/waits/planted.py [--rounds 3] [--only NAME]

Each job runs without and with the wait, in turns. Waits of one rank are sleeps of its compute thread, as long as a third of
the step that was measured without; the others come from the job itself. `planted`: by how much the step is longer, of the
longer step; `told`: by how much its part is, likewise. Medians over the rounds.
"""
import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/distributed"))

from clean_environment import environment  # noqa: E402
from train_command import GANGWAY  # noqa: E402

SHIM = Path(os.environ["GANGWAY_BIN"]).resolve().parent / "bench/libplanted_wait.so"
CLOTHES = [ROOT / "examples/fashion-mnist.yaml", "model.width=32", "training.batch=64", "training.microbatches=4",
           "training.kimg=3.2", "output.tick_kimg=0.32", "output.pictures_kimg=0", "checkpoint.every_kimg=0",
           "checkpoint.snapshot_steps=0", "layout.check_steps=0", "layout.balance=off"]
# name of the part, workers, rank that sleeps (0: none), keys of both, keys without, keys with the wait
CASES = [
    ("workers", 2, 2, [], [], []),
    ("messages", 2, 2, ["layout.transport=mpi"], [], []),
    ("tensors", 2, 2, ["layout.stages=2"], [], []),
    ("other", 1, 1, [], [], []),
    ("data", 1, 0, [], ["data.cache=auto"], []),
    ("pictures", 1, 0, [], [], ["output.pictures_kimg=0.064", "output.grid=4"]),
    ("snapshots", 1, 0, ["model.width=96", "training.batch=16"], [], ["checkpoint.snapshot_steps=1"]),
    ("discriminator_penalty", 1, 0, [], [], ["training.r1.gamma=1", "training.r1.interval=1"]),
]


class Planted:
    def __init__(self, folder):
        self.folder = folder
        self.count = 0

    def pictures(self):
        from PIL import Image
        photos = self.folder / "photos"
        photos.mkdir(exist_ok=True)
        for number in range(256):
            picture = Image.linear_gradient("L").resize((200, 200)).rotate(7 * number)
            picture.save(photos / f"{number}.png", compress_level=1)
        return f"data.source=images:{photos}"

    def run(self, workers, keys, rank=0, seconds=0.0):
        """(seconds of a step, seconds of each part: of the first worker) behind the warm-up."""
        self.count += 1
        name = f"run{self.count}"
        more = {"LD_PRELOAD": str(SHIM), "PLANTED_RANK": str(rank), "PLANTED_SECONDS": str(seconds)} if rank else {}
        words = [GANGWAY, "run", *CLOTHES, *keys, "-n", workers, "--run", name, "--outdir", self.folder / "runs"]
        ended = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=600,
                               env=environment(XDG_CACHE_HOME=str(self.folder / "cache"), **more))
        if ended.returncode != 0:
            sys.exit(f"{name}: {ended.stdout}{ended.stderr}")
        run, = (self.folder / "runs").glob(f"*-{name}")
        ticks = [json.loads(line) for line in (run / "stats.jsonl").read_text().splitlines()]
        shutil.rmtree(run)
        counted, before = ticks[2:], ticks[1]["step"]
        steps = counted[-1]["step"] - before
        parts = {}
        for tick in counted:
            rows = tick.get("parts_by_rank") or {part: [value] for part, value in tick["parts"].items()}
            for part, values in rows.items():
                parts[part] = parts.get(part, 0.0) + values[0] * (tick["step"] - before) / steps
            before = tick["step"]
        return sum(tick["seconds_tick"] for tick in counted) / steps, parts

    def case(self, part, workers, rank, keys, without, planted, rounds):
        if part == "data":
            keys = [*keys, self.pictures(), "data.prefetch=1"]
            self.run(workers, [*keys, *without])  # whose pictures the next one finds
        rows = []
        for _ in range(rounds):
            base, base_parts = self.run(workers, [*keys, *without])
            longer, parts = self.run(workers, [*keys, *planted], rank, base / 3)
            rows.append((100 * (longer - base) / longer,
                         100 * (parts.get(part, 0.0) - base_parts.get(part, 0.0)) / longer))
        was, told = (statistics.median(column) for column in zip(*rows))
        spread = max(abs(a - b) for a, b in rows)
        print(f"{part:24} {was:7.1f} % {told:7.1f} % {told - was:+7.1f} {spread:7.1f}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only")
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="gangway-planted-"))
    try:
        print(f"{'part':24} {'planted':>9} {'told':>9} {'apart':>7} {'at most':>7}")
        for case in CASES:
            if options.only in (None, case[0]):
                Planted(folder).case(*case, rounds=options.rounds)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
