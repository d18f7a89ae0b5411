#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Strangers on the lifelines' port: connections that say nothing, and others that say what is no greeting. The training
goes on unharmed, and the coordinator's descriptors stay as few as they were, but for a fixed number.

    GANGWAY_BIN=build/release/bin strangers.py [IDLE GARBAGE SECONDS]       100 idle, 20 with garbage, 3 s unless told
"""
import json
import os
import random
import resource
import selectors
import signal
import socket
import sys
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "distributed"))

from train_command import EXAMPLES, Trainings  # noqa: E402

IDLE, GARBAGE, SECONDS = 100, 20, 3.0
WORKERS = 2
PREEMPTED = 75
MOST_STRANGERS = 32 + WORKERS  # coordinator/edges/lifeline_server.hpp
GARBAGE_WORDS = (b"GET / HTTP/1.1\r\n\r\n", b"\0" * 64, b"gangway-lifeline ", b"gangway-lifeline 0 1\n", os.urandom(4096))
RETURN = 5.0  # seconds after which who was hung up on calls again


class Strangers:
    """Connections that are made again, some time after they were closed."""

    def __init__(self, port, idle, garbage):
        self.port = port
        self.selector = selectors.DefaultSelector()
        self.due = [(0.0, False)] * idle + [(0.0, True)] * garbage
        self.calls = self.refused = 0

    def call(self, speaks):
        try:
            connection = socket.create_connection(("127.0.0.1", self.port), timeout=5)
            if speaks:
                connection.sendall(random.choice(GARBAGE_WORDS))
        except OSError:  # hung up on while it spoke
            self.refused += 1
            self.due.append((time.monotonic() + RETURN, speaks))
            return
        self.calls += 1
        connection.setblocking(False)
        self.selector.register(connection, selectors.EVENT_READ, speaks)

    def go_on(self):
        now = time.monotonic()
        ready = [speaks for moment, speaks in self.due if moment <= now]
        self.due = [entry for entry in self.due if entry[0] > now]
        for speaks in ready:
            self.call(speaks)
        for key, _ in self.selector.select(0.02):
            try:
                is_over = key.fileobj.recv(1) == b""
            except BlockingIOError:
                continue
            except OSError:
                is_over = True
            if is_over:
                self.selector.unregister(key.fileobj)
                key.fileobj.close()
                self.due.append((now + RETURN, key.data))

    def leave(self):
        for key in list(self.selector.get_map().values()):
            key.fileobj.close()


def free_ports():
    """The first of two, for lifelines and tethers; below those that the kernel gives to whoever asks for any."""
    while True:
        first = random.randrange(20000, 32000, 2)
        try:
            for port in (first, first + 1):
                with socket.socket() as probe:
                    probe.bind(("", port))
            return first
        except OSError:
            pass  # taken


class OnThePort(Trainings):
    def ticks(self):
        return [json.loads(line) for line in (self.run_folder / "stats.jsonl").read_text().splitlines()]

    def test_strangers_harm_nobody(self):
        port = free_ports()
        running = self.start("run", EXAMPLES / "ring8.yaml", "-n", WORKERS, "--run", "a", "--lifeline-port", port,
                             "training.kimg=1000000", "output.pictures_kimg=0", "output.tick_kimg=2", "checkpoint.every_kimg=100")
        running.wait_for("^tick 2 ")
        self.run_folder = next((self.folder / "runs").glob("*-a"))
        coordinator = json.loads((self.run_folder / "placement.json").read_text())["ranks"][0]["pid"]
        descriptors = lambda: len(os.listdir(f"/proc/{coordinator}/fd"))  # noqa: E731
        before, ticks_before = descriptors(), len(self.ticks())
        strangers = Strangers(port, IDLE, GARBAGE)
        counts = []
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            strangers.go_on()
            counts.append(descriptors())
            self.assertIsNone(running.process.poll(), running.said())
        after = running.said().count("\ntick ")
        running.wait_for("^tick ", len(running.said()))  # it still trains, however busy the machine is
        strangers.leave()
        running.wait_until(lambda: descriptors() <= before + 1, "the strangers' end")
        running.send(signal.SIGTERM)
        self.assertEqual(running.end(), PREEMPTED, running.said())
        self.assertLessEqual(max(counts), before + MOST_STRANGERS + 2)  # a checkpoint's file, one just accepted
        self.assertGreaterEqual(strangers.calls, min(IDLE, MOST_STRANGERS))
        print(f"\n{IDLE} idle and {GARBAGE} garbage connections for {SECONDS:.0f} s ({strangers.calls} calls, "
              f"{strangers.refused} cut off): descriptors {before} before, at most {max(counts)} meanwhile, {before} or "
              f"{before + 1} after; {after - ticks_before} ticks of 2 kimg meanwhile")


if __name__ == "__main__":
    if len(sys.argv) > 3:
        IDLE, GARBAGE, SECONDS = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
        del sys.argv[1:4]
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, max(soft, IDLE + GARBAGE + 256)), hard))
    unittest.main(verbosity=2)
