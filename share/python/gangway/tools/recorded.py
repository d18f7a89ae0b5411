# SPDX-License-Identifier: MIT
"""Finds run directories and reads what ended runs recorded."""
import json
import os
import re
from pathlib import Path
from typing import NamedTuple

from gangway.errors import Failed, complaints
from gangway.launch import program
from gangway.tools.measured import output_of

DAMAGED = "damaged: "
MOST_STEPS = 2**63


class Reference(NamedTuple):
    run: str          # a directory, or the name of a run
    step: int | None  # of a checkpoint


def reference_of(text: str) -> Reference:
    """Parses "NAME", "NAME@120" or "runs/00003-NAME". Raises Failed if the step is no number."""
    run, at, step = text.rpartition("@")
    if not at or os.path.isdir(text):
        return Reference(text, None)
    if not re.fullmatch("[0-9]+", step) or int(step) >= MOST_STEPS:
        raise Failed(f"'{text}': after @ comes the step of a checkpoint, as in {run}@120")
    return Reference(run, int(step))


def run_folder(run: str, outdir: str = "runs") -> str:
    """Returns a run's absolute path. A name means this user's newest run. Raises Failed if none."""
    if not any((Path(run) / name).exists() for name in ("job.yaml", "lock", "checkpoints")):  # a folder of pictures may bear a run's name
        named = [(path.stat().st_uid == os.geteuid(), int(found[1]), path) for path in Path(outdir).glob("*-*")
                 if (found := re.fullmatch(r"([0-9]{5,})-(.*)", path.name)) and run in (path.name, found[2]) and path.is_dir()]
        if named:
            return os.path.abspath(max(named)[-1])
    if os.path.isdir(run):
        return os.path.join(os.getcwd(), run)
    raise Failed(f"no run '{run}': it is neither a directory nor the name of a run in {outdir} (--outdir)")


def whole_run(run, outdir, refusal: str) -> Path:
    """Returns the directory. Raises Failed if missing; `refusal` (step in {}) for NAME@STEP."""
    reference = reference_of(str(run))
    if reference.step is not None:
        raise Failed(refusal.format(reference.step))
    return Path(run_folder(reference.run, str(outdir)))


def is_under_way(run: Path) -> bool:
    """Returns whether a process here trains it. Taking the lock could block a starting job."""
    try:
        status = json.loads((run / "status.json").read_text())
        if isinstance(status, dict) and type(status.get("exit_code")) is int:
            return False
    except (OSError, ValueError):
        pass
    try:
        inode = f":{(run / 'lock').stat().st_ino} "
        return any("FLOCK" in line and inode in line for line in Path("/proc/locks").read_text().splitlines())
    except OSError:
        return False


def said_by(*words, may_differ: bool = False, by: str = "gangway") -> str:
    """Returns a command's output. Raises Failed if it fails. @param may_differ  accepts code 1; by: the program"""
    done = output_of([str(Path(program()).with_name(by)), *map(str, words)], dict(os.environ))
    if done.code != 0 and not (may_differ and done.code == 1):
        raise Failed("\n".join(complaints(done.text.splitlines())) or f"gangway {words[0]} ended with {done.code}", done.code)
    return done.text


def begun(job: Path, weights: Path, run: Path, keys, named: str) -> None:
    """Writes a run at step 0 with the weights of a file. @param named  the file's name in errors"""
    run.mkdir()
    try:
        said_by("begin", job, weights, run, *keys, by="gangway-model")
    except Failed as error:
        raise Failed(error.line.replace(str(weights), named), error.code) from None


class Checkpoints(NamedTuple):
    sound: list[int]         # steps, ascending
    damaged: dict[int, str]  # by step, ascending: the damage


def checkpoints_of(run: Path) -> Checkpoints:
    """Lists checkpoints with `gangway checkpoints ls`, which checks manifests and file sizes."""
    heading, *rows = said_by("checkpoints", "ls", run).splitlines()
    found = Checkpoints([], {})
    if heading.split()[:1] != ["step"]:
        return found  # the line says that there are none
    place = heading.index("status")
    for row in reversed(rows):
        step, status = int(row.split()[0]), row[place:].removeprefix("pinned, ")
        if status.startswith(DAMAGED):
            found.damaged[step] = status.removeprefix(DAMAGED)
        else:
            found.sound.append(step)
    return found
