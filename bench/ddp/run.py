#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares images per second of Gangway and PyTorch's DistributedDataParallel, alternating in one run.

    .venv/bin/python bench/ddp/run.py [--net dcgan|infogan] [--rounds 7] [--seconds 6]
    .venv/bin/python bench/ddp/run.py --hosts 2 --rate 1gbit                 one process a host (docs/cluster-tests.md)
    .venv/bin/python bench/ddp/run.py --rivals plain bf16 compiled compiled-bf16 --modes across precision-bf16

PyTorch's rows use the PyTorch of the Python that runs this, also if Gangway was built with an older version.
All rows have the same network, batch, data, algorithm and number of single-threaded processes:
    ddp plain         both networks wrapped, Gloo, otherwise PyTorch's DCGAN tutorial
    ddp tuned B MB    fused Adam, channels-last, no discriminator weight gradients in the generator phase, gradients as
                      bucket views, no buffers broadcast, buckets of B MB; --rivals adds rows under bf16 autocast, by
                      torch.compile (which takes a minute or two at its start), and with both
    never talk        the tuned processes without communication: the upper bound for this code on this machine
    gangway           build/release/bin/gangway run, pictures and checkpoints only at its ends; --modes adds rows: python
                      trains the modules of PyTorch's rows, own-step runs their step (own.py)
    gangway alone     with --hosts: one run of one worker on each host, each with its part of the batch. No schedule
                      steps faster than this row, or than the link carries a step's bytes: the bound

Each round measures every row once and begins with a different row. PyTorch's processes live through the whole run. They
sleep on a pipe between their turns, and each turn begins with two untimed steps. Gangway starts anew in each turn, and
its first ticks (2 s at least) do not count; its rate includes its reporting. The benchmark refuses a busy machine;
--anyway measures there and says so.
"""
import argparse
import importlib.metadata
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

from places import OneHost, PlayedCluster, enter_cluster
from rows import GangwayRow, PytorchRow, Run

ROOT = Path(__file__).resolve().parents[2]
MAX_PARTS = 6  # of a step
MAX_BUSY = 0.10  # share of all cores that other processes may use
ALONE = "gangway alone"
OWN = ROOT / "bench/ddp/own.py"
PYTHON = [f"model.{name.lower()}={{python: {OWN}:{name}, net: NET}}" for name in ("Generator", "Discriminator")]
MODES = {"across": ("gangway", []),  # the default
         "within": ("gangway within", ["layout.overlap=within"]),
         "none": ("gangway none", ["layout.overlap=none"]),
         "bf16": ("gangway bf16", ["numerics.wire=bf16"]),
         "apart": ("gangway apart", ["layout.generator=[1]", "layout.discriminator=[2]"]),  # of two workers
         "precision-bf16": ("gangway computes bf16", ["numerics.precision=bf16"]),
         "python": ("gangway python", [*PYTHON]),  # the modules of PyTorch's rows
         "python-bf16": ("gangway python bf16", [*PYTHON, "numerics.precision=bf16"]),
         "own-step": ("gangway own step", [*PYTHON, f"training.step={OWN}:Step"])}
RIVALS = {"plain": [],  # flags of the tuned rows
          "bf16": ["--autocast", "bf16"],
          "compiled": ["--compile"],
          "compiled-bf16": ["--compile", "--autocast", "bf16"]}


def busy_share(seconds=1.0):
    """Returns the share of all cores' time that is in use, by any process or the hypervisor."""
    def read():
        fields = [int(value) for value in Path("/proc/stat").read_text().split("\n")[0].split()[1:9]]
        return sum(fields), fields[3] + fields[4]  # idle, waiting for disks
    total, idle = read()
    time.sleep(seconds)
    total_after, idle_after = read()
    return 1 - (idle_after - idle) / max(1, total_after - total)


def make_rows(options, place, folder):
    ddp = {"ddp plain": ["--ddp"]}
    for rival in options.rivals:
        for bucket in options.buckets:
            name = f"ddp tuned {bucket} MB" + ("" if rival == "plain" else f" {rival}")
            ddp[name] = ["--ddp", "--tuned", "--bucket-mb", str(bucket), *RIVALS[rival]]
    rows = []
    try:
        for name, flags in {**ddp, "never talk": ["--tuned"]}.items():
            print(f"starting {name}", flush=True)
            rows.append(PytorchRow(name, options, place, flags))
        for name, runs, overrides in gangway_rows(options, place):
            print(f"starting {name}", flush=True)
            rows.append(GangwayRow(name, options, place, folder, runs, overrides))
    except BaseException:
        stop_all(rows)
        raise
    return rows


