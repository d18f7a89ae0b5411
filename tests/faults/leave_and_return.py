#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Trainings that must save or leave, are hurried, lose a worker, and resume with other workers: the digest is that of an
undisturbed training (docs/going-on.md).

    GANGWAY_BIN=build/release/bin DISK_FAULTS_LIBRARY=build/release/tests/libdisk_faults.so leave_and_return.py [unittest arguments]
"""
import json
import os
import re
import signal
import unittest

from save_faults import SAVED, SaveFaults

UNASKED = ["checkpoint.every_steps=0"]  # only requested checkpoints
SAVED_AND_LEFT = r"^note   stopped on request and saved at step (\d+): the same command continues$"


class LeaveAndReturn(SaveFaults):
    def begin_unasked(self, workers=2, by=()):
        """Starts an endless training that saves nothing by itself. Waits for its first ticks."""
        running = self.run_endlessly(*UNASKED, workers=workers, by=by)
        running.wait_for(r"^tick ")
        self.require_progress(running, ticks=2)
        return running

    def pid_of(self, rank):
        return json.loads((self.run_folder() / "placement.json").read_text())["ranks"][rank]["pid"]

    def require_saved_and_left(self, running):
        """Returns the step of the save."""
        self.assertEqual(running.end(), 75, running.said())
        step = int(re.search(SAVED_AND_LEFT, running.said(), re.MULTILINE)[1])
        self.assertEqual(int(re.findall(SAVED, running.said(), re.MULTILINE)[-1]), step)
        return step


class Requests(LeaveAndReturn):
    def test_sigusr2_saves_and_goes_on_sigusr1_and_sigterm_save_and_leave_and_sighup_does_nothing_under_nohup(self):
        running = self.begin_unasked(by=("nohup",))
        running.send(signal.SIGHUP)
        running.send(signal.SIGUSR2)
        running.wait_for(SAVED)
        self.require_progress(running)
        running.send(signal.SIGUSR1)
        step = self.require_saved_and_left(running)
        again = self.begin_unasked()
        again.wait_for(rf"^resume step-{step:09} ")
        self.require_undisturbed(again)  # leaves by SIGTERM
        self.assertGreater(self.require_saved_and_left(again), step)

    def test_more_signals_during_the_save_neither_tear_nor_hurry_it(self):
        running = self.begin_unasked()
        self.order(("fsync", "hang", 0, "/worker-0000-of-0002.safetensors$"))
        running.send(signal.SIGTERM)
        self.wait_for_hang(running, "fsync", "/worker-0000-of-0002")
        coordinator = self.pid_of(0)
        for number in (signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2):
            running.send(number)
            os.kill(coordinator, number)
        self.hang(running, "fsync", "/manifest.json.tmp$")
        for number in (signal.SIGUSR2, signal.SIGTERM, signal.SIGUSR1):
            os.kill(coordinator, number)
        self.assertIsNone(running.process.poll())
        self.order()
        self.require_saved_and_left(running)
        self.require_undisturbed(self.begin_unasked())

    def test_a_second_ctrl_c_leaves_the_save_and_the_next_start_goes_on_from_memory(self):
        running = self.begin_unasked()
        running.send(signal.SIGUSR2)
        running.wait_for(SAVED)
        self.order(("fsync", "hang", 0, "/worker-0000-of-0002.safetensors$"))
        running.send(signal.SIGINT)
        self.wait_for_hang(running, "fsync", "/worker-0000-of-0002")
        running.send(signal.SIGINT)
        self.assertEqual(running.end(), 130, running.said())
        self.order()
        self.require_last_good()
        again = self.begin_unasked()
        again.wait_for(r"^resume snapshot of step \d+ that the run left")
        self.require_undisturbed(again)


class Losses(LeaveAndReturn):
    def test_a_killed_worker_costs_no_more_than_what_came_after_the_last_snapshot(self):
        running = self.begin_unasked()
        os.kill(self.pid_of(2), signal.SIGKILL)
        self.assertEqual(running.end(), 3, running.said())
        said = running.said()
        self.assertRegex(said, r"gangway: rank 2 .* was killed \(SIGKILL")
        steps = [int(tick) * 20 for tick in re.findall(r"^tick (\d+) ", said, re.MULTILINE)]
        again = self.begin_unasked()
        place = again.wait_for(r"^resume snapshot of step \d+ that the run left: nothing since then is lost")
        step = int(re.findall(r"resume snapshot of step (\d+)", again.said()[:place])[-1])
        self.assertGreater(step, steps[-1] - 20, "snapshots every 10 steps")
        self.require_undisturbed(again)


class Layouts(LeaveAndReturn):
    """Row 34."""

    def test_four_two_three_and_one_worker_after_one_another_train_the_same(self):
        running = self.run_endlessly(*UNASKED, workers=4)
        running.wait_for(r"^tick ")
        running.send(signal.SIGTERM)
        step = self.require_saved_and_left(running)
        running = self.run_endlessly(*UNASKED, workers=2)
        running.wait_for(rf"^resume step-{step:09} .*; 4 -> 2 workers$")
        self.require_progress(running)
        running.kill_all()
        running = self.run_endlessly(*UNASKED, workers=3)
        running.wait_for(r"^resume snapshot of step")
        self.require_progress(running)
        running.send(signal.SIGTERM)
        self.require_saved_and_left(running)
        running = self.run_endlessly(*UNASKED, workers=1)
        running.wait_for(r"; 3 -> 1 workers$")
        self.require_progress(running)
        self.require_undisturbed(running)


if __name__ == "__main__":
    unittest.main()
