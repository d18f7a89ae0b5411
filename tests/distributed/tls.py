#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A job's control service and page that other hosts can reach: over TLS for clients with a token; unencrypted only if the job
says so. Errors of certificates give one line.

    GANGWAY_BIN=build/release/bin tls.py [unittest arguments]      with .venv/bin/python: grpcio is in there; Debian's openssl
"""
import http.client
import random
import socket
import ssl
import time
import unittest

import grpc

from certificates import Certificates
from control import Steered
from control_calls import place_of, plant
from http_page import Looked
from page_client import DEADLINE, RING, wait_until
from train_command import GANGWAY, Shared

CONFIG = 2
HELLO = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"  # first bytes of TLS


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


class WithCertificates(Shared, Certificates, Looked, Steered):
    @classmethod
    def begin_for_all(cls):
        cls.owner.make_ca("ca")
        cls.owner.make_ca("other")
        cls.owner.sign("server")


class Job(WithCertificates):
    @classmethod
    def begin_for_all(cls):
        super().begin_for_all()
        cls.page = cls.owner.train_and_look(f"output.http=0.0.0.0:{free_port()}", "output.control=127.0.0.1:0", "output.tick_kimg=50",
                                            *cls.owner.tls_words("server"))
        cls.page.running.wait_for("^tick 1 ")

    def trust(self, ca="ca"):
        return ssl.create_default_context(cafile=str(self.folder / f"{ca}.pem"))

    def connection(self, ca="ca"):
        connection = http.client.HTTPSConnection("127.0.0.1", self.page.port, timeout=DEADLINE, context=self.trust(ca))
        self.addCleanup(connection.close)
        return connection

    def stream(self):
        """Returns a connection over TLS that has requested events."""
        client = self.trust().wrap_socket(self.page.raw(), server_hostname="127.0.0.1")
        self.addCleanup(client.close)
        client.sendall(b"GET /api/events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        return client

    def until(self, client, word):
        said = b""
        while word not in said:
            part = client.recv(65536)
            self.assertTrue(part, f"{word} never came: {said[-300:]}")
            said += part
        return said

    def test_answers_control_where_the_ca_is_trusted_and_a_token_shown(self):
        run = self.page.directory
        self.assertIn("pauses after step", self.gangway("pause", run))
        self.assertIn("may read, and not steer", self.gangway("resume", run, "--token-file", run / "control.read", code=6))
        (self.folder / "guess").write_text("0" * 64)
        self.assertIn("the token is not", self.gangway("status", run, "--token-file", "guess", code=6))
        self.gangway("resume", run)
        self.assertIn("training", self.gangway("status", run, "--token-file", run / "control.read"))

        address = place_of(run)["address"]
        self.assertRegex(address, r"^127\.0\.0\.1:[1-9]\d*$")
        call = "/gangway.control.v1.Control/Status"
        with grpc.insecure_channel(address) as channel, self.assertRaises(grpc.RpcError) as refused:
            channel.unary_unary(call)(b"", timeout=10)
        self.assertEqual(refused.exception.code(), grpc.StatusCode.UNAVAILABLE, "a call in the clear")
        trusted = grpc.ssl_channel_credentials((self.folder / "ca.pem").read_bytes())
        with grpc.secure_channel(address, trusted) as channel, self.assertRaises(grpc.RpcError) as refused:
            channel.unary_unary(call)(b"", timeout=10)
        self.assertEqual(refused.exception.code(), grpc.StatusCode.UNAUTHENTICATED, "TLS is no token")

    def test_shows_its_page_to_a_client_with_the_token(self):
        page = self.page
        self.assertTrue(page.file["url"].startswith("https://"), page.file)
        self.assertIn("page   https://", page.running.said())
        self.assertNotIn("not encrypted", page.running.said())
        one = self.connection()  # one kept connection for all of them
        bearer = {"Authorization": f"Bearer {page.token}", "Host": "node-a"}
        for path in ("/", "/metrics", "/healthz", "/main.js", "/api/run.json"):
            status, headers, body = page.get(path, connection=one, headers=bearer)
            self.assertEqual((status, int(headers["Content-Length"])), (200, len(body)), path)
        self.assertEqual(page.get("/", connection=one, headers=bearer, method="HEAD")[::2], (200, b""))
        self.assertEqual(page.get("/nothing", connection=one, headers=bearer)[0], 404)
        status, headers, _ = page.get(f"/?token={page.token}", connection=one)
        self.assertEqual(status, 303)
        self.assertIn("; Secure", headers["Set-Cookie"])
        self.assertEqual(page.get("/", connection=one, headers={"Host": "evil.example"})[0], 421)
        self.assertEqual(page.get("/", connection=one, method="POST")[0], 405)
        with self.assertRaises(ssl.SSLCertVerificationError):
            page.get("/", connection=self.connection("other"))

        # An answer ends inside of TLS, so that no third party can truncate it.
        client = self.trust().wrap_socket(page.raw(), server_hostname="127.0.0.1", suppress_ragged_eofs=False)
        client.sendall(b"GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        self.assertTrue(self.until(client, b"ok\n").startswith(b"HTTP/1.1 200"))
        self.assertEqual(client.recv(1), b"")
        client.close()

    def test_says_on_its_page_in_clear_only_that_it_lives(self):
        page = self.page
        self.assertEqual(page.get("/healthz")[0], 200)  # as a pod's probes do
        wait_until(lambda: page.get("/readyz")[0] == 200, "that it trains")
        for path in ("/", "/metrics", f"/?token={page.token}", f"/api/run.json?token={page.token}", "/api/events", "/log"):
            status, headers, body = page.get(path, headers={"Authorization": f"Bearer {page.token}"})
            self.assertEqual(status, 400, path)
            self.assertIn(b"over TLS only: open https://", body)
            self.assertNotIn("Set-Cookie", headers)

    def test_keeps_its_descriptors_and_its_page_beside_strangers(self):
        page = self.page
        self.assertEqual(page.get("/healthz", connection=self.connection())[0], 200)
        descriptors, memory = page.descriptors(), page.resident_mib()
        dice = random.Random(17)
        for _ in range(200):
            with page.raw(dice.choice((HELLO, HELLO[:3], b"\x16", b"")) + dice.randbytes(dice.randrange(600))) as client:
                if dice.random() < 0.5:
                    client.shutdown(socket.SHUT_WR)
        crowd = [page.raw(dice.choice((b"", b"\x16", HELLO, b"GET / HT"))) for _ in range(300)]
        self.assertLess(page.descriptors(), descriptors + 270)
        self.assertEqual(page.get("/healthz", connection=self.connection())[0], 200)
        watching = self.stream()
        self.until(watching, b"event: tick\n")
        # The server drops a client that asks nothing after its handshake, and a client that does not read.
        idle = self.trust().wrap_socket(page.raw(), server_hostname="127.0.0.1")
        for client in crowd:
            client.close()
        begun = time.monotonic()
        self.assertEqual(idle.recv(1), b"")
        self.assertLess(time.monotonic() - begun, 20)
        idle.close()
        watching.close()
        wait_until(lambda: page.descriptors() <= descriptors + 2, f"{descriptors} descriptors again")
        self.assertLess(page.resident_mib(), memory + 40)


class Words(WithCertificates):
    def refused(self, *words):
        code, _, err = self.call(GANGWAY, "run", RING, "-n", "1", "--run", "refused", f"output.http=0.0.0.0:{free_port()}", *words)
        self.assertEqual(code, CONFIG, err)
        return next(line for line in err.splitlines() if "output." in line)

    def test_send_a_token_to_other_hosts_in_clear_only_where_the_job_says_so(self):
        self.assertIn("the page's token would go there in clear; set output.control_certificate", self.refused())
        page = self.train_and_look(f"output.http=0.0.0.0:{free_port()}", "output.http_plain=true", "output.control=off",
                                   *self.tls_words("server"))
        self.assertTrue(page.file["url"].startswith("http://"), page.file)
        self.assertIn("not encrypted", page.running.said())
        self.assertEqual(page.get(f"/metrics?token={page.token}")[0], 200)
        self.assertFalse((page.directory / "control.json").exists())
        self.assertIn("output.control=off", self.gangway("status", page.directory, code=6))

    def test_of_a_certificate_that_is_none_end_the_job_in_a_line(self):
        self.sign("second")
        (self.folder / "junk.pem").write_text("no certificate")
        self.openssl("rsa", "-aes256", "-passout", "pass:word", "-in", "server.key", "-out", "locked.key")
        self.assertIn("junk.pem is no certificate in PEM", self.refused(*self.tls_words("junk", "server")))
        self.assertIn("second.key is not the key of", self.refused(*self.tls_words("server", "second")))
        self.assertIn("locked.key is not the key of", self.refused(*self.tls_words("server", "locked")))
        self.assertIn("missing.pem", self.refused(*self.tls_words("missing", "server")))

    def test_of_a_server_that_is_not_trusted_are_one_line(self):
        self.sign("elsewhere", names="subjectAltName=IP:192.0.2.1,DNS:node-z")
        self.sign("old", dates=("-days", "-1"))
        for name, trusted in (("server", "other"), ("elsewhere", "elsewhere"), ("old", "old")):
            with self.subTest(name):
                shown = grpc.ssl_server_credentials([((self.folder / f"{name}.key").read_bytes(),
                                                      (self.folder / f"{name}.pem").read_bytes())])
                run = plant(self, {}, shown, certificate=str(self.folder / f"{trusted}.pem"))
                said = self.gangway("status", run, code=6)
                self.assertRegex(said, "is not trusted: its certificate must name that address, be in date, and be signed")
                self.assertEqual(said.count("\n"), 1, said)


if __name__ == "__main__":
    unittest.main()
