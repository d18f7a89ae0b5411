# SPDX-License-Identifier: MIT
"""Compares all-reduces with MPI_Allreduce and the machine's limits, by gangway-bench-allreduce."""
import argparse
import json
import os
import shlex

from gangway.errors import ENVIRONMENT, Failed, complaints
from gangway.launch import program
from gangway.tools.bench import parser_of
from gangway.tools.command_line import listed, number, whole_number
from gangway.tools.machine import require_quiet_machine
from gangway.tools.measured import output_of

PROGRAM, NCCL_PROGRAM = "gangway-bench-allreduce", "gangway-bench-nccl"
PATIENCE = "120"  # seconds: NCCL hangs on broken links


def figures_of(name: str, workers: int, *words) -> dict:
    """Returns the JSON of a measuring program on this host. Raises Failed with its last words."""
    command = ["timeout", PATIENCE, program(), "ranks", name, "-n", str(workers), "--", *map(str, words)]
    done = output_of(command, dict(os.environ))
    *before, last = done.text.rstrip("\n").split("\n")
    try:
        if done.code == 0 and isinstance(figures := json.loads(last), dict):
            return figures
    except ValueError:
        pass
    raise Failed(f"'{shlex.join(command)}' failed: {(complaints(done.text.splitlines()) or [last])[-1]}", ENVIRONMENT)


def command(words: list[str]) -> None:
    parser = parser_of("allreduce", "allreduce\nallreduce -n 4 --sizes 1M,64M\nallreduce -n 2 --hostfile hosts --line-rate 1gbit")
    parser.add_argument("-n", "--workers", type=listed(whole_number(2, 64)), default=[2, 4], metavar="N",
                        help="workers; a table for each number (2,4)")
    parser.add_argument("--hostfile", help="hosts, as 'node-a slots=8', for Open MPI")
    parser.add_argument("--sizes", default="1M,4M,16M,64M", help="sizes, multiples of 16K (%(default)s)")
    parser.add_argument("--transports", help="shm, mpi, hierarchical; default: all that fit the hosts")
    parser.add_argument("--line-rate", metavar="RATE", help="rate of a host's link, as 1gbit, for the floor between hosts")
    parser.add_count("--buckets", default=8, what="buckets that a block is cut into")
    parser.add_count("--rounds", default=7, what="rounds, each of which measures every row")
    parser.add_argument("--seconds", type=number(1e-9), default=2, help="seconds for each row and size, over all rounds (%(default)s)")
    parser.add_count("--sleep", least=0, most=10_000, default=0,
                     what="microseconds that a worker sleeps between polls, like a lane without its own core; 0: none")
    parser.add_argument("--corrupt-round", type=whole_number(1), help=argparse.SUPPRESS)
    line = parser.parse_args(words)
    require_quiet_machine(line.anyway)
    options = ("sizes", "rounds", "seconds", "buckets", "sleep", "transports", "line_rate", "corrupt_round")
    given = [(name, value) for name in options if (value := getattr(line, name)) is not None]
    hosts = ["--hostfile", line.hostfile] if line.hostfile else []
    arguments = [word for name, value in given for word in (f"--{name.replace('_', '-')}", str(value))]
    os.execve(program(), [program(), "ranks", PROGRAM, "-n", ",".join(map(str, line.workers)), *hosts, "--", *arguments],
              {name: value for name, value in os.environ.items() if name != "GANGWAY_BIN"})  # ranks would inherit it
