# SPDX-License-Identifier: MIT
"""Resolves jobs, and runs commands whose runs are measured and end with the tool. Main thread."""
import contextlib
import ctypes
import fcntl
import json
import math
import os
import shlex
import shutil
import signal
import stat
import statistics
import subprocess
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from gangway import job_file
from gangway.errors import ENVIRONMENT, Failed, complaints
from gangway.launch import PR_SET_PDEATHSIG, program

DIVERGED = 4                  # an exit code
LAST_CHARACTERS = 2000        # of the output of a failed run
TOLD_AGAIN = 0.2              # seconds between repeated signals to a run that has nothing to save
STOPPED_LIMIT = 3             # seconds of SIGSTOP after which a measurement is worthless
LAST_LIMIT = 10               # seconds after a signal until a command is killed
ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
SCRATCH = "gangway-scratch-"  # prefix of folders, as in launch/process/temporary_folder.cpp
YOUNG = 60                    # seconds: a younger folder of C++ may not be locked yet
# Overrides the job: scores and new starts would take time of the measured cores.
PLAIN = ["checkpoint.keep_best=0", "evaluation.every_kimg=0", "layout.balance=off", "layout.restarts=0"]


def prepared(job, keys=(), environment: dict | None = None, text: str | None = None, workers: int | None = None) -> dict:
    """Returns `gangway job JOB KEYS --json`: resolved "job" by section, its "yaml", derived values. @param job  file, or checkpoint's folder
    @param environment  None: this process's; text: replaces the job file's content; workers: adds their memory. Raises Failed with its error."""
    words = [program(), "job", str(job), *keys, "--json", *(["--stdin"] if text is not None else []),
             *(["-n", str(workers)] if workers else [])]
    done = subprocess.run(words, input=text or "", capture_output=True, text=True, errors="surrogateescape", env=environment)
    if done.returncode != 0:
        raise Failed("\n".join(complaints(done.stderr.splitlines())) or f"gangway job ended with {done.returncode}", done.returncode)
    told = json.loads(done.stdout)
    return {**told, "yaml": told["job"], "job": job_file.parse(told["job"], str(job))}


_noted: list[int] = []  # termination signals that no Failed has reported yet


def heed() -> None:
    """Raises Failed if a termination signal came."""
    if _noted:
        came = _noted[0]
        _noted.clear()
        raise Failed("stopped by a signal; nothing is left behind", 128 + came)


@contextlib.contextmanager
def noted_requests():
    """Notes SIGINT, SIGTERM, SIGHUP unless ignored; heed(), output_of(), the exit raise Failed."""
    before = {number: signal.signal(number, lambda number, frame: _noted.append(number))
              for number in ENDING if signal.getsignal(number) != signal.SIG_IGN}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        heed()


class OutOfTime(Failed):
    """Raised when the time of time_limit() is over."""


class TimeLimit(NamedTuple):
    begin: float  # monotonic seconds
    end: float

    @property
    def seconds_taken(self) -> float:
        return time.monotonic() - self.begin

    @property
    def seconds_left(self) -> float:
        return max(0.0, self.end - time.monotonic())


_limit = TimeLimit(-math.inf, math.inf)


@contextlib.contextmanager
def time_limit(seconds: float):
    """Limits the time of the block's commands: ends them when it is over, raising OutOfTime."""
    global _limit
    before, now = _limit, time.monotonic()
    _limit = TimeLimit(now, now + seconds)
    try:
        yield _limit
    finally:
        _limit = before


class Output(NamedTuple):
    code: int
    text: str


def _require_time() -> None:
    heed()
    if not _limit.seconds_left:
        raise OutOfTime("the time is over", 128 + signal.SIGTERM)


def output_of(words: list[str], environment: dict, insists: bool = True) -> Output:
    return outputs_of([words], environment, insists)[0]


