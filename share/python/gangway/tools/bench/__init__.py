# SPDX-License-Identifier: MIT
"""Runs `gangway bench COMMAND`; each command is a module."""
import argparse
import importlib

from gangway.tools.command_line import Parser

COMMANDS = {"allreduce": "Compare each transport's all-reduce with MPI_Allreduce and the machine's limits",
            "overlap": "Time a job's steps with communication exposed, and with each overlap",
            "checkpoint": "Measure what snapshots and checkpoints cost, and compare the store with the disk",
            "recovery": "Measure how soon a run resumes after a kill, part by part",
            "compute": "Compare each layer of a job's networks with a core's peak rate",
            "inference": "Time a generator in each engine and precision, with the score of its pictures",
            "job": "Write one report of a job on this machine: rates, parts, scaling, recovery, score",
            "node": "Write one report of this machine, to be shared: hardware, links, scaling"}


def parser_of(name: str, examples: str, has_anyway: bool = True) -> Parser:
    """Returns a command's parser. @param examples  command lines without "gangway bench" """
    parser = Parser(f"bench {name}", COMMANDS[name], "Examples:\n" + "".join(f"  gangway bench {one}\n" for one in examples.splitlines())
                    + "docs/benchmarks.md says what is measured, and how it is fair.")
    if has_anyway:
        parser.add_argument("--anyway", action="store_true", help="measure on a machine that does other work, too")
    return parser


def command(words: list[str]) -> None:
    parser = Parser("bench", "Measure this machine's or cluster's cores, communication and disk",
                    "\n".join(f"  {name:<12}{what}" for name, what in COMMANDS.items()))
    parser.add_argument("what", choices=COMMANDS, metavar="COMMAND", help="a command from the list below; each has --help")
    parser.add_argument("words", nargs=argparse.REMAINDER, metavar="...", help="arguments")
    line = parser.parse_args(words)
    importlib.import_module(f"gangway.tools.bench.{line.what}").command(line.words)
