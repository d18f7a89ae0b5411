#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Workers are taken out of a running job: the rest goes on from what was saved, in the same command, to the same digest.

    GANGWAY_BIN=build/release/bin drain.py [unittest arguments]      with .venv/bin/python: grpcio is in there
"""
import json
import signal
import socket
import unittest

from control import SHORT, Steered
from control_calls import Control


class Drained(Steered):
    def test_goes_on_without_a_worker_to_the_same_digest(self):
        expected = self.digest_alone("job.yaml", *SHORT)
        running, run = self.begin_to_train(*SHORT)
        with Control(run) as control:
            control.call("Pause")  # so that it does not end before it is looked at
        said = self.gangway("drain", "job", "2")
        self.assertRegex(said, r"^saves step \d+, and goes on with 2 workers, without rank 2$")
        now = self.wait_for_start(running, run, 2)
        self.assertEqual((now.phase, len(now.workers)), ("paused", 2))
        self.assertEqual(now.step, int(said.split()[2].rstrip(",")), "no step is lost")
        self.gangway("resume", "job")
        self.finish(running)
        self.assertEqual(self.digest("job"), expected)
        self.assertNotIn("FAIL", running.said())
        self.assertFalse((run / "error.json").exists())
        self.assertRegex(self.gangway("events", "job"), r" drain .* by unix ")

    def test_is_refused_where_the_layout_needs_all(self):
        running, run = self.begin_to_train("layout.data=3")
        self.assertRegex(self.gangway("drain", "job", "2", code=2), "the layout does not go with 2 workers: .*layout.data")
        self.assertRegex(self.gangway("drain", "job", socket.gethostname(), code=2), "no worker would be left")
        self.assertRegex(self.gangway("drain", "job", "node-b", code=2), r"say a host \(.*\) or a worker's rank \(1 to 3\)")
        with Control(run) as control:
            self.assertEqual(control.status().phase, "training")
        running.kill_all()

    def test_leaves_for_good_where_it_is_told_to_end_meanwhile(self):
        running, run = self.begin_to_train()
        self.gangway("drain", "job", "3")
        running.send(signal.SIGTERM)
        self.assertEqual(running.end(), 75, running.said()[-3000:])
        self.assertEqual(json.loads((run / "status.json").read_text())["exit_code"], 75)


class Record(Steered):
    def test_has_every_command_that_was_answered_however_soon_the_coordinator_is_killed(self):
        for attempt in range(3):
            running, run = self.begin(run=f"killed{attempt}")
            with Control(run) as control:
                control.wait_until(lambda now: now.step > 0, "the first step")
                for value in range(2, 6):
                    control.call("Set", key="checkpoint.keep", value=str(value))
            running.kill_all()  # the coordinator with all others, whose shared memory is then known
            lines = (run / "steering.jsonl").read_text().splitlines()
            self.assertEqual([json.loads(line)["arguments"]["value"] for line in lines], ["2", "3", "4", "5"])


if __name__ == "__main__":
    unittest.main()
