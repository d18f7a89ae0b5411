# SPDX-License-Identifier: MIT
"""Names this machine's processor, checks that it is quiet enough to measure, and shows a measurement's progress."""
import contextlib
import math
import re
import sys
import time
from pathlib import Path

from gangway.errors import ENVIRONMENT, Failed

MOST_BUSY = 0.10      # share of all cores' time; if other processes use more, a figure is worthless
LOOK = 2.0            # seconds
BETWEEN_LINES = 0.1   # share of the work between two lines of a log


def processor(line: str = "model name") -> str:
    """Returns the first core's line of /proc/cpuinfo, or "unknown". @param line  its name, as "flags"."""
    found = re.search(rf"^{line}\s*:\s*(.*?)\s*$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    return found[1] if found else "unknown"


def _core_times() -> tuple[int, int]:
    """Returns total and idle ticks of all cores since boot: first line of /proc/stat, proc(5)."""
    fields = [int(word) for word in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]  # guests are counted under user
    return sum(fields), fields[3] + fields[4]


def busy_share(seconds: float) -> float:
    """Sleeps for `seconds`. Returns the share of all cores' time that was busy, steal included."""
    before, idle_before = _core_times()
    time.sleep(seconds)
    after, idle = _core_times()
    return 1 - (idle - idle_before) / (after - before) if after > before else 0.0


def work_of_others() -> str:
    """Returns "other processes use 31 % of this machine", measured for LOOK seconds; empty: it is quiet."""
    busy = busy_share(LOOK)
    return f"other processes use {100 * busy:.0f} % of this machine" if busy > MOST_BUSY else ""


def require_quiet_machine(anyway: bool) -> None:
    """Raises Failed if the machine is busy. @param anyway  prints that to standard error instead"""
    what = work_of_others()
    if what and not anyway:
        raise Failed(f"{what}: wait until it is quiet, or measure with --anyway", ENVIRONMENT)
    if what:
        print(f"gangway: NOT QUIET: {what}", file=sys.stderr, flush=True)


def duration_text(seconds: float) -> str:
    """Returns, for example, "1m 05s"."""
    minutes, left = divmod(int(seconds + 0.5) if math.isfinite(seconds) and seconds > 0 else 0, 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    if days:
        return f"{days}d {hours:02}h {minutes:02}m"
    if hours:
        return f"{hours}h {minutes:02}m {left:02}s"
    return f"{minutes}m {left:02}s" if minutes else f"{left}s"


class Progress:
    """Shows progress, as a context: a bar on a terminal, else a line per tenth. @param total  units of work; clock: monotonic seconds"""

    def __init__(self, total: float, out=None, clock=time.monotonic):
        self._out, self._clock, self._total = out or sys.stdout, clock, total
        self._done, self._begin, self._shown, self._bar = 0.0, clock(), -1.0, None

    def __enter__(self):
        if self._out.isatty():
            with contextlib.suppress(ModuleNotFoundError):
                from rich.console import Console
                from rich.progress import BarColumn, TaskProgressColumn, TextColumn
                from rich.progress import Progress as Bar
                self._bar = Bar(BarColumn(), TaskProgressColumn(), TextColumn("{task.description}"),
                                console=Console(file=self._out), transient=True)
                self._task = self._bar.add_task("", total=self._total)
                self._bar.start()
        return self

    def __exit__(self, *raised):
        if self._bar:
            self._bar.stop()

    def advance(self, units: float, what: str) -> None:
        """Adds units done since the last call. @param what  the present measurement"""
        self.advance_to(self._done + units, what)

    def advance_to(self, units: float, what: str) -> None:
        """Shows the progress. @param units  done in total"""
        self._done = max(self._done, units)
        share = min(1.0, self._done / self._total) if self._total > 0 else 1.0
        left = f", {duration_text((self._clock() - self._begin) * (1 / share - 1))} left" if share > 0 else ""
        if self._bar:
            self._bar.update(self._task, completed=self._done, description=what + left)
        elif self._shown < 0 or share >= self._shown + BETWEEN_LINES:
            print(f"measures {100 * share:3.0f} %: {what}{left}", file=self._out, flush=True)
            self._shown = share
