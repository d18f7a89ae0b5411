# SPDX-License-Identifier: MIT
"""Chooses and judges trials of `gangway tune`. A job is prepared()'s dict of sections."""
import dataclasses
import json
import math
import re
import statistics
from typing import NamedTuple

from gangway.errors import ENVIRONMENT, Failed
from gangway.tools.command_line import table

ROUNDS = 3              # of successive halving
RUNS_OF_ROUND = 2       # forwards and backwards
PROOF_ROUNDS = 5
MOST_FINALISTS = 3
WORTH_IT = 1.01         # speedup that a trial needs to be worth a key
WORTH_A_TRIAL = 0.01    # share of a step that a part needs to be worth a trial
# 95 % quantiles of Student's distribution, from 1 degree of freedom on; enough for all rounds.
QUANTILES = (6.313751514675041, 2.919985580353726, 2.353363434801823, 2.131846786326649, 2.015048373333022)
TWO_SIDED = ("pairs:", "unpaired:", "edges:", "classes:")  # sources with two pictures per example


class TrialRun(NamedTuple):
    """Figures of a run's steps after the warm-up."""
    steps: int               # of the whole run
    seconds: float           # mean per step
    parts: dict[str, float]  # mean per step, of the slowest worker or its GPU (docs/tuning.md)
    numbers: dict[str, float] = {}  # means of all numbers in the ticks


def trial_run(stats: str, steps: int) -> TrialRun:
    """Parses a run's stats.jsonl. Raises Failed if no tick after the warm-up has parts."""
    whose = "device_parts" if '"device_parts"' in stats else "parts"  # a GPU's; not in every tick
    seconds, counted, telling, before, parts, numbers = 0.0, 0, 0, 0, {}, {}
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
            seconds += tick.get("seconds_tick", 0.0)
            counted += in_tick
            telling += in_tick if tick.get(whose) else 0
            for name, part in tick.get(whose, {}).items():
                parts[name] = parts.get(name, 0.0) + part * in_tick
            for name, value in tick.items():
                if isinstance(value, (int, float)):
                    numbers[name] = numbers.get(name, 0.0) + value * in_tick
        before = step
    if not counted:
        raise Failed("a run reported no steps: are all programs of one build?", ENVIRONMENT)
    return TrialRun(steps, seconds / counted, {name: parts[name] / telling for name in sorted(parts)},
                    {name: total / counted for name, total in numbers.items()})


@dataclasses.dataclass
class Trial:
    name: str
    workers: int = 0           # 0: as many as the job says
    keys: list[str] = dataclasses.field(default_factory=list)  # in addition to typed keys
    changes_numbers: bool = False
    fills_cache: bool = False  # faster only from the second reading of a picture
    runs: list[TrialRun] = dataclasses.field(default_factory=list)
    failure: str = ""          # why it cannot be run

    @property
    def seconds(self) -> float:
        """Returns the geometric mean of seconds per step; slow rounds scale all trials equally."""
        return math.exp(sum(math.log(run.seconds) for run in self.runs) / len(self.runs))

    def share(self, *parts: str) -> float:
        """Returns the share of these parts in a step of the last run."""
        of = self.runs[-1].parts
        return sum(of.get(part, 0.0) for part in parts) / total if (total := sum(of.values())) > 0 else 0.0

    @property
    def figures(self) -> dict:
        runs = [{"steps": run.steps, "step_seconds": run.seconds, "parts": run.parts} for run in self.runs]
        return {"name": self.name, "workers": self.workers, "keys": self.keys, "changes_numbers": self.changes_numbers, "runs": runs,
                "failure": self.failure}


def joined(best: Trial, more: Trial) -> Trial:
    """Returns `best` with the keys of `more` added."""
    return Trial(f"{best.name}, {more.name}", more.workers, best.keys + more.keys, best.changes_numbers or more.changes_numbers,
                 best.fills_cache or more.fills_cache)


class Speedup(NamedTuple):
    """Holds the ratio of two trials' speeds."""
    gain: float = 1.0   # geometric mean of the rounds
    least: float = 1.0  # with a confidence of 95 %


