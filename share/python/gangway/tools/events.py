# SPDX-License-Identifier: MIT
"""Prints a run's decisions, its lost processes and hosts, and the commands that it got."""
import json
import time
from pathlib import Path
from typing import NamedTuple

from gangway.errors import ENVIRONMENT, UNUSABLE, Failed
from gangway.tools.command_line import Parser, table
from gangway.tools.recorded import whole_run

NUMBER = (int, float)
# Keys that every line of a file must have.
DECISION = {"step": int, "kind": str, "lr_factor": NUMBER, "reseed": int, "seen": int, "why": str}
RESTART = {"time": NUMBER, "start": int, "ran_seconds": NUMBER, "why": str}
REQUEST = {"time": NUMBER, "command": str}


class Events(NamedTuple):
    """Dicts per line: decisions.jsonl, restarts.jsonl, steering.jsonl (docs/run-directory.md)."""
    decisions: list[dict]
    restarts: list[dict]
    requests: list[dict]


def _read(file: Path, keys: dict) -> list[dict | None]:
    """Returns a dict per line; None for a damaged line."""
    try:
        lines = file.read_bytes().removesuffix(b"\n").split(b"\n") if file.is_file() and file.stat().st_size else []
    except OSError as error:
        raise Failed(f"{file}: cannot be read: {error.strerror}", ENVIRONMENT) from None
    rows = []
    for line in lines:
        try:
            row = json.loads(line.decode())
            rows.append(row if all(isinstance(row[key], kind) for key, kind in keys.items()) else None)
        except (ValueError, LookupError, TypeError, RecursionError):
            rows.append(None)
    return rows


def events(run, outdir="runs") -> Events:
    """Returns the events of a run directory, or of a named run, in order. Raises Failed if it is missing, or a decision is damaged."""
    folder = whole_run(run, outdir, "events are a run's, not a checkpoint's: leave @{} out")
    file = folder / "decisions.jsonl"
    decisions = _read(file, DECISION)
    if None in decisions:
        raise Failed(f"{file}, line {decisions.index(None) + 1}: is no decision: damaged, or of a newer gangway; remove the file to go by "
                     "those that the newest checkpoint has", UNUSABLE)
    restarts, requests = _read(folder / "restarts.jsonl", RESTART), _read(folder / "steering.jsonl", REQUEST)
    return Events(decisions, [*filter(None, restarts)], [*filter(None, requests)])  # a crash may truncate a line of these two


def _when(event: dict) -> str:
    try:
        return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(event["time"]))
    except (ValueError, OverflowError, OSError):
        return "-"


def _settings(decision: dict) -> str:
    factor, retry = decision["lr_factor"], decision["reseed"]
    return ", ".join([f"lr x {str(factor).removesuffix('.0')}"] * (factor != 1) + [f"retry {retry}'s seed"] * (retry > 0)) or "-"


def _told(found: Events) -> str:
    def cells(event, *keys):
        return [str(event.get(key, "")) for key in keys]

    text = "nothing was decided in this run\n"
    if found.decisions:
        rows = [[*cells(one, "step", "kind"), _settings(one), *cells(one, "seen", "why")] for one in found.decisions]
        text = table(["from step", "event", "settings", "seen after", "why"], rows, {1, 2, 4})
    if found.restarts:
        rows = [[_when(one), str(one["start"]), str(one.get("begun", "-")), f"{one['ran_seconds']:.1f} s", *cells(one, "why", "answer")]
                for one in found.restarts]
        text += "\nlost processes and hosts:\n" + table(["when", "start", "begun at", "ran", "lost", "answer"], rows, {0, 4, 5})
    if found.requests:
        rows = [[str(one.get("step", 0)), _when(one), *cells(one, "command", "who", "answer")] for one in found.requests]
        text += "\ncommands by users and by gangway:\n" + table(["after step", "asked", "command", "who", "answer"], rows, {1, 2, 3, 4})
    return text


def command(words: list[str]) -> None:
    parser = Parser("events", "What was decided while a run was trained (rollbacks, lower rates, its early end), what it lost and how it "
                    "went on, and what people asked of it",
                    "Example:\n  gangway events fashion-mnist\n"
                    "Files: RUN/decisions.jsonl, RUN/restarts.jsonl and RUN/steering.jsonl.")
    parser.add_run()
    line = parser.parse_args(words)
    print(_told(events(line.run, line.outdir)), end="")
