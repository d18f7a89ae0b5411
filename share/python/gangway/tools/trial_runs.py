# SPDX-License-Identifier: MIT
"""Runs trials of a job by `gangway run`. Trials with equal steps must have equal digests."""
import json
import shutil
from pathlib import Path

from gangway.errors import Failed
from gangway.tools.measured import run_to_its_end
from gangway.tools.recorded import said_by
from gangway.tools.trials import Trial, trial_run

LEAST_STEPS, TICKS = 12, 12     # of a run
DIFFERENT, SIGNALLED = 1, 128  # exit codes; 128 + the signal number


def reason_in(words: str) -> str:
    """Returns the line after the last "gangway: " of a failed command, or else its first line."""
    return words.rpartition("gangway: ")[2].partition("\n")[0]


class TrialRuns:
    """Runs trials in `folder`; removes runs unless keeps_runs. @param options  of `gangway run`"""

    def __init__(self, job, keys, options: list, folder: Path, images_per_step: int, keeps_runs: bool = False):
        self.digest, self.last_run, self.images_per_step = "", None, images_per_step
        self._words, self._options, self._folder, self._keeps_runs = [job, *keys], options, folder, keeps_runs
        self._number, self._digests, self._step_seconds = 0, {}, 0.0  # _digests: by number of steps

    def run_steps(self, trial: Trial, steps: int) -> int:
        """Runs a trial once. Returns its workers. Raises Failed if it fails or digests differ."""
        kimg, name = self.images_per_step / 1000, f"trial{self._number}"
        self._number += 1
        run = run_to_its_end([*self._words, *trial.keys, f"training.kimg={kimg * steps}",
                              f"output.tick_kimg={kimg * max(1, steps // TICKS)}", "output.http=off", "output.control=off",
                              *self._options, *(["--workers", trial.workers] if trial.workers else [])], self._folder, name)
        self.digest, *notes = said_by("digest", run.folder).splitlines()
        known = self.digest if trial.changes_numbers else self._digests.setdefault(steps, self.digest)
        if known != self.digest and not notes:
            raise Failed(f"after {steps} steps '{trial.name}' has the digest {self.digest}, and other ways to run this job have {known}: "
                         "that must never be; 'gangway doctor' looks at the machine", DIFFERENT)
        trial.runs.append(trial_run(run.stats, steps))
        workers = trial.workers or sum(
            rank["role"] == "worker" for rank in json.loads((run.folder / "placement.json").read_text())["ranks"])
        self.last_run = run.folder
        if not self._keeps_runs:
            shutil.rmtree(run.folder, ignore_errors=True)
        return workers

    def begin(self, trial: Trial) -> int:
        """Makes the first run, which measures the length of a step. Returns its workers."""
        workers = self.run_steps(trial, 2 * LEAST_STEPS)
        self._step_seconds = trial.seconds
        return workers

    def run(self, trial: Trial, seconds: float) -> None:
        """Runs a trial for about `seconds`. Sets `failure` if it fails. Raises Failed if digests differ, or a signal came."""
        steps = max(LEAST_STEPS, int(seconds / self._step_seconds) // TICKS * TICKS)
        try:
            if trial.fills_cache and not trial.runs:
                self.run_steps(trial, steps)  # fills the cache for the next run
                trial.runs.clear()
            self.run_steps(trial, steps)
        except Failed as error:
            if error.code == DIFFERENT or error.code > SIGNALLED:
                raise
            trial.failure = reason_in(error.line)
