# SPDX-License-Identifier: MIT
"""Reports on this machine within a time limit: hardware, `gangway doctor`, exchange rates, and a small job, whose digests must agree."""
import os
import socket
import struct
import sys
from pathlib import Path

import numpy as np

from gangway.errors import ENVIRONMENT, Failed
from gangway.launch import program
from gangway.tools.bench import allreduce, page, parser_of
from gangway.tools.bench.job import JobBench, today, write
from gangway.tools.command_line import listed, number, one_of, say, whole_number
from gangway.tools.doctor import examined
from gangway.tools.gpus import num_gpus, read_gpus
from gangway.tools.hosts import usable_cores
from gangway.tools.machine import processor, work_of_others
from gangway.tools.measured import OutOfTime, scratch_folder, time_limit
from gangway.tools.recorded import said_by
from gangway.tools.trial_runs import DIFFERENT, SIGNALLED, reason_in

MOST_WORKERS = 64  # as `gangway bench allreduce`
SECONDS_TO_END, PART_TO_END = 15.0, 0.4  # for a run to end after a signal; or a share of the limit
# The job is a DCGAN (Radford et al., 2016) on generated pictures, which needs no data; larger on a GPU, to keep it busy.
SIDE = {"cpu": 32, "cuda": 64}  # side of the pictures, and width of the networks
IMAGES_OF_MICROBATCH = {"cpu": 8, "cuda": 64}
KEPT = ("name", "memory_gib", "driver", "capability")  # of a GPU
LEAST_BATCH, PICTURES = 64, 4096
FEW_SECONDS = 30.0  # left; below, large blocks are left out
LEAST_SECONDS, MOST_SECONDS, PART = 0.1, 1.0, 0.4 / 12  # per row and size; share of the time left


def device_of(wanted: str) -> str:
    """Returns "cpu" or "cuda". @param wanted  "auto": GPUs if present. Raises Failed if no GPU."""
    gpus = num_gpus()
    if wanted == "auto":
        return "cuda" if gpus and (Path(program()).parent / "gangway-worker-cuda").exists() else "cpu"
    if wanted == "cuda" and not gpus:
        raise Failed("--device cuda: NVIDIA's driver shows no GPU on this host; measure its cores with --device cpu", ENVIRONMENT)
    return wanted


def default_numbers(device: str) -> list[int]:
    """Returns 1, 2, 4 and so on; at least 1 and 2, because digests must be compared."""
    most = min(max(num_gpus() if device == "cuda" else usable_cores(), 2), MOST_WORKERS)
    return [1 << power for power in range(most.bit_length())]


def write_pictures(file: Path, side: int) -> None:
    """Writes grey ramps of different slopes as an MNIST file, which workers keep in memory."""
    number, y, x = np.ogrid[:PICTURES, :side, :side]
    bytes_ = ((x * (number % 7) + y * (number % 11) + number) % 256).astype(np.uint8)
    file.write_bytes(struct.pack(">4B3I", 0, 0, 8, 3, PICTURES, side, side) + bytes_.tobytes())


def job_text(device: str, workers: int, pictures) -> str:
    """Returns the job file. @param workers  the largest number; sets the micro-batches"""
    microbatches, side = 1 << (max(workers, 2) - 1).bit_length(), SIDE[device]
    return (f"model: {{family: dcgan, resolution: {side}, width: {side}, latent: 100}}\n"
            f"data: {{source: 'idx:{pictures}'}}\n"
            f"training: {{batch: {max(LEAST_BATCH, IMAGES_OF_MICROBATCH[device] * microbatches)}, microbatches: {microbatches}, kimg: 1}}\n"
            f"numerics: {{device: {device}}}\n"
            "checkpoint: {every_kimg: 0, keep: 1}\n"
            "output: {pictures_kimg: 0}\n")


def machine() -> dict:
    return {"processor": processor(), "cores": usable_cores(), "gpus": [{name: getattr(gpu, name) for name in KEPT} for gpu in read_gpus()],
            "memory_gib": os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30}


