# SPDX-License-Identifier: MIT
"""Measures what snapshots and checkpoints cost, in alternating runs with and without, and the store, by `gangway store-times`."""
import json
import os
import shlex
import shutil
from collections import namedtuple
from pathlib import Path
from typing import NamedTuple

from gangway.errors import ENVIRONMENT, Failed
from gangway.opened import open_run
from gangway.tools.bench import parser_of
from gangway.tools.bench.state import MEGABYTE, job_text, model_of, percentile
from gangway.tools.command_line import listed, say, table, whole_number
from gangway.tools.machine import require_quiet_machine
from gangway.tools.measured import kept_folder, output_of, prepared, run_to_its_end
from gangway.tools.recorded import said_by

LEAST_WARMUP_STEPS = 10  # excluded; as many follow the last checkpoint, for its later costs


class Stalls(NamedTuple):
    """Holds seconds, one value per checkpoint."""
    held: list[float]    # updates waited for the copy, slowest worker
    waited: list[float]  # extra wait of compute for the lane, compared with other steps
    longer: list[float]  # extra time of the steps around it, for any reason
    copied: list[float]  # copy time of the slowest worker's lane, concurrent with training


class TrainedRun(NamedTuple):
    """Figures of a run after its warm-up steps."""
    steps: int
    seconds: float             # of all of them
    step_seconds: float        # median of steps without a snapshot
    stalls: Stalls
    saves: list[tuple[float, float]]  # (seconds from full snapshot to committed manifest, bytes)


class Costs(NamedTuple):
    """Figures for one size of the state."""
    state_bytes: int
    width: int
    every: int
    runs: list[TrainedRun]     # with checkpoints
    without: list[TrainedRun]  # one per round
    times: list[dict]          # a line of `gangway store-times` per turn
    rivals: dict[str, list[float]]  # seconds of stalls, by row


_Tick = namedtuple("_Tick", "step seconds waited snapshots held copied saves")


def _tick(line: str) -> _Tick:
    try:
        tick = json.loads(line)
        step, seconds, percent, snapshots, held, copied = (tick[key] for key in ("step", "seconds_tick", "exposed_percent", "snapshots",
                                                                                "snapshot_wait_seconds", "snapshot_seconds"))
        saves = [(saved["seconds"], saved["mib"] * 2**20) for saved in tick.get("checkpoints", [])]
    except (ValueError, KeyError, TypeError):
        raise Failed("stats.jsonl: a line without the figures of a tick: are all programs of one build?", ENVIRONMENT) from None
    return _Tick(step, seconds, seconds * percent / 100, snapshots, held, copied, saves)


def trained_run(stats: str, warmup_steps: int) -> TrainedRun:
    """Parses stats.jsonl, a tick per step. A snapshot's step or the next reports it: it costs two steps. Raises Failed if no step is left."""
    ticks = [tick for tick in map(_tick, stats.splitlines()) if tick.step > warmup_steps]
    usual = [tick for tick, after in zip(ticks, [*ticks[1:], None]) if not tick.snapshots and not (after and after.snapshots)]
    if not usual:
        raise Failed("the runs are too short to measure: use more --every or --checkpoints", ENVIRONMENT)
    seconds, waited = (percentile([getattr(tick, name) for tick in usual], 50) for name in ("seconds", "waited"))
    pairs = [(before, tick) for before, tick in zip(ticks, ticks[1:]) if tick.snapshots]
    stalls = Stalls([tick.held for _, tick in pairs], [max(0.0, before.waited + tick.waited - 2 * waited) for before, tick in pairs],
                    [max(0.0, before.seconds + tick.seconds - 2 * seconds) for before, tick in pairs], [tick.copied for _, tick in pairs])
    return TrainedRun(len(ticks), sum(tick.seconds for tick in ticks), seconds, stalls, [save for tick in ticks for save in tick.saves])


def stall_table(costs: Costs) -> str:
    """Returns a table of stalls (percentiles, share of time), plain memory copies and rivals."""
    wall, rows = sum(run.seconds for run in costs.runs), []
    stalls = Stalls(*([one for run in costs.runs for one in getattr(run.stalls, name)] for name in Stalls._fields))
    for name, seconds, share in (("updates waited for the copy", stalls.held, True), ("compute waited more", stalls.waited, True),
                                 ("steps took longer", stalls.longer, True), ("lane copied, beside", stalls.copied, True),
                                 ("memcpy, no training", [one["plain_copy"] for one in costs.times], False),
                                 ("copy and hash, no training", [one["snapshot"] for one in costs.times], False),
                                 *((name, seconds, False) for name, seconds in costs.rivals.items())):
        cells = [f"{1e3 * percentile(seconds, p):.2f}" for p in (50, 99, 100)] if seconds else ["-"] * 3
        rows.append([name, str(len(seconds)), *cells, f"{100 * sum(seconds) / wall:.3f} %" if share and seconds else "-"])
    return table(["stall of a checkpoint", "n", "p50 ms", "p99 ms", "max ms", "of the time"], rows, left=1)


