#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How long activations and their gradients travel between two workers beside gradients of weights that saturate the link.

    bench/priority/run.py [--rate 1gbit] [--rounds 5] [--bytes 100352]     two hosts played by tests/cluster/run
    bench/priority/run.py --within-host [--sizes 152,4000,100352,...]       two workers of this host, by memory and by messages

A round trip is a tensor to the other worker and one of the same size back: an activation and its gradient, without what
is computed between. Rows take turns; each is a new mpirun, which checks nothing but that every tensor comes.

    alone         nothing else travels
    unbounded     gradients and weights are all told to MPI at once, which sends in that order
    in MPI        gradients leave room for tensors before MPI has them, but not in the kernel's buffers
    priority      and in those: what a job with networks apart or cut does
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "ddp"))

from places import HOSTFILE, enter_cluster  # noqa: E402

PROGRAM = Path(os.environ.get("GANGWAY_BIN", Path(__file__).resolve().parents[2] / "build/release/bin")) / "gangway-bench-priority"
MPIRUN = ["mpirun", "--oversubscribe", "--bind-to", "none", "--mca", "pml", "ob1", "-n", "3"]
DEADLINE = 300  # seconds of a turn
KERNEL_BUFFER = "OMPI_MCA_btl_tcp_sndbuf"
BETWEEN_HOSTS = {"alone": ([], {}),
                 "unbounded": (["--gradients", "{mb}", "--window", "0"], {}),
                 "in MPI": (["--gradients", "{mb}"], {}),
                 "priority": (["--gradients", "{mb}"], {KERNEL_BUFFER: "{buffer}"})}
WITHIN_HOST = {"memory": ["--way", "memory"],
               "messages": ["--way", "messages"],
               "header apart": ["--way", "messages", "--joined", "0"]}


def measure(place, words, variables):
    environment = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", **variables}
    done = subprocess.run([*MPIRUN, *place, *[word for name in variables for word in ("-x", name)], str(PROGRAM), *words],
                          env=environment, stdout=subprocess.PIPE, text=True, timeout=DEADLINE, check=False)
    if done.returncode != 0:
        sys.exit(f"gangway-bench-priority ended with code {done.returncode}; its error is above")
    return json.loads(done.stdout)


def percentile(values, share):
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


def print_rows(title, rows, turns):
    print(f"\n{title}\n{'ms':<16}{'median':>9}{'p99':>9}{'longest':>9}{'trips':>8}{'gradients, Mbit/s each way':>30}")
    for name in rows:
        trips = [1000 * seconds for turn in turns[name] for seconds in turn["seconds"]]
        rate = statistics.median(turn["gradient_bytes_per_second"] for turn in turns[name]) * 8 / 1e6
        print(f"{name:<16}{statistics.median(trips):>9.3f}{percentile(trips, 0.99):>9.3f}{max(trips):>9.3f}{len(trips):>8}"
              + (f"{rate:>30.0f}" if rate else f"{'-':>30}"))


def between_hosts(options):
    enter_cluster(2, options.rate)
    hosts = [line.split()[0] for line in Path(os.environ[HOSTFILE]).read_text().splitlines()]
    place = ["--host", f"{hosts[0]}:2,{hosts[1]}:1", "--map-by", "slot", "--mca", "mpi_preconnect_mpi", "1"]
    rows = [name for name in BETWEEN_HOSTS if not options.rows or name in options.rows]
    turns = {name: [] for name in rows}
    for index in range(options.rounds):
        for place_of_row in range(len(rows)):
            name = rows[(index + place_of_row) % len(rows)]
            words, variables = BETWEEN_HOSTS[name]
            words = [word.format(mb=options.gradients) for word in words]
            variables = {variable: value.format(buffer=options.buffer) for variable, value in variables.items()}
            turns[name].append(measure(place, ["--bytes", str(options.bytes), *words, *options.arguments], variables))
        print(f"round {index + 1} of {options.rounds}", flush=True)
    print_rows(f"round trips of {options.bytes} bytes between two hosts, links of {options.rate}, {os.cpu_count()} cores", rows, turns)


def within_host(options):
    for size in options.sizes.split(","):
        turns = {name: [] for name in WITHIN_HOST}
        for index in range(options.rounds):
            names = list(WITHIN_HOST)
            for name in names[index % len(names):] + names[:index % len(names)]:
                words = ["--bytes", size, "--seconds", "1", "--pause", "500", *WITHIN_HOST[name], *options.arguments]
                turns[name].append(measure(["--mca", "btl", "self,vader"], words, {}))
        print_rows(f"round trips of {size} bytes within a host, {os.cpu_count()} cores", WITHIN_HOST, turns)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--within-host", action="store_true")
    parser.add_argument("--rate", default="1gbit", help="of each played host's link")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--bytes", type=int, default=100_352, help="of a tensor: 32 images of 28 x 28 floats")
    parser.add_argument("--sizes", default="4000,100352,1000000,8000000", help="the same within a host")
    parser.add_argument("--gradients", type=int, default=300, help="MB of them each way in a turn")
    parser.add_argument("--buffer", type=int, default=131072, help="bytes that the kernel keeps of a connection's (launch/mpirun/mpirun_command.cpp)")
    parser.add_argument("--rows", nargs="*", choices=list(BETWEEN_HOSTS))
    parser.add_argument("arguments", nargs="*", help="further ones of gangway-bench-priority, behind --")
    options = parser.parse_args()
    within_host(options) if options.within_host else between_hosts(options)


if __name__ == "__main__":
    main()
