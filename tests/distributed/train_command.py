# SPDX-License-Identifier: MIT
"""Runs the gangway command with real workers for the tests of this folder."""
import contextlib
import inspect
import io
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

from clean_environment import environment

PROGRAMS = Path(os.environ["GANGWAY_BIN"]).resolve()
GANGWAY = str(PROGRAMS / "gangway")
EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
PACKAGE = EXAMPLES.parent / "share/python"
sys.path.insert(0, str(PACKAGE))
DEADLINE = 400  # seconds; a hang is a failure
LAST_WORDS = 4000  # characters of output in a failed test's message


def write_classes(file, *classes, imports=""):
    """Returns a Python file with only these classes of a test."""
    file.write_text("import torch\nfrom torch import nn\n" + imports + "\n\n" + "\n\n".join(map(inspect.getsource, classes)))


def descendants(pid):
    """Returns all processes below `pid`, and itself: mpirun puts its ranks into other process groups."""
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
    return found


def segments_of(pids):
    """Returns shared memory of Open MPI and host groups that these processes have mapped, without snapshots."""
    found = set()
    for pid in pids:
        try:
            found |= set(re.findall(r"/dev/shm/(?:vader_segment|gangway-)\S+", Path(f"/proc/{pid}/maps").read_text()))
        except OSError:
            pass  # it has ended by itself
    return found


def kill_all(process):
    """Kills a started command and all processes below it, launcher and ranks, by SIGKILL. Removes their shared memory, because
    no process is left to do so, and the next start would only do it a minute later."""
    pids = descendants(process.pid)
    segments = segments_of(pids)
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass  # it has ended by itself
    process.wait()
    for segment in segments:
        Path(segment).unlink(missing_ok=True)


def snapshot_files(folder):
    """Returns the snapshot files in shared memory of runs in `folder`."""
    def head(file):
        try:
            with open(file, "rb") as content:
                return content.read(65536)
        except FileNotFoundError:
            return b""  # another run's, which has ended meanwhile

    return [file for file in Path("/dev/shm").glob("gangway.snap-*") if str(folder).encode() in head(file)]


class Running:
    """Runs a command beside its test. Its output goes to a file, because hanging ranks would keep pipes open."""

    def __init__(self, words, folder, deadline, name, **variables):
        self.file = folder / name
        self.deadline = deadline
        with open(self.file, "w") as out:
            self.process = subprocess.Popen([str(word) for word in words], cwd=folder, stdout=out, stderr=out,
                                            env=environment(**variables))

    def said(self):
        return self.file.read_text()

    def wait_until(self, condition, what):
        """Waits until `condition` returns a true value, and returns that."""
        end = time.monotonic() + self.deadline
        while True:
            is_over = self.process.poll() is not None or time.monotonic() > end
            if result := condition():
                return result
            if is_over:
                how = "goes on" if self.process.poll() is None else f"ended with {self.process.poll()}"
                raise AssertionError(f"{what} never came; the command {how}, and said last:\n{self.said()[-LAST_WORDS:]}")
            time.sleep(0.005)

    def wait_for(self, pattern, after=0):
        """Waits for a match of the regular expression at or after place `after`. Returns the place after the match."""
        expression = re.compile(pattern, re.MULTILINE)
        return self.wait_until(lambda: expression.search(self.said(), after), f"'{pattern}'").end()

    def send(self, number):
        self.process.send_signal(number)

    def end(self):
        """Waits. Returns the exit code."""
        return self.process.wait(timeout=self.deadline)

    def kill_all(self):
        if self.process.poll() is None:
            kill_all(self.process)


