# SPDX-License-Identifier: MIT
"""Stores the results of tests/gpu/run: each row is on the disk before the next step begins. A step that raises, fails or hangs
does not affect the others.
"""
import ctypes
import json
import os
import signal
import subprocess
import tempfile
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Callable

COMMAND_SECONDS = 90
KILLED = 124
PASS, FAIL, SKIPPED = "pass", "fail", "skipped"
PR_SET_CHILD_SUBREAPER = 36


class Skip(Exception):
    """This machine lacks a requirement of the step."""


class Failure(Exception):
    """A step's result is wrong."""


@dataclass
class Row:
    name: str
    outcome: str
    seconds: float
    note: str = ""
    data: dict = field(default_factory=dict)

    def __str__(self):
        return f"{self.name:<58} {self.outcome:<7} {self.seconds:7.1f} s  {self.note}".rstrip()


@dataclass
class Step:
    """Makes one row. `show` returns a note, or a note and data; it raises Skip, Failure, or any other exception."""
    part: str     # A is reported first
    group: str    # alternative name for --parts
    name: str
    seconds: int  # rough duration
    show: Callable
    needs: tuple = ()  # names of steps that must have passed


@dataclass
class Finished:
    code: int
    output: str
    seconds: float

    def require(self):
        """@raise Failure with the last line of the output"""
        if self.code != 0:
            lines = [line for line in self.output.splitlines() if line.strip()]
            raise Failure(f"exit code {self.code}: {lines[-1] if lines else 'said nothing'}")
        return self


def descendants(pid):
    """Returns all processes below `pid`: launchers put their ranks into other process groups."""
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                pass  # it has ended meanwhile
    found = [pid]
    for ancestor in found:
        found += [child for child, parent in parents.items() if parent == ancestor]
    return found[1:]


def end_all_children():
    """Kills all living processes that were started here, also orphans."""
    for _ in range(50):
        alive = descendants(os.getpid())
        for pid in alive:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        try:
            while os.waitpid(-1, os.WNOHANG)[0] != 0:
                pass
        except ChildProcessError:
            return
        time.sleep(0.02)


class Bench:
    """Runs commands within the remaining time, and keeps the output of failed ones."""

    def __init__(self, folder, deadline_seconds, command_seconds=COMMAND_SECONDS):
        self.folder = Path(folder)
        self.end = time.monotonic() + deadline_seconds
        self.command_seconds = command_seconds
        self.data = {}  # of all rows so far, by name
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)  # orphans become children of this process

    def left(self):
        return self.end - time.monotonic()

    def run(self, command, stdin="", seconds=None, cwd=None, stop_at=None, **environment):
        """Ends the command and all processes below it at its deadline. Its output goes through a file, because hanging ranks would
        keep a pipe open. @param stop_at  returns whether the output so far suffices
        """
        limit = max(1.0, min(seconds or self.command_seconds, self.left()))
        begin = time.monotonic()
        with tempfile.TemporaryFile() as said, tempfile.TemporaryFile("w+") as given:
            given.write(stdin)
            given.seek(0)
            process = subprocess.Popen([str(word) for word in command], stdin=given, stdout=said, stderr=subprocess.STDOUT,
                                       start_new_session=True, cwd=cwd, env={**surroundings(), **environment})

            def output():
                return os.pread(said.fileno(), 1 << 26, 0).decode(errors="replace")

            code = None
            while code is None and time.monotonic() - begin < limit and not (stop_at and stop_at(output())):
                try:
                    code = process.wait(0.05)
                except subprocess.TimeoutExpired:
                    pass
            ended = "" if code is not None or (stop_at and stop_at(output())) else f"\nended after {limit:.0f} s\n"
            end_all_children()
            text = output() + ended
        finished = Finished(KILLED if ended else code or 0, text, time.monotonic() - begin)
        if finished.code != 0:
            self.keep(command, finished)
        return finished

    def keep(self, command, finished):
        with open(self.folder / "output.txt", "a", encoding="utf-8") as file:
            file.write(f"--- {' '.join(map(str, command))}: {finished.code}\n{finished.output[-20000:]}\n")


def surroundings():
    """Sets variables of all commands: only the loopback network, and mpirun may run as root."""
    return {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "NCCL_DEBUG": "WARN",
            "NCCL_SOCKET_IFNAME": "lo", **os.environ}


class Rows:
    """Writes rows.jsonl: one row a line, synced at once."""

    def __init__(self, file, goes_on, before=None):
        """@param goes_on  with the existing rows. @param before  a file of rows to begin with"""
        self.file = Path(file)
        self.file.parent.mkdir(parents=True, exist_ok=True)
        if before is not None:
            self.file.write_bytes(before.read_bytes())
        elif not goes_on:
            self.file.unlink(missing_ok=True)
        self.before = [row for row in self.read() if row.outcome != SKIPPED]
        self.made = []

    def read(self):
        """A line that a kill has cut off does not count."""
        found = []
        for line in self.file.read_text().splitlines() if self.file.is_file() else []:
            try:
                found.append(Row(**json.loads(line)))
            except (ValueError, TypeError):
                pass
        return found

    def add(self, row):
        self.made.append(row)
        print(row, flush=True)
        with open(self.file, "a+", encoding="utf-8") as file:
            cut_off = self.file.stat().st_size > 0 and not self.file.read_bytes().endswith(b"\n")
            file.write(("\n" if cut_off else "") + json.dumps(asdict(row)) + "\n")
            file.flush()
            os.fsync(file.fileno())


def make_row(step, bench):
    begin = time.monotonic()
    outcome, data = PASS, {}
    try:
        shown = step.show(bench)
        note, data = shown if isinstance(shown, tuple) else (shown, {})
    except Skip as reason:
        outcome, note = SKIPPED, str(reason)
    except Failure as failure:
        outcome, note = FAIL, str(failure)
    except Exception as error:  # an error of the step itself must not stop the others
        outcome, note = FAIL, f"{type(error).__name__}: {error}"
    return Row(step.name, outcome, round(time.monotonic() - begin, 2), " ".join(note.split())[:300], data)


def take_steps(steps, bench, rows):
    """Makes the missing rows of `steps`. Returns the steps for which there was no time."""
    passed = {row.name for row in rows.before if row.outcome == PASS}
    there = {row.name for row in rows.before}
    bench.data |= {row.name: row.data for row in rows.before}
    late = []
    for step in steps:
        if step.name in there:
            continue
        missing = [name for name in step.needs if name not in passed]
        if bench.left() < min(step.seconds, bench.command_seconds):
            late.append(step)
            continue
        row = Row(step.name, SKIPPED, 0.0, f"needs '{missing[0]}'") if missing else make_row(step, bench)
        rows.add(row)
        bench.data[row.name] = row.data
        if row.outcome == PASS:
            passed.add(row.name)
    return late
