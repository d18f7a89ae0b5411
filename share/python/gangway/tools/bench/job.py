# SPDX-License-Identifier: MIT
"""Reports a job on this machine: rates, parts, cores, bandwidth, scaling, recovery, score."""
import contextlib
import json
import os
import socket
import statistics
import time
from pathlib import Path

from gangway.errors import Failed
from gangway.launch import program
from gangway.tools.bench import page, parser_of
from gangway.tools.bench.recovery import recoveries_of
from gangway.tools.command_line import counted, listed, require_place, say, whole_number, write_whole
from gangway.tools.machine import Progress, processor, require_quiet_machine
from gangway.tools.measured import OutOfTime, TimeLimit, output_of, prepared, scratch_folder
from gangway.tools.trial_runs import DIFFERENT, SIGNALLED, TrialRuns, reason_in
from gangway.tools.trials import Trial

FOR_TRAININGS = 0.5        # of the time left; the rest is for the recovery and later measurements
MOST_SECONDS_OF_RUN = 20.0  # at the first trial's pace; longer runs add no information
STEPS_OF_RECOVERY = 60     # of a run that is killed once, all its starts included


def today() -> str:
    return time.strftime("%Y-%m-%d", time.gmtime())


def row_of(trial: Trial, told: dict) -> dict:
    """Returns the report's row of a trial. @param told  by prepared()"""
    images, last = told["images_per_step"], trial.runs[-1]
    seconds = [run.seconds for run in trial.runs]
    step, whole = statistics.median(seconds), sum(last.parts.values())
    computing = [value for name, value in last.parts.items() if name.endswith(("_forward", "_backward", "_penalty", "recorded"))]
    row = {"workers": trial.workers, "images_per_second": images / step, "images_per_second_least": images / max(seconds),
           "milliseconds_per_image": 1e3 * step / images, "step_milliseconds": 1e3 * step,
           "computing": sum(computing) / whole if whole > 0 else 0.0, "core_percent": last.numbers.get("core_percent", 0.0),
           "sent_mib_per_second": last.numbers.get("sent_mib_per_step", 0.0) / step, "resident_gib": last.numbers.get("resident_gib", 0.0),
           "parts": {name: value / whole for name, value in last.parts.items()}, "round_seconds": seconds}
    if told["job"]["numerics"]["device"] == "cuda":
        row["device_gib"] = last.numbers.get("peak_gib", 0.0)
    return row


