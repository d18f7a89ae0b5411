# SPDX-License-Identifier: MIT
"""Measures how soon a run resumes after a kill, part by part, from its log and files."""
import concurrent.futures
import contextlib
import json
import os
import random
import re
import signal
import threading
import time
from pathlib import Path
from typing import NamedTuple

from gangway.errors import ENVIRONMENT, Failed
from gangway.launch import program
from gangway.tools.bench import parser_of
from gangway.tools.bench.state import job_text, percentile
from gangway.tools.command_line import listed, number, one_of, say, table
from gangway.tools.machine import require_quiet_machine
from gangway.tools.measured import kept_folder, output_of

KINDS = ("worker", "coordinator", "mpirun")
LOOK = 0.002        # seconds
PATIENCE = 120.0    # seconds; a longer silence is a hang
LEAST_STEPS = 12    # from a recovery to the next kill, so that snapshots count as progress
MORE_STEPS = 8
LEVEL = "info: "    # in a log line, after time, rank and thread
LAST_CHARACTERS = 3000
PREEMPTED = 75      # exit code


class Recovery(NamedTuple):
    """Holds the seconds of each part of a recovery, in order."""
    kind: str          # of the killed process
    fence: float       # from the kill until all processes of the start ended
    start: float       # until the new coordinator logs: mpirun, MPI
    restore: float     # until all workers have their state
    first_step: float  # until the first step, trained before, is repeated
    replay: float      # until the first new step is done
    redone: int        # steps trained twice

    @property
    def before_replay(self) -> float:
        return self.fence + self.start + self.restore + self.first_step


class Recoveries(NamedTuple):
    recoveries: list[Recovery]
    rate: float               # new steps per second of the disturbed run
    undisturbed: list[float]  # of undisturbed runs before and after; empty: none


class Over(Exception):
    """Raised when the run has ended, or hangs."""


class Watch:
    """Follows a run's log. @param run  its directory; ended: set when the run has ended"""

    def __init__(self, run: Path, ended: threading.Event):
        self.run, self.ended, self.step = run, ended, 0
        self._offset, self._rest = 0, b""

    def next_line(self) -> str | None:
        """Returns the next log line without its prefix; None: no line yet."""
        if b"\n" not in self._rest and (log := self.run / "logs/rank-0000.log").exists():
            with open(log, "rb") as file:
                file.seek(self._offset)
                more = file.read()
            self._offset += len(more)
            self._rest += more
        if b"\n" not in self._rest:
            return None
        line, self._rest = self._rest.split(b"\n", 1)
        words = line.decode(errors="replace")
        words = words.partition(LEVEL)[2] or words
        if words.startswith("tick "):  # one per step
            self.step = int(words.split()[1])
        return words

    def _wait_until(self, is_so) -> float:
        """Waits until `is_so()`. Returns the time in monotonic seconds. Raises Over."""
        end = time.monotonic() + PATIENCE
        while not is_so():
            if self.ended.wait(LOOK) or time.monotonic() > end:
                raise Over
        return time.monotonic()

    def _wait_for_line(self, begin: str) -> float:
        """Waits for a log line that begins with `begin`. Returns its time."""
        return self._wait_until(lambda: any(line.startswith(begin) for line in iter(self.next_line, None)))

    def wait_for_steps(self, steps: int) -> None:
        """Waits until `steps` more steps are done."""
        last = self.step + steps
        while self.step < last:
            self._wait_for_line("tick ")

    def wait_until_time(self, end: float) -> None:
        """Waits step by step until `end`, in monotonic seconds."""
        while time.monotonic() < end:
            self.wait_for_steps(1)

    def process_of(self, kind: str, rank: int = 0) -> int:
        """Returns the pid of coordinator, mpirun or a worker by rank. Raises Over if missing."""
        try:
            ranks = json.loads((self.run / "placement.json").read_text())["ranks"]
            if kind == "worker":
                return ranks[1 + (rank - 1) % (len(ranks) - 1)]["pid"]  # lost hosts are left out
            pid = ranks[0]["pid"]
            if kind == "coordinator":
                return pid
            parent = int(re.search(r"^PPid:\s*(\d+)", Path(f"/proc/{pid}/status").read_text(), re.MULTILINE)[1])
            if parent > 1:  # else mpirun has ended
                return parent
            raise ValueError
        except (OSError, ValueError, KeyError, IndexError, TypeError, ZeroDivisionError):
            raise Over from None

    def _losses(self) -> int:
        try:
            return (self.run / "restarts.jsonl").read_bytes().count(b"\n")
        except FileNotFoundError:
            return 0

    def _read_all(self) -> None:
        for _ in iter(self.next_line, None):
            pass

    def kill_and_watch(self, kind: str, rank: int) -> Recovery:
        """Kills a process and waits until a new step is done."""
        pid, losses = self.process_of(kind, rank), self._losses()
        self._read_all()  # steps before the kill
        times = [time.monotonic()]
        os.kill(pid, signal.SIGKILL)
        times.append(self._wait_until(lambda: self._losses() > losses))
        self._read_all()
        reached = self.step
        times += [self._wait_for_line(begin) for begin in ("gangway ", "resume ", "tick ")]
        redone = reached - self.step + 1
        self.wait_for_steps(max(0, redone))
        parts = [after - before for before, after in zip(times, [*times[1:], time.monotonic()])]
        return Recovery(kind, *parts, redone)


