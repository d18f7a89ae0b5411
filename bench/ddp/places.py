# SPDX-License-Identifier: MIT
"""Starts the processes of run.py's rows: all on this host, or one per host of tests/cluster/run."""
import os
import socket
import subprocess
import sys
from pathlib import Path

from goodput import exchange

CLUSTER = Path(__file__).resolve().parents[2] / "tests/cluster"
HOSTFILE = "GANGWAY_CLUSTER_HOSTFILE"  # set inside a cluster
GOODPUT_TRIES = 3
FIRST_PORT = 29500


class OneHost:
    """Runs all processes on this host; processes of a row meet through a file in `folder`."""
    environment = {"GLOO_SOCKET_IFNAME": "lo"}

    def __init__(self, folder):
        self.folder = Path(folder)

    def on_host_of(self, _rank):
        return []

    def rendezvous(self, row):
        return f"file://{self.folder / row.replace(' ', '-')}"

    def gangway_arguments(self):
        return []

    def sent_bytes(self):
        return 0


class PlayedCluster:
    """Runs one process a host; this program runs on the first host."""
    environment = {"GLOO_SOCKET_IFNAME": "eth0", "TORCH_CPP_LOG_LEVEL": "ERROR"}  # hides warnings

    def __init__(self, num_hosts):
        self.hostfile = os.environ[HOSTFILE]
        self.hosts = [line.split()[0] for line in Path(self.hostfile).read_text().splitlines()]
        if len(self.hosts) != num_hosts:
            raise ValueError(f"--hosts {num_hosts}: the cluster that this runs in has {len(self.hosts)}")
        self.address = socket.gethostbyname(self.hosts[0])
        self.num_rendezvous = 0

    def on_host_of(self, rank):
        return [str(CLUSTER / "on"), self.hosts[rank]]

    def rendezvous(self, _row):
        self.num_rendezvous += 1
        return f"tcp://{self.address}:{FIRST_PORT + self.num_rendezvous}"

    def gangway_arguments(self):
        return ["--hostfile", self.hostfile]

    def sent_bytes(self):
        """Returns the last host's bytes sent so far, by the switch: `sent 123 received 456`."""
        words = subprocess.run([str(CLUSTER / "bytes"), self.hosts[-1]], capture_output=True, text=True, check=True).stdout.split()
        return int(words[1])

    def goodput(self):
        """Returns bytes a second of TCP payload in the slower of both directions; the best try."""
        return max(self.try_goodput() for _ in range(GOODPUT_TRIES))

    def try_goodput(self):
        with socket.create_server((self.address, 0)) as server:
            server.settimeout(10)
            port = server.getsockname()[1]
            peer = subprocess.Popen([*self.on_host_of(1), sys.executable, str(Path(__file__).with_name("goodput.py")),
                                     self.address, str(port)], stdout=subprocess.PIPE, text=True)
            try:
                connection, _ = server.accept()
                mine = exchange(connection)
                theirs, _ = peer.communicate(timeout=10)
            finally:
                peer.kill()
        return min(mine, float(theirs))


def enter_cluster(num_hosts, rate):
    """Replaces this process by tests/cluster/run with the same command, unless in a cluster."""
    if HOSTFILE not in os.environ:
        run = str(CLUSTER / "run")
        os.execv(run, [run, str(num_hosts), rate, "--", sys.executable, *sys.argv])
