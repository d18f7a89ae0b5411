# SPDX-License-Identifier: MIT
"""Compares runs: their results, the keys in which their jobs differ, and the parts of a step."""
import math
import sys
import time
from pathlib import Path
from typing import NamedTuple

from gangway.errors import Failed
from gangway.tools.command_line import Parser, plain, table, write_whole
from gangway.tools.machine import duration_text
from gangway.tools.page import static_page
from gangway.tools.recorded import whole_run
from gangway.tools.run_view import PICTURE_BYTES, run_document

MOST_RUNS = 8  # a chart has 8 colours
WHOLE = "step"
FORMATS = {"state": "", "kimg": ".1f", "steps": ".0f", "workers": "", "images/s, mean": ".1f", "waits for communication, %": ".1f",
           "waits for data, %": ".1f"}  # other results: .4g


class Comparison(NamedTuple):
    """Holds one value per run, in the order of `names`. None: the run has no such value."""
    names: list[str]
    results: dict[str, list]            # by title, as "images/s, mean"
    differences: dict[str, list]        # by key that differs between the jobs: its values as text
    parts: list[dict[str, float]]       # ms per step, slowest worker, by part; "step": the sum
    device_parts: list[dict[str, float]]  # the same on its GPU


def _mean(column) -> float | None:
    numbers = [value for value in column if value is not None]
    return sum(numbers) / len(numbers) if numbers else None


def part_means(ticks: dict, whose: str) -> dict[str, float]:
    """Returns ms per part, averaged over ticks that have parts, but the first (warm-up). @param ticks  by column; whose: their prefix"""
    columns = {name.removeprefix(whose): ticks[name] for name in sorted(ticks) if name.startswith(whose)}
    telling = [tick for tick in zip(*columns.values()) if any(value is not None for value in tick)]
    means = {part: 1e3 * sum(value or 0.0 for value in values) / len(values) for part, values in zip(columns, zip(*telling[1:] or telling))}
    return {**means, WHOLE: sum(means.values())} if means else {}


def _percent(part: float, whole: float) -> float:
    return 100 * part / whole if whole else math.nan


def _results(runs: list[dict], parts) -> dict[str, list]:
    progress, ticks = [run["progress"] for run in runs], [run["ticks"] for run in runs]
    results = {"state": [run["run"]["state"] for run in runs],
               "kimg": [one["kimg"] for one in progress],
               "steps": [one["step"] for one in progress],
               "time": [one["seconds"] for one in progress],
               "workers": [sum(rank.get("role") == "worker" for rank in run["workers"]) for run in runs],
               "images/s, mean": [_mean(one.get("images_per_second", [])) for one in ticks],
               "waits for communication, %": [_mean(one.get("exposed_percent", [])) for one in ticks],
               "waits for data, %": [_percent(one.get("data", 0.0), one[WHOLE]) if one else None for one in parts]}
    for loss in sorted({name for one in ticks for name in one if name.endswith("_loss")}):
        results[f"{loss}, last"] = [(one.get(loss) or [None])[-1] for one in ticks]
    scores = [{score["metric"]: score["points"][-1]["value"] for score in run["scores"] if score["points"]} for run in runs]
    for metric in sorted({metric for one in scores for metric in one}):
        results[f"{metric}, last"] = [one.get(metric) for one in scores]
    return results


def _compared(runs: list[dict]) -> Comparison:
    """Returns the comparison. @param runs  documents as run_document() returns them"""
    jobs = [run["job"]["keys"] for run in runs]
    values = {key: [job.get(key) for job in jobs] for key in sorted({key for job in jobs for key in job})}
    hosts, devices = ([part_means(run["ticks"], whose) for run in runs] for whose in ("parts.", "device_parts."))
    return Comparison([run["run"]["name"] for run in runs], _results(runs, [device or host for device, host in zip(devices, hosts)]),
                      {key: ones for key, ones in values.items() if any(one != ones[0] for one in ones)}, hosts, devices)


