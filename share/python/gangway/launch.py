# SPDX-License-Identifier: MIT
"""Runs `gangway run` as a subprocess."""
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

from gangway import job_file
from gangway.entry import PREFIX
from gangway.errors import Failed, complaints

# Installed, this file is PREFIX/share/gangway/python/gangway/launch.py; in a checkout share/python/gangway/launch.py.
_NEARBY = [*([PREFIX / "bin/gangway"] if PREFIX else []), *(Path(__file__).resolve().parents[up] / folder / "gangway" for up, folder in ((4, "bin"), (3, "build/release/bin")))]
_LAST_LINES = 2.0  # seconds that the last lines may take after the command's end


def program() -> str:
    """Finds the command gangway in $GANGWAY_BIN (a folder), on PATH, or beside this package."""
    folder = os.environ.get("GANGWAY_BIN")
    candidates = [Path(folder) / "gangway"] if folder else [Path(shutil.which("gangway") or ""), *_NEARBY]
    for candidate in candidates:
        if candidate.is_file() and os.access(candidate, os.X_OK):
            return str(candidate.absolute())
    raise Failed("the command gangway was not found: build it (./launch/build), or put its folder on PATH or into GANGWAY_BIN", 6)


def typed_program() -> str:
    """Returns the command gangway as the user typed it, for commands that are printed."""
    return os.environ.get("GANGWAY_TYPED") or program()


def run(job, workers: int = 2, *, name: str | None = None, outdir="runs", quiet: bool = False, options=(), **keys) -> "Run":
    """Trains a job and returns its run, opened. Resumes a run of this name that has stopped.

    @param job  a job file, or a dict of sections, whose paths are relative to the current folder
    @param name  the run's name; None: the job file's
    @param quiet  whether the command's output is dropped
    @param options  more words for the command line, as ["--hostfile", "hosts"]
    @param keys  keys of the job, by section: training={"kimg": 80}; or **{"training.kimg": 80}
    Raises Failed with the command's error line and exit code (docs/run-directory.md).
    """
    from gangway.opened import open_run  # imported here: it loads NumPy
    with tempfile.TemporaryDirectory(prefix="gangway-job-") as folder:
        if isinstance(job, dict):
            name, sections, job = name or "from-python", job, Path(folder) / "job.yaml"
            job.write_text(job_file.text_of(sections))
        words = [program(), "run", job, "-n", workers, "--outdir", outdir, *(["--run", name] if name else []), *options]
        code, said, errors = _carried_out([*map(str, words), *job_file.words(keys)], quiet)
    if code != 0:
        why = complaints(errors)
        raise Failed(why[-1] if why else f"gangway run ended with {code}" + (f": {errors[-1]}" if errors else ""), code)
    begun = [found[1] for line in said if (found := re.match(r"gangway \S+ +run (.+)", line))]
    finished = [found[1] for line in said if (found := re.match(r"finished: (.+) reached ", line))]
    if not begun + finished:
        raise Failed("gangway run trained nothing: " + " ".join(map(str, options)))
    return open_run((begun + finished)[0])


def _carried_out(words: list[str], quiet: bool) -> tuple[int, list[str], list[str]]:
    """Runs the command, prints its lines as they come, and returns (exit code, stdout, stderr).
    Ctrl-C sends it SIGINT and waits until it has saved; a second Ctrl-C does not wait."""
    process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               errors="replace")
    kept: tuple[list[str], list[str]] = ([], [])

    def tell(pipe, lines, to):
        for line in pipe:
            lines.append(line.rstrip("\n"))
            if not quiet:
                print(lines[-1], file=to, flush=True)

    threads = [threading.Thread(target=tell, args=(pipe, lines, to), daemon=True)
               for pipe, lines, to in zip((process.stdout, process.stderr), kept, (sys.stdout, sys.stderr))]
    for thread in threads:
        thread.start()
    try:
        process.wait()
    except KeyboardInterrupt:
        process.send_signal(signal.SIGINT)
        process.wait()
        raise
    for thread in threads:  # a hung rank may hold the pipes open
        thread.join(timeout=_LAST_LINES)
    return process.returncode, *kept
