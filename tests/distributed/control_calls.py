# SPDX-License-Identifier: MIT
"""Calls a running job's control service like any client, by its reflection service."""
import json
import os
import socket
import time
from concurrent import futures
from pathlib import Path

import grpc
from google.protobuf import descriptor_pool, message_factory
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import ProtoReflectionDescriptorDatabase

SERVICE = "gangway.control.v1.Control"
DEADLINE = 20  # seconds; the coordinator's own is 5


def place_of(run):
    return json.loads((Path(run) / "control.json").read_text())


def plant(test, answers, credentials=None, **place):
    """Serves `answers` by verb instead of a coordinator. @param credentials  of TLS @return its run directory"""
    run = test.folder / "runs" / "00000-planted"
    run.mkdir(parents=True, exist_ok=True)
    (run / "job.yaml").write_text("{}")
    server = grpc.server(futures.ThreadPoolExecutor(max_workers=2))
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(SERVICE, {
        verb: grpc.unary_unary_rpc_method_handler(lambda request, context, answer=answer: answer.SerializeToString())
        for verb, answer in answers.items()}),))
    port = server.add_secure_port("127.0.0.1:0", credentials) if credentials else server.add_insecure_port("127.0.0.1:0")
    server.start()
    test.addCleanup(server.stop, 0)
    (run / "control.json").write_text(json.dumps({"protocol": "gangway.control.v1", "host": socket.gethostname(),
                                                  "pid": os.getpid(), "address": f"127.0.0.1:{port}", **place}))
    (run / "control.steer").write_text("0" * 64)
    (run / "control.steer").chmod(0o600)
    return run


class Control:
    """A connection to the coordinator of the job in `run`."""

    def __init__(self, run, token="steer"):
        self.token = (Path(run) / f"control.{token}").read_text().strip()
        # Channels to one address would share a connection.
        self.channel = grpc.insecure_channel(place_of(run)["address"], options=[("grpc.use_local_subchannel_pool", 1)])
        self.pool = descriptor_pool.DescriptorPool(ProtoReflectionDescriptorDatabase(self.channel))

    def close(self):
        self.channel.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def metadata(self, token):
        token = self.token if token is None else token
        return [("gangway-user", "tester")] + ([("authorization", f"Bearer {token}")] if token else [])

    def prepare(self, name, service, fields):
        """Returns the call's path, its request, and the type of its reply."""
        method = self.pool.FindServiceByName(service).methods_by_name[name]
        request = message_factory.GetMessageClass(method.input_type)(**fields)
        return f"/{service}/{name}", request, message_factory.GetMessageClass(method.output_type).FromString

    def call(self, name, token=None, service=SERVICE, **fields):
        """Makes a unary call. @param token  "": none"""
        path, request, read = self.prepare(name, service, fields)
        call = self.channel.unary_unary(path, lambda message: message.SerializeToString(), read)
        return call(request, timeout=DEADLINE, metadata=self.metadata(token))

    def watch(self, token=None):
        path, request, read = self.prepare("Watch", SERVICE, {})
        call = self.channel.unary_stream(path, lambda message: message.SerializeToString(), read)
        return call(request, metadata=self.metadata(token))

    def status(self):
        return self.call("Status")

    def refused(self, name, **arguments):
        """Returns code and message of a refused call."""
        try:
            reply = self.call(name, **arguments)
        except grpc.RpcError as error:
            return error.code(), error.details()
        raise AssertionError(f"{name} was answered: {reply}")

    def served_status(self, deadline=20):
        """Repeats the call if other clients have used up the calls of this second."""
        end = time.monotonic() + deadline
        while True:
            try:
                return self.status()
            except grpc.RpcError as error:
                if error.code() != grpc.StatusCode.RESOURCE_EXHAUSTED or time.monotonic() > end:
                    raise
                time.sleep(0.05)

    def wait_until(self, condition, what, deadline=60):
        """Returns the first status for which `condition` is true."""
        end = time.monotonic() + deadline
        while not condition(status := self.served_status()):
            if time.monotonic() > end:
                raise AssertionError(f"{what} never came: {status}")
            time.sleep(0.02)
        return status


def descriptors_of(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


def resident_mib(pid):
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20
