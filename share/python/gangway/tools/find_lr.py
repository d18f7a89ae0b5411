# SPDX-License-Identifier: MIT
"""The learning rate range test (Smith, 2017, section 3.3), by a short training whose rate rises by equal factors from step to step."""
import json
import math
from pathlib import Path
from typing import NamedTuple

from gangway.errors import Failed
from gangway.tools.command_line import Parser, require_plot, table, whole_number
from gangway.tools.measured import measured_run, prepared

BELOW_STEEPEST, BELOW_DIVERGENCE = 4, 10  # a rate where a loss falls fastest, or diverges, over the one that is suggested
SUFFERS = 4     # how often its best a loss may rise above it where another falls
EXPLODED = 10   # and before it is said to explode: adversaries' losses rise a few times over while all is well
WINDOWS = 30    # of a test's steps that a mean is over: 0.2 of the six decades that are usual
LEAST_FALL = 0.01  # of the loss, within a window: below it is chance
TABLE_ROWS = 24
LARGEST_FACTOR = 1e9
COLOURS = {"blue": "#1f77b4", "orange": "#ff7f0e", "gray": "#7f7f7f"}  # of networks; more of them begin again
ENVIRONMENT = 6


class Point(NamedTuple):
    network: str  # "": a loss or a weight is not finite
    step: int     # from 0; the number of steps where the run ended there
    rate: float


class Curve(NamedTuple):
    rates: list[float]              # by step
    losses: dict[str, list[float]]  # by network that has one, by step, smoothed
    window: int                     # steps that a smoothed loss is a mean over, about


class Verdict(NamedTuple):
    diverged: Point | None   # from where on a loss explodes, or the run diverged
    steepest: list[Point]    # where a network's loss falls fastest, if it falls
    suggested: float | None
    bound: Point | None      # of `steepest`, from which that follows
    suffers: Point | None    # the other network's loss there, why none is suggested


def smoothed(losses, window):
    """A fading mean, without the pull of the zero that it begins with (Kingma and Ba, 2015, section 3)."""
    kept, means, total, weight = 1 - 1 / window, [], 0.0, 0.0
    for loss in losses:
        total, weight = kept * total + (1 - kept) * loss, kept * weight + (1 - kept)
        means.append(total / weight)
    return means


def curve_of(stats: str, networks, rates) -> Curve:
    """@param stats  stats.jsonl of a run whose ticks are its steps; rates: of the whole test"""
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
    """The first step at which a loss is above its best by so many times its size; None: none is."""
    best = math.inf
    for step, loss in enumerate(losses):
        best = min(best, loss)
        if not math.isfinite(loss) or loss > best + times * max(abs(best), abs(losses[0])):
            return step
    return None


def points_above_best(curve, times):
    found = [Point(name, step, curve.rates[step]) for name, losses in curve.losses.items()
             if (step := step_above_best(losses, times)) is not None]
    return sorted(found, key=lambda point: point.step)  # the networks' order where they are equal


def steepest_fall(curve, name, end):
    """Where a loss falls fastest by the logarithm of the rate, before step `end`. Rates rise by equal factors, so steps are as long as
    one another. Before the mean is one, and over fewer steps than it remembers, a fall is chance."""
    losses, window, found = curve.losses[name], curve.window, None
    steepest = -LEAST_FALL * abs(losses[0]) if losses else 0.0
    for step in range(2 * window, end):
        if (slope := losses[step] - losses[step - window]) < steepest:
            steepest, found = slope, Point(name, step - window // 2, curve.rates[step - window // 2])
    return found


def verdict_of(curve: Curve, tested, diverged_rate: float | None = None) -> Verdict:
    """@param tested  networks whose rate rises; diverged_rate: of the step that had a loss that is not finite"""
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
    """About `rows` steps, equally far apart."""
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
                     "times its size above its best; find each network's alone, with --network")
    elif not verdict.suggested:
        lines.append("suggested lr: none, no loss falls; use more --steps or a larger --to")
    else:
        why = f"1/{BELOW_STEEPEST} of where the {bound.network}'s loss falls fastest" if bound else f"1/{BELOW_DIVERGENCE} of where it diverges"
        lines.append(f"suggested lr: {verdict.suggested:.2g}, {why}; try it and lower ones: a test is short, and one adversary's loss falls "
                     "because the other loses")
    return "\n".join(lines) + "\n"


def tested_networks(told: dict, network: str | None) -> list[str]:
    """Those whose rate rises. @param told  by prepared()"""
    frozen = {one["name"]: one["frozen"] for one in told["networks"]}
    if network is None:
        return [name for name, is_frozen in frozen.items() if not is_frozen]
    if network not in frozen:
        raise Failed(f"the job has no network '{network}'; it has {', '.join(frozen)}")
    if frozen[network]:
        raise Failed(f"--network {network}: it is frozen, and has no learning rate")
    return [network]