def outputs_of(commands: list[list[str]], environment: dict, insists: bool = True) -> list[Output]:
    """Runs commands at the same time, each in its own session, and waits for their ends. Passes on SIGINT, SIGTERM and SIGHUP unless
    ignored. Commands get SIGTERM when this process dies. Raises Failed after a signal or if a command stays stopped; else OutOfTime.
    @param insists  repeats the signal and kills at last; for runs with nothing to save"""
    ending = {number for number in ENDING if signal.getsignal(number) != signal.SIG_IGN}
    before, parent = signal.pthread_sigmask(signal.SIG_BLOCK, {*ending, signal.SIGCHLD}), os.getpid()

    def in_child():
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
        if os.getppid() != parent:
            os._exit(ENVIRONMENT)  # the parent died before prctl()
        signal.pthread_sigmask(signal.SIG_SETMASK, before)

    try:
        _require_time()
        with contextlib.ExitStack() as files:
            said = [files.enter_context(tempfile.TemporaryFile()) for _ in commands]
            processes = [subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT, env=environment,
                                          start_new_session=True, preexec_fn=in_child) for words, file in zip(commands, said)]
            told, stopped = 0, set()  # requests passed on; processes that stay stopped
            awake = {process: time.monotonic() for process in processes}  # when each last ran
            free = time.monotonic()                                        # last time without a request to end
            while left := [process for process in processes if process.poll() is None]:
                # The timeout: a library's thread may take the signal; only the handler notes it.
                info = signal.sigtimedwait({*ending, signal.SIGCHLD}, TOLD_AGAIN)
                if info and info.si_signo in ending:
                    _noted.append(info.si_signo)
                requests = [*([] if _limit.seconds_left else [signal.SIGTERM]), *_noted]
                if len(requests) > told or (requests and insists and not info):
                    told = len(requests)
                    for process in left:
                        process.send_signal(requests[-1])
                now = time.monotonic()
                free = free if requests and insists else now
                for process in left:
                    state = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[0]  # it is not reaped yet
                    awake[process] = awake[process] if state == "T" else now
                    if now - awake[process] > STOPPED_LIMIT:
                        stopped.add(process)
                    if process in stopped or now - free > LAST_LIMIT:
                        os.killpg(process.pid, signal.SIGKILL)
            _require_time()
            if stopped:
                raise Failed(f"{commands[0][0]} was stopped (SIGSTOP) for {STOPPED_LIMIT} s, so it was ended: run this again, and stop none "
                             "of its processes", ENVIRONMENT)
            for file in said:
                file.seek(0)
            return [Output(process.returncode, file.read().decode(errors="replace")) for process, file in zip(processes, said)]
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _locked(folder) -> int | None:
    """Returns a descriptor that locks the folder; None: it is locked elsewhere, or gone."""
    try:
        held = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(held)
        return None
    return held


def _remove(folder: Path) -> None:
    """Removes a folder and its runs' snapshots in shared memory."""
    if any(Path("/dev/shm").glob("gangway.snap-*")):
        for placement in folder.rglob("placement.json"):
            subprocess.run([program(), "snapshots", "rm", str(placement.parent)], capture_output=True)
    shutil.rmtree(folder, ignore_errors=True)


def _sweep(parent: str, prefix: str) -> None:
    """Removes this user's temporary folders whose owners were killed."""
    for entry in os.scandir(parent):
        with contextlib.suppress(OSError):
            status = entry.stat(follow_symlinks=False)
            is_young = prefix == SCRATCH and time.time() - status.st_mtime <= YOUNG
            if (entry.name.startswith(prefix) and stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid()
                    and not is_young and (held := _locked(entry.path)) is not None):
                _remove(Path(entry.path))
                os.close(held)


@contextlib.contextmanager
def scratch_folder(parent: str | None = None, prefix: str = SCRATCH):
    """Yields a temporary folder, and removes it after the block or a termination signal. Locks it: other tools remove unlocked ones.
    @param parent  None: the system's. Raises Failed if it cannot be made."""
    with noted_requests():
        parent = parent or tempfile.gettempdir()
        try:
            _sweep(parent, prefix)
            for _ in range(3):  # another tool may sweep it before the lock
                folder = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
                if (held := _locked(folder)) is not None and folder.is_dir():
                    break
        except OSError as error:
            raise Failed(f"{parent}: no folder can be made in it: {error.strerror}; choose another place", ENVIRONMENT) from None
        try:
            files = folder / "files"  # the programs lock their folder, so they get another
            files.mkdir()
            yield files
        finally:
            _remove(folder)
            if held is not None:
                os.close(held)


