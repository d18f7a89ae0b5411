#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests `gangway export-metrics`: it sends each tick once, under one id, over all starts of a run.

    GANGWAY_BIN=build/release/bin export_metrics_test.py [unittest arguments]
"""
import json
import os
import signal
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

GANGWAY = str(Path(os.environ["GANGWAY_BIN"]).resolve() / "gangway")
DEADLINE = 30
CALLS = """
import json, os
def call(**what):
    with open(os.environ["PLANTED_CALLS"], "a") as file:
        file.write(json.dumps(what) + "\\n")
"""
WANDB = CALLS + """
class Run:
    def log(self, metrics, step):
        if step == int(os.environ.get("PLANTED_FAILURE", "-1")):
            raise ConnectionError("nobody answers")
        call(step=step, metrics=metrics)
    def finish(self, exit_code):
        call(end=exit_code)
def init(**arguments):
    call(**{key: arguments[key] for key in ("id", "project", "resume", "name")})
    return Run()
"""
TRACKING = """
from types import SimpleNamespace as Some
from mlflow import call
class MlflowClient:
    def get_experiment_by_name(self, name):
        return None
    def create_experiment(self, name):
        call(project=name)
        return "7"
    def create_run(self, experiment, run_name, tags):
        call(name=run_name)
        return Some(info=Some(run_id="planted"))
    def set_terminated(self, run, status):
        call(id=run, end=status)
    def log_batch(self, run, metrics=(), params=()):
        for metric in metrics:
            call(id=run, step=metric.step, metrics={metric.key: metric.value})
"""
ENTITIES = """
from types import SimpleNamespace
def Metric(key, value, timestamp, step):
    return SimpleNamespace(key=key, value=value, step=step)
def Param(key, value):
    return SimpleNamespace(key=key, value=value)