def speedup_of(before: list[float], after: list[float]) -> Speedup:
    """Compares by logarithms. @param before, after  seconds per step in each round, 2 at least"""
    logs = [math.log(first / second) for first, second in zip(before, after)]
    mean, error = statistics.fmean(logs), statistics.stdev(logs) / math.sqrt(len(logs))
    return Speedup(math.exp(mean), math.exp(mean - QUANTILES[len(logs) - 2] * error))


def simplest_of_fastest(trials: list[Trial]) -> Trial:
    """Returns the trial with the fewest keys that the fastest does not surely beat by WORTH_IT. All ran in the same rounds, at least two."""
    best = [run.seconds for run in min(trials, key=lambda trial: trial.seconds).runs]
    return min(trials, key=lambda trial: (speedup_of([run.seconds for run in trial.runs], best).least > WORTH_IT, len(trial.keys),
                                          trial.seconds))


def _runs_of(trials: int, rounds: int) -> int:
    """Returns the number of runs of successive halving."""
    runs = 0
    for _ in range(rounds):
        runs, trials = runs + RUNS_OF_ROUND * trials, (trials + 1) // 2
    return runs


def length_text(layouts: int, keys: int, start_seconds: float, seconds: float) -> str:
    """Returns a line on how many runs there may be at most, and how long they take. @param start_seconds  of a run, beside its training"""
    # Each group also runs the job as typed; the key finals also run the combined keys.
    of_keys = RUNS_OF_ROUND * (keys + 1) + _runs_of(MOST_FINALISTS + 2, ROUNDS - 1) if keys else 0
    tried, proofs = _runs_of(layouts + 1, ROUNDS) + of_keys, 4 * PROOF_ROUNDS
    minutes = math.ceil((tried * (start_seconds + seconds) + proofs * (start_seconds + 2 * seconds)) / 60)
    return (f"up to {tried} runs of some {start_seconds + seconds:.0f} s each, then {proofs} of {start_seconds + 2 * seconds:.0f} s as a "
            f"proof: some {minutes} minutes in all\n")


def parts_table(before: Trial, after: Trial) -> str:
    """Returns a table of each part's milliseconds per step, the largest first."""
    first, second = before.runs[-1].parts, after.runs[-1].parts
    names = sorted(sorted({*first, *second}), key=lambda name: -max(first.get(name, 0.0), second.get(name, 0.0)))
    return table(["ms a step, slowest worker", "as typed", "tuned"],
                 [[name, f"{first.get(name, 0.0) * 1e3:.3f}", f"{second.get(name, 0.0) * 1e3:.3f}"] for name in names], left=1)


def so_far_text(tried: list[Trial], typed: Trial, images_per_step: int) -> str:
    """Returns a line on the fastest trial so far; empty if only `typed` has run."""
    have_run = [trial for trial in tried if trial.runs and not trial.failure]
    typed = next((trial for trial in have_run if trial.name == typed.name), typed)
    others = [trial for trial in have_run if trial.name != typed.name]
    if not others:
        return ""
    best = min(others, key=lambda trial: trial.seconds)
    return (f"so far: of {len(others)} trials '{best.name}' is the fastest, {images_per_step / best.seconds:.1f} images/s against "
            f"{images_per_step / typed.seconds:.1f} as typed; nothing is proved, and no file is written\n")


def waits_most_for_data(typed: Trial) -> bool:
    """Returns whether the wait for data is the longest part of a step."""
    parts = typed.runs[-1].parts
    return bool(parts) and max(parts, key=parts.get) == "data"


def layout_trials(ranking: list[dict], job: dict, typed: Trial, slots: float, most: int) -> list[Trial]:
    """Returns the first `most` layouts of `gangway plan --json` that fit memory and `slots`, except the typed one."""
    trials = []
    for one in ranking:
        keys, transport = one["arguments"].split()[2:], one["transport"]
        if job["layout"]["transport"] == "auto" and transport == "shm":
            keys, transport = [key for key in keys if key != "layout.transport=shm"], "auto"  # auto measures both
        name = re.sub(r"(, overlap [a-z]+), [a-z]+", rf"\1, {transport}", one["layout"])
        is_typed = one["workers"] == typed.workers and not keys
        if one["fits"] and not is_typed and one["workers"] <= slots:
            trials.append(Trial(name, one["workers"], keys))
    return trials[:most]


def _variant(best: Trial, *keys: str, **more) -> Trial:
    return joined(best, Trial(" ".join(keys), best.workers, list(keys), **more))


