#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The live page where other hosts can reach it: over TLS, in clear only for who says so, and in a line what is wrong with a
certificate.

    GANGWAY_BIN=build/release/bin page_tls.py [unittest arguments]      (Debian's openssl)
"""
import http.client
import random
import socket
import ssl
import time
import unittest

from certificates import Certificates
from http_page import Looked
from page_client import DEADLINE, RING, wait_until
from train_command import GANGWAY

CONFIG = 2
HELLO = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"  # as TLS begins


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


class OpenPage(Certificates, Looked):
    def setUp(self):
        super().setUp()
        self.make_ca("ca")
        self.sign("server")

    def show(self, *arguments, run="seen"):
        return self.train_and_look(f"output.http=0.0.0.0:{free_port()}", *arguments, run=run)

    def trust(self, ca="ca"):
        return ssl.create_default_context(cafile=str(self.folder / f"{ca}.pem"))

    def connection(self, page, ca="ca"):
        connection = http.client.HTTPSConnection("127.0.0.1", page.port, timeout=DEADLINE, context=self.trust(ca))
        self.addCleanup(connection.close)
        return connection

    def stream(self, page):
        """A connection over TLS that has asked for events."""
        client = self.trust().wrap_socket(page.raw(), server_hostname="127.0.0.1")
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


class Tls(OpenPage):
    def test_shows_itself_to_who_has_the_token(self):
        page = self.show(*self.tls_words("server"))
        self.assertTrue(page.file["url"].startswith("https://"), page.file)
        self.assertIn("page   https://", page.running.said())
        self.assertNotIn("not encrypted", page.running.said())
        page.running.wait_for("^tick 1 ")
        one = self.connection(page)  # for all of them: it is kept
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

        # The end of an answer is said over TLS too: nobody else can bring it about.
        client = self.trust().wrap_socket(page.raw(), server_hostname="127.0.0.1", suppress_ragged_eofs=False)
        client.sendall(b"GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        self.assertTrue(self.until(client, b"ok\n").startswith(b"HTTP/1.1 200"))
        self.assertEqual(client.recv(1), b"")
        client.close()

        self.make_ca("other")
        with self.assertRaises(ssl.SSLCertVerificationError):
            page.get("/", connection=self.connection(page, "other"))
        watching = self.stream(page)
        self.until(watching, b"event: tick\n")
        self.end(page)
        self.until(watching, b"event: end\n")

    def test_in_clear_says_only_that_it_lives(self):
        page = self.show(*self.tls_words("server"))
        self.assertEqual(page.get("/healthz")[0], 200)  # as the probes of a pod ask
        page.running.wait_for("^tick 1 ")
        wait_until(lambda: page.get("/readyz")[0] == 200, "that it trains")
        for path in ("/", "/metrics", f"/?token={page.token}", f"/api/run.json?token={page.token}", "/api/events", "/log"):
            status, headers, body = page.get(path, headers={"Authorization": f"Bearer {page.token}"})
            self.assertEqual(status, 400, path)
            self.assertIn(b"over TLS alone: ask https://", body)
            self.assertNotIn("Set-Cookie", headers)
        self.end(page)

    def test_strangers_cost_neither_descriptors_nor_the_page(self):
        page = self.show(*self.tls_words("server"))
        page.running.wait_for("^tick 1 ")
        self.assertEqual(page.get("/healthz", connection=self.connection(page))[0], 200)
        descriptors, memory = page.descriptors(), page.resident_mib()
        dice = random.Random(17)
        for _ in range(200):
            with page.raw(dice.choice((HELLO, HELLO[:3], b"\x16", b"")) + dice.randbytes(dice.randrange(600))) as client:
                if dice.random() < 0.5:
                    client.shutdown(socket.SHUT_WR)
        crowd = [page.raw(dice.choice((b"", b"\x16", HELLO, b"GET / HT"))) for _ in range(300)]
        self.assertLess(page.descriptors(), descriptors + 270)
        self.assertEqual(page.get("/healthz", connection=self.connection(page))[0], 200)
        watching = self.stream(page)
        self.until(watching, b"event: tick\n")
        # One who has shaken hands and asks nothing, one who does not read: both are dropped in time.
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
        self.end(page)


class Words(OpenPage):
    def refused(self, *words):
        code, _, err = self.call(GANGWAY, "run", RING, "-n", "1", "--run", "refused", f"output.http=0.0.0.0:{free_port()}", *words)
        self.assertEqual(code, CONFIG, err)
        return next(line for line in err.splitlines() if "output." in line)

    def test_a_token_goes_to_other_hosts_in_clear_for_who_says_so_alone(self):
        self.assertIn("the page's token would go there in clear; set output.control_certificate", self.refused())
        page = self.show("output.http_plain=true", *self.tls_words("server"))  # which control has for itself
        self.assertTrue(page.file["url"].startswith("http://"), page.file)
        self.assertIn("not encrypted", page.running.said())
        self.assertEqual(page.get(f"/metrics?token={page.token}")[0], 200)
        self.end(page)

    def test_a_certificate_that_is_none_ends_the_job_in_a_line(self):
        self.sign("other")
        (self.folder / "junk.pem").write_text("no certificate")
        self.openssl("rsa", "-aes256", "-passout", "pass:word", "-in", "server.key", "-out", "locked.key")
        self.assertIn("junk.pem is no certificate in PEM", self.refused(*self.tls_words("junk", "server")))
        self.assertIn("other.key is not the key of", self.refused(*self.tls_words("server", "other")))
        self.assertIn("locked.key is not the key of", self.refused(*self.tls_words("server", "locked")))
        self.assertIn("missing.pem", self.refused(*self.tls_words("missing", "server")))


if __name__ == "__main__":
    unittest.main()
