#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks that `gangway tune` removes a handicap: each job has a best layout, found by hand, and a handicap. The tuned job and
the best one then run alternately (docs/tuning.md).

    GANGWAY_BIN=build/release/bin .venv/bin/python bench/waits/handicapped.py [--rounds 3] [--only NAME]

`handicap` and `tuned`: the step / the step of the best layout, medians of alternating rounds. `found`: the keys that tune found,
and the keys that a second tune finds for the tuned job; it should find none.
"""
import json
import statistics

from short_runs import clothes_with, measure

# (name, workers, keys of both jobs, keys of the best by hand, keys of the handicap)
CASES = [
    ("decoding", 1, [], ["data.cache=auto"], []),
    ("overlap", 2, ["model.width=96", "training.batch=8"], [], ["layout.overlap=none", "layout.buckets=32"]),
    ("stages", 2, [], [], ["layout.stages=2"]),
    ("recompute", 1, [], [], ["layout.recompute=true", "checkpoint.snapshot_steps=1"]),
]


def tune(runs, job, workers, output):
    """Returns the keys that `gangway tune` takes; [] if none makes the job faster."""
    runs.gangway("tune", *job, "-n", workers, "--output", output, "--anyway")
    record = json.loads(output.with_suffix(".json").read_text())
    return record["best"]["keys"] if record["taken"] else []


def case(runs, options, name, workers, keys, by_hand, handicap):
    both = clothes_with(keys)
    if name == "decoding":
        both.append(f"data.source=images:{runs.photos(500)}")
    file = runs.folder / f"{name}.tuned.yaml"
    found = tune(runs, [*both, *handicap], workers, file)
    tuned = [file] if found else [*both, *handicap]
    runs.step([*both, *by_hand], workers)  # fills the cache of pictures
    rows = []
    for _ in range(options.rounds):
        best = runs.step([*both, *by_hand], workers)[0]
        rows.append((runs.step([*both, *handicap], workers)[0] / best, runs.step(tuned, workers)[0] / best))
    slower, back = (statistics.median(column) for column in zip(*rows))
    again = tune(runs, tuned, workers, runs.folder / f"{name}.again.yaml")
    print(f"{name:12} {slower:9.3f} {back:7.3f}  {', '.join(found)}; {', '.join(again) or 'left alone'}", flush=True)


if __name__ == "__main__":
    measure(__doc__, CASES, f"{'job':12} {'handicap':>9} {'tuned':>7}  found", case)