def with_run(words: list, outdir: Path, name: str, act) -> None:
    """Runs a job while act(Watch) lasts, then lets it save and leave. Raises Failed if it ends otherwise. @param words  of `gangway run`"""
    ended = threading.Event()

    def watch():
        while not (runs := [*outdir.glob(f"[0-9]*-{name}")]):
            if ended.wait(0.02):
                return
        seen = Watch(runs[0], ended)
        try:
            with contextlib.suppress(Over):
                act(seen)
        finally:
            with contextlib.suppress(Over, ProcessLookupError):
                coordinator = seen.process_of("coordinator")
                if not ended.is_set():  # otherwise the pid may be reused
                    os.kill(coordinator, signal.SIGUSR1)

    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        watching = pool.submit(watch)
        try:
            done = output_of([program(), "run", *map(str, words), "--outdir", str(outdir), "--run", name, "--progress", "lines"],
                             dict(os.environ), insists=False)
        finally:
            ended.set()
        watching.result()
    if done.code != PREEMPTED:
        raise Failed(f"a run that should restart itself ended with code {done.code}:\n{done.text[-LAST_CHARACTERS:]}", ENVIRONMENT)


def recoveries_of(words: list, outdir: Path, *, workers: int, kinds, losses: int, every: float = 0, seed: int = 1,
                  say=lambda line: None) -> Recoveries:
    """Kills processes of a run. @param words  as in with_run(); say: gets a line after each loss"""
    chance, recoveries, rates = random.Random(seed), [], {}

    def timed(watch, name, act):
        watch.wait_for_steps(LEAST_STEPS)
        begin, first = time.monotonic(), watch.step
        act(watch, begin)
        rates[name] = (watch.step - first) / (time.monotonic() - begin)

    def disturb(watch, begin):
        for loss in range(losses):
            kind = kinds[loss % len(kinds)]
            watch.wait_for_steps(LEAST_STEPS + chance.randint(0, MORE_STEPS))
            watch.wait_until_time(begin + every * (loss + 1))
            recoveries.append(one := watch.kill_and_watch(kind, chance.randint(1, workers)))
            say(f"loss {loss + 1} of {losses}: {kind}, {one.before_replay:.2f} s, then {one.replay:.2f} s to repeat {one.redone} steps")
        watch.wait_until_time(begin + every * (losses + 1))

    for name in ("before", "disturbed", "after") if every else ("disturbed",):
        act = disturb if name == "disturbed" else lambda watch, begin: watch.wait_until_time(begin + every)
        with_run(words, outdir, name, lambda watch, name=name, act=act: timed(watch, name, act))
    return Recoveries(recoveries, rates.get("disturbed", 0), [rates.get(name, 0) for name in ("before", "after")] if every else [])


def text_of(found: Recoveries, kinds=KINDS) -> str:
    rows = []
    for kind in kinds:
        own = [one for one in found.recoveries if one.kind == kind]
        figures = [("fence", 50), ("start", 50), ("restore", 50), ("first_step", 50), ("before_replay", 50), ("before_replay", 99),
                   ("replay", 50), ("redone", 50)]
        if own:
            rows.append([kind, str(len(own)), *(f"{percentile([getattr(one, name) for one in own], p):.2f}" for name, p in figures)])
    titles = ["killed", "losses", "detect, fence", "start", "restore", "first step", "before replay", "p99", "replay", "steps again"]
    text = table(titles, rows, left=1)
    if found.undisturbed:
        before, after = found.undisturbed
        share = 200 * found.rate / (before + after) if before + after else 0
        text += f"goodput: {found.rate:.3f} new steps a second, against {before:.3f} and {after:.3f} undisturbed: {share:.1f} %\n"
    return text


def bench_recovery(keys=(), *, size: int = 50, workers: int = 3, hostfile: str | None = None, outdir: str | None = None, kinds=KINDS,
                   losses: int = 30, every: float = 0, seed: int = 1, anyway: bool = False, say=lambda line: None) -> Recoveries:
    """Measures recoveries. @param size  MB of state; outdir: None: temporary; kinds: killed in turn; every: seconds between kills, 0: none"""
    with kept_folder(outdir) as folder:
        require_quiet_machine(anyway)
        job = folder / "recovery.yaml"
        # The run outlasts any measurement; each step is a tick.
        job.write_text(job_text(size, workers, training={"kimg": 1_000_000}, output={"tick_kimg": 1e-9}))
        words = [job, *keys, "-n", workers, *(["--hostfile", os.path.abspath(hostfile)] if hostfile else [])]
        found = recoveries_of(words, folder, workers=workers, kinds=kinds, losses=losses, every=every, seed=seed, say=say)
    require_quiet_machine(anyway=True)
    return found


def command(words: list[str]) -> None:
    parser = parser_of("recovery", "recovery\nrecovery --every 60 --losses 5")
    parser.add_keys()
    parser.add_count("--size", default=50, most=100_000, what="size of the state, in MB")
    parser.add_count("-n", "--workers", default=3, what="workers")
    parser.add_argument("--hostfile", help="hosts whose processes can be killed from here, as those of tests/cluster/run")
    parser.add_argument("--outdir", help="folder that keeps the runs, shared by all hosts; default: a temporary folder")
    parser.add_argument("--kinds", type=listed(one_of(*KINDS)), default=KINDS, help=f"processes to kill, in this order ({','.join(KINDS)})")
    parser.add_count("--losses", default=30, what="kills")
    parser.add_argument("--every", type=number(0), default=0, metavar="SECONDS",
                        help="seconds between kills; adds the goodput; 0: no pause (%(default)s)")
    parser.add_count("--seed", least=0, default=1, what="seed of ranks and moments")
    line = parser.parse_intermixed_args(words)
    found = bench_recovery(**vars(line), say=say)
    print(f"\nseconds, medians except p99:\n{text_of(found, line.kinds)}", end="")
