# SPDX-License-Identifier: MIT
"""Compares each layer of a job with a core's peak rate. gangway-model measures and prints."""
import os
from pathlib import Path

from gangway.launch import program
from gangway.tools.bench import parser_of
from gangway.tools.machine import require_quiet_machine


def command(words: list[str]) -> None:
    parser = parser_of("compute", "compute examples/fashion-mnist.yaml model.width=64 training.batch=128\n"
                       "compute examples/infogan.yaml numerics.precision=bf16")
    parser.add_argument("job", metavar="JOB.yaml", help="job file")
    parser.add_keys()
    parser.add_argument("--seconds", default="0.2", help="seconds for each measurement (%(default)s)")
    parser.add_argument("--json", action="store_const", const=["--json"], default=[], help="one line of JSON instead of a table")
    line = parser.parse_intermixed_args(words)
    require_quiet_machine(line.anyway)
    model = Path(program()).parent / "gangway-model"
    os.execv(model, [model, "compute", line.job, *line.keys, "--seconds", line.seconds, *line.json])
