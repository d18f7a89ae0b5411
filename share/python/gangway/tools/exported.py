# SPDX-License-Identifier: MIT
"""Brings a run's generator into other engines: its ONNX file, inputs, and scores of what they make."""
import json
import os
import sys
from pathlib import Path

import numpy
from safetensors import safe_open

from gangway.errors import ENVIRONMENT, Failed, complaints
from gangway.launch import program
from gangway.tools.measured import OutOfTime, output_of, time_limit
from gangway.tools.recorded import reference_of, run_folder, said_by

ENGINE = Path(__file__).with_name("engine.py")
AT_ONCE = 256  # examples


def told_by(words: list, deadline: float = 3600, option: str = "") -> dict:
    """Returns the JSON of a command's last line. Raises Failed with its complaint, its signal, or the deadline in seconds and `option`."""
    try:
        with time_limit(deadline):
            done = output_of([*map(str, words)], dict(os.environ))
    except OutOfTime:
        raise Failed(f"took longer than {deadline:g} s{option}, and was ended", ENVIRONMENT) from None
    *_, last = [line for line in done.text.splitlines() if line.strip()] or [""]
    if done.code < 0:
        raise Failed(f"was ended by signal {-done.code}", 1)
    if done.code != 0:
        raise Failed((complaints(done.text.splitlines()) or [f"ended with code {done.code}: {last}"])[-1], done.code)
    try:
        return json.loads(last)
    except ValueError:
        raise Failed(f"printed '{last[:80]}' instead of its figures", ENVIRONMENT) from None


def largest_difference(made: Path, expected: Path) -> float:
    """Returns the largest difference of two files' pictures as a share of the largest value. Raises Failed if a value is not finite."""
    apart = largest = 0.0
    with safe_open(made, "numpy") as one, safe_open(expected, "numpy") as other:
        slices = one.get_slice("output"), other.get_slice("output")
        if slices[0].get_shape() != slices[1].get_shape():
            raise Failed(f"made pictures of shape {slices[0].get_shape()}, not {slices[1].get_shape()}")
        size = slices[0].get_shape()[0]
        for first in range(0, size, AT_ONCE):
            mine, wanted = (part[first:min(first + AT_ONCE, size)] for part in slices)
            if not (numpy.isfinite(mine) & numpy.isfinite(wanted)).all():
                raise Failed("made values that are not finite")
            apart, largest = max(apart, float(numpy.abs(mine - wanted).max())), max(largest, float(numpy.abs(wanted).max()))
    return apart / largest if largest else apart


class Exported:
    """A run's generator, its ONNX file, and a folder for other files. @param choice  RUN, or RUN --step N"""

    def __init__(self, choice: list, onnx: Path, folder: Path):
        self.choice, self.onnx, self.folder = choice, onnx, folder

    def inputs(self, name: str, *words) -> Path:
        """Returns a new file of inputs. @param words  --seeds 0-31; or --evaluation, --samples N"""
        file = self.folder / f"{name}.safetensors"
        said_by("inputs", *self.choice, *words, "-o", file, by="gangway-model")
        return file

    def score_of(self, made: Path) -> dict:
        """Returns "metric", "score", and whether "better" is "higher" or "lower"."""
        return told_by([program(), "evaluate", *self.choice, "--made", made])

    def words(self, engine: str, model: Path, precision: str, inputs: Path, batch: int, threads: int) -> list:
        """Returns the command that computes with an engine. More words: --seconds S, or --made FILE."""
        own = [Path(program()).with_name("gangway-model"), "time", *self.choice] if engine == "gangway" else [sys.executable, "-P", ENGINE, engine, model]
        return [*own, "--precision", precision, "--inputs", inputs, "--batch", batch, "--threads", threads]


def export(reference: str, outdir: str, folder: Path) -> Exported:
    """Exports the generator of RUN or RUN@STEP into `folder`. Raises Failed if there is no such run, or no ONNX of its network."""
    (name, step), onnx = reference_of(reference), folder / "generator.onnx"
    run = run_folder(name, outdir)
    said_by("checkpoints", "export", run if step is None else f"{run}@{step}", "-o", onnx)
    return Exported([run, *([] if step is None else ["--step", step])], onnx, folder)
