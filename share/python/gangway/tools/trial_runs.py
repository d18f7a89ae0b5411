# SPDX-License-Identifier: MIT
"""Runs of a job in ways that change no bit, each by a `gangway run` of its own. All must have one digest after as many steps."""
import json
import shutil
from pathlib import Path

from gangway.errors import Failed
from gangway.tools.measured import run_to_its_end
from gangway.tools.recorded import said_by
from gangway.tools.trials import Trial, trial_run

LEAST_STEPS, TICKS = 12, 12     # of a run
DIFFERENT, SIGNALLED = 1, 128  # exit codes; above the last: the signal


def reason_in(words: str) -> str:
    """The last line that a failed command has said of itself; the first one where it has said none."""
    return words.rpartition("gangway: ")[2].partition("\n")[0]


def _workers_of(run: Path) -> int:
    return sum(rank["role"] == "worker" for rank in json.loads((run / "placement.json").read_text())["ranks"])


class TrialRuns:
    """@param folder  of the runs, which are removed, or kept if keeps_runs; options: more of `gangway run`"""

    def __init__(self, job, keys, options: list, folder: Path, images_per_step: int, keeps_runs: bool = False):
        self.digest, self.last_run, self.images_per_step = "", None, images_per_step
        self._words, self._options, self._folder, self._keeps_runs = [job, *keys], options, folder, keeps_runs
        self._number, self._digests, self._step_seconds = 0, {}, 0.0  # _digests: by number of steps

    def run_steps(self, trial: Trial, steps: int) -> int:
        """Runs it once. How many workers it had. Raises Failed where it fails, or has another digest than other trials."""
        kimg, name = self.images_per_step / 1000, f"trial{self._number}"
        self._number += 1
        run = run_to_its_end([*self._words, *trial.keys, f"training.kimg={kimg * steps}",
                              f"output.tick_kimg={kimg * max(1, steps // TICKS)}", "output.http=off", "output.control=off",
                              *self._options, *(["--workers", trial.workers] if trial.workers else [])], self._folder, name)
        self._compare_digests(trial, steps, run.folder)
        trial.runs.append(trial_run(run.stats, steps))
        workers = trial.workers or _workers_of(run.folder)
        self.last_run = run.folder
        if not self._keeps_runs:
            shutil.rmtree(run.folder, ignore_errors=True)
        return workers

    def begin(self, trial: Trial) -> int:
        """The first run, which tells how long a step takes. How many workers it had."""
        workers = self.run_steps(trial, 2 * LEAST_STEPS)
        self._step_seconds = trial.seconds
        return workers

    def run(self, trial: Trial, seconds: float) -> None:
        """Runs it for about so long as the first one would take. Where it fails, its `failure` says why.
        Raises Failed where its digest is another one, or a signal came."""
        steps = max(LEAST_STEPS, int(seconds / self._step_seconds) // TICKS * TICKS)
        try:
            if trial.fills_cache and not trial.runs:
                self.run_steps(trial, steps)  # whose pictures the next one finds
                trial.runs.clear()
            self.run_steps(trial, steps)
        except Failed as error:
            if error.code == DIFFERENT or error.code > SIGNALLED:
                raise
            trial.failure = reason_in(error.line)

    def _compare_digests(self, trial: Trial, steps: int, run: Path) -> None:
        self.digest, *notes = said_by("digest", run).splitlines()
        if trial.changes_numbers:
            return
        known = self._digests.setdefault(steps, self.digest)
        if known != self.digest and not notes:
            raise Failed(f"after {steps} steps '{trial.name}' has the digest {self.digest}, and other ways to run this job have {known}: "
                         "that must never be; 'gangway doctor' looks at the machine", DIFFERENT)
