#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Disturbs starting jobs: SIGKILL, SIGSTOP or SIGTERM to the coordinator, a worker, mpirun, its daemon on another host or the
supervisor, at a random moment of the first seconds. The job must end in time: no hang, no process left, the right exit code,
one clear line, and nothing new in /dev/shm.

    start_campaign.py BIN_DIR FAKE_WORKER [--count N] [--seed S] [--hosts 1|2] [--slack FACTOR] [--beside N] [--real]
                      [--only TARGET:SIGNAL]

The job trains nothing (tests/coordinator/fake_worker.cpp); with --real it trains examples/ring8.yaml. --slack multiplies the
limits, for busy machines. --beside: number of simultaneous starts on one host; on two hosts, number of simultaneous clusters,
which share the starts. Exit code 77: no cluster can be emulated.
"""
import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "distributed"))
sys.path.insert(0, str(HERE.parent / "structure"))

from clean_environment import environment  # noqa: E402
from job_processes import processes  # noqa: E402
from shared_memory import left_behind  # noqa: E402

CLUSTER = str(HERE.parent / "cluster" / "run")
ON = str(HERE.parent / "cluster" / "on")
MARK = "START_CAMPAIGN"
MOMENTS = 3.0  # seconds: one moment of these is drawn
KILLED_LIMIT = 5.0  # seconds from the signal to the end of all processes
TIMEOUT = 3  # layout.timeout_seconds of the jobs: deadline of stopped processes
STOPPED_LIMIT = TIMEOUT + 2.0
CHECK_LIMIT = 60  # seconds that `gangway run` gives hosts to answer before the job
PATIENCE = 20  # seconds after which a process counts as hung
WORKERS = 3
WORKER_LOST, ENVIRONMENT, SAVED = 3, 6, 75
FAKE_JOB = """
model: {family: mlp, width: 32, latent: 2}
data: {source: "toy:ring8"}
training: {kimg: 640, batch: 64, microbatches: 4}
checkpoint: {every_kimg: 0.64}
output: {tick_kimg: 0.64, pictures_kimg: 0}
"""
TARGETS = ("supervisor", "mpirun", "coordinator", "worker")
SIGNALS = (signal.SIGKILL, signal.SIGSTOP, signal.SIGTERM)


def heeds(pid, number):
    """Returns whether the process handles or blocks the signal."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False
    masks = [int(line.split()[1], 16) for line in status.splitlines() if line.startswith(("SigBlk:", "SigCgt:"))]
    return any(mask >> (number - 1) & 1 for mask in masks)


class Shared:
    """Returns Gangway's files in /dev/shm of all hosts."""

    def __init__(self, hosts):
        self.hosts = hosts

    def names(self):
        found = set(os.listdir("/dev/shm"))
        if self.hosts == 2:
            words = subprocess.run([ON, "host2", "ls", "/dev/shm"], stdout=subprocess.PIPE, text=True, check=True)
            found |= {f"host2:{name}" for name in words.stdout.split()}
        others = ("gangway.snap", "gangway-test-")  # snapshots stay, and tests that run meanwhile have folders
        return {name for name in found if "vader_segment" in name
                or "gangway" in name and not any(other in name for other in others)}

    def left(self, before):
        """Returns the files that no living process uses, because other jobs may run meanwhile."""
        new = self.names() - before
        return {name for name in new if name.startswith("host2:")} | (new & set(left_behind(before)))


