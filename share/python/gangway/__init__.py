# SPDX-License-Identifier: MIT
"""Gangway's runs from Python (docs/from-python.md).

    run = gangway.run("job.yaml", workers=2, name="first", training={"kimg": 80})    # trains, as a subprocess
    run = gangway.open("first")                                                      # reads; executes nothing of the run's
    run.state_dict("generator", average=True)
"""
from gangway.errors import Failed
from gangway.launch import run
from gangway.opened import Run, open_run as open
from gangway.step import Audio, Step, phase
from gangway.tools.bench.checkpoint import bench_checkpoint
from gangway.tools.bench.job import bench_job
from gangway.tools.bench.node import bench_node
from gangway.tools.bench.overlap import bench_overlap
from gangway.tools.bench.recovery import bench_recovery
from gangway.tools.compare import compare
from gangway.tools.events import events
from gangway.tools.find_lr import find_lr
from gangway.tools.replay import replay
from gangway.tools.report import report
from gangway.tools.scale import scale
from gangway.tools.tune import tune

__all__ = ["Audio", "Failed", "Run", "Step", "bench_checkpoint", "bench_job", "bench_node", "bench_overlap", "bench_recovery", "compare",
           "events", "find_lr", "open", "phase", "replay", "report", "run", "scale", "tune"]