def _documents(runs, outdir) -> list[dict]:
    if not 2 <= len(runs) <= MOST_RUNS:
        raise Failed(f"{len(runs)} of 2 to {MOST_RUNS} runs were named: see 'gangway compare --help'")
    refusal = "runs are compared, not checkpoints: leave @{} out (gangway checkpoints diff compares those)"
    folders = [whole_run(run, outdir, refusal) for run in runs]
    return [run_document(folder, PICTURE_BYTES // len(runs)) for folder in folders]


def compare(*runs, outdir="runs") -> Comparison:
    """Compares run directories, or runs named in `outdir`. Raises Failed if a run is missing."""
    return _compared(_documents(runs, outdir))


def _shown(what: str, value) -> str:
    if value is None:
        return "-"
    return duration_text(value) if what == "time" else format(value, FORMATS.get(what, ".4g"))


def _told(found: Comparison) -> str:
    text = table(["", *found.names], [[what, *(_shown(what, value) for value in values)] for what, values in found.results.items()], 1)
    if not found.differences:
        return text + "\nTheir jobs are the same, key for key.\n"
    rows = [[key, *("-" if value is None else value for value in values)] for key, values in found.differences.items()]
    return f"{text}\n{table(['key', *found.names], rows, 1)}"


def _parts_table(title: str, names, means: list[dict]) -> str:
    """Returns a table of the parts, the largest first."""
    most = {part: max(run.get(part, 0.0) for run in means) for part in sorted({part for run in means for part in run})}
    rows = [[part, *(f"{run.get(part, 0.0):.3f}  {_percent(run.get(part, 0.0), run[WHOLE]):5.1f}%" if run else "-" for run in means)]
            for part in sorted(most, key=most.get, reverse=True)]
    return table([title, *names], rows, 1)


def _parts_told(found: Comparison) -> str:
    for name, parts in zip(found.names, found.parts):
        if not parts:
            raise Failed(f"{name}: its ticks do not tell the parts of a step (it has none yet, or an earlier Gangway wrote them)")
    text = _parts_table("ms a step, slowest worker", found.names, found.parts)
    return text + ("\n" + _parts_table("ms a step, its GPU", found.names, found.device_parts) if any(found.device_parts) else "")


def _slower(found: Comparison, most_percent: float) -> list[str]:
    """Names parts slower than the first run's by over `most_percent` of its step, CPU and GPU."""
    lines = []
    for run in range(1, len(found.names)):
        for whose, (first, *others) in (("", found.parts), ("the GPU's ", found.device_parts)):
            for part, mean in sorted(others[run - 1].items()) if first else ():
                more = mean - first.get(part, 0.0)
                if (percent := _percent(more, first[WHOLE])) > most_percent:
                    lines.append(f"slower: {whose}{part} of {found.names[run]} takes {more:.3f} ms more, {percent:.1f} % of a step")
    return lines


def _percentage(text: str) -> float:
    try:
        value = float(text.removesuffix("%"))
    except ValueError:
        value = math.nan
    if not value >= 0:
        raise Failed(f"--fail-above '{text}': a percentage such as 3% is wanted")
    return value


def command(words: list[str]) -> None:
    parser = Parser("compare", "Set runs side by side: their jobs, curves, speed and pictures",
                    "Examples:\n  gangway compare first second\n  gangway compare before after --parts --fail-above 3%\n"
                    "  gangway compare runs/00003-first runs/00007-second --output both.html")
    parser.add_run("+")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="also write the comparison as one HTML file")
    parser.add_argument("--parts", action="store_true", help="show the time of each part of a step")
    parser.add_argument("--fail-above", type=_percentage, metavar="PERCENT", help="exit with code 1 if a part takes longer than in the "
                        "first run by more than PERCENT of that run's step")
    line = parser.parse_intermixed_args(words)
    runs = _documents(line.run, line.outdir)
    found, slower = _compared(runs), []
    print(_told(found), end="", flush=True)
    if line.parts or line.fail_above is not None:
        print(f"\n{_parts_told(found)}", end="")
        slower = _slower(found, math.inf if line.fail_above is None else line.fail_above)
        print(plain("".join(f"{one}\n" for one in slower)), end="", flush=True)
    if line.output:
        differences = [{"key": key, "values": values} for key, values in found.differences.items()]
        document = {"runs": runs, "differences": differences, "made_unix": time.time()}
        write_whole(line.output, static_page(document, "Runs compared · Gangway"))
        print(f"\n{line.output}")
    if slower:
        sys.exit(1)
