#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures the cost of viewers of a run's live page: steps a second without and with viewers, alternately.

    bench/viewers.py [--viewers 100] [--rounds 6] [--seconds 10] [--workers 2] [key=value ...]

One job trains throughout. Viewers are connected in every second stretch. Each reads the events and
fetches the whole document every 15 s, as the page does. The stream of one permanent viewer counts steps.
"""
import argparse
import json
import os
import selectors
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PROGRAMS = Path(os.environ.get("GANGWAY_BIN", ROOT / "build/release/bin")).resolve()
REFETCH = 15  # seconds, as in share/page/live.js
EVENTS = b"GET /api/events HTTP/1.1\r\nHost: localhost\r\n\r\n"
DOCUMENT = b"GET /api/run.json HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"


class Viewers(threading.Thread):
    """Runs many viewers in one thread, so that reading costs the job little processor time."""

    def __init__(self, port, count):
        super().__init__(daemon=True)
        self.port, self.read_bytes, self.stop = port, 0, threading.Event()
        self.waiting = selectors.DefaultSelector()
        for _ in range(count):
            self.connect(EVENTS)
        self.count = count

    def connect(self, words):
        client = socket.create_connection(("127.0.0.1", self.port), timeout=20)
        client.sendall(words)
        client.setblocking(False)
        self.waiting.register(client, selectors.EVENT_READ)

    def run(self):
        begin, fetched = time.monotonic(), 0
        while not self.stop.is_set():
            # Fetches are spread over REFETCH seconds, as those of independent viewers are.
            while fetched < (time.monotonic() - begin) / REFETCH * self.count:
                self.connect(DOCUMENT)
                fetched += 1
            for key, _ in self.waiting.select(timeout=0.05):
                words = key.fileobj.recv(1 << 20)
                self.read_bytes += len(words)
                if not words:
                    self.waiting.unregister(key.fileobj)
                    key.fileobj.close()
        for key in list(self.waiting.get_map().values()):
            key.fileobj.close()


class Counter(threading.Thread):
    """Follows the run's events. `newest`: (seconds of its clock, steps) of the last status."""

    def __init__(self, port):
        super().__init__(daemon=True)
        self.client = socket.create_connection(("127.0.0.1", port))
        self.client.sendall(EVENTS)
        self.newest = None
        self.start()

    def run(self):
        kind = ""
        for line in self.client.makefile("r"):
            name, _, value = line.strip().partition(": ")
            if name == "event":
                kind = value
            elif name == "data" and kind == "status":
                status = json.loads(value)
                self.newest = (status["unix_seconds"], status["step"])

    def next(self):
        before = self.newest
        while self.newest == before or self.newest is None:
            time.sleep(0.002)
        return self.newest


def steps_a_second(counter, seconds):
    counter.next()
    begin = counter.next()
    while (end := counter.next())[0] - begin[0] < seconds:
        pass
    return (end[1] - begin[1]) / (end[0] - begin[0])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--viewers", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--job", default=ROOT / "examples/fashion-mnist.yaml")
    arguments, overrides = parser.parse_known_args()
    folder = Path(tempfile.mkdtemp(prefix="gangway-viewers-"))
    with open(folder / "said", "w") as said:
        job = subprocess.Popen([PROGRAMS / "gangway", "run", arguments.job, "-n", str(arguments.workers), "training.kimg=100000",
                                "checkpoint.every_kimg=0", "checkpoint.snapshot_steps=0", "output.pictures_kimg=0",
                                *overrides], cwd=folder, stdout=said, stderr=said,
                               env={**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"})
    try:
        while "tick 1 " not in (folder / "said").read_text():
            if job.poll() is not None:
                sys.exit((folder / "said").read_text())
            time.sleep(0.1)
        port = json.loads(next(folder.glob("runs/*/http.json")).read_text())["port"]
        counter = Counter(port)
        alone, seen = [], []
        for number in range(2 * arguments.rounds):
            if number % 4 in (0, 3):  # without and with, with and without: neither always comes first
                alone.append(steps_a_second(counter, arguments.seconds))
                continue
            viewers = Viewers(port, arguments.viewers)
            viewers.start()
            seen.append(steps_a_second(counter, arguments.seconds))
            viewers.stop.set()
            viewers.join()
            print(f"{arguments.viewers} viewers: {seen[-1]:.2f} steps/s, {viewers.read_bytes / 2**20:.1f} MiB read", flush=True)
        ratios = [one / other for one, other in zip(seen, alone)]
        print(f"steps/s without viewers {statistics.median(alone):.2f} ({min(alone):.2f} to {max(alone):.2f}), with "
              f"{arguments.viewers} {statistics.median(seen):.2f} ({min(seen):.2f} to {max(seen):.2f}); "
              f"ratio of pairs, median {statistics.median(ratios):.4f} ({min(ratios):.4f} to {max(ratios):.4f})")
    finally:
        job.terminate()
        job.wait(timeout=60)
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
