#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares images/s of a job with two builds, alternately: the cost or gain of a change.

    .venv/bin/python bench/waits/two_builds.py BEFORE/bin AFTER/bin JOB [KEY=VALUE …] [-n 1] [--rounds 6]

The job should have about ten ticks of more than a second; the first two do not count. Prints each
round's rates, and the ratios AFTER / BEFORE of the medians and of the best rates.
"""
import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path)
    parser.add_argument("job", nargs="+")
    parser.add_argument("-n", "--workers", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=6)
    options = parser.parse_args()
    os.environ["GANGWAY_BIN"] = str(options.after)
    from short_runs import environment, step_of
    folder = Path(tempfile.mkdtemp(prefix="gangway-builds-"))

    def rate(programs, number):
        words = [programs.resolve() / "gangway", "run", *options.job, "-n", options.workers, "--outdir", folder, "--run", number]
        ended = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=900, env=environment())
        if ended.returncode != 0:
            sys.exit(ended.stdout + ended.stderr)
        run, = folder.glob(f"*-{number}")
        seconds, _ = step_of(run)
        shutil.rmtree(run)
        return 1 / seconds

    rows = []
    try:
        for round_ in range(options.rounds):
            order = (options.before, options.after) if round_ % 2 == 0 else (options.after, options.before)
            rates = {programs: rate(programs, f"r{round_}-{i}") for i, programs in enumerate(order)}
            rows.append((rates[options.before], rates[options.after]))
            print(f"{rows[-1][0]:9.2f} {rows[-1][1]:9.2f} steps/s", flush=True)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    before, after = zip(*rows)
    print(f"after/before: median {statistics.median(after) / statistics.median(before):.3f}, best {max(after) / max(before):.3f}")


if __name__ == "__main__":
    main()
