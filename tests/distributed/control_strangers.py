#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Garbage from strangers, and faulty clients, at a job's control service and page. Training is unharmed, permitted clients
still get answers, and the coordinator keeps no more descriptors and memory than before.

    GANGWAY_BIN=build/release/bin control_strangers.py [unittest arguments]     with .venv/bin/python: grpcio is in there

Seconds of garbage: in the environment, GARBAGE_SECONDS.
"""
import json
import os
import random
import socket
import threading
import time
import unittest

import grpc

from control import ENDLESS, OneJob
from control_calls import Control, descriptors_of, place_of, resident_mib

GARBAGE_SECONDS = float(os.environ.get("GARBAGE_SECONDS", "3"))
SETTLED = 30  # seconds until connections that strangers left open are closed
WARM = 0.2  # of the time, in which the coordinator allocates buffers for later strangers
MOST_MIB = 16  # most growth of the coordinator after that


class Strangers(OneJob):
    words = ("output.control=127.0.0.1:0", ENDLESS)
    workers = 1

    @classmethod
    def begin_for_all(cls):
        super().begin_for_all()
        place = place_of(cls.run_folder)
        cls.pid = place["pid"]
        host, port = place["address"].rsplit(":", 1)
        cls.address = (host, int(port))
        with Control(cls.run_folder) as control:
            control.wait_until(lambda now: now.step > 0, "the first step")
        cls.before = cls.owner.settled(descriptors_of(cls.pid))

    def settled(self, most):
        """Returns the coordinator's descriptors, once there are at most so many."""
        end = time.monotonic() + SETTLED
        while (now := descriptors_of(self.pid)) > most and time.monotonic() < end:
            time.sleep(0.05)
        return now

    def connect(self):
        return socket.create_connection(self.address, timeout=10)

    def require_unharmed(self):
        with Control(self.run_folder) as control:
            step = control.served_status().step
            control.wait_until(lambda now: now.step > step + 10, "another step")
        self.assertLessEqual(self.settled(self.before), self.before)

    def be_rude(self, draw, address):
        """Sends garbage, and listens for a moment."""
        begins = [b"", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"GET / HTTP/1.1\r\nHost: a\r\n\r\n", b"GET /", b"\x16\x03\x01"]
        with socket.create_connection(address, timeout=10) as stranger:
            try:
                stranger.sendall(draw.choice(begins) + draw.randbytes(draw.randrange(4000)))
                stranger.settimeout(0.05)
                while stranger.recv(4096):
                    pass
            except OSError:
                pass  # closed, or nothing came

    def test_garbage(self):
        page = ("127.0.0.1", json.loads((self.run_folder / "http.json").read_text())["port"])
        draw = random.Random(11)
        begin, strangers, warm, most = time.monotonic(), 0, None, 0
        while (passed := time.monotonic() - begin) < GARBAGE_SECONDS:
            self.be_rude(draw, draw.choice((self.address, page)))
            strangers += 1
            if passed > WARM * GARBAGE_SECONDS:
                memory = resident_mib(self.pid)
                warm = warm or memory
                most = max(most, memory)
                self.assertLess(memory, warm + MOST_MIB)
                self.assertLess(descriptors_of(self.pid), self.before + 32)  # some are being closed
        print(f"{strangers} strangers in {passed:.0f} s: {warm:.1f} MiB resident when warm, {most:.1f} at most")
        self.require_unharmed()

    def test_connections_that_ask_nothing(self):
        preface_and_settings = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes((0, 0, 0, 4, 0, 0, 0, 0, 0))
        strangers = [self.connect() for _ in range(200)]
        try:
            for stranger in strangers[::2]:
                stranger.sendall(preface_and_settings)
            with Control(self.run_folder) as control:
                self.assertEqual(control.status().phase, "training")
            self.assertLessEqual(self.settled(self.before + 2), self.before + 2, "a connection without a call is dropped")
        finally:
            for stranger in strangers:
                stranger.close()
        self.require_unharmed()

    def test_messages_that_are_too_long(self):
        with Control(self.run_folder) as control:
            code, _ = control.refused("Set", key="checkpoint.keep", value="9" * 100_000)
            self.assertEqual(code, grpc.StatusCode.RESOURCE_EXHAUSTED)
            code, _ = control.refused("Status", token="9" * 60_000)
            self.assertIn(code, (grpc.StatusCode.RESOURCE_EXHAUSTED, grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.INTERNAL))
        self.require_unharmed()

    def test_a_thousand_streams_of_which_few_are_served(self):
        with Control(self.run_folder) as control:
            streams = [control.watch() for _ in range(1000)]
            served = threading.Event()
            threading.Thread(target=lambda: next(streams[0]) and served.set(), daemon=True).start()
            self.assertTrue(served.wait(20))
            with Control(self.run_folder) as other:
                self.assertEqual(other.served_status().phase, "training")
            for stream in streams:
                stream.cancel()
        self.require_unharmed()

    def test_more_calls_than_are_allowed(self):
        with Control(self.run_folder) as control:
            codes = set()
            for _ in range(3000):
                try:
                    control.status()
                except grpc.RpcError as error:
                    codes.add(error.code())
            time.sleep(0.1)
            self.assertEqual(control.status().phase, "training")
            self.assertLessEqual(codes, {grpc.StatusCode.RESOURCE_EXHAUSTED})
        self.require_unharmed()

    def test_readers_that_do_not_read(self):
        with Control(self.run_folder) as control:
            self.gangway("set", "job", "output.tick_kimg=0.064")  # a tick a step
            memory = resident_mib(self.pid)
            streams = [control.watch() for _ in range(30)]  # none of them reads
            now = control.status()
            control.wait_until(lambda later: later.step > now.step + 500, "500 ticks")
            self.assertLess(resident_mib(self.pid) - memory, 24)
            for stream in streams:
                stream.cancel()
        self.gangway("set", "job", "output.tick_kimg=6.4")
        self.require_unharmed()


if __name__ == "__main__":
    unittest.main()
