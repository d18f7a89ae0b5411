#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The control service behind TLS, with certificates that a CA of this test signs: who shows the right one is answered, each
wrong one is refused in a line.

    GANGWAY_BIN=build/release/bin control_tls.py [unittest arguments]      with .venv/bin/python: grpcio is in there
"""
import json
import unittest

import grpc

from certificates import Certificates
from control import Steered
from control_calls import place_of


class Tls(Certificates, Steered):
    def begin_with(self, name):
        return self.begin("output.control=127.0.0.1:0", *self.tls_words(name), run=name)

    def setUp(self):
        super().setUp()
        self.make_ca("ca")

    def test_lets_in_who_trusts_the_ca_and_shows_a_token(self):
        self.sign("server")
        running, run = self.begin_with("server")
        self.assertIn("training", self.gangway("status", "server"))
        self.assertIn("pauses after step", self.gangway("pause", "server"))
        self.assertIn("may read, and not steer",
                      self.gangway("resume", "server", "--token-file", run / "control.read", code=6))
        (self.folder / "guess").write_text("0" * 64)
        self.assertIn("the token is not", self.gangway("status", "server", "--token-file", "guess", code=6))
        self.assertIn("training", self.gangway("status", "server", "--token-file", run / "control.read") +
                      self.gangway("resume", "server") + self.gangway("status", "server"))

        address = place_of(run)["address"]
        call = "/gangway.control.v1.Control/Status"
        with grpc.insecure_channel(address) as channel, self.assertRaises(grpc.RpcError) as refused:
            channel.unary_unary(call)(b"", timeout=10)
        self.assertEqual(refused.exception.code(), grpc.StatusCode.UNAVAILABLE, "in the clear nobody is answered")
        trusted = grpc.ssl_channel_credentials((self.folder / "ca.pem").read_bytes())
        with grpc.secure_channel(address, trusted) as channel, self.assertRaises(grpc.RpcError) as refused:
            channel.unary_unary(call)(b"", timeout=10)
        self.assertEqual(refused.exception.code(), grpc.StatusCode.UNAUTHENTICATED, "TLS is no token")

        self.make_ca("other")
        place = json.loads((run / "control.json").read_text())
        (run / "control.json").write_text(json.dumps({**place, "certificate": str(self.folder / "other.pem")}))
        self.require_distrusted("server")
        running.kill_all()

    def require_distrusted(self, run):
        said = self.gangway("status", run, code=6)
        self.assertRegex(said, "is not trusted: its certificate must name that address, be in date, and be signed")
        self.assertEqual(said.count("\n"), 1, said)

    def test_refuses_another_name(self):
        self.sign("elsewhere", names="subjectAltName=IP:192.0.2.1,DNS:node-z")
        running, _ = self.begin_with("elsewhere")
        self.require_distrusted("elsewhere")
        running.kill_all()

    def test_refuses_a_certificate_that_has_expired(self):
        self.sign("old", dates=("-days", "-1"))
        running, _ = self.begin_with("old")
        self.require_distrusted("old")
        running.kill_all()


if __name__ == "__main__":
    unittest.main()
