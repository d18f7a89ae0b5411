# SPDX-License-Identifier: MIT
"""Finds changes that make a job faster and keep every bit, by short runs. Main thread."""
import dataclasses
import io
import json
import math
import os
import shlex
import sys
import time
from pathlib import Path
from typing import NamedTuple

from gangway.errors import ENVIRONMENT, Failed
from gangway.launch import typed_program
from gangway.tools.command_line import Parser, counted, number, plain, require_place, write_whole
from gangway.tools.edited_job import edited
from gangway.tools.gpus import num_gpus
from gangway.tools.hosts import slots_in, usable_cores
from gangway.tools.machine import Progress, require_quiet_machine
from gangway.tools.measured import prepared, scratch_folder
from gangway.tools.recorded import said_by
from gangway.tools.trial_runs import SIGNALLED, TrialRuns
from gangway.tools.trials import (PROOF_ROUNDS, ROUNDS, RUNS_OF_ROUND, WORTH_IT, Speedup, Trial, finalists, joined, key_trials,
                                  layout_trials, length_text, number_trials, overlap_trials, parts_table, simplest_of_fastest, so_far_text,
                                  speedup_of, waits_most_for_data)

LAYOUTS, ROWS = 8, 64  # tried; of the plan, which knows the hosts' cores but not this user's slots


class Tuned(NamedTuple):
    tried: list[Trial]   # each with the runs that it completed
    typed: Trial
    best: Trial
    speedup: Speedup     # of `best` over `typed`, measured by the proof
    is_taken: bool       # whether the proof confirms the speedup
    images_per_step: int
    digest: str          # of the last run
    text: str            # the tuned job file; empty if nothing is taken
    run_options: str     # of `gangway run`, for that file: "-n 2"

    def rate(self, trial: Trial) -> float:
        """Returns images per second."""
        return self.images_per_step / trial.seconds


def _copied(trial: Trial) -> Trial:
    """Returns a copy with its own list of runs."""
    return dataclasses.replace(trial, runs=[*trial.runs])


