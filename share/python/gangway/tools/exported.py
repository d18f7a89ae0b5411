# SPDX-License-Identifier: MIT
"""Brings a run's generator into other engines: its ONNX file, inputs, and scores of what they make."""
import json
import os
import sys
from pathlib import Path

from gangway.errors import ENVIRONMENT, Failed, complaints
from gangway.launch import program
from gangway.tools.measured import OutOfTime, output_of, time_limit
from gangway.tools.recorded import reference_of, run_folder, said_by

ENGINE = Path(__file__).with_name("engine.py")


def model_program() -> str:
    return str(Path(program()).parent / "gangway-model")


def told_by(words: list, deadline: float = 3600) -> dict:
    """Returns the last line of a command's output, which is JSON. Raises Failed with one line:
    its complaint, the signal that ended it, or the deadline in seconds."""
    try:
        with time_limit(deadline):
            done = output_of([*map(str, words)], dict(os.environ))
    except OutOfTime:
        raise Failed(f"took longer than {deadline:g} s (--deadline), and was ended", ENVIRONMENT) from None
    *_, last = [line for line in done.text.splitlines() if line.strip()] or [""]
    if done.code < 0:
        raise Failed(f"was ended by signal {-done.code}", ENVIRONMENT)
    if done.code != 0:
        raise Failed((complaints(done.text.splitlines()) or [f"ended with code {done.code}: {last}"])[-1], done.code)
    try:
        return json.loads(last)
    except ValueError:
        raise Failed(f"said '{last[:80]}', and no figures", ENVIRONMENT) from None


class Exported:
    """Exports a run's generator into `folder`. @param reference  RUN or RUN@STEP
    Raises Failed if there is no such run, or no ONNX of its network"""

    def __init__(self, reference: str, outdir: str, folder: Path):
        named = reference_of(reference)
        self.folder, self.onnx = folder, folder / "generator.onnx"
        self.choice = [run_folder(named.run, outdir), *([] if named.step is None else ["--step", named.step])]
        of_step = self.choice[0] + ("" if named.step is None else f"@{named.step}")
        said_by("checkpoints", "export", of_step, "-o", self.onnx)

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
        own = [model_program(), "time", *self.choice] if engine == "gangway" else [sys.executable, ENGINE, engine, model]
        return [*own, "--precision", precision, "--inputs", inputs, "--batch", batch, "--threads", threads]