def range_job(told: dict, tested, first: float, last: float, steps: int) -> dict:
    """The job that is run: the rates of `tested` rise, it ends behind them, each step is a tick, and nothing else is written.
    Its other schedules are where they would be after as many images."""
    job, kimg_of_step = dict(told["job"]), told["images_per_step"] / 1000
    for name in tested:
        (kind, optimizer), = job[name]["optimizer"].items()
        job[name] = {**job[name], "optimizer": {kind: {**optimizer, "lr": first}},
                     "schedule": {"decay": "exponential", "end_kimg": kimg_of_step * steps, "final_factor": last / first}}
    training = {key: value for key, value in job["training"].items() if key != "plateau"}
    # Half a step less: rounded up, it is as many steps whatever kimg_of_step has been rounded to.
    training |= {"kimg": kimg_of_step * (steps - 0.5), "divergence": {"loss_bound": 0}}  # where it explodes is looked for
    if "burn_in_kimg" in training:
        training["burn_in_kimg"] = told["burn_in_images"] / 1000
    return {**job, "training": training, "output": {**job["output"], "tick_kimg": kimg_of_step, "pictures_kimg": 0},
            "layout": {**job["layout"], "audit": False, "check_steps": 0}, "checkpoint": {"every_kimg": 0, "snapshot_steps": 0}}


def draw(file: Path, curve: Curve, verdict: Verdict) -> str:
    """The losses as long as they are not beyond what can be seen beside the others. What each colour is."""
    from matplotlib.figure import Figure
    axes = (figure := Figure(figsize=(6.4, 4), layout="tight")).add_subplot(xscale="log", xlabel="lr", ylabel="loss")
    end = verdict.diverged.step if verdict.diverged else len(curve.rates)
    names = list(COLOURS)
    for place, (name, losses) in enumerate(curve.losses.items()):
        axes.plot(curve.rates[:end], losses[:end], color=COLOURS[names[place % len(names)]], label=name)
    axes.legend()
    for rate, colour in ((verdict.diverged and verdict.diverged.rate, "red"), (verdict.suggested, "green")):
        if rate:
            axes.axvline(rate, color=colour)
    figure.savefig(file, format="png", dpi=100)
    return ", ".join(f"{name} {names[place % len(names)]}" for place, name in enumerate(curve.losses)) + ", diverges red, suggested green"


def find_lr(job, keys=(), *, network: str | None = None, first: float = 1e-6, last: float = 1.0, steps: int = 300,
            workers: int | None = None, say=lambda line: None) -> tuple[Curve, Verdict]:
    """Runs the test in a temporary folder, and removes that. @param say  takes a line that says what will be done
    Raises Failed: the job, or with the last words of a run that failed."""
    told = prepared(job, keys)
    most = told["job"]["training"]["microbatches"]
    if workers and workers > most:
        raise Failed(f"-n {workers}: so many workers cannot share training.microbatches {most}; use at most {most}, or more micro-batches")
    tested = tested_networks(told, network)
    rates = [first * (last / first) ** (step / steps) for step in range(1, steps + 1)]
    say(f"{job}: lr of {', '.join(tested)} from {first:g} to {last:g} in {steps} steps")
    run = measured_run(range_job(told, tested, first, last, steps), "find-lr", workers, may_diverge=True)
    curve = curve_of(run.stats, [one["name"] for one in told["networks"]], rates)
    return curve, verdict_of(curve, tested, rates[min(len(curve.rates), steps - 1)] if run.has_diverged else None)


def command(words: list[str]) -> None:
    parser = Parser("find-lr", "Find a learning rate: a short training in which it rises until a loss explodes",
                    "Examples:\n  gangway find-lr examples/ring8.yaml\n"
                    "  gangway find-lr examples/fashion-mnist.yaml --network discriminator -o lr.png\n"
                    "It trains in a temporary folder and leaves nothing of that. docs/training.md says how to read what it prints.")
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
    curve, verdict = find_lr(line.job, line.keys, network=line.network, first=line.first, last=line.last, steps=line.steps,
                             workers=line.workers, say=lambda text: print(text, flush=True))
    print(f"\n{curve_text(curve)}\n{verdict_text(verdict, line.last)}", end="")
    if line.output and len(curve.rates) < 2:
        print(f"{line.output}: not written, the test had no two steps")
    elif line.output:
        print(f"{line.output}: losses by lr, {draw(line.output, curve, verdict)}")
