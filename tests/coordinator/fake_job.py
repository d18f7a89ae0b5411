# SPDX-License-Identifier: MIT
"""Whole jobs under mpirun with a worker that trains nothing (fake_worker.cpp), as distributed_test.py calls them."""
import json
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "distributed"))

from clean_environment import environment  # noqa: E402

PROGRAMS, FAKE_WORKER = Path(sys.argv[1]), Path(sys.argv[2]).resolve()
JOB = """
model: {family: mlp, width: 32, latent: 2}
data: {source: "toy:ring8"}
training: {kimg: 2.56, batch: 64, microbatches: 4}
checkpoint: {every_kimg: 0.64}
output: {tick_kimg: 0.64, pictures_kimg: 0}
"""  # 40 steps, a tick and a checkpoint every 10
LONG = "training.kimg=640"  # 10,000 steps: longer than any test
DEADLINE = 120  # seconds; a hang is a failure


class Job(unittest.TestCase):
    variables = {}  # of the environment, besides

    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="gangway-test-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        (self.folder / "job.yaml").write_text(JOB)
        programs = self.folder / "bin"
        programs.mkdir()
        for name in ("gangway", "gangway-coordinator"):
            shutil.copy(PROGRAMS / name, programs / name)
        worker = programs / "gangway-worker"
        worker.write_text(f"#!/bin/sh\nexec '{FAKE_WORKER}' \"$@\" $FAKE_WORKER_OPTIONS\n")
        worker.chmod(0o755)
        self.gangway = str(programs / "gangway")

    def start(self, *arguments, worker="", command="run"):
        """`gangway run`, its output in files: pipes would be held open by ranks that hang."""
        with open(self.folder / "out", "w") as out, open(self.folder / "err", "w") as err:
            process = subprocess.Popen([self.gangway, command, "job.yaml", *arguments], cwd=self.folder, stdout=out,
                                       stderr=err, env=environment(FAKE_WORKER_OPTIONS=worker, **self.variables))
        self.addCleanup(lambda: process.poll() is None and process.send_signal(signal.SIGTERM))
        return process

    def end(self, process):
        code = process.wait(timeout=DEADLINE)
        return code, (self.folder / "out").read_text(), (self.folder / "err").read_text()

    def run_job(self, *arguments, worker="", command="run"):
        return self.end(self.start(*arguments, worker=worker, command=command))

    def read(self, name, run="00000-job"):
        return json.loads((self.folder / "runs" / run / name).read_text())

    def wait_for(self, what, text):
        end = time.monotonic() + DEADLINE
        while text not in what.read_text() if what.exists() else True:
            self.assertLess(time.monotonic(), end, f"'{text}' never came in {what}")
            time.sleep(0.01)

    def wait_for_ticks(self):
        self.wait_for(self.folder / "out", "tick 1 ")

    def wait_for_ticks_after(self, text):
        self.wait_for(self.folder / "out", text)
        self.wait_for(self.folder / "out", "tick ")

    def pid_of(self, rank):
        return self.read("placement.json")["ranks"][rank]["pid"]

    def one_line(self, err):
        lines = [line for line in err.splitlines() if line.startswith("gangway: ")]
        self.assertEqual(len(lines), 1, err)
        return lines[0]
