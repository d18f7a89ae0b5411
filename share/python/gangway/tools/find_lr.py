# SPDX-License-Identifier: MIT
"""Runs the learning rate range test (Smith, 2017, section 3.3): the rate grows exponentially."""
import itertools
import json
import math
from pathlib import Path
from typing import NamedTuple

from gangway.errors import ENVIRONMENT, Failed
from gangway.tools.command_line import Parser, require_plot, table, whole_number
from gangway.tools.measured import measured_runs, prepared

BELOW_STEEPEST, BELOW_DIVERGENCE = 4, 10  # divisors of the rate at that point: the suggested rate
SUFFERS = 4     # a suggestion needs every loss within 4 times its size of its best
EXPLODED = 10   # a loss explodes beyond 10 times: healthy adversarial losses rise a few times
WINDOWS = 30    # per test, each one smoothing window: 0.2 of the usual six decades
LEAST_FALL = 0.01  # share of the loss, within a window; smaller falls are noise
TABLE_ROWS = 24
LARGEST_FACTOR = 1e9
COLOURS = ("blue", "orange", "gray")  # of networks, cyclically


class Point(NamedTuple):
    network: str  # "": a loss or a weight is not finite
    step: int     # from 0; the number of steps if the run ended there
    rate: float


class Curve(NamedTuple):
    rates: list[float]              # by step
    losses: dict[str, list[float]]  # by network with a loss, by step, smoothed
    window: int                     # approximate length of the smoothing, in steps


class Verdict(NamedTuple):
    diverged: Point | None   # where a loss explodes, or the run diverges
    steepest: list[Point]    # where a network's loss falls fastest, if it falls
    suggested: float | None
    bound: Point | None      # the point of `steepest` that sets `suggested`
    suffers: Point | None    # where another network's loss rises, so that nothing is suggested


def smoothed(losses, window):
    """Returns an exponential moving average, bias-corrected (Kingma and Ba, 2015, section 3)."""
    kept, means, total, weight = 1 - 1 / window, [], 0.0, 0.0
    for loss in losses:
        total, weight = kept * total + (1 - kept) * loss, kept * weight + (1 - kept)
        means.append(total / weight)
    return means


