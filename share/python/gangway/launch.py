# SPDX-License-Identifier: MIT
"""Runs `gangway run` as a subprocess."""
import contextlib
import ctypes
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
from gangway.classes import Classes, is_given
from gangway.entry import PREFIX
from gangway.errors import ENVIRONMENT, Failed, complaints
from gangway.progress import Progress

# Installed, this file is PREFIX/share/gangway/python/gangway/launch.py; in a checkout share/python/gangway/launch.py.
_NEARBY = [*([PREFIX / "bin/gangway"] if PREFIX else []), *(Path(__file__).resolve().parents[up] / folder / "gangway" for up, folder in ((4, "bin"), (3, "build/release/bin")))]
_LAST_LINES = 2.0   # seconds that the last lines may take after the command's end
_SAVE_LIMIT = 600   # seconds that a last checkpoint may take after Ctrl-C
_END_LIMIT = 30     # seconds until a command that was asked twice is killed
PR_SET_PDEATHSIG = 1


def program() -> str:
    """Finds the command gangway in $GANGWAY_BIN (a folder), on PATH, or beside this package."""
    folder = os.environ.get("GANGWAY_BIN")
    candidates = [Path(folder) / "gangway"] if folder else [Path(shutil.which("gangway") or ""), *_NEARBY]
    for candidate in candidates:
        if candidate.is_file() and os.access(candidate, os.X_OK):
            return str(candidate.absolute())
    raise Failed("the command gangway was not found: build it (./launch/build), or put its folder on PATH or into GANGWAY_BIN", ENVIRONMENT)


def typed_program() -> str:
    """Returns the command gangway as the user typed it, for commands that are printed."""
    return os.environ.get("GANGWAY_TYPED") or program()


def run(job=None, workers: int = 2, *, name: str | None = None, outdir="runs", quiet: bool = False, options=(), **keys) -> "Run":
    """Trains a job and returns its run, opened. Resumes a run of this name that has stopped.
    @param job  a job file, or a dict of sections, whose paths are relative to the current folder
    @param name  the run's; None: the job file's; quiet: drops the command's output; options: more words, as ["--hostfile", "hosts"]
    @param keys  keys of the job, by section: training={"kimg": 80}; or **{"training.kimg": 80}. A network is a class, or a class with
    arguments: generator=Net, generator=(Net, {"width": 64}); so are step=Distil and data=Faces; data="images:faces.zip" names pictures.
    Raises Failed with the command's error line and exit code (docs/run-directory.md)."""
    from gangway.opened import open_run  # imported here: it loads NumPy
    with tempfile.TemporaryDirectory(prefix="gangway-job-") as folder:
        classes = Classes(Path(folder))
        keys = {key: classes.named(value, key) for key, value in map(_key_of, keys, keys.values())}
        if job is None or isinstance(job, dict):
            name, sections, job = name or "from-python", classes.named(job or {}, "job"), Path(folder) / "job.yaml"
            job.write_text(job_file.text_of(sections))
        words = [program(), "run", job, "-n", workers, "--outdir", outdir, *(["--run", name] if name else []), *options]
        code, said, errors = _carried_out([*map(str, words), *job_file.words(keys)], quiet, classes.told)
    if code != 0:
        why = complaints(errors)
        raise Failed(why[-1] if why else f"gangway run ended with {code}" + (f": {errors[-1]}" if errors else ""), code)
    begun = [found[1] for line in said if (found := re.match(r"gangway \S+ +run (.+)", line))]
    finished = [found[1] for line in said if (found := re.match(r"finished: (.+) reached ", line))]
    if not begun + finished:
        raise Failed("gangway run trained nothing: " + " ".join(map(str, options)))
    return open_run((begun + finished)[0])


def _key_of(key: str, value) -> tuple[str, object]:
    """Returns a key of the job: that of a network, the step or the data where no section is meant."""
    if "." in key or isinstance(value, dict):
        return key, value
    if not isinstance(value, str) and not is_given(value):
        raise Failed(f"{key}: {type(value).__name__} is no section of a job, no class, and no class with arguments as (Net, "
                     "{'width': 64}); each worker makes its own object of a class")
    return {"data": "data.source", "step": "training.step"}.get(key, f"model.{key}"), value


@contextlib.contextmanager
def _held_interrupt():
    """Holds Ctrl-C back, whose KeyboardInterrupt would lose a process that is being started. Yields a list of those that came."""
    came: list[int] = []
    is_main = threading.current_thread() is threading.main_thread()  # only there do handlers run
    before = signal.signal(signal.SIGINT, lambda number, _: came.append(number)) if is_main else None
    try:
        yield came
    finally:
        if is_main:
            signal.signal(signal.SIGINT, before or signal.SIG_DFL)


def _carried_out(words: list[str], quiet: bool, told) -> tuple[int, list[str], list[str]]:
    """Runs the command, shows its lines, each as `told` returns it, and returns (exit code, stdout, stderr). The command gets SIGTERM,
    and saves, when this thread ends. Ctrl-C sends it SIGINT and waits until it has saved; again: a second SIGINT."""
    kept: tuple[list[str], list[str]] = ([], [])
    threads: list[threading.Thread] = []
    set_option, parent = ctypes.CDLL(None).prctl, os.getpid()

    def in_child():
        set_option(PR_SET_PDEATHSIG, signal.SIGTERM)
        if os.getppid() != parent:
            os._exit(ENVIRONMENT)  # the parent died before prctl()

    def tell(pipe, lines, to):
        for line in pipe:
            lines.append(told(line.rstrip("\n")))
            if not quiet:
                shown.tell(lines[-1], to)

    with Progress() as shown:
        # A session of its own: a terminal's Ctrl-C would reach it beside the signal from here.
        with _held_interrupt() as came:
            process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                       errors="replace", start_new_session=True, preexec_fn=in_child)
        try:
            if came:
                raise KeyboardInterrupt
            for pipe, lines, to in zip((process.stdout, process.stderr), kept, (sys.stdout, sys.stderr)):
                threads.append(threading.Thread(target=tell, args=(pipe, lines, to), daemon=True))
                threads[-1].start()
            process.wait()
        except BaseException:
            _stop(process)
            raise
        finally:
            for thread in threads:  # a hung rank may hold the pipes open
                thread.join(timeout=_LAST_LINES)
    return process.returncode, *kept


def _stop(process: subprocess.Popen) -> None:
    """Asks the command to save and end, then to end, then kills it."""
    for limit in (_SAVE_LIMIT, _END_LIMIT):
        process.send_signal(signal.SIGINT)
        try:
            process.wait(limit)
            return
        except (KeyboardInterrupt, subprocess.TimeoutExpired):
            continue
    process.kill()
    process.wait()
