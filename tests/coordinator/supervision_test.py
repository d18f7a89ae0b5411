#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Jobs that cannot end themselves, with a worker that trains nothing (fake_worker.cpp): processes that die before the ranks
have met, or are stopped for good. tests/faults/start_campaign.py does such things at random moments.

    supervision_test.py BIN_DIR FAKE_WORKER [unittest arguments]
"""
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import unittest
from pathlib import Path

from fake_job import LONG, Job, environment

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "structure"))
import shared_memory  # noqa: E402

SHORT = "layout.timeout_seconds=3"
HANG = 120  # seconds, on a machine that does other things as well


# Connects as often as it may hold connections, says "held COUNT", and goes on until nobody listens any more.
STRANGERS = """
import itertools, resource, socket, sys, time
hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
held, most = [], min(15_000, hard - 64)
for number in itertools.count(1):
    one = socket.socket()
    one.settimeout(20)
    while one.connect_ex(("127.0.0.1", int(sys.argv[1]))) != 0:
        if held:
            sys.exit()
        time.sleep(0.01)
    held = held[-most:] + [one]
    if number == most:
        print("held", number, flush=True)
"""
# Waits with the ranks until the file "go" is there.
LATE_MPIRUN = """#!/bin/sh
while [ ! -e go ]; do sleep 0.01; done
exec {} "$@"
"""


def below(pid):
    """All processes below one, as long as it lives."""
    found = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in task.read_text().split():
            found += [int(child), *below(int(child))]
    return found


def is_running(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


class Supervised(Job):
    def wait_until(self, condition, what):
        end = time.monotonic() + HANG
        while not condition():
            self.assertLess(time.monotonic(), end, what)
            time.sleep(0.005)

    def end(self, process):
        code = process.wait(timeout=HANG)
        return code, (self.folder / "out").read_text(), (self.folder / "err").read_text()

    def remove_segments_at_the_end(self):
        """Those of killed ranks, which a supervisor removes, or the next start a minute later."""
        before = shared_memory.present()
        self.addCleanup(lambda: [(shared_memory.FOLDER / name).unlink() for name in shared_memory.left_behind(before)])

    def bare(self, *ranks_options, worker):
        """Under mpirun alone. Ends with its last rank."""
        self.remove_segments_at_the_end()
        with open(self.folder / "out", "w") as out, open(self.folder / "err", "w") as err:
            process = subprocess.Popen(["mpirun", "--enable-recovery", "--oversubscribe", "--bind-to", "none", "-n", "3", *ranks_options,
                                        self.gangway, "train", "job.yaml", LONG], cwd=self.folder, stdout=out, stderr=err,
                                       env=environment(FAKE_WORKER_OPTIONS=worker))
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def rank_of(self, process, rank):
        """The process of a rank, as soon as it is there."""
        found = []

        def look():
            for pid in below(process.pid):
                try:
                    variables = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
                except OSError:
                    continue
                if f"OMPI_COMM_WORLD_RANK={rank}".encode() in variables:
                    found.append(pid)
            return found

        self.wait_until(look, f"rank {rank} never came")
        return found[0]

    def require_gone(self, pids):
        self.wait_until(lambda: not any(map(is_running, pids)), f"left: {[pid for pid in pids if is_running(pid)]}")


class Silence(Supervised):
    def test_a_stopped_coordinator_is_named_and_everything_ended(self):
        process = self.start("-n", "2", LONG, SHORT)
        self.wait_for_ticks()
        pids, coordinator = below(process.pid), self.pid_of(0)
        os.kill(coordinator, signal.SIGSTOP)
        stopped = time.monotonic()
        code, _, err = self.end(process)
        self.assertEqual(code, 3)
        self.assertLess(time.monotonic() - stopped, 10, "layout.timeout_seconds is 3")
        for word in ("the coordinator", f"pid {coordinator}", "silent for", "to go on: "):
            self.assertIn(word, self.one_line(err))
        self.require_gone(pids)
        self.assertEqual(self.read("status.json")["exit_code"], 3)

    def test_a_stopped_mpirun_is_named_and_everything_ended(self):
        process = self.start("-n", "2", LONG, SHORT)
        self.wait_for_ticks()
        pids = below(process.pid)
        os.kill(pids[0], signal.SIGSTOP)
        code, _, err = self.end(process)
        self.assertEqual(code, 3)
        self.assertIn("mpirun", self.one_line(err))
        self.require_gone(pids)

    def test_workers_leave_a_stopped_coordinator_without_a_supervisor_too(self):
        process = self.bare(worker="--silence-ms 2000")
        self.wait_for(self.folder / "out", "tick 1 ")
        coordinator = self.rank_of(process, 0)
        workers = [self.rank_of(process, rank) for rank in (1, 2)]
        os.kill(coordinator, signal.SIGSTOP)
        self.addCleanup(lambda: is_running(coordinator) and os.kill(coordinator, signal.SIGKILL))
        self.require_gone(workers)


class FirstSecond(Supervised):
    def test_strangers_keep_no_rank_from_its_tether(self):
        late = self.folder / "bin/mpirun"
        late.write_text(LATE_MPIRUN.format(shutil.which("mpirun")))
        late.chmod(0o755)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.variables = {"PATH": f"{late.parent}:{os.environ['PATH']}"}
        process = self.start("-n", "2", "--lifeline-port", str(port))
        strangers = subprocess.Popen([sys.executable, "-c", STRANGERS, str(port + 1)], stdout=subprocess.PIPE, text=True)
        self.addCleanup(strangers.wait)
        self.addCleanup(strangers.kill)
        self.addCleanup(strangers.stdout.close)
        self.assertIn("held", strangers.stdout.readline())
        (self.folder / "go").touch()
        code, out, err = self.end(process)
        self.assertEqual((code, err), (0, ""), out)

    def test_a_worker_that_dies_before_all_have_met_ends_the_job(self):
        process = self.start("-n", "2", LONG)
        victim = self.rank_of(process, 2)
        os.kill(victim, signal.SIGKILL)
        code, _, err = self.end(process)
        self.assertEqual(code, 3)
        self.assertIn("rank 2", self.one_line(err))

    def test_a_coordinator_that_dies_before_all_have_met_ends_the_job(self):
        process = self.start("-n", "2", LONG)
        os.kill(self.rank_of(process, 0), signal.SIGKILL)
        code, _, err = self.end(process)
        self.assertEqual(code, 3)
        self.assertIn("coordinator", self.one_line(err))
        self.assertEqual(self.read("status.json")["exit_code"], 3)

    def test_without_a_supervisor_the_others_leave_at_their_deadline(self):
        process = self.bare(worker="--meeting-ms 1000")
        others = [self.rank_of(process, rank) for rank in (0, 1)]
        os.kill(self.rank_of(process, 2), signal.SIGKILL)
        self.require_gone(others[1:])  # the coordinator's deadline is an argument: it waits for its own
        os.kill(others[0], signal.SIGKILL)
        process.wait(timeout=HANG)

    def test_a_request_to_leave_is_answered_before_anything_has_begun(self):
        process = self.start("-n", "2", LONG)
        self.rank_of(process, 0)
        pids = below(process.pid)
        process.send_signal(signal.SIGTERM)
        code, _, err = self.end(process)
        self.assertEqual(code, 75, err)
        self.require_gone(pids)
        self.assertEqual(json.loads((self.folder / "runs/00000-job/status.json").read_text())["exit_code"], 75)

    def test_a_request_to_save_does_not_hurt_a_job_that_has_not_begun(self):
        process = self.start("-n", "2")
        self.rank_of(process, 0)
        process.send_signal(signal.SIGUSR2)
        code, _, err = self.end(process)
        self.assertEqual((code, err), (0, ""))

    def test_nothing_outlives_a_killed_supervisor(self):
        self.remove_segments_at_the_end()
        for rank in (0, 2):
            with self.subTest(rank=rank):
                process = self.start("-n", "2", LONG)
                self.rank_of(process, rank)
                pids = below(process.pid)
                process.kill()
                process.wait()
                self.require_gone(pids)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
