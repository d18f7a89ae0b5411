# SPDX-License-Identifier: MIT
"""`gangway bench COMMAND`: a module a command."""
import argparse
import importlib

from gangway.tools.command_line import Parser

COMMANDS = {"allreduce": "Every transport's all-reduce beside MPI_Allreduce and what the machine allows",
            "overlap": "Steps of a job with its communication exposed, and hidden in each way",
            "checkpoint": "What snapshots and checkpoints cost a training, and the store beside the disk",
            "recovery": "How soon a run trains again after a kill, part by part",
            "compute": "Each layer of a job's networks beside what a core does at most",
            "job": "One report of a job on this machine: rates, parts, scaling, recovery, score",
            "node": "One report of this machine, to be sent to others: what it is, links, scaling"}


def parser_of(name: str, examples: str, has_anyway: bool = True) -> Parser:
    """Of a command above. @param examples  of its command lines, without "gangway bench" """
    parser = Parser(f"bench {name}", COMMANDS[name], "Examples:\n" + "".join(f"  gangway bench {one}\n" for one in examples.splitlines())
                    + "docs/benchmarks.md says what is measured, and how it is fair.")
    if has_anyway:
        parser.add_argument("--anyway", action="store_true", help="measure on a machine that does other work, too")
    return parser


def command(words: list[str]) -> None:
    parser = Parser("bench", "Measure this machine's or cluster's cores, communication and disk",
                    "\n".join(f"  {name:<12}{what}" for name, what in COMMANDS.items()))
    parser.add_argument("what", choices=COMMANDS, metavar="COMMAND", help="one of those below; each has --help")
    parser.add_argument("words", nargs=argparse.REMAINDER, metavar="...", help="its own")
    line = parser.parse_args(words)
    importlib.import_module(f"gangway.tools.bench.{line.what}").command(line.words)
