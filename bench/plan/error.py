#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares the predictions of `gangway plan` with measurements of `gangway run` on this machine.

    bench/plan/error.py [--gangway build/release/bin/gangway] [--rounds 2] [--steps 40] [--job FILE:KEY=VALUE,... ...] [--staged FILE:KEY=VALUE,... ...]

Profiles each job, lets `gangway plan` predict layouts of 1 and more workers, and runs the layouts alternately. Prints a row per
layout: measured (median of rounds), scatter of rounds, predicted, error, and peak memory of the fullest worker with its prediction.
Then prints mean and worst error, the mean scatter, and the regret: how far the plan's first layout is from the best measured one.
The plan is not tuned to these layouts. Jobs of --staged run under the plan's layouts with networks on separate workers and with
stages, and under its first layout with whole networks. No third-party package.
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
FASHION = "examples/fashion-mnist.yaml"
JOBS = [
    f"{FASHION}:",
    f"{FASHION}:model.width=64,training.batch=128",
    f"{FASHION}:training.batch=128,training.microbatches=4",
]
STAGED = [f"{FASHION}:training.batch=128,training.microbatches=8"]
WARM_UP = 4  # the first 1/4 of the steps is not measured
QUIET = ["output.pictures_kimg=0", "checkpoint.every_kimg=0", "checkpoint.snapshot_steps=0"]


def command(*words):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, words))}: {done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout


def images_per_step(gangway, job, keys):
    out = command(gangway, "run", job, *keys, "-n", 1, "--dry-run")
    return int(next(line.split(" of ")[1].split()[0] for line in out.splitlines() if line.startswith("Steps: ")))


def peak_bytes(pid):
    """Returns the process's peak resident bytes; 0 if it has ended."""
    try:
        status = pathlib.Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmHWM:")), 0)


def watched(words, folder, name):
    """Runs the command; returns the peak resident bytes of its fullest worker."""
    peaks = {}
    with tempfile.TemporaryFile("w+") as output:
        running = subprocess.Popen([str(word) for word in words], stdout=output, stderr=subprocess.STDOUT)
        while running.poll() is None:
            time.sleep(0.1)
            placement = next(pathlib.Path(folder).glob(f"*-{name}/placement.json"), None)
            ranks = json.loads(placement.read_text())["ranks"] if placement else []
            for rank in ranks:
                if rank["role"] == "worker":
                    peaks[rank["pid"]] = max(peaks.get(rank["pid"], 0), peak_bytes(rank["pid"]))
        if running.returncode != 0:
            output.seek(0)
            sys.exit(f"{' '.join(map(str, words))}: {output.read()[-4000:]}")
    return max(peaks.values(), default=0)


def measure(gangway, job, keys, layout, images, steps, folder, name):
    """Returns seconds a step, and the fullest worker's MiB."""
    peak = watched([gangway, "run", job, *keys, *layout["arguments"].split(), f"training.kimg={images * steps / 1000}",
                    f"output.tick_kimg={images * 2 / 1000}", *QUIET, "--outdir", folder, "--run", name, "--progress", "lines"], folder, name)
    lines = (next(pathlib.Path(folder).glob(f"*-{name}")) / "stats.jsonl").read_text().splitlines()
    seconds, before = [], 0
    for tick in [json.loads(line) for line in lines]:
        if before >= steps // WARM_UP:
            seconds.append(tick["seconds_tick"] / (tick["step"] - before))
        before = tick["step"]
    return statistics.median(seconds), peak / 2**20


def is_staged(layout):
    return "layout.overlap" not in layout["arguments"]  # only whole networks have this key


def chosen_layouts(gangway, job, keys, profile, options, staged):
    layouts = []
    for workers in options.workers:
        words = [] if staged else ["--whole"]
        plan = json.loads(command(gangway, "plan", job, *keys, *QUIET, "--profile", profile, "-n", workers, "--rows", 50, "--json", *words))
        ranking = plan["ranking"]
        whole = [layout for layout in ranking if not is_staged(layout)]
        layouts += whole[:1] + [layout for layout in ranking if is_staged(layout)] if staged else ranking
    return layouts


def compare(gangway, spec, options, folder, results, staged=False):
    job, _, keys = spec.partition(":")
    keys = [key for key in keys.split(",") if key]
    profile = pathlib.Path(folder) / "profile.json"
    command(gangway, "profile", job, *keys, "-o", profile, "--seconds", options.seconds, "--anyway")
    layouts = chosen_layouts(gangway, job, keys, profile, options, staged)
    images = images_per_step(gangway, job, keys)
    rounds = [[] for _ in layouts]
    for turn in range(options.rounds):
        for i in range(len(layouts)):
            at = (turn + i) % len(layouts)
            rounds[at].append(measure(gangway, job, keys, layouts[at], images, options.steps, folder, f"{turn}-{at}"))
    print(f"\n{job} {' '.join(keys)}")
    print(f"{'layout':<72}{'measured':>10}{'+-':>8}{'predicted':>11}{'error':>8}{'MiB':>7}{'plan':>7}")
    rows = []
    for layout, measured in zip(layouts, rounds):
        seconds = [one[0] for one in measured]
        median = statistics.median(seconds)
        scatter = (max(seconds) - min(seconds)) / 2 / median
        error = layout["step_seconds"] / median - 1
        memory, planned = max(one[1] for one in measured), layout["memory_bytes"] / 2**20
        rows.append((median, layout))
        results.append((abs(error), scatter, abs(planned / memory - 1) if memory else 0.0))
        print(f"{layout['arguments']:<72}{median * 1e3:10.2f}{scatter:8.1%}{layout['step_seconds'] * 1e3:11.2f}{error:+8.1%}"
              f"{memory:7.0f}{planned:7.0f}", flush=True)
    best = min(median for median, _ in rows)
    chosen = min(rows, key=lambda row: row[1]["step_seconds"])[0]
    print(f"regret: {chosen / best - 1:.1%}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gangway", default=ROOT / "build/release/bin/gangway")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--seconds", type=float, default=15, help="duration of a profile")
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--job", nargs="*", default=JOBS, metavar="FILE:KEY=VALUE,...")
    parser.add_argument("--staged", nargs="*", default=STAGED, metavar="FILE:KEY=VALUE,...")
    options = parser.parse_args()
    results = []
    for staged, specs in ((False, options.job), (True, options.staged)):
        for spec in specs:
            with tempfile.TemporaryDirectory() as folder:
                compare(options.gangway, spec, options, folder, results, staged)
    errors, scatters, memory = zip(*results)
    print(f"\n{len(errors)} layouts: error mean {statistics.mean(errors):.1%}, worst {max(errors):.1%}; rounds lie "
          f"{statistics.mean(scatters):.1%} from their middle on average, {max(scatters):.1%} at most; memory off by "
          f"{statistics.mean(memory):.1%}, {max(memory):.1%} at most")


if __name__ == "__main__":
    main()
