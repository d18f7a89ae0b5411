#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Upgrades: a client of the first version (control_v1.proto) asks a job of today, and today's `gangway` asks a coordinator of
then.
    GANGWAY_BIN=build/release/bin control_versions.py [unittest arguments]      with .venv/bin/python: grpcio is in there
"""
import json
import subprocess
import unittest
from pathlib import Path

import grpc
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

from control import ENDLESS, Steered
from control_calls import SERVICE, place_of, plant

PROTO = Path(__file__).with_name("control_v1.proto")
OLD_VERSION = "0.0.9"


class Upgrade(Steered):
    def setUp(self):
        super().setUp()
        described = self.folder / "v1.pb"
        subprocess.run(["protoc", f"--proto_path={PROTO.parent}", f"--descriptor_set_out={described}", PROTO.name], check=True,
                       timeout=60)
        self.pool = descriptor_pool.DescriptorPool()
        for file in descriptor_pb2.FileDescriptorSet.FromString(described.read_bytes()).file:
            self.pool.Add(file)

    def message(self, name):
        return message_factory.GetMessageClass(self.pool.FindMessageTypeByName(f"gangway.control.v1.{name}"))

    def test_an_old_client_goes_on_with_a_new_coordinator(self):
        running, run = self.begin(ENDLESS, workers=1)
        metadata = [("authorization", "Bearer " + (run / "control.steer").read_text().strip())]
        with grpc.insecure_channel(place_of(run)["address"]) as channel:
            def call(verb, reply):
                request = self.message(f"{verb}Request")()
                return channel.unary_unary(f"/{SERVICE}/{verb}", lambda one: one.SerializeToString(),
                                           self.message(reply).FromString)(request, timeout=20, metadata=metadata)

            status = call("Status", "StatusReply")
            self.assertEqual((status.phase, status.total_steps), ("training", 15_625_000))
            self.assertRegex(status.version, r"^\d+\.\d+\.\d+")
            later = b"\xba\x3e\x05later"  # field 999, a text of a later client, which is ignored
            answer = channel.unary_unary(f"/{SERVICE}/Pause")(later, timeout=20, metadata=metadata)
            self.assertIn("pauses after step", self.message("CommandReply").FromString(answer).text)
            for verb, says in (("Checkpoint", "saves step|cannot|not begun|has saved"), ("Resume", "goes on after step"),
                               ("Pause", "pauses after step"), ("Resume", "goes on after step")):
                self.assertRegex(call(verb, "CommandReply").text, says)
            with self.assertRaises(grpc.RpcError) as refused:
                channel.unary_unary(f"/{SERVICE}/Teleport")(b"", timeout=20, metadata=metadata)
            self.assertEqual(refused.exception.code(), grpc.StatusCode.UNIMPLEMENTED)
            stream = channel.unary_stream(f"/{SERVICE}/Watch", lambda one: one.SerializeToString(),
                                          self.message("WatchReply").FromString)(self.message("WatchRequest")(), metadata=metadata)
            self.assertEqual(next(stream).status.phase, "training")
            kinds = {one.WhichOneof("what") for one, _ in zip(stream, range(2))}
            self.assertLessEqual(kinds, {"tick", None}, "what it does not know it passes over")
            stream.cancel()
            self.assertIn("saves step", call("Stop", "CommandReply").text)
        self.assertEqual(running.end(), 75, running.said()[-3000:])

    def test_a_new_client_says_what_an_old_coordinator_does_not_know(self):
        status = self.message("StatusReply")(phase="training", step=7, total_steps=10, version=OLD_VERSION)
        paused = self.message("CommandReply")(text="pauses after step 8")
        run = plant(self, {"Status": status, "Pause": paused})
        self.assertIn("training", self.gangway("status", run))
        self.assertEqual(json.loads(self.gangway("status", run, "--json"))["version"], OLD_VERSION)
        self.assertIn("pauses after step 8", self.gangway("pause", run))
        said = self.gangway("drain", run, "2", code=2)
        self.assertRegex(said, rf"its coordinator is of another version \({OLD_VERSION}; this is .*use that version, or restart")
        self.assertEqual(said.count("\n"), 1)


if __name__ == "__main__":
    unittest.main()
