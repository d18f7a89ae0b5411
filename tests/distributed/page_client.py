# SPDX-License-Identifier: MIT
"""Defines a job with a page, and clients for it, for http_page.py, tls.py and live_page.py."""
import http.client
import json
import socket
import threading
import time
from pathlib import Path

from train_command import EXAMPLES

DEADLINE = 30  # seconds of each request
RING = EXAMPLES / "ring8.yaml"
ENDLESS = "training.kimg=1000000"


def wait_until(condition, what, limit=DEADLINE):
    end = time.monotonic() + limit
    while not (result := condition()):
        if time.monotonic() > end:
            raise AssertionError(f"{what} never came")
        time.sleep(0.01)
    return result


class Page:
    """The page of a run in `folder`/runs."""

    def __init__(self, running, run_directory):
        self.running = running
        self.directory = run_directory
        running.wait_for("^page ")
        self.file = json.loads((run_directory / "http.json").read_text())
        self.port, self.pid = self.file["port"], self.file["pid"]
        self.token = (run_directory / "http.token").read_text().strip()

    def get(self, path, method="GET", headers=None, connection=None):
        """Returns (status, headers, body)."""
        http_client = connection or http.client.HTTPConnection("127.0.0.1", self.port, timeout=DEADLINE)
        http_client.request(method, path, headers=headers or {})
        answer = http_client.getresponse()
        body = answer.read()
        if not connection:
            http_client.close()
        return answer.status, answer.headers, body

    def json(self):
        return json.loads(self.get("/api/run.json")[2])

    def metrics(self):
        """Returns the text of the metrics, and the values by name and labels."""
        text = self.get("/metrics")[2].decode()
        values = {}
        for line in text.splitlines():
            if not line.startswith("#"):
                name, _, value = line.rpartition(" ")
                values[name] = float(value)
        return text, values

    def raw(self, words=b"", receive=4096):
        """Returns a connection that has sent `words`."""
        client = socket.create_connection(("127.0.0.1", self.port), timeout=DEADLINE)
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive)
        client.sendall(words)
        return client

    def answer_to(self, words):
        """Returns all bytes until the connection is closed."""
        with self.raw(words) as client:
            said = b""
            while part := client.recv(65536):
                said += part
            return said

    def descriptors(self):
        return len(list(Path(f"/proc/{self.pid}/fd").iterdir()))

    def resident_mib(self):
        return int(Path(f"/proc/{self.pid}/statm").read_text().split()[1]) * 4096 / 2**20

    def step(self):
        return int(self.metrics()[1]["gangway_training_step"])

    def wait_for_steps(self, more=1):
        before = self.step()
        wait_until(lambda: self.step() >= before + more, f"a step behind {before}")


class Events(threading.Thread):
    """Reads Server-Sent Events into `messages`: (time, id, type, data)."""

    def __init__(self, page, last_id=None):
        super().__init__(daemon=True)
        self.messages, self.has_ended = [], False
        head = f"Last-Event-ID: {last_id}\r\n" if last_id else ""
        self.client = page.raw(f"GET /api/events HTTP/1.1\r\nHost: localhost\r\n{head}\r\n".encode(), receive=1 << 20)
        self.start()

    def run(self):
        try:
            text = self.client.makefile("r", encoding="utf-8")
            while text.readline().strip():
                pass  # header of the answer
            fields = {}
            for line in text:
                if line.strip():
                    name, _, value = line.strip().partition(": ")
                    fields[name] = value
                elif fields:
                    if "event" in fields:
                        self.messages.append((time.monotonic(), fields.get("id"), fields["event"], json.loads(fields["data"])))
                    fields = {}
        except OSError:
            pass  # it was closed
        self.has_ended = True

    def wait_for(self, kind, count=1):
        return wait_until(lambda: (found := [one for one in list(self.messages) if one[2] == kind])[count - 1:] and found,
                          f"{count} events '{kind}'")

    def close(self):
        try:
            self.client.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass  # the other end was faster
        self.client.close()
        self.join(DEADLINE)
