# SPDX-License-Identifier: MIT
"""A job as the programs resolve it, and runs that are measured: silent, in a folder that goes, and ended with the tool. Main thread."""
import ctypes
import json
import os
import shlex
import signal
import subprocess
import tempfile
from pathlib import Path
from typing import NamedTuple

from gangway import job_file
from gangway.errors import Failed
from gangway.launch import program

ENVIRONMENT, DIVERGED = 6, 4  # exit codes
LAST_CHARACTERS = 2000        # of a run that fails
TOLD_AGAIN = 0.2              # seconds: a run that is only measured has nothing to save
PR_SET_PDEATHSIG = 1
# Whatever the job says: scores would take the time of a core that is measured, and so would another start.
PLAIN = ["checkpoint.keep_best=0", "evaluation.every_kimg=0", "layout.balance=off", "layout.restarts=0"]


def prepared(job, keys=()) -> dict:
    """What `gangway job JOB KEYS --json` tells: "job", the resolved one by section, and what follows from it.
    Raises Failed with its line."""
    done = subprocess.run([program(), "job", str(job), *keys, "--json"], capture_output=True, text=True)
    if done.returncode != 0:
        lines = [line.removeprefix("gangway: ") for line in done.stderr.splitlines() if line.startswith("gangway: ")]
        raise Failed("\n".join(lines) or f"gangway job ended with {done.returncode}", done.returncode)
    told = json.loads(done.stdout)
    return {**told, "job": job_file.parse(told["job"], str(job))}


class Output(NamedTuple):
    code: int
    text: str


def output_of(words: list[str], environment: dict) -> Output:
    """Runs a command in a session of its own. SIGINT, SIGTERM and SIGHUP, where they are not ignored, are passed on to it, twice;
    its end is waited for. It gets SIGTERM when this process dies. Raises Failed where a signal came."""
    ending = {number for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP) if signal.getsignal(number) != signal.SIG_IGN}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {*ending, signal.SIGCHLD})

    def in_child():
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)

    try:
        with tempfile.TemporaryFile() as said:
            process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=said, stderr=subprocess.STDOUT, env=environment,
                                       start_new_session=True, preexec_fn=in_child)
            came = None
            while process.poll() is None:
                info = signal.sigtimedwait({*ending, signal.SIGCHLD}, TOLD_AGAIN) if came else signal.sigwaitinfo({*ending, signal.SIGCHLD})
                if info is None or info.si_signo in ending:
                    came = came or info.si_signo
                    process.send_signal(came)
            if came:
                raise Failed("stopped by a signal; nothing is left behind", 128 + came)
            said.seek(0)
            return Output(process.returncode, said.read().decode(errors="replace"))
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _paths(job: dict, before=""):
    for key, value in job.items():
        yield before + key
        if isinstance(value, dict):
            yield from _paths(value, f"{before}{key}.")


class MeasuredRun(NamedTuple):
    stats: str  # stats.jsonl
    has_diverged: bool


def measured_run(job: dict, name: str, workers: int | None = None, may_diverge: bool = False) -> MeasuredRun:
    """Runs a resolved job to its end. Variables of the environment say nothing about its keys any more.
    Raises Failed with the command and its last words when it failed or left nothing."""
    variables = {"GANGWAY_" + path.upper().replace(".", "_") for path in _paths(job)}
    environment = {name: value for name, value in os.environ.items() if name not in variables}
    with tempfile.TemporaryDirectory(prefix="gangway-scratch-") as folder:
        file = Path(folder) / "job.yaml"
        file.write_text(job_file.text_of(job))
        words = [program(), "run", str(file), "--outdir", f"{folder}/runs", "--run", name, "--progress", "lines",
                 *(["--workers", str(workers)] if workers else []), *PLAIN]
        done = output_of(words, environment)
        has_diverged = done.code == DIVERGED
        if done.code != 0 and not (has_diverged and may_diverge):
            raise Failed(f"'{shlex.join(words)}' failed: {done.text[-LAST_CHARACTERS:]}", ENVIRONMENT)
        for stats in Path(folder).glob(f"runs/*-{name}/stats.jsonl"):
            return MeasuredRun(stats.read_text(), has_diverged)
    raise Failed(f"'{shlex.join(words)}' left nothing in {folder}/runs: is it shared by all hosts?", ENVIRONMENT)