"""


def tick(step, loss=0.5):
    return json.dumps({"tick": step, "step": step, "kimg": step / 10, "unix_seconds": 1e9 + step, "generator_loss": loss,
                       "discriminator_loss": None, "exposed": {"generator": {"seconds": 0.25, "agree": False}}}) + "\n"


def scores(step, value):
    return json.dumps({"step": step, "kimg": step / 10, "scores": {"SWD": value}}) + "\n"


class ExportMetrics(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="gangway-test-")
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name)
        self.run_directory = self.folder / "runs/00000-clothes"
        self.run_directory.mkdir(parents=True)
        (self.run_directory / "job.yaml").write_text("training: {kimg: 5}\n")
        self.calls = self.folder / "calls"
        self.clients = self.folder / "clients"
        for name, text in (("wandb.py", WANDB), ("mlflow/__init__.py", CALLS), ("mlflow/tracking.py", TRACKING),
                           ("mlflow/entities.py", ENTITIES)):
            path = self.clients / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    def start(self, *words, to="wandb", **variables):
        environment = {**os.environ, "PLANTED_CALLS": str(self.calls), "PYTHONPATH": str(self.clients), **variables}
        process = subprocess.Popen([GANGWAY, "export-metrics", "clothes", "--to", to, *words], cwd=self.folder, env=environment,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.kill)
        return process

    def export(self, *words, code=0, **more):
        process = self.start(*words, **more)
        out, err = process.communicate(timeout=DEADLINE)
        self.assertEqual(process.returncode, code, out + err)
        return out + err

    def ticks(self, text, end=None):
        (self.run_directory / "stats.jsonl").write_text(text)
        status = self.run_directory / "status.json"
        status.unlink(missing_ok=True)
        if end is not None:
            status.write_text(json.dumps({"exit_code": end}))

    def called(self, key):
        if not self.calls.exists():
            return []
        return [one[key] for one in map(json.loads, self.calls.read_text().splitlines()) if key in one]

    def test_a_run_that_goes_on_goes_on_under_its_id_and_nothing_is_there_twice(self):
        for to, ends in (("wandb", [75, 0]), ("mlflow", ["KILLED", "RUNNING", "FINISHED"])):
            self.calls.unlink(missing_ok=True)
            self.ticks(tick(1) + tick(2) + tick(3), end=75)
            self.export(to=to)
            self.ticks(tick(1) + tick(2, 0.7) + tick(3, 0.8) + tick(4) + tick(5), end=0)  # as left by a start from step 1
            self.export(to=to)
            steps = [step for step, metrics in zip(self.called("step"), self.called("metrics")) if "generator_loss" in metrics]
            self.assertEqual(steps, [1, 2, 3, 4, 5])
            self.assertEqual(len(set(self.called("id"))), 1)
            self.assertEqual(self.called("end"), ends)
            self.assertIn("all of it was sent", self.export(to=to))
            self.assertEqual(self.called("end"), ends, "its client was not asked")
            sent = {name: value for metrics in self.called("metrics")[:8] for name, value in metrics.items()}
            self.assertEqual(sent["exposed/generator/seconds"], 0.25)
            self.assertNotIn("discriminator_loss", sent)

    def test_scores_come_behind_the_ticks_and_are_there_once(self):
        for to in ("wandb", "mlflow"):
            self.calls.unlink(missing_ok=True)
            self.ticks(tick(2) + scores(1, 12.5), end=75)
            self.export(to=to)
            self.ticks(tick(2) + scores(1, 12.5) + tick(4) + scores(3, 9.5) + scores(4, 8.5), end=0)
            self.export(to=to)
            sent = [(step, metrics) for step, metrics in zip(self.called("step"), self.called("metrics"))]
            self.assertEqual([metrics["scores/SWD"] for _, metrics in sent if "scores/SWD" in metrics], [12.5, 9.5, 8.5])
            self.assertEqual([step for step, metrics in sent if "generator_loss" in metrics], [2, 4])
            self.assertEqual(len([step for step, metrics in sent if metrics.get("kimg")]), 2)
            if to == "wandb":
                self.assertEqual([(step, metrics["scores/step"]) for step, metrics in sent if "scores/SWD" in metrics],
                                 [(2, 1), (4, 3), (4, 4)])
            self.assertIn("all of it was sent", self.export(to=to))

    def test_a_run_is_followed_to_its_end(self):
        self.ticks(tick(1))
        process = self.start()
        self.wait_for(lambda: self.called("step") == [1])
        self.assertIn("another export to wandb follows it", self.export(code=6))
        with open(self.run_directory / "stats.jsonl", "a") as file:
            file.write(tick(2) + tick(3)[:20])
            file.flush()
            self.wait_for(lambda: self.called("step") == [1, 2])
            file.write(tick(3)[20:])
        (self.run_directory / "status.json").write_text('{"exit_code": 4}')
        out, err = process.communicate(timeout=DEADLINE)
        self.assertEqual(process.returncode, 0, out + err)
        self.assertIn("3 ticks sent, up to step 3", out)
        self.assertEqual((self.called("step"), self.called("end")), ([1, 2, 3], [4]))

    def wait_for(self, condition):
        end = time.monotonic() + DEADLINE
        while not condition():
            self.assertLess(time.monotonic(), end, self.called("step"))
            time.sleep(0.01)

    def test_a_signal_ends_it_in_order(self):
        self.ticks(tick(1))
        process = self.start()
        self.wait_for(lambda: self.called("step") == [1])
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=DEADLINE)
        self.assertEqual(process.returncode, 143, out + err)
        self.assertEqual(self.called("end"), [0])

    def test_what_a_client_has_not_taken_is_sent_by_the_next_command(self):
        self.ticks(tick(1) + tick(2) + tick(3), end=0)
        said = self.export(code=6, PLANTED_FAILURE="2")
        self.assertIn("gangway: wandb has refused metrics (ConnectionError: nobody answers); the same command resumes", said)
        self.export()
        self.assertEqual(self.called("step"), [1, 2, 3])

    def test_what_is_missing_is_said_in_a_line(self):
        self.ticks(tick(1))
        for to in ("wandb", "mlflow"):
            (self.clients / "wandb.py").unlink(missing_ok=True)
            (self.clients / "mlflow/__init__.py").write_text("raise ImportError('it is not installed')\n")
            said = self.export(to=to, code=2)
            self.assertRegex(said, rf"^gangway: {to} is not installed for .*: \S+ -m pip install {to}, or name another .*\n$")
        self.assertFalse(list(self.run_directory.glob("export-*")))
        (self.clients / "wandb.py").write_text(WANDB)
        for state in ("{", "[]", '{"id": "a", "step": null, "scored": 0}'):
            (self.run_directory / "export-wandb.json").write_text(state)
            self.assertIn("is damaged; remove it", self.export(code=2))

    def test_damaged_ticks_are_said_in_a_line(self):
        for line in ("\0\0\n", "[]\n", '{"tick": 1}\n'):
            self.ticks(tick(1) + line)
            self.assertRegex(self.export(code=5), r"(^|\n)gangway: .*/stats\.jsonl: a line is no tick: damaged\n$")


if __name__ == "__main__":
    unittest.main()
