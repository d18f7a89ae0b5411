# SPDX-License-Identifier: MIT
"""Reads a run directory (docs/run-directory.md), also while the run trains."""
import html
import json
import re
import subprocess
import tempfile
from functools import cached_property
from pathlib import Path

from gangway import job_file
from gangway.checkpoint import Checkpoint
from gangway.errors import Failed, complaints
from gangway.launch import program
from gangway.shown import Picture, Pictures, Stats
from gangway.tools.recorded import run_folder


def open_run(run, outdir="runs") -> "Run":
    """Opens a run directory, or the newest run of a name in `outdir`. Raises Failed if there is none."""
    folder = Path(run_folder(str(run), str(outdir)))
    if not (folder / "job.yaml").is_file():
        raise Failed(f"{folder}: is no run directory of Gangway's: it has no job.yaml")
    return Run(folder)


class Run:
    def __init__(self, folder: Path):
        self.folder = folder

    def __repr__(self):
        return f"gangway.open({str(self.folder)!r})"

    def _repr_html_(self):
        newest = Pictures(self.pictures[-1:])
        return f"<p>{html.escape(repr(self))}</p>{self.stats._repr_html_()}{newest._repr_html_()}"

    @cached_property
    def job(self) -> dict:
        """Returns the resolved job: every key that applies, in its section."""
        return job_file.parse((self.folder / "job.yaml").read_text(errors="replace"), str(self.folder / "job.yaml"))

    @property
    def stats(self) -> Stats:
        """Returns a dict for each tick so far: "kimg", "images_per_second", "generator_loss" …"""
        ticks = Stats()
        try:
            lines = (self.folder / "stats.jsonl").read_text(errors="replace").splitlines(keepends=True)
        except FileNotFoundError:
            return ticks
        for number, line in enumerate(lines, 1):
            if not line.endswith("\n"):  # is being written
                break
            try:
                ticks.append(json.loads(line))
            except ValueError:
                raise Failed(f"{self.folder / 'stats.jsonl'}: line {number} is no JSON: damaged", 5) from None
        return ticks

    @property
    def steps(self) -> list[int]:
        """Returns the steps of the run's checkpoints, ascending."""
        found = (re.fullmatch(r"step-(\d{9})", path.name) for path in (self.folder / "checkpoints").glob("step-*") if path.is_dir())
        return sorted(int(name[1]) for name in found if name)

    def checkpoint(self, step: int | None = None) -> Checkpoint:
        """Opens that of `step`, or the newest. Raises Failed, code 5, if missing or damaged."""
        steps = self.steps
        if not steps:
            raise Failed(f"{self.folder}: has no checkpoint yet", 5)
        if step is not None and step not in steps:
            raise Failed(f"{self.folder}: has no checkpoint of step {step}; there are {', '.join(map(str, steps))}", 5)
        chosen = steps[-1] if step is None else step
        return Checkpoint(self.folder / "checkpoints" / f"step-{chosen:09}")

    @property
    def checkpoints(self) -> list[Checkpoint]:
        """Opens all checkpoints, by step. Raises Failed at the first damaged one."""
        return [self.checkpoint(step) for step in self.steps]

    def networks(self, step: int | None = None) -> list[str]:
        """Returns the names of the networks in a checkpoint."""
        sections = {name.split("/")[0] for name in self.checkpoint(step).names}
        return sorted(one for one in sections if not one.endswith(("_ema", "_optimizer")))

    def state_dict(self, network: str, step: int | None = None, average: bool = False) -> dict:
        """Returns {name: torch tensor} as your module's state_dict(), or as `gangway checkpoints export`. @param average  averaged weights"""
        checkpoint = self.checkpoint(step)
        section = f"{network}_ema/" if average else f"{network}/"
        names = [name for name in checkpoint.names if name.startswith(section)]
        if not names and average and f"{network}/" in {name.partition("/")[0] + "/" for name in checkpoint.names}:
            raise Failed(f"{checkpoint.folder}: keeps no average of the {network}: {network}.ema_kimg is 0")
        if not names:
            raise Failed(f"{checkpoint.folder}: has no network '{network}'; there are {', '.join(self.networks(step))}")
        state = {}
        for name in names:
            values = checkpoint.tensor(name)
            if name.endswith("num_batches_tracked"):  # BatchNorm's integer, saved as a float mean
                values = values.round().long()
            state[name.removeprefix(section).replace("/", ".")] = values
        return state

    @property
    def digest(self) -> str:
        """Returns what `gangway digest` prints of the newest checkpoint. That of an older one: run.checkpoint(400).digest()."""
        return self.checkpoint().digest()

    @property
    def pictures(self) -> Pictures:
        """Returns the pictures that the training has drawn so far: reals, fakes_init, fakes …"""
        files = sorted(self.folder.glob("*.png"), key=lambda file: (file.name[:5] != "reals", "_" not in file.name, file.name))
        return Pictures(Picture(file.read_bytes(), file.name) for file in files)

    def sample(self, seeds="0-15", step: int | None = None, options=()) -> Pictures:
        """Returns the picture of each seed (a number, numbers, or "0-63"); of points, one of all. @param options  as ["--label", "3"]"""
        text = seeds if isinstance(seeds, str) else ",".join(map(str, [seeds] if isinstance(seeds, int) else seeds))
        words = [program(), "sample", str(self.folder), "--seeds", text, *(["--step", str(step)] if step is not None else []), *options]
        with tempfile.TemporaryDirectory(prefix="gangway-sample-") as folder:
            is_points = self.job["model"]["family"] == "mlp"
            words += ["-o", f"{folder}/all.png"] if is_points else ["--single", folder]
            done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace")
            if done.returncode != 0:
                why = complaints(done.stderr.splitlines())
                raise Failed(why[-1] if why else f"gangway sample ended with {done.returncode}", done.returncode)
            ranges = (part.partition("-") for part in text.split(","))
            captions = [text] if is_points else [str(seed) for first, _, last in ranges for seed in range(int(first), int(last or first) + 1)]
            return Pictures(Picture(file.read_bytes(), caption) for file, caption in zip(sorted(Path(folder).iterdir()), captions))
