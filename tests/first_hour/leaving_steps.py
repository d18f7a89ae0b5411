# SPDX-License-Identifier: MIT
"""Ends at a random moment, from the first millisecond on, and starts again with the same command."""
import os
import re
import signal
import subprocess
import time
from pathlib import Path

from hour import Problem
from steps import step

LONG = "training.kimg=19.2"  # 300 steps
LAST_MOMENT = 4.0  # seconds, about the length of such a training


digests = {}  # by job: trained once for all steps


def undisturbed(hour):
    """Returns the digest of the undisturbed job."""
    if LONG not in digests:
        hour.expect(hour.run(hour.job(), LONG, "-n", 2, "--run", "whole"), 0)
        digests[LONG] = hour.digest("whole")
    return digests[LONG]


def begin(hour, name):
    return hour.start(hour.gangway, "run", hour.job(), LONG, "-n", hour.random.randint(1, 3), "--run", name)


def wait_a_moment(hour, process):
    """Waits for a random moment of the training, often of its first second. Does not wait for any line."""
    moment = hour.random.random() ** 2 * LAST_MOMENT
    hour.note(f"{moment:.2f} s")
    try:
        process.wait(timeout=moment)
    except subprocess.TimeoutExpired:
        pass


def require_the_rest(hour, name):
    """The same command resumes, to the job's digest."""
    hour.require_nobody()
    hour.expect(hour.run(hour.job(), LONG, "-n", hour.random.randint(1, 3), "--run", name), 0)
    if hour.digest(name) != undisturbed(hour):
        raise Problem("what was interrupted has another digest than what was not")


def send(process, number, to_group=False):
    """Signals the whole group, as a terminal's key does, or one process, as kill does."""
    try:
        (os.killpg if to_group else os.kill)(process.pid, number)
    except ProcessLookupError:
        pass  # it has ended


def interrupt(hour, number, codes):
    process = begin(hour, "interrupted")
    wait_a_moment(hour, process)
    has_begun = re.search("^model ", process.out.read_text(errors="replace"), re.MULTILINE)
    send(process, number, to_group=True)
    ended = hour.expect(hour.end(process, deadline=60), *codes)
    if ended.code == 0 and not has_begun:
        raise Problem(f"the signal was lost: {ended.described()}")
    hour.note(f"exit code {ended.code}")
    require_the_rest(hour, "interrupted")


@step
def ctrl_c(hour):
    interrupt(hour, signal.SIGINT, codes=(0, 75, 130))


@step
def ctrl_backslash_or_a_closed_terminal(hour):
    number = hour.random.choice([signal.SIGHUP, signal.SIGQUIT])
    hour.note(number.name)
    interrupt(hour, number, codes=(0, 75, 128 + number))


@step
def the_command_killed(hour):
    process = begin(hour, "killed")
    wait_a_moment(hour, process)
    send(process, signal.SIGKILL)
    process.wait()
    require_the_rest(hour, "killed")


@step
def a_process_of_it_killed(hour):
    """Kills mpirun, the coordinator or a worker."""
    process = begin(hour, "lost")
    wait_a_moment(hour, process)
    victims = [pid for pid in hour.marked() if pid != process.pid]
    if victims:
        victim = hour.random.choice(victims)
        try:
            hour.note(Path(f"/proc/{victim}/comm").read_text().strip())
            os.kill(victim, signal.SIGKILL)
        except (ProcessLookupError, FileNotFoundError):
            pass  # it has ended
    ended = hour.expect(hour.end(process, deadline=60), 0, 3, 6)
    hour.note(f"exit code {ended.code}")
    require_the_rest(hour, "lost")


@step
def ctrl_z_and_fg(hour):
    process = begin(hour, "stopped")
    wait_a_moment(hour, process)
    send(process, signal.SIGSTOP, to_group=True)
    time.sleep(hour.random.random() * 2)  # time in the background
    send(process, signal.SIGCONT, to_group=True)
    hour.expect(hour.end(process), 0)
    require_the_rest(hour, "stopped")
