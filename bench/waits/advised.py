#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Whether advice names what a job suffers from, and is worth what it says: each case has one real bottleneck, `gangway advise` is
asked, its keys are taken, and the gain is set beside the bound that it gave (docs/tuning.md).

    GANGWAY_BIN=build/release/bin .venv/bin/python bench/waits/advised.py [--rounds 3] [--only RULE]

`first`: in how many rounds, each of another seed, the planted rule is the first one. Where it advises keys, `gain`: the step before, over
the step with the keys, median of the rounds; it should lie under the bound, and above half of what the bound promises. Behind them the
keys, and what else was first. One case needs root, and hosts that are played by network namespaces (docs/cluster-tests.md); two need
control groups of the first version.
"""
import contextlib
import json
import os
import shutil
import statistics
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path

from short_runs import ROOT, clothes_with, measure, step_of

SHIM = Path(os.environ["GANGWAY_BIN"]).resolve().parent / "bench/libplanted_wait.so"
LARGE = ["model.width=96", "training.batch=8", "training.microbatches=2"]
# The update is large in relation to the computation.
DENSE = ["model.family=dense", "model.width=4096", "training.batch=8", "training.microbatches=2"]


def shim(**variables):
    return {"LD_PRELOAD": str(SHIM), **{name: str(value) for name, value in variables.items()}}


@contextlib.contextmanager
def nothing(_runs, _job):
    yield {}


def sleeps(**variables):
    @contextlib.contextmanager
    def planted(_runs, _job):
        yield shim(**variables)
    return planted


@contextlib.contextmanager
def burners(_runs, _job):
    """Runs two busy processes for each core."""
    others = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(2 * os.cpu_count())]
    try:
        yield {}
    finally:
        for other in others:
            other.kill()
            other.wait()


@contextlib.contextmanager
def control_group(controller, limits):
    """Yields the words that run a command in a new control group of the first version."""
    group = Path("/sys/fs/cgroup") / controller / f"gangway-named-{os.getpid()}"
    group.mkdir()
    try:
        for name, value in limits.items():
            (group / name).write_text(str(value))
        yield ("sh", "-c", f'echo $$ >{group}/cgroup.procs; exec "$@"', "sh")
    finally:
        group.rmdir()


@contextlib.contextmanager
def quota(_runs, _job):
    with control_group("cpu", {"cpu.cfs_period_us": 100000, "cpu.cfs_quota_us": 60000}) as inside:
        yield {"inside": inside}


@contextlib.contextmanager
def leak(_runs, _job):
    """Makes a training leak memory, and stops it after half a minute."""
    yield {"inside": ("sh", "-c", 'timeout --signal TERM 30 "$@" || true', "sh"), **shim(PLANTED_LEAK_MIB=4)}


@contextlib.contextmanager
def full_memory(runs, job):
    """Holds so much of the control group's memory that, with a training, 93 % is in use."""
    with control_group("memory", {"memory.limit_in_bytes": 1 << 30}) as inside:
        run = runs.train(job, 1, inside=inside)
        used = json.loads((run / "stats.jsonl").read_text().splitlines()[-1])["memory_used_gib"]
        shutil.rmtree(run)
    limit = 4  # GiB: a start briefly needs more than a training
    with control_group("memory", {"memory.limit_in_bytes": limit << 30}) as inside:
        hold = f"import sys; held = b'1' * {int((0.93 * limit - used) * 2**30)}; print(flush=True); sys.stdin.read()"
        with subprocess.Popen([*inside, sys.executable, "-c", hold], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
            holder.stdout.readline()
            yield {"inside": inside}


@contextlib.contextmanager
def drowsy_coordinator(runs, _job):
    """Stops the coordinator most of the time."""
    over = threading.Event()
    whom = f"gangway-coordinator .*{runs.folder}/"  # not another run's coordinator

    def stop_and_go():
        while not over.wait(0.3):
            for name in ("STOP", "CONT"):
                subprocess.run(["pkill", f"-{name}", "--full", whom], check=False)
                time.sleep(1 if name == "STOP" else 0)

    thread = threading.Thread(target=stop_and_go)
    thread.start()
    try:
        yield {}
    finally:
        over.set()
        thread.join()


@contextlib.contextmanager
def slow_hosts(_runs, _job):
    """Runs the job on two hosts, linked by 100 Mbit/s."""
    script = 'exec "$@" --hostfile "$GANGWAY_CLUSTER_HOSTFILE"'
    yield {"inside": (ROOT / "tests/cluster/run", "2", "100mbit", "--", "bash", "-c", script, "bash")}


# (rule, workers, keys, what plants it). Missing rules need a GPU, or do not occur on two cores:
# snapshots, checkpoints, checks (no worker waits), exchange-bound (oversubscribed first), swapping.
CASES = [
    ("decode-bound", 1, ["data.prefetch=2", "data.source=photos:500"], nothing),
    ("read-bound", 1, ["data.source=photos:32"], sleeps(PLANTED_READ_SECONDS=0.004)),
    ("augment-bound", 1, ["model.width=8", "model.family=dense", "model.resolution=64", "model.channels=3", "data.source=photos:64",
                          "data.cache=auto", "data.rotation=30", "data.zoom=2", "data.contrast=0.2"], nothing),
    ("shallow-prefetch", 1, ["data.source=photos:32", "data.prefetch=1"],
     sleeps(PLANTED_READ_SECONDS=0.2, PLANTED_READ_EVERY=256)),
    ("oversubscribed", 1, [], burners),
    ("oversubscribed", 2 * os.cpu_count(), [], nothing),
    ("cpu-quota", 1, [], quota),
    ("memory-nearly-full", 1, [], full_memory),
    ("memory-growth", 1, ["training.kimg=1000000"], leak),
    ("tiny-microbatches", 1, ["training.microbatches=64"], nothing),
    ("overlap-off", 2, ["layout.overlap=none", "layout.transport=mpi", *LARGE], nothing),
    ("straggler", 2, [], sleeps(PLANTED_RANK=2, PLANTED_SECONDS=0.1, PLANTED_TURN=1)),
    ("slow-link", 2, LARGE, slow_hosts),
    ("update-bound", 1, ["layout.overlap=within", *DENSE], nothing),
    ("norm-wait", 2, ["generator.clip_norm=1", "discriminator.clip_norm=1", *DENSE], nothing),
    ("bubble", 2, ["layout.stages=2", "training.microbatches=2"], nothing),
    ("unbalanced-networks", 2, ["layout.generator=[1]", "layout.discriminator=[2]", "training.microbatches=1"], nothing),
    ("pictures", 1, ["output.pictures_kimg=0.064", "output.grid=8"], nothing),
    ("penalties", 1, ["training.r1.gamma=1", "training.r1.interval=1"], nothing),
    ("coordinator", 1, ["checkpoint.every_steps=5", "checkpoint.keep=1"], drowsy_coordinator),
]


def told(runs, job, workers, around):
    """Trains once. Returns (seconds of a step, {rule: advice} in the order of the advice)."""
    run = runs.train(job, workers, **around)
    advice = json.loads(runs.gangway("advise", run, "--json"))["advice"]
    step, _ = step_of(run)
    shutil.rmtree(run)
    return step, {one["rule"]: one for one in advice}


def case(runs, options, rule, workers, keys, planted):
    photos = "data.source=photos:"
    job = clothes_with([f"data.source=images:{runs.photos(int(key[len(photos):]))}" if key.startswith(photos) else key for key in keys])
    first, gains, bounds, taken = Counter(), [], [], []
    with planted(runs, job) as around:
        for seed in range(options.rounds):
            seeded = [*job, f"training.seed={seed}"]
            before, advice = told(runs, seeded, workers, around)
            first[next(iter(advice), "nothing")] += 1
            if rule in advice and advice[rule]["keys"]:
                if not taken and "data.cache=auto" in advice[rule]["keys"]:
                    told(runs, [*seeded, *advice[rule]["keys"]], workers, around)  # fills the cache
                taken = advice[rule]["keys"]
                gains.append(before / told(runs, [*seeded, *taken], workers, around)[0])
                bounds.append(advice[rule]["gain"])
    row = f"{rule:20} {first[rule]}/{options.rounds}"
    if gains:
        gain, bound = statistics.median(gains), statistics.median(bounds)
        verdict = "as told" if 1 + (bound - 1) / 2 <= gain <= bound else "OTHERWISE"
        row += f" {bound:8.2f} {gain:7.2f}  {verdict:10} {' '.join(taken)}"
    others = ", ".join(f"{other} {count}" for other, count in first.items() if other != rule)
    print(f"{row}  {others}".rstrip(), flush=True)


if __name__ == "__main__":
    measure(__doc__, CASES, f"{'planted':20} first  bound    gain", case)
