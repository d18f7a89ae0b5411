#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures how long torch.distributed.checkpoint.async_save stops a training, and how fast it reaches the disk.

    .venv/bin/python bench/torch_async_save.py --tensors FILE [--processes 2] [--saves 2] [--rows NAME ...] [--folder DIR]
    gangway bench checkpoint --rival '.venv/bin/python bench/torch_async_save.py'

FILE has a line per tensor, "name size size ...", as `gangway bench checkpoint` writes it. One single-threaded process per
worker, joined by Gloo, holds the tensors as float32. Between two saves the processes compute as a training does (matrix
products), and update every tensor once a step. Each row prints one line of JSON: its name, each save's stall on the
slowest process, and the seconds until the save is complete. A row's first save does not count.

The stall is all time in which a save keeps the training thread waiting. It has three parts: the call of async_save, the
wait for the save before it, and the wait for a copy in the background before the next update. Rows:

    default          each process has and copies all of the state, as with DistributedDataParallel; async_save without
                     arguments
    sharded          each process has and copies its part (DTensor, Shard(0)), as with FSDP2 or ZeRO
    sharded process  the same, staged in shared memory and written by another process (AsyncCheckpointerType.PROCESS)
    sharded async    the same as sharded, copied by a thread (StagingOptions.use_async_staging) during the next forward
                     and backward pass; the update waits for the copy
    sharded cached   the same as sharded, with a stager of this file that keeps its memory from save to save; PyTorch has
                     such a stager only with CUDA (StateDictStager releases its memory after each save)

Pinned memory and non-blocking copies need CUDA, and are left out.
"""
import argparse
import json
import math
import shutil
import tempfile
import time
import warnings
from pathlib import Path

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
import torch.multiprocessing as multiprocessing
from torch.distributed.checkpoint.staging import DefaultStager, StagingOptions
from torch.distributed.checkpoint.state_dict_saver import AsyncCheckpointerType
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor, Shard

STEPS_BETWEEN = 8
SECONDS_OF_A_STEP = 0.15
MATRIX = 512


class CachedStager:
    """Stages state by copying it into tensors that it keeps."""
    should_synchronize_after_execute = False

    def __init__(self):
        self.kept = None

    def stage(self, state):
        if self.kept is None:
            self.kept = {name: tensor.clone() for name, tensor in state.items()}
        else:
            for name, tensor in state.items():
                local(self.kept[name]).copy_(local(tensor))
        return self.kept

    def synchronize_staging(self):
        pass

    def close(self):
        self.kept = None


CACHED = CachedStager()


def staging(**options):
    chosen = {"use_pinned_memory": False, "use_shared_memory": False, "use_async_staging": False, "use_non_blocking_copy": False}
    return DefaultStager(StagingOptions(**{**chosen, **options}))


# {name: (is the state sharded, arguments of async_save)}. Each save makes new arguments, because a
# DefaultStager of PyTorch 2.11 fails at its second save (StateDictStager.close() clears its table).
ROWS = {
    "default": (False, dict),
    "sharded": (True, dict),
    "sharded process": (True, lambda: {"async_checkpointer_type": AsyncCheckpointerType.PROCESS,
                                       "async_stager": staging(use_shared_memory=True)}),
    "sharded async": (True, lambda: {"async_stager": staging(use_async_staging=True)}),
    "sharded cached": (True, lambda: {"async_stager": CACHED}),
}


def local(tensor):
    return tensor.to_local() if isinstance(tensor, DTensor) else tensor


def read_tensors(path):
    for line in Path(path).read_text().splitlines():
        name, *sizes = line.split()
        yield name, [int(size) for size in sizes]


def make_state(tensors, is_sharded, processes):
    state = {name: torch.rand(sizes) for name, sizes in tensors}
    if not is_sharded or processes == 1:
        return state
    mesh = init_device_mesh("cpu", (processes,))
    rows = {}
    for name, tensor in state.items():  # flat: shares of equal size, for any first dimension
        length = math.ceil(tensor.numel() / processes) * processes
        flat = torch.zeros(length)
        flat[:tensor.numel()] = tensor.flatten()
        part = flat.chunk(processes)[dist.get_rank()].clone()
        rows[name] = DTensor.from_local(part, mesh, [Shard(0)], run_check=False)
    return rows


class Training:
    """Imitates the steps of a training: computes for their time, and updates every tensor."""

    def __init__(self, state):
        self.tensors = [local(tensor) for tensor in state.values()]
        self.matrices = torch.rand(MATRIX, MATRIX), torch.rand(MATRIX, MATRIX)

    def compute(self):
        end = time.perf_counter() + SECONDS_OF_A_STEP
        while time.perf_counter() < end:
            torch.mm(*self.matrices)

    def update(self):
        torch._foreach_mul_(self.tensors, 0.999)


def measure(row, options, folder):
    """Returns stalls and durations of this process's saves, in seconds, without the first."""
    is_sharded, arguments_of = ROWS[row]
    state = make_state(list(read_tensors(options.tensors)), is_sharded, options.processes)
    training = Training(state)
    stalls, durations, upload = [], [], None
    for save in range(options.saves + 1):
        target = folder / f"{row.replace(' ', '-')}-{save}"
        dist.barrier()
        begin = time.perf_counter()
        if upload is not None:
            upload.result()
        arguments = arguments_of()
        answer = dcp.async_save(state, checkpoint_id=target, **arguments)
        stall = time.perf_counter() - begin
        staged = getattr(answer, "staging_completion", None)
        upload = getattr(answer, "upload_completion", answer)
        done = []
        upload.add_done_callback(lambda _, done=done, begin=begin: done.append(time.perf_counter() - begin))
        for _ in range(STEPS_BETWEEN):
            training.compute()
            if staged is not None:
                begin = time.perf_counter()
                staged.result()
                stall += time.perf_counter() - begin
                staged = None
            training.update()
        upload.result()
        stalls.append(stall)
        durations.append(done[0] if done else float("nan"))
        dist.barrier()
        if dist.get_rank() == 0:
            shutil.rmtree(target)
        if "async_stager" in arguments and arguments["async_stager"] is not CACHED:
            arguments["async_stager"].close()
    return stalls[1:], durations[1:]


def slowest(values):
    everybody = [None] * dist.get_world_size()
    dist.all_gather_object(everybody, values)
    return [max(of_one) for of_one in zip(*everybody)]


def work(rank, options, folder, rendezvous):
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=rendezvous, rank=rank, world_size=options.processes)
    for row in options.rows:
        stalls, durations = (slowest(values) for values in measure(row, options, Path(folder)))
        if rank == 0:
            name = f"PyTorch {row}" + ("" if options.processes > 1 else ", 1 process")
            print(json.dumps({"row": name, "stalls": stalls, "seconds": durations}), flush=True)
    dist.barrier()
    dist.destroy_process_group()


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tensors", required=True, metavar="FILE")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--saves", type=int, default=2, help="counted saves of a row (2)")
    parser.add_argument("--rows", nargs="+", choices=list(ROWS), default=["default", "sharded", "sharded async", "sharded cached"])
    parser.add_argument("--folder", default=".", help="folder on the measured disk")
    return parser.parse_args()


def main():
    options = parse_options()
    with tempfile.TemporaryDirectory(dir=options.folder, prefix="torch-") as folder:
        multiprocessing.spawn(work, (options, folder, f"file://{folder}/rendezvous"), nprocs=options.processes)


if __name__ == "__main__":
    main()