def overlap_trials(job: dict, typed: Trial) -> list[Trial]:
    """Returns the other overlaps, for use without a plan."""
    return [_variant(typed, f"layout.overlap={overlap}") for overlap in ("across", "within", "none") if overlap != job["layout"]["overlap"]]


def _data_trials(data: dict, best: Trial, cores: int):
    now = 0 if data["threads"] == "auto" else data["threads"]
    for threads in (2, 4):
        if now < threads <= 2 * cores:
            yield _variant(best, f"data.threads={threads}", f"data.prefetch={max(data['prefetch'], 2 * threads)}")
    yield _variant(best, f"data.prefetch={4 * data['prefetch']}")
    if str(data["source"]).startswith(("images:", *TWO_SIDED)) and data.get("cache") == "off":  # others need no decoding
        yield _variant(best, "data.cache=auto", fills_cache=True)


def _recording_trials(job: dict, best: Trial):
    now = job["numerics"]["cuda_graph"]
    yield _variant(best, f"numerics.cuda_graph={'auto' if now == 'off' else 'off'}")
    if job["training"]["microbatches"] > 1 and now != "branches":
        yield _variant(best, "numerics.cuda_graph=branches")
    if job["layout"]["overlap"] != "none" and now != "overlap" and best.share("exchange") >= WORTH_A_TRIAL:
        yield _variant(best, "numerics.cuda_graph=overlap")


def key_trials(job: dict, best: Trial, cores: int) -> list[Trial]:
    """Returns `best` plus one bit-neutral key, for its waits. @param job  `best`'s; cores: here"""
    trials = []
    if best.share("exchange", "optimizer", "workers", "messages", "device") >= WORTH_A_TRIAL:
        trials += [_variant(best, f"layout.buckets={buckets}") for buckets in (2, 4, 16, 32) if buckets != job["layout"]["buckets"]]
    if best.share("data") >= WORTH_A_TRIAL:
        trials += _data_trials(job["data"], best, cores)
    if best.share("snapshots") >= WORTH_A_TRIAL and job["checkpoint"]["snapshot_steps"] != "auto":
        trials.append(_variant(best, "checkpoint.snapshot_steps=auto"))
    if job["layout"]["recompute"]:
        trials.append(_variant(best, "layout.recompute=false"))
    if job["numerics"]["device"] == "cuda":
        trials += _recording_trials(job, best)
    return trials


def finalists(best: str, trials: list[Trial]) -> list[Trial]:
    """Returns the first three trials, all that beat `best` by WORTH_IT combined, and `best`. @param trials  the fastest first"""
    chosen = trials[:MOST_FINALISTS]
    known = next((trial for trial in trials if trial.name == best), None)
    if known is None:
        return chosen
    together, paths, faster = known, set(), 0
    for trial in trials:
        keys = trial.keys[len(known.keys):]
        of_trial = {key.partition("=")[0] for key in keys}
        if trial.seconds * WORTH_IT < known.seconds and not paths & of_trial:
            together = joined(together, dataclasses.replace(trial, name=trial.name[len(known.name) + 2:], keys=keys))
            paths, faster = paths | of_trial, faster + 1
    return chosen + ([together] if faster > 1 else []) + ([known] if known not in chosen else [])


def number_trials(job: dict, best: Trial, most_workers: int) -> list[Trial]:
    """Returns `best` with other micro-batches, memory format, precision or kernels. @param most_workers  cores or GPUs"""
    trials, batch, now = [], job["training"]["batch"], job["training"]["microbatches"]
    for microbatches in (now // 4, now // 2, 2 * now, 4 * now):
        if microbatches > 0 and batch % microbatches == 0 and microbatches * 2 <= batch:
            trial = _variant(best, f"training.microbatches={microbatches}")
            trial.workers = min(most_workers, microbatches)
            trial.keys += ["layout.shares=auto", "layout.data=auto"]
            trials.append(trial)
    other = "contiguous" if job["numerics"]["memory_format"] == "channels-last" else "channels-last"
    trials += [_variant(best, f"numerics.memory_format={other}"), _variant(best, "numerics.precision=bf16")]
    if job["numerics"]["device"] == "cuda":
        trials.append(_variant(best, "numerics.kernels=fastest"))
    return [dataclasses.replace(trial, changes_numbers=True) for trial in trials]
