# SPDX-License-Identifier: MIT
"""Common parts of all steps of the first hour: commands with a deadline, and forbidden results. A step gets an Hour, starts
commands with it, and names their permitted ends. A mark in the environment identifies the processes."""
import os
import random
import re
import shlex
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "distributed"))

from clean_environment import environment  # noqa: E402

MARK = "FIRST_HOUR_OF"
DEADLINE = 400  # seconds of a command; a hang is a failure, a slow machine is not
LEAVE = 10  # seconds until all processes of a killed command are gone
# Words that no output may have.
WOUNDS = re.compile(r"Traceback|terminate called|Assertion|Aborted|dumped core|core dumped|Segmentation|what\(\):|"
                    r"Process received signal|AddressSanitizer|gangway: internal|please report|std::|c10::|"
                    r"\[\[[0-9]+,[0-9]+\]|MPI_ERR|PMIX ERROR|PRTE ERROR|ORTE_ERROR_LOG|unhandled")
# docs/run-directory.md; 75, 130 and 143 after a signal.
KNOWN_CODES = {0, 2, 3, 4, 5, 6, 75, 129, 130, 131, 143}

RING = """\
model: {family: mlp, width: 32, latent: 2}
data: {source: "toy:ring8"}
training: {kimg: 6.4, batch: 64, microbatches: 4}
checkpoint: {every_kimg: 0, every_steps: 40, snapshot_steps: 10}
output: {tick_kimg: 1.28, pictures_kimg: 0}
"""  # 100 steps


class Problem(AssertionError):
    """A result of which a new user would complain."""


class Skip(Exception):
    """This machine does not allow the step."""


@dataclass
class Ended:
    words: list
    code: int
    out: str
    err: str
    seconds: float

    def lines(self):
        """The error lines of gangway."""
        return [line for line in self.err.splitlines() if line.startswith("gangway: ")]

    def described(self):
        said = "".join(f"\n    {line}" for line in (self.out + self.err).splitlines()[-25:])
        return f"{shlex.join(self.words)}\n    exit code {self.code} after {self.seconds:.1f} s{said}"


class Hour:
    """A new user with a seed, a folder and a random generator."""

    def __init__(self, seed, programs, folder):
        self.random = random.Random(seed)
        self.programs = programs
        self.gangway = str(programs / "gangway")
        self.folder = folder
        self.mark = f"{os.getpid()}-{seed}"
        self.notes = []
        self.mounts = []  # to be unmounted after the step
        self.outputs = 0

    def note(self, text):
        """Adds words to the report's line of this step."""
        self.notes.append(str(text))

    def variables(self, more):
        """Returns an environment; None removes a variable."""
        variables = environment(**{MARK: self.mark}) | {key: str(value) for key, value in more.items()}
        return {key: value for key, value in variables.items() if more.get(key, "") is not None}

    def job(self, text=RING, name="job.yaml"):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def outputs_of(self):
        self.outputs += 1
        return self.folder / f"out-{self.outputs}", self.folder / f"err-{self.outputs}"

    def start(self, *words, cwd=None, stdin=subprocess.DEVNULL, before=None, terminal=None, **variables):
        """Starts a command. Its output goes to files, because leftover processes would keep pipes open, or to a terminal. @param
        before  is called in the new process"""
        words = [str(word) for word in words]
        out, err = self.outputs_of()
        with open(out, "w") as out_file, open(err, "w") as err_file:
            process = subprocess.Popen(words, cwd=cwd or self.folder, stdin=terminal or stdin, stdout=terminal or out_file,
                                       stderr=terminal or err_file, env=self.variables(variables),
                                       start_new_session=True, preexec_fn=before)
        process.words, process.out, process.err, process.begin = words, out, err, time.monotonic()
        return process

    def end(self, process, deadline=DEADLINE):
        try:
            code = process.wait(timeout=deadline)
        except subprocess.TimeoutExpired:
            listing = self.listing()
            said = process.out.read_text(errors="replace") + process.err.read_text(errors="replace")
            self.end_all()
            raise Problem(f"a hang: {shlex.join(process.words)} has not ended after {deadline} s\n{said}\n{listing}") from None
        code = 128 - code if code < 0 else code  # a shell's code
        ended = Ended(process.words, code, process.out.read_text(errors="replace"), process.err.read_text(errors="replace"),
                      time.monotonic() - process.begin)
        if wound := WOUNDS.search(ended.out + ended.err):
            raise Problem(f"'{wound[0]}' in what was said by {ended.described()}")
        return ended

    def call(self, *words, deadline=DEADLINE, **how):
        return self.end(self.start(*words, **how), deadline)

    def run(self, *words, **how):
        return self.call(self.gangway, "run", *words, **how)

    def expect(self, ended, *codes, says=()):
        """The command must have ended with one of `codes`: without an error, or with one clear line that has `says`."""
        if ended.code not in codes or ended.code not in KNOWN_CODES:
            raise Problem(f"not exit code {' or '.join(str(code) for code in codes)}: {ended.described()}")
        if ended.code in (2, 3, 4, 5, 6):
            lines = ended.lines()
            if len(lines) != 1:
                raise Problem(f"{len(lines)} lines instead of one: {ended.described()}")
            for word in [says] if isinstance(says, str) else says:
                if not re.search(word, lines[0]):
                    raise Problem(f"nothing of '{word}' in: {ended.described()}")
        return ended

    def digest(self, run):
        return self.expect(self.call(self.gangway, "digest", run), 0).out.split()[0]

    # Leftovers.

    def marked(self):
        """Returns the living processes of this user's commands."""
        mark = f"{MARK}={self.mark}".encode()
        found = []
        for entry in Path("/proc").iterdir():
            if not entry.name.isdigit():
                continue
            try:
                if mark in (entry / "environ").read_bytes().split(b"\0") and "\nState:\tZ" not in (entry / "status").read_text():
                    found.append(int(entry.name))
            except OSError:
                pass  # it has ended meanwhile, or is another user's
        return found

    def listing(self):
        found = self.marked()
        return subprocess.run(["ps", "-o", "pid,ppid,stat,etime,args", "-p", ",".join(map(str, found)) or "0"],
                              capture_output=True, text=True).stdout

    def end_all(self):
        for pid in self.marked():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass

    def require_nobody(self, within=LEAVE):
        """All processes of earlier commands must be gone, or end soon."""
        end = time.monotonic() + within
        while self.marked():
            if time.monotonic() > end:
                listing = self.listing()
                self.end_all()
                raise Problem(f"left behind after {within} s:\n{listing}")
            time.sleep(0.02)
