#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""gangway-bench-pipeline with costs too small to measure: every schedule ends, and a lost rank ends all.

    GANGWAY_BIN=build/release/bin emulated_pipeline.py [unittest arguments]
"""
import os
import pathlib
import re
import signal
import subprocess
import sys
import time
import unittest

ROOT = pathlib.Path(__file__).parents[2]
COMMAND = [sys.executable, str(ROOT / "bench/pipeline/run.py"), "--rows", "4x4"]
SCHEDULES = ("by-pass", "1f1b", "fused", "fill", "one-leaf", "capped")
USAGE = 2
DEADLINE = 120  # seconds; a hang is a failure


def ranks_below(process):
    """Pids of the emulation's processes that descend from `process`."""
    parents = {}
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                name, rest = (entry / "stat").read_text().rsplit(") ", 1)
            except OSError:
                continue
            parents[int(entry.name)] = (int(rest.split()[1]), name.split("(", 1)[1])
    found = []
    for pid, (parent, name) in parents.items():
        while parent in parents and parent != process.pid:
            parent = parents[parent][0]
        if parent == process.pid and name.startswith("gangway-bench-p"):
            found.append(pid)
    return sorted(found)


class EmulatedPipeline(unittest.TestCase):
    def test_runs_every_schedule_and_matches_all_messages(self):
        done = subprocess.run([*COMMAND, "--steps", "2", "--step-seconds", "0.05", "--schedules", ",".join(SCHEDULES)],
                              capture_output=True, text=True, timeout=DEADLINE, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        for name in SCHEDULES:
            self.assertRegex(done.stdout, rf"(?m)^{name} +[0-9.]+ \([0-9.]+\) ")

    def test_refuses_an_unknown_schedule(self):
        done = subprocess.run([*COMMAND, "--schedules", "by-heart"], capture_output=True, text=True, timeout=DEADLINE,
                              check=False)
        self.assertEqual(done.returncode, USAGE, done.stdout + done.stderr)
        self.assertIn("'by-heart' is none of by-pass", done.stderr)

    def test_a_killed_rank_ends_all(self):
        run = subprocess.Popen([*COMMAND, "--steps", "100", "--schedules", "fill"], stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, text=True)
        try:
            end = time.monotonic() + DEADLINE
            while len(ranks := ranks_below(run)) < 5 and time.monotonic() < end:
                time.sleep(0.05)
            self.assertEqual(len(ranks), 5)
            os.kill(ranks[-1], signal.SIGKILL)
            out, _ = run.communicate(timeout=DEADLINE)
            self.assertNotEqual(run.returncode, 0, out)
            self.assertFalse([pid for pid in ranks if pathlib.Path(f"/proc/{pid}/exe").exists()])
            self.assertIsNone(re.search(r"(?m)^fill ", out), out)
        finally:
            if run.poll() is None:
                run.kill()
                run.communicate()


if __name__ == "__main__":
    unittest.main(verbosity=2)
