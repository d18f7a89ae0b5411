# SPDX-License-Identifier: MIT
"""Measures strong and weak scaling by short runs, against prediction and fit. Main thread."""
import functools
import io
import json
import statistics
from pathlib import Path
from typing import NamedTuple

import numpy

from gangway.errors import Failed
from gangway.tools.command_line import Parser, counted, listed, require_plot, table, whole_number
from gangway.tools.machine import Progress, require_quiet_machine
from gangway.tools.measured import measured_runs, noted_requests, prepared, step_figures
from gangway.tools.recorded import said_by

STRONG, WEAK = KINDS = ("strong", "weak")  # one job for all; micro-batches grow with workers
TICK_STEPS = 3
WARMUP = 4  # the first 1/WARMUP of a run's steps
LEAST_SHARE = 1e-3  # serial share of a step, below which the speedup limit is capped


class Row(NamedTuple):
    workers: int
    images_per_step: int
    predicted: float | None  # seconds per step; None: no profile
    steps: list[float]       # seconds per step, one value per round
    apart: list[float]       # the same for independent runs of one share each; empty: no equal

    @property
    def seconds(self) -> float:
        return statistics.median(self.steps)

    @property
    def scatter(self) -> float:
        """Returns half the range of the rounds, relative to their median."""
        return (max(self.steps) - min(self.steps)) / 2 / self.seconds


class Fit(NamedTuple):
    """seconds = fixed + varying / workers (strong: Amdahl, 1967), or * (workers - 1) (weak)."""
    fixed: float
    varying: float

    def seconds(self, kind: str, workers: int) -> float:
        return self.fixed + self.varying * _regressor(kind, workers)

    @property
    def serial_share(self) -> float:
        """Returns the share of one worker's step that more workers do not shorten."""
        return self.fixed / (self.fixed + self.varying) if self.fixed + self.varying > 0 else 1.0


class Scaling(NamedTuple):
    kind: str        # "strong" or "weak"
    rows: list[Row]  # by number of workers

    @property
    def fit(self) -> Fit:
        return fit_of(self.kind, self.rows)

    def ideal(self, row: Row) -> float:
        """Returns seconds per step at perfect scaling."""
        first = self.rows[0]
        return first.seconds if self.kind == WEAK else first.seconds * first.workers / row.workers


def _regressor(kind, workers):
    return 1 / workers if kind == STRONG else workers - 1.0


def fit_of(kind: str, rows: list[Row]) -> Fit:
    """Fits by least squares of relative errors. One row: all fixed."""
    if len(rows) < 2:
        return Fit(rows[0].seconds, 0.0)
    x, y = (numpy.array(values) for values in ([_regressor(kind, row.workers) for row in rows], [row.seconds for row in rows]))
    varying, fixed = map(float, numpy.polyfit(x, y, 1, w=1 / y))
    # A superlinear speedup (caches) gives fixed < 0: then nothing is serial.
    return Fit(0.0, float((x / y).sum() / (x * x / (y * y)).sum())) if kind == STRONG and fixed < 0 else Fit(fixed, varying)


def _ms(seconds):
    return "-" if seconds is None else f"{seconds * 1e3:.2f}"


def _percent(share):
    return f"{share * 100:.1f} %"


def scale_text(scaling: Scaling) -> str:
    """Returns a table with a row per number of workers, and the fit below."""
    fit, cells = scaling.fit, []
    for row in scaling.rows:
        ideal, apart = scaling.ideal(row), statistics.median(row.apart) if row.apart else None
        cells.append([str(row.workers), _ms(row.seconds), _percent(row.scatter), f"{row.images_per_step / row.seconds:.1f}",
                      _ms(row.predicted), "-" if row.predicted is None else f"{(row.predicted / row.seconds - 1) * 100:+.1f} %",
                      _ms(ideal), _ms(fit.seconds(scaling.kind, row.workers)), _percent(ideal / row.seconds),
                      _ms(apart), "-" if apart is None else _percent(apart / row.seconds)])
    if scaling.kind == STRONG:
        conclusion = (f"Amdahl: {_percent(fit.serial_share)} of one worker's step is serial; the speedup over one worker is at "
                      f"most {1 / max(fit.serial_share, LEAST_SHARE):.1f}")
    else:
        conclusion = f"each additional worker costs {fit.varying * 1e3:.2f} ms a step"
    titles = ["workers", "step ms", "rounds +-", "images/s", "predicted ms", "error", "ideal ms", "fit ms", "efficiency", "split ms",
              "of split"]
    return f"{scaling.kind} scaling\n\n{table(titles, cells)}\n{conclusion}\n"


