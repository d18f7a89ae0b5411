#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Whether advice is worth what it says: jobs with a bottleneck are run, `gangway advise` is asked, its keys are taken, and the gain
is set beside the bound that it gave (docs/advice.md).

    GANGWAY_BIN=build/release/bin .venv/bin/python bench/waits/advised.py [--rounds 3] [--only RULE]

`gain`: the step before, over the step with the keys, medians of rounds in turns. It should lie under the bound, and above half of
what the bound promises.
"""
import argparse
import json
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

CLOTHES = [ROOT / "examples/fashion-mnist.yaml", "model.width=32", "training.batch=64", "training.microbatches=4",
           "training.kimg=6.4", "output.tick_kimg=0.64", "output.pictures_kimg=0", "checkpoint.every_kimg=0",
           "checkpoint.snapshot_steps=0", "layout.check_steps=0", "layout.balance=off"]
CASES = {
    "decode-bound": (1, []),
    "pictures": (1, ["output.pictures_kimg=0.064", "output.grid=4"]),
    "snapshots": (1, ["model.width=128", "training.batch=8", "training.kimg=1.28", "output.tick_kimg=0.128",
                      "checkpoint.snapshot_steps=1"]),
    "checkpoints": (1, ["checkpoint.every_steps=1", "checkpoint.keep=1"]),
    "checks": (2, ["layout.transport=mpi", "layout.check_steps=1", "model.width=128", "training.batch=8",
                   "training.kimg=1.28", "output.tick_kimg=0.128"]),
    "penalties": (1, ["training.r1.gamma=1", "training.r1.interval=1"]),
    "tiny-microbatches": (1, ["training.microbatches=64"]),
}


class Advised:
    def __init__(self, folder):
        self.folder = folder
        self.count = 0

    def pictures(self):
        from PIL import Image
        photos = self.folder / "photos"
        photos.mkdir(exist_ok=True)
        for number in range(256):
            picture = Image.linear_gradient("L").resize((256, 256)).rotate(7 * number)
            picture.save(photos / f"{number}.png", compress_level=1)
        return [f"data.source=images:{photos}", "data.prefetch=2"]

    def gangway(self, *words):
        ended = subprocess.run([GANGWAY, *(str(word) for word in words)], capture_output=True, text=True, timeout=600,
                               env=environment(XDG_CACHE_HOME=str(self.folder / "cache")))
        if ended.returncode != 0:
            sys.exit(f"{words}: {ended.stdout}{ended.stderr}")
        return ended.stdout

    def run(self, workers, keys):
        """(seconds of a step behind the warm-up, what is advised by rule)"""
        self.count += 1
        name = f"run{self.count}"
        outdir = self.folder / "runs"
        self.gangway("run", *CLOTHES, *keys, "-n", workers, "--run", name, "--outdir", outdir)
        run, = outdir.glob(f"*-{name}")
        ticks = [json.loads(line) for line in (run / "stats.jsonl").read_text().splitlines()]
        advice = json.loads(self.gangway("advise", run, "--json"))["advice"]
        shutil.rmtree(run)
        return (sum(tick["seconds_tick"] for tick in ticks[2:]) / (ticks[-1]["step"] - ticks[1]["step"]),
                {one["rule"]: one for one in advice})

    def case(self, rule, workers, keys, rounds):
        if rule == "decode-bound":
            keys = [*keys, *self.pictures()]
        _, advice = self.run(workers, keys)
        if rule not in advice:
            print(f"{rule:20} not seen, but {', '.join(advice) or 'nothing'}", flush=True)
            return
        taken = advice[rule]["keys"]
        if rule == "decode-bound":
            self.run(workers, [*keys, *taken])  # whose pictures the next one finds
        gains, bounds = [], []
        for _ in range(rounds):
            before, told = self.run(workers, keys)
            after, _ = self.run(workers, [*keys, *taken])
            gains.append(before / after)
            bounds.append(told.get(rule, advice[rule])["gain"])
        gain, bound = statistics.median(gains), statistics.median(bounds)
        verdict = "as told" if 1 + (bound - 1) / 2 <= gain <= bound else "OTHERWISE"
        is_first = next(iter(advice)) == rule
        print(f"{rule:20} {bound:7.2f} {gain:7.2f}  {verdict:10} {'first' if is_first else '':6} {' '.join(taken)}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", choices=CASES)
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="gangway-advised-"))
    try:
        print(f"{'rule':20} {'bound':>7} {'gain':>7}")
        for rule, (workers, keys) in CASES.items():
            if options.only in (None, rule):
                Advised(folder).case(rule, workers, keys, options.rounds)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
