#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Kills whole runs at random moments and goes on with other numbers of workers, from memory or from disk: the digest must
be that of a run that nobody disturbed.

    GANGWAY_BIN=$PWD/build/release/bin tests/faults/resume_campaign.py [TRIPLES] [SEED]

A triple is (workers, moment of the kill, workers). Every other one loses the snapshots in memory as well.
"""
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "distributed"))
from train_command import EXAMPLES, GANGWAY, environment, kill_all, snapshot_files  # noqa: E402

DEADLINE = 400  # seconds a run
JOBS = {
    "points": [EXAMPLES / "ring8.yaml", "training.microbatches=4", "training.batch=128", "training.kimg=40", "output.tick_kimg=1",
               "output.pictures_kimg=0", "checkpoint.every_steps=60", "checkpoint.snapshot_steps=7"],
    "clothes": [EXAMPLES / "fashion-mnist.yaml", "model.width=8", "training.microbatches=4", "training.batch=32",
                "training.kimg=2", "output.tick_kimg=0.1", "output.pictures_kimg=0", "checkpoint.every_steps=12",
                "checkpoint.snapshot_steps=3"],
}


class Campaign:
    def __init__(self, folder, seed):
        self.folder = folder
        self.random = random.Random(seed)
        self.expected = {}

    def start(self, job, workers, run):
        said = self.folder / f"{run}.said"
        with open(said, "a") as output:
            words = [GANGWAY, "run", *map(str, JOBS[job]), "-n", str(workers), "--run", run]
            return subprocess.Popen(words, cwd=self.folder, stdout=output, stderr=output, env=environment()), said

    def finish(self, job, workers, run):
        process, said = self.start(job, workers, run)
        code = process.wait(timeout=DEADLINE)
        if code != 0:
            raise SystemExit(f"{run} on {workers} workers ended with {code}:\n{said.read_text()}")
        return subprocess.run([GANGWAY, "digest", run], cwd=self.folder, check=True, text=True,
                              stdout=subprocess.PIPE).stdout.split()[0]

    def kill_somewhere(self, job, workers, run):
        """Kills all processes a random while after the first tick. False: the run was over before."""
        process, said = self.start(job, workers, run)
        end = time.monotonic() + DEADLINE
        while "\ntick " not in said.read_text() and process.poll() is None and time.monotonic() < end:
            time.sleep(0.005)
        time.sleep(self.random.uniform(0.0, 0.8))
        is_over = process.poll() is not None
        kill_all(process)
        return not is_over

    def wipe_memory(self):
        for file in snapshot_files(self.folder):
            file.unlink()

    def triple(self, number):
        job = self.random.choice(list(JOBS))
        before, after = self.random.randint(1, 4), self.random.randint(1, 4)
        run = f"run{number}"
        was_killed = self.kill_somewhere(job, before, run)
        loses_memory = number % 2 == 1
        if loses_memory:
            self.wipe_memory()
        digest = self.finish(job, after, run)
        said = (self.folder / f"{run}.said").read_text()
        way = "memory" if "resume snapshot" in said else "disk" if "resume step-" in said else "the start"
        if job not in self.expected:
            self.expected[job] = self.finish(job, 1, f"undisturbed-{job}")
        is_equal = digest == self.expected[job]
        print(f"{number:4}  {job:8}  {before} -> {after} workers  {'killed' if was_killed else 'was over'}  from {way:9}  "
              f"{'equal' if is_equal else 'OTHER DIGEST'}", flush=True)
        return is_equal, way if was_killed else "not killed"


def main(arguments):
    triples = int(arguments[0]) if arguments else 4
    seed = int(arguments[1]) if len(arguments) > 1 else random.SystemRandom().randrange(1 << 32)
    print(f"{triples} triples, seed {seed}")
    ways, wrong = {}, 0
    with tempfile.TemporaryDirectory(prefix="gangway-resume-", ignore_cleanup_errors=True) as folder:
        campaign = Campaign(Path(folder), seed)
        for number in range(triples):
            is_equal, way = campaign.triple(number)
            wrong += not is_equal
            ways[way] = ways.get(way, 0) + 1
    print(f"{triples - wrong} of {triples} digests equal; went on from: " +
          ", ".join(f"{way} {count}" for way, count in sorted(ways.items())))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