class Trainings(unittest.TestCase):
    """Gives each test a folder, with its runs in `runs`."""

    deadline = DEADLINE
    alone = {}  # digests by the words of their jobs

    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="gangway-test-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        # Snapshots that failed runs keep.
        self.addCleanup(lambda: [file.unlink(missing_ok=True) for file in snapshot_files(self.folder)])

    def call(self, *words, **variables):
        """Runs a command. Returns (exit code, standard output, standard error)."""
        with open(self.folder / "out", "w+") as out, open(self.folder / "err", "w+") as err:
            process = subprocess.Popen([str(word) for word in words], cwd=self.folder, stdout=out, stderr=err,
                                       env=environment(**variables))
            self.addCleanup(lambda: process.poll() is None and kill_all(process))
            code = process.wait(timeout=self.deadline)
            out.seek(0)
            err.seek(0)
            return code, out.read(), err.read()

    def start(self, *words, name="said", by=(), **variables):
        """Starts a gangway command beside the test. @param by  command that starts it"""
        running = Running([*by, GANGWAY, *words], self.folder, self.deadline, name, **variables)
        self.addCleanup(running.kill_all)
        return running

    def train(self, job, *arguments, run, workers):
        """Runs `gangway run` to its end; fails the test unless it succeeds."""
        code, out, err = self.call(GANGWAY, "run", job, "-n", workers, "--run", run, *arguments)
        self.assertEqual(code, 0, out + err)

    def digest_alone(self, *job):
        """Returns the digest of the job on one undisturbed worker, for comparison. Trained once per program.
        @param job  its words; files that they name must be the same in each test that uses them"""
        if job not in Trainings.alone:
            self.train(*job, run="undisturbed", workers=1)
            Trainings.alone[job] = self.digest("undisturbed")
        return Trainings.alone[job]

    def refused(self, code, *words, says, **variables):
        """Runs a gangway command that must end with `code` and one line with all words of `says`. Returns its output."""
        got, out, err = self.call(GANGWAY, *words, **variables)
        self.assertEqual(got, code, out + err)
        lines = [line for line in err.splitlines() if line.startswith("gangway: ")]
        self.assertEqual(len(lines), 1, err)
        for word in says:
            self.assertIn(word, lines[0])
        return out

    def folder_of(self, run):
        """Returns the digest of the run of that name."""
        found, = (self.folder / "runs").glob(f"*-{run}")
        return found

    def replay(self, run, step):
        """Replays the step in PyTorch alone (docs/reference-step.md); the next one if a slow disk has skipped a checkpoint."""
        there = {int(path.name[5:]) for path in self.folder.glob(f"runs/*-{run}/checkpoints/step-?????????")} | {0}
        alike = [one for one in range(max(there)) if {one, one + 1} <= there]
        self.assertTrue(alike, f"no two checkpoints one step apart: {sorted(there)}")
        code, said = self.reference(self.folder_of(run), min(alike, key=lambda one: abs(one - step)))
        self.assertEqual(code, 0, said)
        self.assertRegex(said, "equal in every bit\n$")

    def reference(self, *words):
        """Returns (exit code, output) of `python -m gangway.reference` in this process, which loads PyTorch once."""
        from gangway.reference.__main__ import main
        said, path = io.StringIO(), sys.path[:]
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            code = main([str(word) for word in words])
        sys.path[:] = path
        for name, module in list(sys.modules.items()):  # the next run has other files of these names
            if str(self.folder) in (getattr(module, "__file__", None) or ""):
                del sys.modules[name]
        return code, said.getvalue()

    def digest(self, run):
        code, out, err = self.call(GANGWAY, "digest", run)
        self.assertEqual(code, 0, err)
        self.assertRegex(out, r"^[0-9a-f]{32}\b")
        return out.split()[0]


class Shared:
    """A base before Trainings: the tests of a class share a folder, and what `begin_for_all` starts in it."""

    @classmethod
    def setUpClass(cls):
        cls.owner = cls()
        cls.addClassCleanup(cls.owner.doCleanups)
        cls.owner.setUp()
        cls.begin_for_all()

    def setUp(self):
        if self is self.owner:
            super().setUp()
        else:
            self.folder = self.owner.folder