def leaves_of(yaml: str) -> dict[str, str]:
    """Returns a resolved job's values as text, by path. Each line has a value or section name."""
    found, sections = {}, []
    for line in yaml.splitlines():
        name, _, value = line.strip().partition(":")
        sections[(len(line) - len(line.lstrip())) // 2:] = [name]
        if value:
            found[".".join(sections)] = value.strip()
    return found


class _Tuner:
    def __init__(self, job, keys, workers, profile, hostfile, seconds, out, folder, told):
        self._job, self._keys, self._workers, self._profile, self._seconds = job, keys, workers or 0, profile, seconds
        self._out, self._folder, self._job_as_typed = out, folder, told["job"]
        self._hosts, self._slots = (["--hostfile", str(hostfile)], sum(slots_in(hostfile).values())) if hostfile else ([], math.inf)
        self._runs = TrialRuns(job, keys, self._hosts, folder / "runs", told["images_per_step"])
        self._typed, self._tried = Trial("as typed", self._workers), []

    def run(self, new_job: bool) -> Tuned:
        job, typed, begin = self._job_as_typed, self._typed, time.monotonic()
        workers, took = self._runs.begin(typed), time.monotonic() - begin
        if job["layout"]["plan"] == "none":
            typed.workers = workers
        trained = typed.seconds * typed.runs[-1].steps  # seconds; at most twice a trial's
        had = counted(typed.workers, "worker") if typed.workers else "the workers of its plan"
        self._say(f"as typed: {self._rate(typed):.1f} images/s with {had}\n" +
                  length_text(LAYOUTS, len(self._keys_of(typed)), max(0.0, took - trained), max(self._seconds, trained / 2)))
        # While all workers wait for data, layouts are equally fast: speed up the data first.
        best = self._with_keys(typed) if waits_most_for_data(typed) else typed
        best = self._with_keys(self._fastest("layouts", self._layouts(best)))
        if new_job:
            most = self._workers or (max(1, num_gpus()) if job["numerics"]["device"] == "cuda" else usable_cores())
            best = self._fastest("other numbers", self._and_joined(best, number_trials(self._told(best)["job"], best, most)))
        is_better = bool(best.keys) or best.workers != typed.workers
        speedup = self._proved(best) if is_better else Speedup()
        is_taken = is_better and speedup.least > WORTH_IT
        if not is_taken:
            self._say(f"left alone: '{best.name}' is {speedup.gain:.3f} times as fast, {speedup.least:.3f} at the least (95 %), below the "
                      f"required {WORTH_IT}\n" if is_better else f"left alone: none of the {len(self._tried)} trials is faster\n")
        options = shlex.join([*(["-n", str(best.workers)] if best.workers else []), *self._hosts])
        what = "Other numbers, another digest" if best.changes_numbers else "The same digest"
        heading = (f"# gangway tune: {speedup.gain:.2f} times as fast as {Path(self._job).name} here, {speedup.least:.2f} at the least "
                   f"(95 %).\n# {what}: {' '.join([options, *best.keys])}\n")
        return Tuned(self._tried, typed, best, speedup, is_taken, self._runs.images_per_step, self._runs.digest,
                     heading + self._tuned_text(best) if is_taken else "", options)

    def _told(self, trial: Trial, *more: str) -> dict:
        """Returns the resolved job with this trial's keys, as prepared() does."""
        return prepared(self._job, [*self._keys, *trial.keys, *more])

    def tell_so_far(self) -> None:
        self._say(so_far_text(self._tried, self._typed, self._runs.images_per_step))

    def _say(self, text: str) -> None:
        print(plain(text), end="", file=self._out, flush=True)

    def _rate(self, trial: Trial) -> float:
        return self._runs.images_per_step / trial.seconds

    def _keys_of(self, best: Trial) -> list[Trial]:
        return key_trials(self._told(best)["job"], best, usable_cores())

    def _with_keys(self, best: Trial) -> Trial:
        return self._fastest("keys", self._and_joined(best, self._keys_of(best)))

    def _fitting_profile(self) -> Path:
        """Returns the job's profile, measured if missing; with links only for a hostfile."""
        usual, made = Path(self._profile or f"{Path(self._job).stem}.profile.json"), self._folder / "profile.json"
        if self._profile or usual.exists():
            try:
                has_links = "links" in (profile := json.loads(usual.read_text())).keys()
            except (OSError, ValueError, AttributeError):
                return usual  # the plan reports its error
            if has_links == bool(self._hosts):
                return usual
            if not self._hosts:
                made.write_text(json.dumps({name: value for name, value in profile.items() if name != "links"}))
                return made
        self._say("profile: this job has none here; measuring one\n")
        said_by("profile", self._job, *self._keys, "-o", made, "--seconds", 5 * self._seconds, "--anyway", *self._hosts)
        return made

    def _layouts(self, best: Trial) -> list[Trial]:
        """Returns `best` and, with its keys, the plan's first layouts; else other overlaps."""
        job, best = self._job_as_typed, _copied(best)
        try:
            plan = said_by("plan", self._job, *self._keys, "--profile", self._fitting_profile(), "--rows", ROWS, "--json",
                           *(["-n", self._workers] if self._workers else []))
            trials = layout_trials(json.loads(plan)["ranking"], job, self._typed, self._slots, LAYOUTS)
            return [best, *(joined(best, trial) if best.keys else trial for trial in trials)]
        except Failed as error:
            if error.code > SIGNALLED:
                raise
            self._say(f"note: no plan, so only overlaps are tried: {error.line.splitlines()[-1]}\n")
            return [best, *overlap_trials(job, best)]

    def _and_joined(self, best: Trial, more: list[Trial]) -> list[Trial]:
        """Returns `best`, the fastest of `more` (one change each), and faster ones combined."""
        if not more:
            return [best]
        return finalists(best.name, self._measure("one change each", [dataclasses.replace(best, runs=[]), *more]))

    def _measure(self, what: str, trials: list[Trial]) -> list[Trial]:
        """Runs the trials forwards, then backwards, against drift. Returns them, the fastest first. Prints and leaves out those that fail."""
        with Progress(2.0 * len(trials), self._out) as progress:
            for trial in [*trials, *reversed(trials)]:
                progress.advance(0, f"{what}, {self._seconds:g} s each: {trial.name}")
                if not trial.failure:
                    self._runs.run(trial, self._seconds)
                    self._remember(trial)
                progress.advance(1, what)
        for trial in trials:
            self._remember(trial)
        self._say("".join(f"         -           {trial.name}: {trial.failure}\n" for trial in trials if trial.failure))
        if not (ran := [trial for trial in trials if not trial.failure]):
            raise Failed("no trial could be run, the job as it was typed included", ENVIRONMENT)
        ran.sort(key=lambda trial: trial.seconds)
        self._say("".join(f"  {self._rate(trial):8.1f} images/s  {trial.name}\n" for trial in ran))
        return ran

    def _fastest(self, what: str, trials: list[Trial]) -> Trial:
        """Returns the simplest of the fastest trials, by successive halving (Karnin et al., 2013): the faster half runs again."""
        if len(trials) == 1:
            return trials[0]
        # If the trials have already run alternately, those runs are the first round.
        have_run = all(len(trial.runs) == RUNS_OF_ROUND for trial in trials)
        if not have_run:
            for trial in trials:
                trial.runs.clear()
        for number_of_round in range(2 if have_run else 1, ROUNDS + 1):
            if len(trials) == 1:
                break
            trials = self._measure(f"{what}, round {number_of_round}", trials)
            simplest = simplest_of_fastest(trials)
            if number_of_round < ROUNDS and len(trials) > 2:
                trials = trials[:(len(trials) + 1) // 2]
            if simplest not in trials:
                trials.append(simplest)
        return simplest_of_fastest(trials)

    def _remember(self, trial: Trial) -> None:
        """Records the trial in place of its earlier record."""
        self._tried[:] = [known for known in self._tried if known.name != trial.name] + [_copied(trial)]

    def _proved(self, best: Trial) -> Speedup:
        """Measures both in ABBA order, so that drift of the machine affects both equally."""
        before, after = [0.0] * PROOF_ROUNDS, [0.0] * PROOF_ROUNDS
        with Progress(4 * PROOF_ROUNDS, self._out) as progress:
            for turn in range(PROOF_ROUNDS):
                for trial, seconds in ((self._typed, before), (best, after), (best, after), (self._typed, before)):
                    self._runs.run(trial, 2 * self._seconds)
                    if trial.failure:
                        raise Failed(f"{trial.name}: {trial.failure}", ENVIRONMENT)
                    seconds[turn] += trial.runs[-1].seconds / 2
                    progress.advance(1, f"as typed beside '{best.name}', round {turn + 1} of {PROOF_ROUNDS}")
        return speedup_of(before, after)

    def _tuned_text(self, best: Trial) -> str:
        """Returns the job file with typed and found keys, in its author's form where possible."""
        tuned = self._told(best)
        layout = tuned["job"]["layout"]
        placed = layout["stages"] > 1 or any(layout.get(network["name"], "auto") != "auto" for network in tuned["networks"])
        if best.workers and not placed:
            tuned = self._told(best, f"layout.data={best.workers}")
        try:
            text = Path(self._job).read_bytes().decode()  # keeps line ends
            before = leaves_of(prepared(self._job)["yaml"])
            text = edited(text, [f"{path}={value.replace(' ', '') if value.startswith('[') else value}"
                                          for path, value in leaves_of(tuned["yaml"]).items() if before.get(path) != value])
            if prepared(self._job, text=text)["job"] == tuned["job"]:
                return text
        except Failed:  # for example, the file is valid only with the typed keys
            pass
        return tuned["yaml"]


def tune(job, keys=(), *, workers: int | None = None, profile=None, hostfile=None, new_job: bool = False, seconds: float = 2.0,
         anyway: bool = False, out=None) -> Tuned:
    """Tunes a job. Writes no file; removes its runs. @param workers  None: any number; profile: None: JOB.profile.json, else measured
    @param hostfile  hosts of all trials, which run in the job's folder; new_job: numbers may change; seconds: of a run, twice for a proof
    @param anyway  also on a busy machine; out: gets the lines that `gangway tune` prints
    Raises Failed; if the job as typed fails, with its last words."""
    out, tuner, keys, told = out or io.StringIO(), None, [*keys], prepared(job, keys)
    try:
        # Hosts share the job's folder, but hardly the system's temporary folder.
        with scratch_folder(os.path.dirname(os.path.abspath(job)) if hostfile else None) as folder:
            tuner = _Tuner(job, keys, workers, profile, hostfile, seconds, out, folder, told)
            require_quiet_machine(anyway)
            return tuner.run(new_job)
    except Failed as error:
        if tuner and error.code > SIGNALLED:
            tuner.tell_so_far()
        raise


def command(words: list[str]) -> None:
    parser = Parser("tune", "Find what makes a job faster here without changing a bit, and prove it",
                    "Examples:\n  gangway tune examples/fashion-mnist.yaml\n  gangway tune job.yaml -n 2 --new-job\n"
                    "docs/tuning.md says what is tried, and what counts as proof.")
    parser.add_job("number of workers to use; default: any number")
    parser.add_argument("--profile", metavar="FILE", help="profile for the plan; default: JOB.profile.json here, else measured")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="job file to write; default: JOB.tuned.yaml beside the job")
    parser.add_argument("--hostfile", metavar="FILE", help="run all trials on these hosts, which share the job's folder")
    parser.add_argument("--new-job", action="store_true",
                        help="also try keys that change the numbers: micro-batches, memory format, precision")
    parser.add_argument("--seconds", type=number(0.1, 600), default=2.0, metavar="S",
                        help="seconds of each run; a proof run takes twice as long (%(default)s)")
    parser.add_argument("--anyway", action="store_true", help="measure on a machine that does other work, too")
    line = parser.parse_intermixed_args(words)
    output = line.output or Path(os.path.splitext(line.job)[0] + ".tuned.yaml")
    if line.output or os.path.exists(line.job):
        require_place(output)
    found = tune(**{name: value for name, value in vars(line).items() if name != "output"}, out=sys.stdout)
    if found.is_taken:
        write_whole(output, found.text)
        how = "the numbers change: give its run another name" if found.best.changes_numbers else f"the same digest, {found.digest}"
        print(f"\n{parts_table(found.typed, found.best)}\ntuned: {found.speedup.gain:.3f} times as fast, {found.speedup.least:.3f} at "
              f"the least (95 %); {how}\n{output}: {shlex.join([typed_program(), 'run', str(output)])} {found.run_options}")
    figures = {"job": line.job, "overrides": line.keys, "images_per_step": float(found.images_per_step), "typed": found.typed.figures,
               "best": found.best.figures, "gain": found.speedup.gain, "least_gain": found.speedup.least, "taken": found.is_taken,
               "tried": [trial.figures for trial in found.tried]}
    record = output.with_suffix(".json")
    write_whole(record, json.dumps(figures, indent=2, sort_keys=True, ensure_ascii=False) + "\n")
    print(f"{record}: all trials")