def speed_line(costs: Costs) -> str:
    """Returns a line on steps per second with and without checkpoints, and the rounds' ratio."""
    speeds, without = ([run.steps / run.seconds for run in runs] for runs in (costs.runs, costs.without))
    ratios = [one / other for one, other in zip(speeds, without)]
    return (f"steps/s {percentile(speeds, 50):.3f} with a checkpoint every {costs.every} steps, {percentile(without, 50):.3f} without: "
            f"ratio {percentile(ratios, 50):.4f} (minimum {min(ratios):.4f}) of {len(ratios)} rounds")


def _spread(values: list[float], unit: str = "") -> str:
    return f"{percentile(values, 50):.0f}{unit} ({min(values):.0f}-{max(values):.0f})"


def store_table(costs: Costs) -> str:
    """Returns a table of store and disk: MB/s, and shares of the plain rate of the same turn."""
    megabytes, rows = costs.state_bytes / MEGABYTE, []
    rates = {name: [megabytes / one[name] for one in costs.times] for name in ("plain_write", "save", "plain_read", "load")}
    for title, name, limit in (("plain direct writes, synced", "plain_write", None), ("save, no training", "save", "plain_write"),
                               ("plain direct reads", "plain_read", None), ("load, every chunk verified", "load", "plain_read")):
        rows.append([title, _spread(rates[name]), _spread([100 * one[limit] / one[name] for one in costs.times], " %") if limit else "-"])
    behind = [size / MEGABYTE / seconds for run in costs.runs for seconds, size in run.saves]
    share = f"{100 * percentile(behind, 50) / percentile(rates['plain_write'], 50):.0f} %" if behind else "-"
    rows.insert(2, ["save behind the training", _spread(behind) if behind else "-", share])
    return table(["disk", "MB/s", "of the limit"], rows, left=1)


def add_rivals(lines: str, rivals: dict[str, list[float]]) -> None:
    """Adds JSON lines {"row": name, "stalls": [seconds, ...]} to `rivals`. Raises Failed."""
    for line in lines.splitlines():
        try:
            row = json.loads(line)
            name, stalls = row["row"], row["stalls"]
            if not isinstance(name, str) or not isinstance(stalls, list):
                raise TypeError
        except (ValueError, LookupError, TypeError):
            raise Failed(f"'{line[:200]}' is no row of a benchmark: start the command by hand to see its output", ENVIRONMENT) from None
        rivals.setdefault(name, []).extend(float(one) if isinstance(one, (int, float)) else 0.0 for one in stalls)