def gangway_rows(options, place):
    """Returns (name, runs, further keys of the job) of each of Gangway's rows."""
    if options.without_gangway:
        return []
    together = [Run([], ["-n", str(options.workers), *place.gangway_arguments()])]
    rows = [(name, together, [key.replace("net: NET", f"net: {options.net}") for key in keys])
            for name, keys in (MODES[mode] for mode in options.modes)]
    if options.hosts:
        rows.append((ALONE, [Run(place.on_host_of(rank), ["-n", "1"]) for rank in range(options.hosts)], []))
    return rows


def stop_all(rows):
    for row in rows:
        row.stop()


def measure_rounds(rows, options):
    """Returns the turns [row name][round], and the number of rounds on a busy machine."""
    turns, num_loaded = {row.name: [] for row in rows}, 0
    for index in range(options.rounds):
        busy = busy_share()
        num_loaded += busy > MAX_BUSY
        first = index % len(rows)
        for row in rows[first:] + rows[:first]:
            turns[row.name].append(row.measure(options.seconds))
        line = "  ".join(f"{name} {of_row[-1].rate:.0f}" for name, of_row in turns.items())
        print(f"round {index + 1} of {options.rounds}: {line}" + (f"  (other processes used {busy:.0%})" if busy > MAX_BUSY else ""), flush=True)
    return turns, num_loaded


def spread(values):
    return f"{statistics.median(values):.3f} ({min(values):.2f}-{max(values):.2f})"


def print_table(turns, num_loaded, options):
    rates = {name: [turn.rate for turn in of_row] for name, of_row in turns.items()}
    medians = {name: statistics.median(values) for name, values in rates.items()}
    best = max((name for name in rates if name.startswith("ddp")), key=medians.get)

    def against(name, other):
        return spread([mine / theirs for mine, theirs in zip(rates[name], rates[other])])

    print(f"\n{options.net}, batch {options.batch}, M = {options.microbatches}, {options.workers} workers of one thread, "
          f"{options.rounds} rounds of {options.seconds:g} s, {os.cpu_count()} cores, "
          f"PyTorch {importlib.metadata.version('torch')}")
    if num_loaded:
        print(f"NOT QUIET: other processes used more than {MAX_BUSY:.0%} of the machine before {num_loaded} of {options.rounds} rounds"
              + (" (--anyway)" if options.anyway else ""))
    width = max(18, 1 + max(map(len, rates)))
    print(f"{'images/s':<{width}}{'median':>8}{'minimum':>9}   {'to best DDP':<22}{'to never talk':<20}"
          + ("  MB a step" if options.hosts else ""))
    for name, values in rates.items():
        sent = f"{statistics.median(turn.link_bytes for turn in turns[name]) / 1e6:>11.1f}" if options.hosts else ""
        print(f"{name:<{width}}{medians[name]:>8.1f}{min(values):>9.1f}   {against(name, best):<22}{against(name, 'never talk'):<20}{sent}")
    print(f"best DDP by median: {best}; ratios are medians of the rounds' ratios (smallest-largest)")


def print_bounds(turns, goodput, options):
    """Prints how near each of Gangway's rows comes to the slower of compute and wire, and where its steps go."""
    print(f"{options.hosts} hosts, links of {options.rate}: {goodput * 8e-6:.0f} Mbit/s of TCP payload each way at once; "
          "MB a step: what the last host sent, counted at the switch, headers and a run's ends included")
    alone = turns.get(ALONE, [])
    for name in [row for row in turns if row.startswith("gangway") and row != ALONE]:
        wires = [turn.worker_bytes / goodput for turn in turns[name]]
        computes = [options.batch / turn.rate for turn in alone]
        bounds = [max(both) for both in zip(computes, wires)]
        reached = [bound * turn.rate / options.batch for bound, turn in zip(bounds, turns[name])]
        print(f"{name}: compute {1000 * statistics.median(computes):.0f} ms a step, wire {1000 * statistics.median(wires):.0f} ms "
              f"({turns[name][-1].worker_bytes / 1e6:.1f} MB a worker): at most {options.batch / statistics.median(bounds):.1f} "
              f"images/s; reached {spread(reached)} of it")
        print_parts(turns[name][-1].parts)