def exchange(workers: int, seconds_left: float) -> dict:
    is_short = seconds_left < FEW_SECONDS
    return allreduce.figures_of(allreduce.PROGRAM, max(2, workers), "--sizes", "1M,16M" if is_short else "1M,16M,64M", "--rounds",
                                3 if is_short else 5, "--seconds", min(max(PART * seconds_left, LEAST_SECONDS), MOST_SECONDS), "--json")


def bench_node(keys=(), *, minutes: float = 10, workers=None, device: str = "auto") -> dict:
    """Returns node.bench.json's content. @param minutes  limit; workers: None: 1, 2, 4 and so on"""
    with scratch_folder() as folder, time_limit(60 * minutes - min(SECONDS_TO_END, PART_TO_END * 60 * minutes)) as limit:
        device = device_of(device)
        numbers, failures = workers or default_numbers(device), []
        if (most := max(numbers)) > MOST_WORKERS:
            raise Failed(f"--workers {most}: at most {MOST_WORKERS} can be measured")
        job, pictures = folder / "node.yaml", folder / "train-images-idx3-ubyte"
        write_pictures(pictures, SIDE[device])
        job.write_text(job_text(device, most, pictures))
        bench = JobBench(job, keys, folder / "runs", workers=numbers, losses=1, is_scored=False, limit=limit)
        if busy := work_of_others():
            print(f"gangway: NOT QUIET: {busy}", file=sys.stderr, flush=True)

        def measured(what, measure):
            if not limit.seconds_left:
                return None
            say(f"measures {what}")
            try:
                return measure()
            except OutOfTime:
                failures.append(f"{what}: the time was over: give it more --minutes")
            except Failed as error:
                if error.code == 2 or error.code > SIGNALLED:
                    raise
                failures.append(f"{what}: {reason_in(error.line)}")
            return None

        report = {"gangway": said_by("--version").split()[1], "host": socket.gethostname(), "date": today(), "machine": machine(),
                  "device": device, "busy": busy,
                  "findings": measured("what gangway doctor finds", lambda: [found._asdict() for found in examined()]),
                  "job": measured("a job on 1 worker and more", bench.report),
                  "transports": measured("how fast workers exchange", lambda: exchange(most, limit.seconds_left))}
        if device == "cuda" and (count := num_gpus()) > 1:
            report["nccl"] = measured("how fast GPUs exchange", lambda: allreduce.figures_of(allreduce.NCCL_PROGRAM, count))
        of_job = report["job"]["failures"] if report["job"] else []
        return report | {"job_yaml": job_text(device, most, "RAMPS"), "failures": [*of_job, *failures], "seconds": limit.seconds_taken}


def command(words: list[str]) -> None:
    parser = parser_of("node", "node", has_anyway=False)
    parser.add_keys()
    parser.add_argument("--minutes", type=number(0.5, 120), default=10, help="limit of the whole command (%(default)s)")
    parser.add_argument("--workers", type=listed(whole_number(1)), help="numbers of workers; default: 1,2,4 and so on, up to GPUs or cores")
    parser.add_argument("--device", type=one_of("auto", "cpu", "cuda"), default="auto",
                        help="device of the workers; auto: GPUs if present (%(default)s)")
    parser.add_argument("-o", "--output", default="node.bench", help="files to write, without their ending (%(default)s)")
    line = parser.parse_intermixed_args(words)
    folder = Path(line.output).absolute().parent
    if not os.access(folder, os.W_OK | os.X_OK):
        raise Failed(f"{folder}: no file can be written there; name another place with -o", ENVIRONMENT)
    report = bench_node(line.keys, minutes=line.minutes, workers=line.workers, device=line.device)
    write(line.output, report, page.node_page(report))
    print(f"\n{page.node_text(report)}{line.output}.json, {line.output}.html", flush=True)
    if report["job"] and report["job"]["unequal_digests"]:
        raise Failed(report["job"]["unequal_digests"], DIFFERENT)
    if report["failures"]:
        raise Failed(report["failures"][0], ENVIRONMENT)