class _Bench:
    """Measures one size of the state. Raises Failed if the keys fit no job."""

    def __init__(self, folder: Path, megabytes: int, keys, workers: int, every: int, checkpoints: int):
        self.folder, self.megabytes, self.keys, self.workers, self.every = folder, megabytes, list(keys), workers, every
        self.job = folder / f"{megabytes}-mb.yaml"
        self.job.write_text(job_text(megabytes, workers, checkpoint={"snapshot_steps": 0}))
        self.kimg = prepared(self.job, keys)["images_per_step"] / 1000
        # Ends midway between two checkpoints: a slow disk's log reports one late, and none of the warm-up may count.
        self.warmup_steps = max(LEAST_WARMUP_STEPS, LEAST_WARMUP_STEPS // every * every + every // 2)
        self.steps = every * checkpoints + self.warmup_steps
        self.saved, self.tensors = None, []  # the checkpoint for measuring the store
        self.costs = Costs(0, model_of(megabytes).width, every, [], [], [], {})

    def round(self, number: int, turns: int, rival: str | None) -> None:
        for saves in (True, False) if number % 2 == 0 else (False, True):
            self._train(number, saves)
        said = said_by("store-times", self.saved, self.folder / f"{self.megabytes}-mb-store", turns, number * turns)
        self.costs.times.extend(map(json.loads, said.splitlines()))
        if rival:
            file = self.folder / f"{self.megabytes}-mb-tensors.txt"  # a line per tensor with name and sizes
            file.write_text("".join(f"{one['name']} {' '.join(map(str, one['shape']))}\n" for one in self.tensors if one["dtype"] == "F32"))
            words = ["--tensors", file, "--processes", self.workers, "--folder", self.folder]
            line = f"{rival} {shlex.join(map(str, words))}"
            done = output_of(["sh", "-c", f"{line} 2>/dev/null"], dict(os.environ))
            if done.code != 0:
                raise Failed(f"'{line}' failed: start it by hand", ENVIRONMENT)
            add_rivals(done.text, self.costs.rivals)

    def _train(self, number: int, saves: bool) -> None:
        """Trains one run. Removes its checkpoints, except those of the first run that saves."""
        name = f"{self.megabytes}-mb-{'with' if saves else 'without'}-{number + 1}"
        run = run_to_its_end([self.job, *self.keys, f"training.kimg={self.kimg * self.steps}", f"output.tick_kimg={self.kimg}",
                              f"checkpoint.every_steps={self.every if saves else 0}", "--workers", self.workers], self.folder, name)
        (self.costs.runs if saves else self.costs.without).append(trained_run(run.stats, self.warmup_steps))
        if saves and not self.saved:
            checkpoint = open_run(run.folder).checkpoint()
            self.saved, self.tensors = checkpoint.folder, checkpoint.manifest["tensors"]
            self.costs = self.costs._replace(state_bytes=sum(file["bytes"] for file in checkpoint.manifest["files"]))
        else:
            shutil.rmtree(run.folder / "checkpoints", ignore_errors=True)


def bench_checkpoint(keys=(), *, sizes=(50, 500), workers: int = 2, outdir: str | None = None, every: int = 50, checkpoints: int = 4,
                     rounds: int = 3, turns: int = 5, rival: str | None = None, anyway: bool = False,
                     say=lambda line: None, tell=lambda costs: None) -> list[Costs]:
    """Measures all sizes. @param sizes  MB of state; outdir: on the disk to measure, keeps runs; every: steps between checkpoints
    @param turns  of memory, disk and store per round; rival: command (docs/benchmarks.md); say: gets a line per round; tell: Costs"""
    with kept_folder(outdir) as folder:
        benches = [_Bench(folder, size, keys, workers, every, checkpoints) for size in sizes]
        require_quiet_machine(anyway)
        load = "{:.2f} {:.2f} {:.2f}".format
        say(f"load before: {load(*os.getloadavg())}; disk of {folder}")
        found = []
        for bench in benches:
            for number in range(rounds):
                bench.round(number, turns, rival)
                say(f"{bench.megabytes} MB: round {number + 1} of {rounds} done")
            shutil.rmtree(bench.saved.parent, ignore_errors=True)
            found.append(bench.costs)
            tell(found[-1])
        say(f"load after: {load(*os.getloadavg())} (mostly this benchmark's own)")
    require_quiet_machine(anyway=True)
    return found


def command(words: list[str]) -> None:
    parser = parser_of("checkpoint", "checkpoint\ncheckpoint --size 200 -n 4 --outdir /mnt/disk/bench\n"
                       "checkpoint --rival '.venv/bin/python bench/torch_async_save.py'")
    parser.add_keys()
    parser.add_argument("--size", type=listed(whole_number(1, 100_000)), default=[50, 500], dest="sizes", metavar="MB",
                        help="sizes of the state (50,500)")
    parser.add_count("-n", "--workers", default=2, what="workers")
    parser.add_argument("--outdir", help="folder for the runs, on the disk to measure; default: a temporary folder")
    parser.add_count("--every", least=4, most=10**6, default=50, what="steps from one checkpoint to the next")
    parser.add_count("--checkpoints", default=4, what="checkpoints of a run")
    parser.add_count("--rounds", default=3, what="rounds, each of which measures every row")
    parser.add_count("--turns", default=5, what="turns of memory, disk and store in a round")
    parser.add_argument("--rival", metavar="COMMAND", help="command to measure in the same rounds, on the same tensors, as "
                        "'.venv/bin/python bench/torch_async_save.py'")
    line = parser.parse_intermixed_args(words)

    def tell(costs):
        step = percentile([run.step_seconds for run in costs.runs], 50)
        print(f"\n{costs.state_bytes / MEGABYTE:.1f} MB of state: mlp of width {costs.width}, {line.workers} workers on this host, a step "
              f"of {1e3 * step:.0f} ms; {line.rounds} rounds of {line.checkpoints} checkpoints, one per {line.every} steps\n\n"
              f"{stall_table(costs)}\n{speed_line(costs)}\n\n{store_table(costs)}", flush=True)

    bench_checkpoint(**vars(line), say=say, tell=tell)