def print_parts(parts):
    """Prints the largest parts of each worker's steps, in milliseconds."""
    for worker in range(len(next(iter(parts.values())))):
        largest = sorted(((seconds[worker], part) for part, seconds in parts.items()), reverse=True)[:MAX_PARTS]
        print(f"    worker {worker + 1}: " + ", ".join(f"{part} {1000 * seconds:.0f}" for seconds, part in largest) + " ms a step")


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--net", choices=["dcgan", "infogan"], default="dcgan")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=6, help="timed seconds of a row in a round (6)")
    parser.add_argument("--workers", type=int, help="processes (2; with --hosts one a host)")
    parser.add_argument("--batch", type=int, default=128, help="images a step, over all workers (128)")
    parser.add_argument("--microbatches", type=int, default=2, help="M, over all workers (2)")
    parser.add_argument("--buckets", type=int, nargs="+", default=[1, 4, 25], metavar="MB", help="bucket sizes of the tuned rows (1 4 25)")
    parser.add_argument("--hosts", type=int, default=0, help="hosts that tests/cluster/run emulates, one process on each; 0: this host")
    parser.add_argument("--rate", default="1gbit", help="rate of every host's link: 100mbit, 1gbit, ..., none (1gbit)")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu",
                        help="cuda: a GPU for each process, and NCCL instead of Gloo; untested on several GPUs (cpu)")
    parser.add_argument("--gangway", default=str(ROOT / "build/release/bin/gangway"), metavar="PROGRAM")
    parser.add_argument("--modes", nargs="+", choices=MODES, default=["across"],
                        help="rows of gangway: overlap across phases, within them, none; bf16 wire with overlap across; "
                             "networks that compute in bf16; the modules of PyTorch's rows; their modules and step")
    parser.add_argument("--rivals", nargs="+", choices=RIVALS, default=["plain"],
                        help="tuned rows of PyTorch: plain, under bf16 autocast, compiled, or both (plain)")
    parser.add_argument("--reuse-fakes", action="store_true", help="all rows generate images once a step, for both phases")
    parser.add_argument("--set", nargs="+", default=[], metavar="KEY=VALUE", help="further keys of gangway's job")
    parser.add_argument("--without-gangway", action="store_true", help="measure only PyTorch's rows")
    parser.add_argument("--anyway", action="store_true", help="measure on a busy machine, too")
    options = parser.parse_args()
    if options.hosts not in (0, options.workers or options.hosts) or options.hosts == 1:
        parser.error("--hosts runs one worker on each of two hosts or more: leave --workers out")
    options.workers = options.workers or options.hosts or 2
    if options.microbatches % options.workers or options.batch % options.microbatches:
        parser.error("M must be a multiple of the workers, and the batch a multiple of M")
    if not options.without_gangway and not os.access(options.gangway, os.X_OK):
        parser.error(f"'{options.gangway}' is not built: run ./launch/build, or measure PyTorch alone with --without-gangway")
    return options


def main():
    options = parse_options()
    if options.hosts:
        enter_cluster(options.hosts, options.rate)
    busy = busy_share(2)
    if busy > MAX_BUSY and not options.anyway:
        print(f"other processes use {busy:.0%} of this machine: wait until it is quiet, or measure with --anyway", file=sys.stderr)
        return 6
    with tempfile.TemporaryDirectory(prefix="gangway-bench-") as folder:
        place = PlayedCluster(options.hosts) if options.hosts else OneHost(folder)
        goodput = place.goodput() if options.hosts else None
        rows = make_rows(options, place, folder)
        try:
            turns, num_loaded = measure_rounds(rows, options)
        finally:
            stop_all(rows)
    print_table(turns, num_loaded, options)
    if options.hosts:
        print_bounds(turns, goodput, options)
    return 0


if __name__ == "__main__":
    sys.exit(main())