class JobBench:
    """Measures a job. @param limit  sets the steps, skips late rounds, turns errors into "failures". Raises Failed for too many workers."""

    def __init__(self, job, keys, folder: Path, *, workers=None, rounds: int = 3, steps: int = 60, losses: int = 2, is_scored: bool = True,
                 limit: TimeLimit | None = None):
        self.job, self.keys, self.folder, self.limit = Path(job), list(keys), folder, limit
        self.rounds, self.steps, self.losses, self.is_scored = rounds, steps, losses, is_scored
        self.told = told = prepared(job, keys)
        self.trials = TrialRuns(job, keys, [], folder, told["images_per_step"], is_scored)
        microbatches = told["job"]["training"]["microbatches"]
        self.rows = []
        for count in workers or sorted({1, told["workers"]}):
            if count > microbatches and not told["places_networks"]:
                raise Failed(f"--workers {count}: training.microbatches {microbatches} cannot be shared by so many; use fewer, or more "
                             "micro-batches")
            self.rows.append(Trial(counted(count, "worker"), count))
        self._rounds_done = 0
        self._step_seconds = self._start_seconds = 0.0  # under a limit, of the first row
        self._failures, self._unequal_digests = [], None

    def report(self) -> dict:
        self._guarded(self._train_within if self.limit else self._train)
        rows = [row_of(trial, self.told) for trial in self.rows if trial.runs]
        for row in rows:
            row["efficiency"] = row["images_per_second"] * rows[0]["workers"] / (rows[0]["images_per_second"] * row["workers"])
        report = {"job": self.job.name, "overrides": self.keys, "host": socket.gethostname(), "processor": processor(), "date": today(),
                  "steps": self.steps, "rounds": self._rounds_done, "runs": sum(len(trial.runs) for trial in self.rows),
                  "digest": self.trials.digest, "rows": rows, "score": self._score() if self.is_scored else None,
                  "recovery": self._guarded(self._recovery)}
        if self.limit:
            failed = [f"{trial.name}: {trial.failure}" for trial in self.rows if trial.failure]
            report |= {"unequal_digests": self._unequal_digests, "failures": self._failures + failed}
        return report

    def _guarded(self, measure):
        """Calls `measure`. Under a limit, records its errors as failures and returns None."""
        if not self.limit:
            return measure()
        try:
            return measure()
        except OutOfTime:
            self._failures.append("the time was over before all was measured: give it more --minutes")
        except Failed as error:
            if error.code > SIGNALLED:
                raise
            self._failures.append(reason_in(error.line))
            if error.code == DIFFERENT:
                self._unequal_digests = self._failures[-1]
        return None

    def _train(self) -> None:
        with Progress(len(self.rows) * self.rounds) as progress:
            for done in range(self.rounds):
                for trial in self.rows:
                    what = f"round {done + 1} of {self.rounds}, {trial.name}"
                    progress.advance(0, what)
                    self.trials.run_steps(trial, self.steps)
                    progress.advance(1, what)
        self._rounds_done = self.rounds

    def _train_within(self) -> None:
        """Trains within the limit; a first run sets the length of the others."""
        budget, begin, first = FOR_TRAININGS * self.limit.seconds_left, self.limit.seconds_taken, self.rows[0]
        with Progress(1) as progress:
            progress.advance(0, f"a first run, {first.name}")
            self.trials.begin(first)
            taken = self.limit.seconds_taken - begin
            self._step_seconds = first.seconds
            self._start_seconds = max(0.0, taken - first.seconds * first.runs[-1].steps)
            first.runs.clear()
            each = (budget - taken) / (len(self.rows) * self.rounds) - self._start_seconds
            each, longest = min(max(each, 0.0), MOST_SECONDS_OF_RUN), 0.0
            for done in range(self.rounds):
                for trial in self.rows:
                    before = self.limit.seconds_taken
                    if done > 0 and before - begin + longest > budget:
                        return
                    progress.advance_to((before - begin) / budget, f"round {done + 1} of {self.rounds}, {trial.name}")
                    if not trial.failure:
                        self.trials.run(trial, each)
                        longest = max(longest, self.limit.seconds_taken - before)
                        self.steps = trial.runs[-1].steps if trial.runs else self.steps
                self._rounds_done = done + 1

    def _score(self) -> dict | None:
        """Returns the last run's scores by `gangway evaluate`; None: the job cannot be scored."""
        say("measures the score")
        text = output_of([program(), "evaluate", str(self.trials.last_run), "--json", "--samples", "1000"], dict(os.environ)).text
        for line in text.splitlines():
            with contextlib.suppress(ValueError):
                if isinstance(found := json.loads(line), dict):
                    return {name: value for name, value in found.items() if name != "run"}
        say(f"note: no score: {text.rstrip().rpartition(chr(10))[2]}")
        return None

    def _recovery(self) -> dict | None:
        needed = 3 * self._start_seconds + STEPS_OF_RECOVERY * self._step_seconds  # two starts, and the save at the end
        if not self.losses or self.limit and (self._failures or self.limit.seconds_left <= needed):
            return None
        workers = max(2, self.rows[-1].workers)
        say(f"measures recovery with {workers} workers")
        words = [self.job, *self.keys, "layout.restarts=auto", "training.kimg=1000000", "checkpoint.every_kimg=0", "output.pictures_kimg=0",
                 f"output.tick_kimg={self.told['images_per_step'] / 1000}", "-n", workers]
        found = recoveries_of(words, self.folder, workers=workers, kinds=["worker"], losses=self.losses, say=say).recoveries
        seconds = [one.before_replay for one in found]
        return {"workers": workers, "losses": len(seconds), "median_seconds": statistics.median(seconds),
                "longest_seconds": max(seconds)} if seconds else None


def write(output: str, report: dict, html: str) -> None:
    """Writes OUTPUT.json and OUTPUT.html."""
    write_whole(Path(f"{output}.json"), json.dumps(report, indent=2, sort_keys=True, ensure_ascii=False) + "\n")
    write_whole(Path(f"{output}.html"), html)


def bench_job(job, keys=(), *, anyway: bool = False, **options) -> dict:
    """Returns the content of JOB.bench.json; prints progress. @param options  of JobBench"""
    with scratch_folder() as folder:
        bench = JobBench(job, keys, folder / "runs", **options)
        require_quiet_machine(anyway)
        return bench.report()


def command(words: list[str]) -> None:
    parser = parser_of("job", "job examples/fashion-mnist.yaml --workers 1,2")
    parser.add_argument("job", metavar="JOB.yaml", help="job file")
    parser.add_keys()
    parser.add_argument("--workers", type=listed(whole_number(1)), help="numbers of workers, as 1,2,4; default: one, and one per core")
    parser.add_count("--rounds", default=3, what="rounds, each of which measures every number")
    parser.add_count("--steps", least=12, most=10**6, default=60, what="steps of a run")
    parser.add_count("--losses", least=0, default=2, what="workers that are killed; 0: none")
    parser.add_argument("--no-score", action="store_false", dest="is_scored", help="leave the score out")
    parser.add_argument("-o", "--output", help="files to write, without their ending; default: JOB.bench here")
    line = parser.parse_intermixed_args(words)
    output = line.output or f"{Path(line.job).stem}.bench"
    require_place(Path(f"{output}.json"))
    report = bench_job(**{name: value for name, value in vars(line).items() if name != "output"})
    write(output, report, page.job_page(report))
    print(f"\n{page.job_text(report)}{output}.json, {output}.html")
