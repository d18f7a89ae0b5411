# SPDX-License-Identifier: MIT
"""Runs short trainings of a small job with more keys in a temporary folder; reads their ticks."""
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

# Occasional costs of a step are off; each case turns on its own.
CLOTHES = [ROOT / "examples/fashion-mnist.yaml", "model.width=32", "training.batch=64", "training.microbatches=4",
           "training.kimg=3.2", "output.tick_kimg=0.32", "output.pictures_kimg=0", "checkpoint.every_kimg=0",
           "checkpoint.snapshot_steps=0", "layout.check_steps=0", "layout.balance=off"]
WARM_UP = 2  # ticks


def clothes_with(keys):
    """Returns the job with more keys, and shorter if its networks are large (batch 8)."""
    is_large = "training.batch=8" in keys
    return [*CLOTHES, *keys, *(["training.kimg=0.4", "output.tick_kimg=0.04"] if is_large else [])]


class ShortRuns:
    def __init__(self):
        self.folder = Path(tempfile.mkdtemp(prefix="gangway-waits-"))
        self.count = 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.folder, ignore_errors=True)

    def photos(self, size, count=256):
        """Returns a folder of colour PNG files with `size` x `size` pixels."""
        from PIL import Image
        folder = self.folder / f"photos-{size}"
        if not folder.exists():
            folder.mkdir()
            for number in range(count):
                picture = Image.linear_gradient("L").resize((size, size)).rotate(7 * number)
                picture.convert("RGB").save(folder / f"{number}.png", compress_level=1)
        return folder

    def gangway(self, *words, inside=(), **variables):
        """Returns gangway's output; exits if it fails. `inside`: words before the command."""
        ended = subprocess.run([str(word) for word in (*inside, GANGWAY, *words)], capture_output=True, text=True, timeout=900,
                               cwd=self.folder, env=environment(XDG_CACHE_HOME=str(self.folder / "cache"), **variables))
        if ended.returncode != 0:
            sys.exit(f"{words}: {ended.stdout}{ended.stderr}")
        return ended.stdout

    def train(self, job, workers, **around):
        """Trains the job and returns the run's folder; `around`: as gangway() takes it."""
        self.count += 1
        self.gangway("run", *job, "-n", workers, "--run", f"run{self.count}", "--outdir", self.folder / "runs", **around)
        run, = (self.folder / "runs").glob(f"*-run{self.count}")
        return run

    def step(self, job, workers, **variables):
        """Returns (seconds of a step, of each part in the first worker), after the warm-up."""
        return mean_of(self.ticks(job, workers, **variables))

    def ticks(self, job, workers, teller=1, **variables):
        """Returns (steps, seconds of a step, of worker `teller`'s parts) of ticks after warm-up."""
        run = self.train(job, workers, **variables)
        found = ticks_of(run, teller)
        shutil.rmtree(run)
        return found


def ticks_of(run, teller=1):
    ticks = [json.loads(line) for line in (run / "stats.jsonl").read_text().splitlines()]
    found = []
    for tick, former in zip(ticks[WARM_UP:], ticks[WARM_UP - 1:]):
        rows = tick.get("parts_by_rank") or {part: [value] for part, value in tick["parts"].items()}
        steps = tick["step"] - former["step"]
        found.append((steps, tick["seconds_tick"] / steps, {part: values[teller - 1] for part, values in rows.items()}))
    return found


def mean_of(ticks):
    """Returns (seconds of a step, of each part), weighted by steps: the last tick may be short."""
    steps, seconds, parts = zip(*ticks)
    return (statistics.fmean(seconds, steps),
            {name: statistics.fmean([one.get(name, 0.0) for one in parts], steps) for name in set().union(*parts)})


def step_of(run):
    return mean_of(ticks_of(run))


def measure(doc, cases, heading, case, add_options=lambda parser: None):
    """Calls `case(runs, options, *one)` for each of `cases`, or for the one that --only names."""
    parser = argparse.ArgumentParser(description=doc.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", choices=[one[0] for one in cases])
    add_options(parser)
    options = parser.parse_args()
    with ShortRuns() as runs:
        print(heading)
        for one in cases:
            if options.only in (None, one[0]):
                case(runs, options, *one)