@contextlib.contextmanager
def written_whole(output: Path, prefix: str):
    """Yields a scratch folder beside `output`. Its file or folder "new" becomes `output` after the block.
    What a killed process left there, the next one with this prefix removes. Raises Failed if it cannot be written."""
    try:
        with scratch_folder(str(output.absolute().parent), prefix) as scratch:
            yield scratch
            heed()
            (scratch / "new").rename(output.absolute())
            _noted.clear()  # a signal from here on comes too late: the output is there
    except OSError as error:
        raise Failed(f"{output}: cannot be written: {error.strerror or error}; choose another place", ENVIRONMENT) from None


@contextlib.contextmanager
def kept_folder(named: str | None):
    """Yields the named folder, created if missing, and keeps it; None: a scratch folder."""
    if named is None:
        with scratch_folder() as folder:
            yield folder
    else:
        with noted_requests():
            try:
                Path(named).mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise Failed(f"{named}: cannot be made: {error.strerror}: name another folder", ENVIRONMENT) from None
            yield Path(named).absolute()


def _paths(job: dict, before=""):
    for key, value in job.items():
        yield before + key
        if isinstance(value, dict):
            yield from _paths(value, f"{before}{key}.")


class MeasuredRun(NamedTuple):
    stats: str  # stats.jsonl
    has_diverged: bool
    folder: Path


def run_to_its_end(words: list, outdir: Path, name: str) -> MeasuredRun:
    return runs_to_their_ends(words, outdir, [name])[0]


def runs_to_their_ends(words: list, outdir: Path, names: list[str], may_diverge: bool = False,
                       environment: dict | None = None) -> list[MeasuredRun]:
    """Runs `gangway run` once per name, at the same time, below `outdir`. Raises Failed with the last words if a run fails."""
    commands = [[program(), "run", *map(str, words), "--outdir", str(outdir), "--run", name, "--resume", "never", "--progress", "lines",
                 *PLAIN] for name in names]
    measured = []
    for name, words, done in zip(names, commands, outputs_of(commands, dict(os.environ) if environment is None else environment)):
        has_diverged = done.code == DIVERGED
        if done.code != 0 and not (has_diverged and may_diverge):
            raise Failed(f"'{shlex.join(words)}' failed: {done.text[-LAST_CHARACTERS:]}", ENVIRONMENT)
        left = sorted(outdir.glob(f"[0-9]*-{name}/stats.jsonl"))  # may include earlier kept runs
        if not left:
            raise Failed(f"'{shlex.join(words)}' left nothing in {outdir}: is it shared by all hosts?", ENVIRONMENT)
        measured.append(MeasuredRun(left[-1].read_text(), has_diverged, left[-1].parent))
    return measured


def measured_runs(job: dict, names: list[str], workers: int | None = None, may_diverge: bool = False, outdir=None) -> list[MeasuredRun]:
    """Runs a resolved job once per name, at the same time, without GANGWAY_ variables of its keys. @param outdir  None: removes the runs"""
    variables = {"GANGWAY_" + path.upper().replace(".", "_") for path in _paths(job)}
    environment = {name: value for name, value in os.environ.items() if name not in variables}
    with scratch_folder() as folder:
        file = folder / "job.yaml"
        file.write_text(job_file.text_of(job))
        words = [file, *(["--workers", workers] if workers else [])]
        return runs_to_their_ends(words, Path(outdir or folder / "runs").absolute(), names, may_diverge, environment)


class StepFigures(NamedTuple):
    """Figures of one step of a run."""
    seconds: float          # median over the ticks
    exposed_seconds: float  # communication wait of the worker that waits longest
    sent_bytes: float       # by all workers


def step_figures(stats: str, warmup_steps: int) -> StepFigures:
    """Parses stats.jsonl without ticks of the warm-up. Raises Failed if no tick is left."""
    seconds, exposed, sent, steps, before = [], 0.0, 0.0, 0, 0
    for line in stats.splitlines():
        try:
            tick = json.loads(line)
            step, took, percent, mib = (tick[key] for key in ("step", "seconds_tick", "exposed_percent", "sent_mib_per_step"))
        except (ValueError, KeyError, TypeError):
            raise Failed("stats.jsonl: a line without the figures of a tick: are all programs of one build?", ENVIRONMENT) from None
        if before >= warmup_steps and step > before:
            seconds.append(took / (step - before))
            exposed += took * percent / 100
            sent += mib * 2**20 * (step - before)
            steps += step - before
        before = step
    if not seconds:
        raise Failed("the runs are too short to measure: use more --steps", ENVIRONMENT)
    return StepFigures(statistics.median(seconds), exposed / steps, sent / steps)
