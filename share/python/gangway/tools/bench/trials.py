# SPDX-License-Identifier: MIT
"""Runs of a job on several numbers of workers, in turns. All must have one digest."""
import json
import math
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from gangway.errors import Failed
from gangway.tools.measured import prepared, run_to_its_end
from gangway.tools.recorded import said_by

LEAST_STEPS, TICKS = 12, 12  # of a run
INTERNAL, ENVIRONMENT = 1, 6


class TrialRun(NamedTuple):
    """What a run tells of its steps behind the warm-up."""
    steps: int                  # of the whole run
    seconds: float              # of a step, mean
    parts: dict[str, float]     # of it, of the slowest worker, or of its GPU (docs/step-parts.md)
    numbers: dict[str, float]   # means of all that ticks tell


@dataclass
class Trial:
    name: str
    workers: int
    runs: list[TrialRun] = field(default_factory=list)
    failure: str = ""  # why it cannot be run

    @property
    def seconds(self) -> float:
        """Of a step, geometric mean of its runs."""
        return math.exp(sum(math.log(run.seconds) for run in self.runs) / len(self.runs))


def reason_in(words: str) -> str:
    """The last line that a failed command has said of itself."""
    return words.rpartition("gangway: ")[2].partition("\n")[0]


def trial_run(stats: str, steps: int) -> TrialRun:
    """@param stats  stats.jsonl. Raises Failed where it tells too little"""
    whose = "device_parts" if '"device_parts"' in stats else "parts"  # a GPU's own; not each tick tells those
    before, seconds, counted, telling, parts, numbers = 0, 0.0, 0, 0, {}, {}
    for line in stats.splitlines():
        try:
            tick = json.loads(line)
        except ValueError:
            continue
        if not isinstance(tick, dict) or "parts" not in tick:
            continue
        step = tick.get("step", 0)
        if before >= steps // 4 and step > before:
            in_tick = step - before
            seconds += tick.get("seconds_tick", 0)
            counted += in_tick
            telling += in_tick if tick.get(whose) else 0
            for name, value in tick.get(whose, {}).items():
                parts[name] = parts.get(name, 0) + value * in_tick
            for name, value in tick.items():
                if isinstance(value, (int, float)):
                    numbers[name] = numbers.get(name, 0) + value * in_tick
        before = step
    if not counted:
        raise Failed("a run told nothing of its steps: are all programs of one build?", ENVIRONMENT)
    return TrialRun(steps, seconds / counted, {name: total / telling for name, total in parts.items()},
                    {name: total / counted for name, total in numbers.items()})


class Trials:
    """@param folder  of the runs; keeps_runs: whether they stay there"""

    def __init__(self, job, keys, folder: Path, keeps_runs: bool = False):
        self.told = prepared(job, keys)
        self.digest, self.last_run = "", None
        self._words, self._folder, self._keeps_runs = [job, *keys], folder, keeps_runs
        self._number, self._digests, self._step_seconds = 0, {}, 0.0

    def run_steps(self, trial: Trial, steps: int) -> None:
        """Runs it once. Raises Failed where it fails, or has another digest than others after as many steps."""
        kimg, name = self.told["images_per_step"] / 1000, f"trial{self._number}"
        self._number += 1
        run = run_to_its_end([*self._words, f"training.kimg={kimg * steps}", f"output.tick_kimg={kimg * max(1, steps // TICKS)}",
                              "output.http=off", "output.control=off", "--workers", trial.workers], self._folder, name)
        self.digest, *notes = said_by("digest", run.folder).splitlines()
        known = self._digests.setdefault(steps, self.digest)
        if known != self.digest and not notes:
            raise Failed(f"after {steps} steps '{trial.name}' has the digest {self.digest}, and other ways to run this job have {known}: "
                         "that must never be; 'gangway doctor' looks at the machine", INTERNAL)
        trial.runs.append(trial_run(run.stats, steps))
        self.last_run = run.folder
        if not self._keeps_runs:
            shutil.rmtree(run.folder, ignore_errors=True)

    def begin(self, trial: Trial) -> None:
        """The first run, which tells how long a step takes."""
        self.run_steps(trial, 2 * LEAST_STEPS)
        self._step_seconds = trial.seconds

    def run(self, trial: Trial, seconds: float) -> None:
        """Runs it for about so long as the first would take. Where it fails its `failure` says why.
        Raises Failed where its digest is another one, or a signal came."""
        steps = max(LEAST_STEPS, int(seconds / self._step_seconds) // TICKS * TICKS)
        try:
            self.run_steps(trial, steps)
        except Failed as error:
            if error.code == INTERNAL or error.code > 128:
                raise
            trial.failure = reason_in(error.line)
