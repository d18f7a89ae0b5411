#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures how fast a training job of 3 workers answers control calls, and what a watcher costs it.

    GANGWAY_BIN=build/release/bin .venv/bin/python bench/control.py [--calls 200] [--ends 20] [--busy 0] [--rounds 5] [--seconds 4]

Prints milliseconds of each verb (p50, p99), over one connection, and steps a second in alternating stretches without and
with a watcher. The effects of the commands (a pause, a checkpoint) are included. Drains and stops are fewer, because each
ends a start of the job. Each drain is measured on a new job, and each stop on the start that follows the drain.
`--busy` processes compute throughout.
"""
import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests/distributed"))

from control_calls import Control  # noqa: E402
from train_command import GANGWAY, Running  # noqa: E402

JOB = """
model: {family: mlp, width: 32, latent: 2}
data: {source: "toy:ring8"}
training: {kimg: 64000, batch: 64, microbatches: 4}
checkpoint: {every_kimg: 0}
output: {tick_kimg: 6.4, pictures_kimg: 0}
"""  # a million steps
VERBS = [("Status", {}), ("Pause", {}), ("Resume", {}), ("Checkpoint", {}), ("Trace", None),
         ("Set", {"key": "checkpoint.keep", "value": "2"})]


def seconds_of(control, verb, fields):
    import grpc
    begin = time.perf_counter()
    try:
        control.call(verb, **fields)
    except grpc.RpcError as error:
        if error.code() not in (grpc.StatusCode.UNIMPLEMENTED, grpc.StatusCode.FAILED_PRECONDITION):
            raise
    return time.perf_counter() - begin


def latencies(control, calls):
    for verb, fields in VERBS:
        found = []
        for _ in range(calls):
            found.append(seconds_of(control, verb, fields if fields is not None else {"end": 2}) * 1e3)
            if verb == "Pause":
                control.call("Resume")
            time.sleep(0.02)
        say(verb, found)


def say(verb, found):
    found.sort()
    print(f"{verb:<11} p50 {found[len(found) // 2]:6.2f} ms   p99 {found[len(found) * 99 // 100]:6.2f} ms   "
          f"worst {found[-1]:6.2f} ms   of {len(found)}", flush=True)


def start(folder, name):
    """Starts a job and waits until it trains. Returns it and its run directory."""
    running = Running([GANGWAY, "run", "job.yaml", "-n", 3, "--run", name], folder, 120, f"said-{name}")
    running.wait_for(r"^tick 2 ")
    run, = (folder / "runs").glob(f"*-{name}")
    return running, run


def trains_again(run):
    """Returns whether the run's second start trains."""
    import grpc
    try:
        with Control(run) as control:
            status = control.status()
        return status.start == 2 and status.phase == "training"
    except (grpc.RpcError, OSError, KeyError, ValueError):
        return False  # between two starts


def endings(folder, count):
    """Returns milliseconds of drains and of stops."""
    drains, stops = [], []
    for number in range(count):
        running, run = start(folder, f"ends{number}")
        try:
            with Control(run) as control:
                control.status()  # opens the connection, as for the other verbs
                drains.append(seconds_of(control, "Drain", {"host": "3"}) * 1e3)
            running.wait_until(lambda: trains_again(run), "the start without a worker")
            with Control(run) as control:
                control.status()
                stops.append(seconds_of(control, "Stop", {}) * 1e3)
            if running.end() != 75:
                raise RuntimeError(running.said()[-2000:])
        finally:
            running.kill_all()
    return drains, stops


def steps_a_second(control, seconds):
    first, begin = control.status().step, time.monotonic()
    time.sleep(seconds)
    return (control.status().step - first) / (time.monotonic() - begin)


def watched(control, run, seconds):
    with Control(run) as watcher:
        stream = watcher.watch()
        reader = threading.Thread(target=lambda: [None for _ in quietly(stream)], daemon=True)
        reader.start()
        speed = steps_a_second(control, seconds)
        stream.cancel()
        reader.join()
    return speed


def quietly(stream):
    import grpc
    try:
        yield from stream
    except grpc.RpcError:
        return


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=200, help="calls of each verb")
    parser.add_argument("--ends", type=int, default=20, help="number of drains and of stops")
    parser.add_argument("--busy", type=int, default=0, help="processes that compute beside the job")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=4, help="duration of each stretch")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="gangway-bench-") as name:
        folder = Path(name)
        (folder / "job.yaml").write_text(JOB)
        busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(options.busy)]
        try:
            return measure(folder, options)
        finally:
            for one in busy:
                one.kill()
                one.wait()


def measure(folder, options):
    running, run = start(folder, "a")
    try:
        with Control(run) as control:
            latencies(control, options.calls)
            alone, beside = [], []
            for _ in range(options.rounds):
                alone.append(steps_a_second(control, options.seconds))
                beside.append(watched(control, run, options.seconds))
            ratios = [with_one / without for with_one, without in zip(beside, alone)]
            control.call("Stop")
        if running.end() != 75:
            return 1
    finally:
        running.kill_all()
    if options.ends:
        for verb, found in zip(("Drain", "Stop"), endings(folder, options.ends)):
            say(verb, found)
    if ratios:
        print(f"steps/s     {statistics.median(alone):.1f} alone, {statistics.median(beside):.1f} watched: "
              f"ratio {statistics.median(ratios):.3f} ({min(ratios):.3f} to {max(ratios):.3f})")
    return 0


if __name__ == "__main__":
    os.environ.setdefault("GANGWAY_BIN", str(ROOT / "build/release/bin"))
    sys.exit(main())
