#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Prints the advice that unchanged examples get. On a quiet machine there should be none (docs/tuning.md).

    GANGWAY_BIN=build/release/bin .venv/bin/python bench/waits/silent.py [--seconds 600] [-n 1] [EXAMPLE.yaml …]

Prints the number of ticks of each example, and each rule that advised something in any tick.
"""
import argparse
import json
import re
import signal
import subprocess
import sys
from pathlib import Path

from short_runs import GANGWAY, ROOT, ShortRuns, environment

PATIENCE = 120  # seconds: to start, and to end


def spoken(runs, example, workers, seconds):
    """Returns (ticks, advice) of a run that is stopped after `seconds`, if it has not ended."""
    words = [GANGWAY, "run", example, "-n", workers, "--run", example.stem, "--outdir", runs.folder / "runs"]
    with open(runs.folder / "said", "w") as said:
        run = subprocess.Popen([str(word) for word in words], cwd=ROOT, stdout=said, stderr=said, env=environment())
        try:
            run.wait(seconds)
        except subprocess.TimeoutExpired:
            run.send_signal(signal.SIGTERM)
            run.wait(PATIENCE)
    found = list((runs.folder / "runs").glob(f"*-{example.stem}"))
    if not found or not (found[0] / "stats.jsonl").exists():
        sys.exit((runs.folder / "said").read_text())
    ticks = [json.loads(line) for line in (found[0] / "stats.jsonl").read_text().splitlines()]
    log = (found[0] / "logs/rank-0000.log").read_text()
    return len(ticks), re.findall(r"info: advise  (\S+): (.*)", log)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("examples", nargs="*", type=Path, default=sorted((ROOT / "examples").glob("*.yaml")))
    parser.add_argument("-n", "--workers", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=600)
    options = parser.parse_args()
    with ShortRuns() as runs:
        for example in options.examples:
            ticks, rules = spoken(runs, example, options.workers, options.seconds)
            print(f"{example.stem:20} {ticks:4} ticks  {'; '.join(f'{rule}: {text}' for rule, text in rules) or 'silent'}",
                  flush=True)


if __name__ == "__main__":
    main()
