#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Whether advice is worth what it says: jobs with a bottleneck are run, `gangway advise` is asked, its keys are taken, and the gain
is set beside the bound that it gave (docs/advice.md).

    GANGWAY_BIN=build/release/bin .venv/bin/python bench/waits/advised.py [--rounds 3] [--only RULE]

`gain`: the step before, over the step with the keys, medians of rounds in turns. It should lie under the bound, and above half of
what the bound promises.
"""
import json
import shutil
import statistics

from short_runs import clothes_with, measure, step_of

# rule, workers, keys
CASES = [
    ("decode-bound", 1, ["data.prefetch=2"]),
    ("pictures", 1, ["output.pictures_kimg=0.064", "output.grid=8"]),
    ("checks", 2, ["layout.check_steps=1", "model.width=96", "training.batch=8"]),
    ("penalties", 1, ["training.r1.gamma=1", "training.r1.interval=1"]),
    ("tiny-microbatches", 1, ["training.microbatches=64"]),
    ("overlap-off", 2, ["layout.transport=mpi", "layout.overlap=none", "model.width=128", "training.batch=8"]),
    ("checkpoints", 1, ["checkpoint.every_steps=1", "checkpoint.keep=1", "model.width=96", "training.batch=8"]),
]


def told(runs, run):
    """What is advised by rule; the first one is the first."""
    return {one["rule"]: one for one in json.loads(runs.gangway("advise", run, "--json"))["advice"]}


def advised_step(runs, job, workers):
    run = runs.train(job, workers)
    found = step_of(run)[0], told(runs, run)
    shutil.rmtree(run)
    return found


def case(runs, options, rule, workers, keys):
    job = clothes_with(keys)
    if rule == "decode-bound":
        job.append(f"data.source=images:{runs.photos(500)}")
    _, advice = advised_step(runs, job, workers)
    if rule not in advice:
        print(f"{rule:20} not seen, but {', '.join(advice) or 'nothing'}", flush=True)
        return
    taken = advice[rule]["keys"]
    if rule == "decode-bound":
        advised_step(runs, [*job, *taken], workers)  # whose pictures the next one finds
    gains, bounds, named_first = [], [], 0
    for _ in range(options.rounds):
        before, advice = advised_step(runs, job, workers)
        after, _ = advised_step(runs, [*job, *taken], workers)
        gains.append(before / after)
        if rule in advice:
            bounds.append(advice[rule]["gain"])
            named_first += next(iter(advice)) == rule
    gain, bound = statistics.median(gains), statistics.median(bounds)
    verdict = "as told" if 1 + (bound - 1) / 2 <= gain <= bound else "OTHERWISE"
    print(f"{rule:20} {bound:7.2f} {gain:7.2f}  {verdict:10} first {named_first}/{options.rounds}  {' '.join(taken)}", flush=True)


if __name__ == "__main__":
    measure(__doc__, CASES, f"{'rule':20} {'bound':>7} {'gain':>7}", case)
