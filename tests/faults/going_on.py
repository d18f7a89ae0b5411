#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Hurts jobs that go on by themselves, loss after loss: the digest must be that of a run that nobody disturbed. What
`gangway run` and the coordinator decide then is tests/launch/world's, in virtual time.

    GANGWAY_BIN=build/release/bin going_on.py               each kind of process is lost once, behind an edit of the job file
    GANGWAY_BIN=build/release/bin going_on.py --losses N [--seed S] [--layout data|apart|stages|one|hosts]        a campaign

Kinds: SIGKILL, SIGSEGV and SIGSTOP to a worker, the coordinator, mpirun or its daemon on another host, and two workers within a
millisecond. Moments: the first second of a start, or a while after a tick. Without --losses `gangway run` is killed at last, and the
same command goes on at once. Hosts that die: tests/cluster/lost_hosts.py. After each loss the run must name the process that was
lost, and train again; at its end: no process left, each step once in stats.jsonl, nothing new in /dev/shm, and as many descriptors
and as much memory in `gangway run` beside the last start as beside the second. Exit code 77: no cluster.
"""
import argparse
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from pathlib import Path

HERE = Path(__file__).resolve().parent
for folder in ("distributed", "structure"):
    sys.path.insert(0, str(HERE.parent / folder))

from job_processes import Process, processes  # noqa: E402
from shared_memory import left_behind  # noqa: E402
from train_command import EXAMPLES, GANGWAY, environment, kill_all, snapshot_files  # noqa: E402

CLUSTER = str(HERE.parent / "cluster" / "run")
MARK = "GOING_ON"  # a variable of all processes of a run
PATIENCE = 60  # seconds from a loss to the next tick; a hang is a failure
LEFT_PATIENCE = 5  # seconds in which all must be gone
TIMEOUT = 3  # layout.timeout_seconds: the deadline of what is stopped
MOST_MEMORY = 4 << 20  # bytes that `gangway run` may grow by
JOB = [str(EXAMPLES / "ring8.yaml"), "training.microbatches=4", "training.batch=128", "training.kimg=320", "output.tick_kimg=2",
       "output.pictures_kimg=0", "checkpoint.every_kimg=80", "checkpoint.snapshot_steps=5",
       f"layout.timeout_seconds={TIMEOUT}"]
LAYOUTS = {
    "data": (3, []),
    "one": (1, []),
    "apart": (3, ["layout.generator=[1]", "layout.discriminator=[2,3]"]),
    "stages": (4, ["layout.stages=2"]),
    "hosts": (3, []),
}
TARGETS = ("worker", "worker", "worker", "two workers", "coordinator", "mpirun")
SIGNALS = (signal.SIGKILL, signal.SIGKILL, signal.SIGSEGV, signal.SIGSTOP)
# Each kind once: target, signal, whether it strikes the start before it trains.
EACH_ONCE = [("worker", signal.SIGKILL, False), ("coordinator", signal.SIGKILL, True), ("worker", signal.SIGSEGV, False),
             ("mpirun", signal.SIGKILL, False), ("coordinator", signal.SIGSTOP, False)]


class Failure(Exception):
    """What a run did that it must not do."""


class HurtRun:
    """One run under one supervisor."""

    def __init__(self, folder, name, layout, chance, blows=None):
        """@param blows  as EACH_ONCE; None: at random"""
        self.folder, self.name, self.random, self.blows = folder, name, chance, list(blows or [])
        self.mark = uuid.uuid4().hex
        self.workers, words = LAYOUTS[layout]
        self.targets = TARGETS + (("orted",) if layout == "hosts" else ())
        self.said = folder / f"{name}.said"
        if layout == "hosts":
            (folder / "hostfile").write_text("host1 slots=1\nhost2 slots=1\nhost3 slots=1\n")
            words = [*words, "--hostfile", str(folder / "hostfile")]
        self.words, self.layout = words, layout
        self.job = folder / f"{name}.yaml"
        shutil.copy(JOB[0], self.job)
        self.start()

    def start(self):
        with open(self.said, "w") as out:
            variables = (dict(os.environ) if self.layout == "hosts" else environment(restarts=None)) | {MARK: self.mark}
            self.process = subprocess.Popen([GANGWAY, "run", self.job, *JOB[1:], "-n", str(self.workers), *self.words],
                                            cwd=self.folder, stdout=out, stderr=out, env=variables)

    def is_over(self):
        return self.process.poll() is not None

    def directory(self):
        return next((self.folder / "runs").glob(f"*-{self.name}"))

    def text(self):
        return self.said.read_text()

    def ours(self):
        mark = f"{MARK}={self.mark}"
        return [process for process in processes()
                if process.state != "Z" and process.pid != self.process.pid and mark in process.environment]

    def wait(self, condition, what):
        """@return False: the run is over"""
        end = time.monotonic() + PATIENCE
        while not condition():
            if self.is_over():
                return False
            if time.monotonic() > end:
                raise Failure(f"{what} has not come for {PATIENCE} s")
            time.sleep(0.01)
        return True

    def resources(self):
        statm = Path(f"/proc/{self.process.pid}/statm").read_text().split()
        return len(os.listdir(f"/proc/{self.process.pid}/fd")), int(statm[1]) * os.sysconf("SC_PAGE_SIZE")

    def find(self, target):
        found = [process for process in self.ours() if process.role() == target]
        return self.random.choice(found) if found else None

    def strike(self, early):
        """@return what was hit, and how its loss may be called; None: the run was over before"""
        target, number = self.blow[:2] if self.blow else (self.random.choice(self.targets), self.random.choice(SIGNALS))
        if early:
            time.sleep(self.random.uniform(0.0, 1.0))
        else:
            if not self.wait(lambda: self.text().count("\ntick ") > self.ticks_before, "a tick"):
                return None
            time.sleep(self.random.uniform(0.0, 0.4))
            # Between two starts it holds fewer: starts that train are compared.
            self.resources_of_starts.append(self.resources())
        victims = []
        kind = "worker" if target == "two workers" else target
        if not self.wait(lambda: self.find(kind) is not None, target):
            return None
        for _ in range(2 if target == "two workers" else 1):
            victim = self.find(kind)
            if victim is not None and victim.pid not in [one.pid for one in victims]:
                victims.append(victim)
        for victim in victims:
            try:
                os.kill(victim.pid, number)
            except ProcessLookupError:
                return None
        names = [f"rank {victim.rank()}\\b" for victim in victims] if kind == "worker" else \
            ["coordinator"] if kind == "coordinator" else ["mpirun", "coordinator", "rank"]
        return f"{number.name} {target}", names

    def go(self, losses, early_share):
        """@return the losses that it took before it was over"""
        taken, early, self.ticks_before = [], False, 0
        self.resources_of_starts = []
        while len(taken) < losses:
            self.blow = self.blows.pop(0) if self.blows else None
            early = self.blow[2] if self.blow else early
            number_of_losses = len(self.restarts())
            hit = self.strike(early)
            if hit is None:
                break
            if not self.wait(lambda: len(self.restarts()) > number_of_losses, f"the answer to {hit[0]}"):
                break
            loss = self.restarts()[-1]
            if not any(re.search(name, loss["why"]) for name in hit[1]):
                raise Failure(f"{hit[0]}: called '{loss['why']}'")
            if loss["workers"] == 0:
                raise Failure(f"{hit[0]}: {loss['answer']}")
            taken.append(f"{hit[0]}{' at the start' if early else ''}")
            early = not early and self.random.random() < early_share
            self.ticks_before = self.text().count("\ntick ")
        if len(self.resources_of_starts) > 2:
            first, last = self.resources_of_starts[1], self.resources_of_starts[-1]
            if last[0] > first[0] or last[1] > first[1] + MOST_MEMORY:
                raise Failure(f"descriptors and bytes of gangway run: {first} after the first loss, {last} after {len(taken)}")
        return taken

    def restarts(self):
        try:
            return [json.loads(line) for line in (self.directory() / "restarts.jsonl").read_text().splitlines()]
        except (StopIteration, OSError):
            return []

    def edit(self):
        """Half of the next experiment, which this run must not train."""
        if not self.wait(lambda: "\ntick " in self.text(), "a tick"):
            raise Failure("over before its job was edited")
        self.job.write_text(self.job.read_text() + "\ntraining: {")

    def lose_supervisor(self):
        """Restores the job file, kills `gangway run`, and starts the same command while the old processes end."""
        if f"note   {self.job}, or a file that it names, has changed" not in self.text():
            raise Failure("no word of the edited job")
        shutil.copy(JOB[0], self.job)
        if not self.wait(lambda: self.text().count("\ntick ") > self.ticks_before, "a tick"):
            raise Failure("over before its supervisor was killed")
        left = [process.pid for process in self.ours()]
        self.process.kill()
        self.process.wait()
        self.start()
        end = time.monotonic() + LEFT_PATIENCE
        while [one for one in left if Process(one).state != "Z"]:
            if time.monotonic() > end:
                raise Failure("processes outlive their supervisor")
            time.sleep(0.02)

    def finish(self):
        code = self.process.wait(timeout=300)
        if code != 0:
            raise Failure(f"ended with {code}")
        end = time.monotonic() + LEFT_PATIENCE
        while self.ours():
            if time.monotonic() > end:
                raise Failure(f"left: {[(process.name, process.pid, process.state) for process in self.ours()]}")
            time.sleep(0.02)
        steps = [json.loads(line)["step"] for line in (self.directory() / "stats.jsonl").read_text().splitlines()]
        if steps != sorted(set(steps)):
            raise Failure(f"steps of stats.jsonl: {steps}")


def digest(folder, run):
    return subprocess.run([GANGWAY, "digest", run], cwd=folder, check=True, text=True, stdout=subprocess.PIPE).stdout.split()[0]


def hurt(arguments, folder, number, chance, losses):
    """@return losses that the run took"""
    each_once = EACH_ONCE if arguments.losses is None else None
    run = HurtRun(folder, f"run{number}", arguments.layout, chance, each_once)
    try:
        if each_once:
            run.edit()
        taken = run.go(losses, arguments.early)
        if each_once:
            run.lose_supervisor()
        run.finish()
        if digest(folder, run.name) != digest(folder, "whole"):
            raise Failure("OTHER DIGEST")
        if each_once and len(taken) < losses:
            raise Failure(f"over after {taken}")
    except Failure as failure:
        kill_all(run.process)
        raise Failure(f"{run.name}: {failure}\n{run.text()[-6000:]}") from None
    print(f"{run.name}: {len(taken)} losses, digest equal: {', '.join(taken)}", flush=True)
    return len(taken)


def campaign(arguments):
    seed = arguments.seed if arguments.seed is not None else random.SystemRandom().randrange(1 << 32)
    losses = arguments.losses if arguments.losses is not None else len(EACH_ONCE)
    print(f"{losses} losses, layout {arguments.layout}, seed {seed}", flush=True)
    chance = random.Random(seed)
    folder = Path(tempfile.mkdtemp(prefix="gangway-test-"))
    shared = set(os.listdir("/dev/shm"))
    num_taken, number = 0, 0
    try:
        subprocess.run([GANGWAY, "run", *JOB, "-n", "1", "--run", "whole"], cwd=folder, check=True, stdout=subprocess.DEVNULL,
                       env=environment())
        while num_taken < losses:
            number += 1
            num_taken += hurt(arguments, folder, number, chance, losses - num_taken)
        if left := left_behind(shared):
            raise Failure(f"in /dev/shm: {sorted(left)}")
    except Failure as failure:
        print(f"FAILED: {failure}", flush=True)
        return 1
    finally:
        for file in snapshot_files(folder):
            file.unlink(missing_ok=True)
        shutil.rmtree(folder, ignore_errors=True)
    print(f"{num_taken} losses: no hang, no other digest, no wrong name, nothing left")
    return 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--losses", type=int)
    parser.add_argument("--seed", type=int)
    parser.add_argument("--layout", choices=LAYOUTS, default="data")
    parser.add_argument("--early", type=float, default=0.3, help="share of the losses that come in the first second of a start")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.layout == "hosts" and not arguments.inside:
        return subprocess.run([CLUSTER, "3", "none", "--", sys.executable, __file__, *sys.argv[1:], "--inside"]).returncode
    return campaign(arguments)


if __name__ == "__main__":
    sys.exit(main())