def curve_of(stats: str, networks, rates) -> Curve:
    """Parses stats.jsonl of a run with a tick per step. @param rates  of the whole test"""
    losses, steps = {name: [] for name in networks}, 0
    for steps, line in enumerate(stats.splitlines(), 1):
        try:
            tick = json.loads(line)
        except ValueError:
            tick = None
        if not isinstance(tick, dict) or tick.get("step") != steps or steps > len(rates):
            raise Failed(f"stats.jsonl: line {steps} is not of step {steps}: are all programs of one build?", ENVIRONMENT)
        for name in networks:
            if isinstance(tick.get(f"{name}_loss"), (int, float)):
                losses[name].append(tick[f"{name}_loss"])
    window = max(1, len(rates) // WINDOWS)
    return Curve(rates[:steps], {name: smoothed(one, window) for name, one in losses.items() if len(one) == steps > 0}, window)


def step_above_best(losses, times):
    """Returns the first step whose loss exceeds its best by `times` its size; None: no step."""
    best = math.inf
    for step, loss in enumerate(losses):
        best = min(best, loss)
        if not math.isfinite(loss) or loss > best + times * max(abs(best), abs(losses[0])):
            return step
    return None


def points_above_best(curve, times):
    found = [Point(name, step, curve.rates[step]) for name, losses in curve.losses.items()
             if (step := step_above_best(losses, times)) is not None]
    return sorted(found, key=lambda point: point.step)  # ties keep the networks' order


def steepest_fall(curve, name, end):
    """Returns where a loss falls fastest against log(rate) before step `end`, after two windows, over one: shorter falls are noise."""
    losses, window, found = curve.losses[name], curve.window, None
    steepest = -LEAST_FALL * abs(losses[0]) if losses else 0.0
    for step in range(2 * window, end):
        if (slope := losses[step] - losses[step - window]) < steepest:
            steepest, found = slope, Point(name, step - window // 2, curve.rates[step - window // 2])
    return found


def verdict_of(curve: Curve, tested, diverged_rate: float | None = None) -> Verdict:
    """Judges a curve. @param tested  networks with rising rate; diverged_rate: of a failed step"""
    diverged = next(iter(points_above_best(curve, EXPLODED)), None)
    if diverged is None and diverged_rate is not None:
        diverged = Point("", len(curve.rates), diverged_rate)
    end = diverged.step if diverged else len(curve.rates)
    steepest = [fall for name in curve.losses if name in tested and (fall := steepest_fall(curve, name, end))]
    suggested, bound = diverged.rate / BELOW_DIVERGENCE if diverged else None, None
    if steepest:
        lowest = min(steepest, key=lambda point: point.rate)
        if not diverged or lowest.rate / BELOW_STEEPEST < suggested:
            suggested, bound = lowest.rate / BELOW_STEEPEST, lowest
    suffers = next((point for name in curve.losses for point in points_above_best(curve, SUFFERS)
                    if point.network == name != (bound.network if bound else "") and point.rate <= (suggested or 0)), None)
    return Verdict(diverged, steepest, None if suffers else suggested, bound, suffers)


def curve_text(curve: Curve, rows: int = TABLE_ROWS) -> str:
    """Returns a table of about `rows` evenly spaced steps."""
    steps = range(0, len(curve.rates), max(1, len(curve.rates) // rows))
    return table(["lr", "step", *(f"{name} loss" for name in curve.losses)],
                 [[f"{curve.rates[step]:.2e}", str(step + 1), *(f"{losses[step]:.4g}" for losses in curve.losses.values())] for step in steps])


def verdict_text(verdict: Verdict, last_rate: float) -> str:
    diverged, suffers, bound = verdict.diverged, verdict.suffers, verdict.bound
    if not diverged:
        lines = [f"no loss explodes up to lr {last_rate:.2g}; a larger --to finds where one does"]
    else:
        what = f"the {diverged.network}'s loss explodes" if diverged.network else "a loss or a weight is not finite"
        lines = [f"diverges at lr {diverged.rate:.2g} (step {diverged.step + 1}): {what}"]
    lines += [f"the {fall.network}'s loss falls fastest at lr {fall.rate:.2g} (step {fall.step + 1})" for fall in verdict.steepest]
    if suffers:
        lines.append(f"suggested lr: none, from lr {suffers.rate:.2g} on (step {suffers.step + 1}) the {suffers.network}'s loss is {SUFFERS} "
                     "times its size above its best; test each network alone, with --network")
    elif not verdict.suggested:
        lines.append("suggested lr: none, no loss falls; use more --steps or a larger --to")
    else:
        why = f"1/{BELOW_STEEPEST} of where the {bound.network}'s loss falls fastest" if bound else f"1/{BELOW_DIVERGENCE} of where it diverges"
        lines.append(f"suggested lr: {verdict.suggested:.2g}, {why}; try it and lower ones: a test is short, and one adversary's loss falls "
                     "because the other loses")
    return "\n".join(lines) + "\n"


def tested_networks(told: dict, network: str | None) -> list[str]:
    """Returns the networks whose rate rises. @param told  by prepared()"""
    frozen = {one["name"]: one["frozen"] for one in told["networks"]}
    if network is None:
        return [name for name, is_frozen in frozen.items() if not is_frozen]
    if network not in frozen:
        raise Failed(f"the job has no network '{network}'; it has {', '.join(frozen)}")
    if frozen[network]:
        raise Failed(f"--network {network}: it is frozen, and has no learning rate")
    return [network]


def range_job(told: dict, tested, first: float, last: float, steps: int) -> dict:
    """Returns the test's job: rates of `tested` rise, each step is a tick, no other output, and other schedules as they were."""
    job, kimg_of_step = dict(told["job"]), told["images_per_step"] / 1000
    for name in tested:
        (kind, optimizer), = job[name]["optimizer"].items()
        job[name] = {**job[name], "optimizer": {kind: {**optimizer, "lr": first}},
                     "schedule": {"decay": "exponential", "end_kimg": kimg_of_step * steps, "final_factor": last / first}}
    training = {key: value for key, value in job["training"].items() if key != "plateau"}
    # Half a step less: the run rounds up, so rounding of kimg_of_step cannot add a step.
    training |= {"kimg": kimg_of_step * (steps - 0.5), "divergence": {"loss_bound": 0}}  # the test looks for divergence
    if "burn_in_kimg" in training:
        training["burn_in_kimg"] = told["burn_in_images"] / 1000
    return {**job, "training": training, "output": {**job["output"], "tick_kimg": kimg_of_step, "pictures_kimg": 0},
            "layout": {**job["layout"], "audit": False, "check_steps": 0}, "checkpoint": {"every_kimg": 0, "snapshot_steps": 0}}


def draw(file: Path, curve: Curve, verdict: Verdict) -> str:
    """Plots the losses up to the divergence into a PNG file. Returns the legend of colours."""
    from matplotlib.figure import Figure
    axes = (figure := Figure(figsize=(6.4, 4), layout="tight")).add_subplot(xscale="log", xlabel="lr", ylabel="loss")
    end = verdict.diverged.step if verdict.diverged else len(curve.rates)
    colours = dict(zip(curve.losses, itertools.cycle(COLOURS)))
    for name, losses in curve.losses.items():
        axes.plot(curve.rates[:end], losses[:end], color=f"tab:{colours[name]}", label=name)
    axes.legend()
    for rate, colour in ((verdict.diverged and verdict.diverged.rate, "red"), (verdict.suggested, "green")):
        if rate:
            axes.axvline(rate, color=colour)
    figure.savefig(file, format="png", dpi=100)
    return ", ".join(f"{name} {colour}" for name, colour in colours.items()) + ", diverges red, suggested green"


def find_lr(job, keys=(), *, network: str | None = None, first: float = 1e-6, last: float = 1.0, steps: int = 300,
            workers: int | None = None, say=lambda line: None) -> tuple[Curve, Verdict]:
    """Runs the test in a temporary folder. Raises Failed for the job, or with the last words of a failed run. @param say  gets a line"""
    told = prepared(job, keys)
    most = told["job"]["training"]["microbatches"]
    if workers and workers > most:
        raise Failed(f"-n {workers}: so many workers cannot share training.microbatches {most}; use at most {most}, or more micro-batches")
    tested = tested_networks(told, network)
    rates = [first * (last / first) ** (step / steps) for step in range(1, steps + 1)]
    say(f"{job}: lr of {', '.join(tested)} from {first:g} to {last:g} in {steps} steps")
    run, = measured_runs(range_job(told, tested, first, last, steps), ["find-lr"], workers, may_diverge=True)
    curve = curve_of(run.stats, [one["name"] for one in told["networks"]], rates)
    return curve, verdict_of(curve, tested, rates[min(len(curve.rates), steps - 1)] if run.has_diverged else None)


def command(words: list[str]) -> None:
    parser = Parser("find-lr", "Find a learning rate: a short training in which it rises until a loss explodes",
                    "Examples:\n  gangway find-lr examples/ring8.yaml\n"
                    "  gangway find-lr examples/fashion-mnist.yaml --network discriminator -o lr.png\n"
                    "It trains in a temporary folder and removes it. docs/training.md explains the output.")
    parser.add_job()
    parser.add_argument("--network", help="network whose rate rises, while the others keep theirs; default: all rise together")
    parser.add_argument("--from", type=float, default=1e-6, dest="first", metavar="LR", help="rate of the first steps (%(default)s)")
    parser.add_argument("--to", type=float, default=1.0, dest="last", metavar="LR", help="rate of the last step (%(default)s)")
    parser.add_argument("--steps", type=whole_number(20, 10**6), default=300, metavar="N", help="steps of the test (%(default)s)")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="PNG file for the curves; default: none")
    line = parser.parse_intermixed_args(words)
    if not (line.first > 0 and line.first < line.last <= LARGEST_FACTOR * line.first):
        raise Failed(f"--from {line.first:g} --to {line.last:g}: expected two rates above 0 that rise, by a factor of 1e9 at most")
    require_plot(line.output)
    options = {name: value for name, value in vars(line).items() if name != "output"}
    curve, verdict = find_lr(**options, say=lambda text: print(text, flush=True))
    print(f"\n{curve_text(curve)}\n{verdict_text(verdict, line.last)}", end="")
    if line.output and len(curve.rates) < 2:
        print(f"{line.output}: not written, the test had no two steps")
    elif line.output:
        print(f"{line.output}: losses by lr, {draw(line.output, curve, verdict)}")