class Attempt:
    def __init__(self, arguments, number, seed):
        self.arguments = arguments
        self.random = random.Random(f"{seed}/{number}")
        targets = TARGETS + (("orted",) if arguments.hosts == 2 else ())
        self.target, self.signal = self.random.choice(targets), self.random.choice(SIGNALS)
        if arguments.only:
            target, _, name = arguments.only.partition(":")
            self.target, self.signal = target, signal.Signals[name]
        self.moment = self.random.uniform(0.0, MOMENTS)
        # With several hosts `gangway run` checks them first. Most moments must lie in the job itself.
        self.counts_from_the_job = arguments.hosts == 2 and self.random.random() < 0.75
        self.mark = uuid.uuid4().hex
        self.problems = []
        self.how = ""

    def start(self, folder):
        self.folder = folder
        if self.arguments.real:
            gangway, job = Path(self.arguments.programs) / "gangway", HERE.parents[1] / "examples" / "ring8.yaml"
            words = ["layout.restarts=0", "training.kimg=100000", "training.microbatches=4", "output.pictures_kimg=0", "output.tick_kimg=2"]
        else:
            gangway, job = self.make_programs(folder), folder / "job.yaml"
            job.write_text(FAKE_JOB)
            words = ["layout.restarts=0"]
        if self.arguments.hosts == 2:
            hostfile = folder / "hosts"
            hostfile.write_text("host1 slots=1\nhost2 slots=2\n")
            words += ["--hostfile", str(hostfile)]
        self.before = {process.pid for process in processes()}
        self.begun = time.monotonic()
        with open(folder / "out", "w") as out, open(folder / "err", "w") as err:
            self.process = subprocess.Popen([str(gangway), "run", str(job), "-n", str(WORKERS), f"layout.timeout_seconds={TIMEOUT}", *words],
                                            cwd=folder, stdout=out, stderr=err, env=self.variables())

    def variables(self):
        """A cluster's processes need the variables by which mpirun reaches its hosts."""
        return (dict(os.environ) if self.arguments.hosts == 2 else environment()) | {MARK: self.mark}

    def make_programs(self, folder):
        programs = folder / "bin"
        programs.mkdir()
        for name in ("gangway", "gangway-coordinator"):
            shutil.copy(Path(self.arguments.programs) / name, programs / name)
        worker = programs / "gangway-worker"
        worker.write_text(f"#!/bin/sh\nexec '{Path(self.arguments.fake_worker).resolve()}' \"$@\"\n")
        worker.chmod(0o755)
        return programs / "gangway"

    def said(self, name):
        return (self.folder / name).read_text()

    def ours(self):
        """Returns the job's processes: in a cluster all new ones, else those with the mark."""
        mark = f"{MARK}={self.mark}"
        found = [process for process in processes() if process.state != "Z" and process.pid != self.process.pid]
        if self.arguments.hosts == 2:
            return [process for process in found if process.pid not in self.before and process.parent != os.getpid()]
        return [process for process in found if mark in process.environment]

    def has_begun(self):
        """Returns whether the job's own mpirun is about to start: the hosts have been checked."""
        return any(line.startswith("start  ") for line in self.said("out").splitlines())

    def find(self):
        if self.target == "supervisor":
            return self.process.pid
        found = [process.pid for process in self.ours() if process.role() == self.target]
        return self.random.choice(found) if found else None

    def strike(self):
        """Sends the signal at its moment; to a later process within its first half second.
        @return False: the process did not come."""
        end = time.monotonic() + PATIENCE * self.arguments.slack
        if self.counts_from_the_job or self.signal == signal.SIGSTOP:
            while not self.has_begun() and self.process.poll() is None and time.monotonic() < end:
                time.sleep(0.001)
        zero = time.monotonic() if self.counts_from_the_job else self.begun
        while time.monotonic() - zero < self.moment:
            time.sleep(0.001)
        end = time.monotonic() + PATIENCE * self.arguments.slack
        late = self.find() is None
        while self.process.poll() is None and time.monotonic() < end:
            pid = self.find()
            if pid is not None and late:
                late = False
                time.sleep(self.random.uniform(0.0, 0.5))
            elif pid is not None:
                self.was_led, self.was_asked = "tick" in self.said("out"), not self.has_begun()
                self.was_loaded = heeds(pid, self.signal)
                try:
                    os.kill(pid, self.signal)
                except ProcessLookupError:
                    continue
                self.struck = time.monotonic()
                self.moment = self.struck - zero
                return True
            time.sleep(0.001)
        return False

    def may_go_on(self):
        """Returns whether a job can do without the target. Workers leave SIGTERM to the coordinator. A sleeping launcher or a
        supervisor hinders no training. A finished check belongs to no job."""
        harmless = {("worker", signal.SIGTERM), ("orted", signal.SIGSTOP), ("supervisor", signal.SIGSTOP)}
        return (self.target, self.signal) in harmless or (self.was_asked and self.target != "supervisor")

    def codes(self):
        if self.target == "supervisor" and self.signal != signal.SIGSTOP:
            # Before main() the signal ends the process.
            return {signal.SIGKILL: {-9}, signal.SIGTERM: {SAVED} if self.was_loaded else {SAVED, -15}}[self.signal]
        if self.may_go_on():
            return {WORKER_LOST, ENVIRONMENT}  # the target mattered at that moment
        if self.signal == signal.SIGTERM and self.target in ("coordinator", "mpirun"):
            return {SAVED} if self.was_led else {SAVED, WORKER_LOST}
        if self.target == "orted" and not self.was_led:
            # mpirun ends its other ranks by SIGTERM, which is a request to leave.
            return {WORKER_LOST, SAVED}
        return {WORKER_LOST}

    def wait(self, seconds):
        try:
            return self.process.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            return None

    def wait_to_go_on(self, seconds):
        """Returns the exit code; None if a tick comes after the deadline of silence, or the time is over."""
        end = time.monotonic() + seconds
        code = self.wait(TIMEOUT + 1)
        place = len(self.said("out"))
        while code is None and "\ntick " not in self.said("out")[place:] and time.monotonic() < end:
            code = self.wait(0.05)
        return code

    def watch_end(self):
        limit = (STOPPED_LIMIT if self.signal == signal.SIGSTOP else KILLED_LIMIT) * self.arguments.slack
        if self.target == "supervisor" and self.signal == signal.SIGSTOP:
            time.sleep(TIMEOUT + 0.5)
            self.process.send_signal(signal.SIGCONT)
        code = self.wait_to_go_on(limit) if self.may_go_on() else self.wait(PATIENCE * self.arguments.slack)
        expected = self.codes()
        if code is None and self.may_go_on():
            self.how = "went on; "
            self.struck = time.monotonic()
            self.process.send_signal(signal.SIGTERM)
            expected, limit = {SAVED}, KILLED_LIMIT * self.arguments.slack
            code = self.wait(PATIENCE * self.arguments.slack)
        left = self.wait_for_the_rest(PATIENCE * self.arguments.slack if code is not None else 0)
        took = time.monotonic() - self.struck
        self.how += f"code {code} after {took:.1f} s"
        if code is None:
            self.problems.append("hangs")
        elif left:
            self.problems.append("left: " + ", ".join(f"{process.name} {process.pid} {process.state}" for process in left))
        elif took > limit:
            self.problems.append(f"took {took:.1f} s")
        if code is not None and code not in expected:
            self.problems.append(f"code {code} instead of {sorted(expected)}")
        self.took = took
        self.check_line(code)

    def wait_for_the_rest(self, seconds):
        end = time.monotonic() + seconds
        while (left := self.ours()) and time.monotonic() < end:
            time.sleep(0.02)
        return left

    def check_line(self, code):
        lines = [line for line in self.said("err").splitlines() if line.startswith("gangway: ")]
        if code in (WORKER_LOST, ENVIRONMENT) and len(lines) != 1:
            self.problems.append(f"{len(lines)} lines: {lines}")
        if lines:
            self.how += f": {lines[0].partition(': logs')[0]}"

    def clean_up(self):
        for process in self.ours():
            try:
                os.kill(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def run(self):
        self.folder = Path(tempfile.mkdtemp(prefix="gangway-start-"))
        try:
            self.start(self.folder)
            if self.strike():
                self.watch_end()
            else:
                self.problems.append("nobody to hit")
        finally:
            self.clean_up()
            for snapshot in Path("/dev/shm").glob("gangway.snap-*") if self.arguments.real else ():
                if str(self.folder).encode() in snapshot.read_bytes()[:65536]:
                    snapshot.unlink()

    def end(self, left):
        """Checks the attempt. @param left  files in /dev/shm after it and simultaneous attempts"""
        # The next start removes the files that a killed daemon of mpirun leaves on its host.
        new = {name for name in left if self.target != "orted" or not name.startswith(("host2:vader", "host2:sm_segment"))}
        if new:
            self.problems.append(f"in /dev/shm: {sorted(new)}")
        if self.problems:
            print(f"--- {self.folder}/err\n{self.said('err')}--- {self.folder}/out\n{self.said('out')[-600:]}", flush=True)
        shutil.rmtree(self.folder, ignore_errors=True)

    def line(self):
        hosts = "1 host " if self.arguments.hosts == 1 else "2 hosts"
        verdict = "ok" if not self.problems else "FAILED: " + "; ".join(self.problems)
        return f"{hosts}  {self.signal.name:8}{self.target:12} at {self.moment:5.2f} s  {self.how}  {verdict}"


def campaign(arguments):
    seed = arguments.seed if arguments.seed is not None else random.SystemRandom().randrange(1 << 32)
    print(f"{arguments.count} starts on {arguments.hosts} host(s), seed {seed}", flush=True)
    failed, longest = 0, {signal.SIGSTOP: 0.0, None: 0.0}
    shared = Shared(arguments.hosts)
    for first in range(0, arguments.count, arguments.beside):
        attempts = [Attempt(arguments, number, seed) for number in range(first, min(first + arguments.beside, arguments.count))]
        before = shared.names()
        # Attempts mostly wait: for the moment, then for deadlines.
        with ThreadPoolExecutor(arguments.beside) as threads:
            for done in [threads.submit(attempt.run) for attempt in attempts]:
                done.result()
        left = shared.left(before)
        for number, attempt in enumerate(attempts, first):
            attempt.end(left)
            print(f"{number:4}  {attempt.line()}", flush=True)
            failed += bool(attempt.problems)
            kind = signal.SIGSTOP if attempt.signal == signal.SIGSTOP else None
            longest[kind] = max(longest[kind], getattr(attempt, "took", 0.0))
    print(f"{arguments.count - failed} of {arguments.count} ended as they should; the longest end took {longest[None]:.1f} s, "
          f"of what was stopped {longest[signal.SIGSTOP]:.1f} s", flush=True)
    return 1 if failed else 0


def clusters(arguments):
    """A cluster's attempts know their processes because they are new, so each cluster has one at a time."""
    seed = arguments.seed if arguments.seed is not None else random.SystemRandom().randrange(1 << 32)
    words = [CLUSTER, "2", "none", "--", sys.executable, __file__, *sys.argv[1:], "--inside", "--beside", "1"]
    shares = [len(range(part, arguments.count, arguments.beside)) for part in range(arguments.beside)]
    playing = [subprocess.Popen([*words, "--count", str(share), "--seed", str(seed + part)])
               for part, share in enumerate(shares)]
    return next((code for code in [one.wait() for one in playing] if code != 0), 0)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("programs")
    parser.add_argument("fake_worker")
    parser.add_argument("--count", type=int, default=10)
    parser.add_argument("--seed", type=int)
    parser.add_argument("--hosts", type=int, choices=(1, 2), default=1)
    parser.add_argument("--slack", type=float, default=1.0)
    parser.add_argument("--beside", type=int, default=1)
    parser.add_argument("--real", action="store_true")
    parser.add_argument("--only")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.hosts == 2 and not arguments.inside:
        return clusters(arguments)
    return campaign(arguments)


if __name__ == "__main__":
    sys.exit(main())
