# SPDX-License-Identifier: MIT
"""Times a job's steps for each overlap of communication, in alternating `gangway run`s."""
import itertools
import os
import re
import statistics
from typing import NamedTuple

from gangway.errors import Failed
from gangway.tools.bench import parser_of
from gangway.tools.command_line import listed, one_of, say, table
from gangway.tools.hosts import slots_in
from gangway.tools.machine import require_quiet_machine
from gangway.tools.measured import StepFigures, kept_folder, prepared, run_to_its_end, step_figures

JOB = "examples/fashion-mnist.yaml"
STEPS_OF_A_TICK = 3
MODES = ("none", "within", "across")
BITS = {"kbit": 1e3, "mbit": 1e6, "gbit": 1e9}


class Row(NamedTuple):
    transport: str
    overlap: str
    rounds: list[StepFigures]


class Overlap(NamedTuple):
    rows: list[Row]
    compute_seconds: float | None  # of one worker's share alone, best round; None: no whole share
    line_rate: float               # bytes per second of a host's link, each way; 0: unknown
    hosts: int


def rate_of(text: str) -> float:
    """Returns bytes per second of "1gbit", "100mbit" or "64kbit". Raises Failed."""
    found = re.fullmatch("([0-9]+)([kmg]bit)", text)
    if not found or not 0 < int(found[1]) < 2**32:
        raise Failed(f"--line-rate: '{text}' is no rate: write 1gbit, 100mbit or 64kbit")
    return int(found[1]) * BITS[found[2]] / 8


def used_hosts(hostfile: str, workers: int) -> int:
    """Returns the number of hosts that the workers fill in order. Raises Failed."""
    before = [0, *itertools.accumulate(slots_in(hostfile).values())][:-1]
    return sum(one < workers for one in before)


def _median(row: Row, figure: str) -> float:
    return statistics.median(getattr(one, figure) for one in row.rounds)


def _hidden(row: Row, rows: list[Row]) -> str:
    """Returns the hidden share of what the same transport exposes without overlap."""
    blocking = next((other for other in rows if (other.transport, other.overlap) == (row.transport, "none")), None)
    if row.overlap == "none" or not blocking or not (exposed := _median(blocking, "exposed_seconds")):
        return "-"
    return f"{100 * (1 - _median(row, 'exposed_seconds') / exposed):.0f} %"


def text_of(overlap: Overlap) -> str:
    """Returns a table of medians and minima. Wire: a host's bytes at the link's rate."""
    compute, cells = overlap.compute_seconds or 0, []
    for row in overlap.rows:
        step = _median(row, "seconds")
        wire = _median(row, "sent_bytes") / overlap.hosts / overlap.line_rate if overlap.line_rate else 0
        times = (step, min(one.seconds for one in row.rounds), _median(row, "exposed_seconds"), compute, wire)
        step_ms, *others = (f"{1e3 * seconds:.2f}" for seconds in times)
        cells.append([row.transport, row.overlap, step_ms, *others[:2], _hidden(row, overlap.rows), *others[2:],
                      f"{100 * max(compute, wire) / step:.0f} %"])
    return table(["transport", "overlap", "step ms", "minimum ms", "exposed ms", "hidden", "compute ms", "wire ms", "bound / step"], cells,
                 left=2)


def bench_overlap(job=JOB, keys=(), *, workers: int = 2, hostfile: str | None = None, outdir: str | None = None,
                  modes=MODES, transports=("auto",), line_rate: str | None = None, rounds: int = 5, steps: int = 60, anyway: bool = False,
                  say=lambda line: None) -> Overlap:
    """Measures all rows. @param outdir  keeps runs; None: temporary; say: gets a line per round"""
    told, bytes_a_second, hosts = prepared(job, keys), rate_of(line_rate) if line_rate else 0.0, used_hosts(hostfile, workers) if hostfile else 1
    training, images = told["job"]["training"], told["images_per_step"]
    on_hosts = ["--hostfile", os.path.abspath(hostfile)] if hostfile else []
    rows, alone = [Row(transport, mode, []) for transport in transports for mode in modes], []
    with kept_folder(outdir) as folder:
        require_quiet_machine(anyway)

        def measured(name, more, count, images):
            return step_figures(run_to_its_end([job, *keys, *more, f"training.kimg={images * steps / 1000}",
                                                f"output.tick_kimg={images * STEPS_OF_A_TICK / 1000}", "output.pictures_kimg=0",
                                                "checkpoint.every_kimg=0", "--workers", count], folder, name).stats, steps // 4)

        for done in range(rounds):
            if training["microbatches"] % workers == 0:
                share = [f"training.{key}={training[key] // workers}" for key in ("batch", "microbatches")]
                alone.append(measured(f"alone-{done + 1}", share, 1, images / workers).seconds)
            for place in range(len(rows)):
                row = rows[(done + place) % len(rows)]
                way = [f"layout.transport={row.transport}", f"layout.overlap={row.overlap}"]
                row.rounds.append(measured(f"{row.transport}-{row.overlap}-{done + 1}", [*way, *on_hosts], workers, images))
            say(f"round {done + 1} of {rounds} done")
    return Overlap(rows, min(alone, default=None), bytes_a_second, hosts)


def command(words: list[str]) -> None:
    parser = parser_of("overlap", "overlap\noverlap --job examples/infogan.yaml --rounds 7\n"
                       "overlap -n 2 --hostfile hosts --line-rate 1gbit --outdir /shared/bench")
    parser.add_keys()
    parser.add_argument("--job", default=JOB, metavar="JOB.yaml", help="job file; each run takes only --steps (%(default)s)")
    parser.add_count("-n", "--workers", default=2, what="workers")
    parser.add_argument("--hostfile", help="hosts, as 'node-a slots=8', for Open MPI")
    parser.add_argument("--outdir", help="folder that keeps the runs, shared by all hosts; default: a temporary folder")
    parser.add_argument("--modes", type=listed(one_of(*MODES)), default=MODES, help="layout.overlap (none,within,across)")
    parser.add_argument("--transport", type=listed(str), default=("auto",), dest="transports", help="layout.transport (auto)")
    parser.add_argument("--line-rate", metavar="RATE", help="rate of a host's link, as 1gbit, for the bound")
    parser.add_count("--rounds", default=5, what="rounds, each of which measures every overlap")
    parser.add_count("--steps", default=60, least=8, most=10**6, what="steps of a run; the first quarter does not count")
    line = parser.parse_intermixed_args(words)
    overlap = bench_overlap(**vars(line), say=say)
    print(f"\n{line.job}, {line.workers} workers on {overlap.hosts} host{'s' * (overlap.hosts != 1)}, {line.rounds} alternating rounds of "
          f"{line.steps} steps\n\n{text_of(overlap)}")
    print("compute: unknown, the workers do not divide the micro-batches" if overlap.compute_seconds is None else
          "compute: one worker alone with its share of the batch and the whole optimiser, best round")
    print("wire: what a host sends in a step, at the line rate; bound: the larger of both")