class _Bench:
    """Runs one job at the sizes that the rows need."""

    def __init__(self, job, keys, profile, steps, outdir):
        self._job, self._keys, self._profile, self._steps, self._outdir = job, list(keys), profile, steps, outdir
        self._prepared = functools.cache(lambda *keys: prepared(job, keys))
        training = self._prepared(*keys)["job"]["training"]
        self._batch, self.microbatches = training["batch"], training["microbatches"]

    def _sized(self, times, parts=1):
        """Returns keys that scale the job's images and micro-batches by `times` / `parts`."""
        return [*self._keys, f"training.batch={self._batch * times // parts}",
                f"training.microbatches={self.microbatches * times // parts}"]

    def row(self, kind, workers) -> Row:
        keys = self._sized(workers if kind == WEAK else 1)
        predicted = None
        if self._profile:
            told = said_by("plan", self._job, *keys, "--profile", self._profile, "--as-is", "-n", workers, "--json")
            predicted = json.loads(told)["ranking"][0]["step_seconds"]
        return Row(workers, self._prepared(*keys)["images_per_step"], predicted, [], [])

    def measure(self, kind, row, round_) -> None:
        """Measures one round and adds it to the row."""
        name, parts = f"{kind}-{row.workers}-{round_}", 1 if kind == WEAK else row.workers
        row.steps.append(self._seconds(self._sized(row.workers if kind == WEAK else 1), [name], row.workers))
        if self.microbatches % parts == 0:
            row.apart.append(self._seconds(self._sized(1, parts), [f"{name}-apart{number}" for number in range(row.workers)], 1))

    def _seconds(self, keys, names, workers):
        """Returns seconds per step, the mean over runs at the same time."""
        told = self._prepared(*keys)
        job, kimg_of_step = told["job"], told["images_per_step"] / 1000
        # Half a step less: the run rounds up, so rounding of kimg_of_step cannot add a step.
        job = {**job, "training": {**job["training"], "kimg": kimg_of_step * (self._steps - 0.5)},
               "output": {**job["output"], "tick_kimg": kimg_of_step * TICK_STEPS, "pictures_kimg": 0},
               "checkpoint": {**job["checkpoint"], "every_kimg": 0, "snapshot_steps": 0}}
        runs = measured_runs(job, names, workers, outdir=self._outdir)
        return sum(step_figures(run.stats, self._steps // WARMUP).seconds for run in runs) / len(runs)


def scale(job, keys=(), *, workers=(1, 2), kinds=KINDS, profile=None, outdir=None, rounds: int = 3, steps: int = 60, anyway: bool = False,
          shows: bool = False) -> list[Scaling]:
    """Measures scaling. @param workers  ascending numbers; kinds: "strong", "weak" or both; profile: None: JOB.profile.json, if present
    @param outdir  folder that keeps the runs; None: they are removed; rounds: each measures every row
    @param steps  of a run; the first quarter is warm-up; anyway: measures a busy machine too; shows: prints the progress
    Raises Failed before the training, or with the last words of a failed run."""
    if not workers or min(workers) < 1 or any(more <= fewer for fewer, more in zip(workers, workers[1:])):
        raise Failed(f"--workers {','.join(map(str, workers))}: expected numbers from 1 that rise, as 1,2,4")
    usual = Path(f"{Path(job).stem}.profile.json")
    bench = _Bench(job, keys, profile or (usual if usual.exists() else None), steps, outdir)
    for number in workers:
        if STRONG in kinds and number > bench.microbatches:
            raise Failed(f"--workers {number}: training.microbatches {bench.microbatches} cannot be shared by so many; use fewer, --weak, "
                         "or more micro-batches")
    scalings = [Scaling(kind, [bench.row(kind, number) for number in workers]) for kind in kinds]
    turns = [(number, kind, rows[(number + place) % len(rows)]) for number in range(rounds) for kind, rows in scalings
             for place in range(len(rows))]
    require_quiet_machine(anyway)
    with noted_requests(), Progress(len(turns), None if shows else io.StringIO()) as progress:
        for number, kind, row in turns:
            what = f"round {number + 1} of {rounds}, {kind} scaling, {counted(row.workers, 'worker')}"
            progress.advance(0, what)
            bench.measure(kind, row, number)
            progress.advance(1, what)
    return scalings


def draw(file: Path, scaling: Scaling) -> str:
    """Plots images/s by workers into a PNG file. Returns the legend of colours."""
    from matplotlib.figure import Figure
    axes = (figure := Figure(figsize=(6.4, 4), layout="tight")).add_subplot(xlabel="workers", ylabel="images/s")
    fit, lines = scaling.fit, {"measured": "blue", "predicted": "orange", "fit": "green", "ideal": "gray"}
    seconds = {"measured": lambda row: row.seconds, "predicted": lambda row: row.predicted, "ideal": scaling.ideal,
               "fit": lambda row: fit.seconds(scaling.kind, row.workers)}
    for name, colour in reversed(lines.items()):  # the measured line on top
        rates = {row.workers: row.images_per_step / seconds[name](row) for row in scaling.rows if seconds[name](row)}
        axes.plot(rates.keys(), rates.values(), color=f"tab:{colour}", marker="o", label=name)
    axes.set(xticks=[row.workers for row in scaling.rows], ylim=(0, None))
    axes.legend()
    figure.savefig(file, format="png", dpi=100)
    return ", ".join(f"{name} {colour}" for name, colour in lines.items())


def command(words: list[str]) -> None:
    parser = Parser("scale", "Measure how a job scales, beside what was predicted and what is possible",
                    "Examples:\n  gangway scale examples/fashion-mnist.yaml --workers 1,2 -o scaling.png\n"
                    "  gangway scale examples/fashion-mnist.yaml --workers 1,2 --weak\n"
                    "docs/planning.md explains the output.")
    parser.add_job(workers=None)
    parser.add_argument("--workers", type=listed(whole_number(0)), default=[1, 2], metavar="N,N", help="numbers of workers, as 1,2,4 (1,2)")
    kinds = parser.add_mutually_exclusive_group()
    kinds.add_argument("--strong", action="store_const", dest="kinds", const=[STRONG], default=KINDS, help="strong scaling only")
    kinds.add_argument("--weak", action="store_const", dest="kinds", const=[WEAK], default=KINDS,
                       help="weak scaling only: micro-batches grow with workers")
    parser.add_argument("--profile", metavar="FILE", help="profile for the prediction; default: JOB.profile.json here, if present")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="PNG file for images/s by workers, of the first table")
    parser.add_argument("--outdir", metavar="FOLDER", help="folder that keeps the runs; default: they are removed")
    parser.add_count("--rounds", default=3, what="rounds, each of which measures every row")
    parser.add_count("--steps", least=12, most=10**6, default=60, what="steps of a run")
    parser.add_argument("--anyway", action="store_true", help="measure on a machine that does other work, too")
    line = parser.parse_intermixed_args(words)
    require_plot(line.output)
    scalings = scale(**{name: value for name, value in vars(line).items() if name != "output"}, shows=True)
    for scaling in scalings:
        print(f"\n{scale_text(scaling)}", end="")
    print(f"\n{line.steps} steps a run, medians of {line.rounds} alternating rounds; split: as many independent processes at "
          "the same time, each with one worker's share")
    if scalings[0].rows[0].predicted is None:
        print("no prediction: no profile is here (`gangway profile` makes it)")
    if line.output:
        print(f"{line.output}: images/s by workers, {scalings[0].kind} scaling: {draw(line.output, scalings[0])}")
