# SPDX-License-Identifier: MIT
"""Trains and reads Gangway's runs from Python (docs/from-python.md).
    run = gangway.run("job.yaml", workers=2, name="first", training={"kimg": 80})  # a subprocess
    run = gangway.open("first")                     # reads only; executes no code of the run
    run.state_dict("generator", average=True)"""
import importlib

# Modules load on first use, because gangway doctor must work without NumPy and PyYAML.
_PLACES = {"Audio": "step", "Failed": "errors", "Run": "opened", "Step": "step", "bench_checkpoint": "tools.bench.checkpoint",
           "bench_job": "tools.bench.job", "bench_node": "tools.bench.node", "bench_overlap": "tools.bench.overlap",
           "bench_recovery": "tools.bench.recovery", "compare": "tools.compare", "doctor": "tools.doctor", "events": "tools.events",
           "find_lr": "tools.find_lr", "init_job": "tools.init", "manifest": "tools.init", "open": "opened", "phase": "step",
           "replay": "tools.replay", "report": "tools.report", "run": "launch", "scale": "tools.scale", "tune": "tools.tune"}
__all__ = list(_PLACES)


def __getattr__(name):
    if name not in _PLACES:
        raise AttributeError(f"module 'gangway' has no attribute '{name}'")
    return getattr(importlib.import_module(f"gangway.{_PLACES[name]}"), "open_run" if name == "open" else name)
