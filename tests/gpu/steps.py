# SPDX-License-Identifier: MIT
"""Lists the steps of tests/gpu/run, the most informative ones first."""
import importlib.util
import os
import re
import shutil
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import trainings as whole
from features import feature_steps
from harness import Failure, Skip, Step
from layouts import layout_steps

SOURCE = Path(__file__).resolve().parents[2]
PROGRAMS = ("gangway", "gpu_device_program", "gpu_random", "gpu_map_kernels", "gpu_slice_kernels", "gpu_nccl_reducer_test",
            "gpu_nccl_abort", "gpu_nccl_bandwidth")
LAST = ("numerics.memory_format=channels-last",)
BREADTH = {  # jobs with other arithmetic
    "channels-last": LAST,
    "labels": ("model.classes=10",),
    "clipping": ("generator.clip_norm=0.05", "discriminator.clip_norm=0.05"),
    "gradient penalty": ("training.loss=wasserstein",),
    "R1": ("training.r1.gamma=2", "model.activation=softplus"),
    "dropout": ("model.dropout=0.3",),
    "InfoGAN net": ("model.family=infogan", "model.resolution=28", "model.latent=64"),
    "StyleGAN2": ("model.family=stylegan2", "model.width=16", "model.latent=64", "training.r1.gamma=0.1",
                  "training.path_length.weight=2", "training.path_length.interval=2"),
}
MORE_BREADTH = {
    "R3GAN": ("model.family=r3gan", "model.width=32", "model.latent=64", "training.loss=relativistic",
              "training.r1.gamma=0.5", "training.r2.gamma=0.5"),
    "pictures that are no bytes": ("data.rotation=10",),
    "bf16": ("numerics.precision=bf16",),
    "bf16 wire": ("numerics.wire=bf16",),
    "NCCL's order": ("numerics.order=nccl",),
}
WAYS = {  # of computing; the first two help to choose a memory format
    "channels-last": LAST,
    "contiguous": ("numerics.memory_format=contiguous",),
    "channels-last, plain launches": (*LAST, "numerics.cuda_graph=off"),
    "R3GAN": ("model.family=r3gan", "model.width=32", "model.latent=64", "training.loss=relativistic",
              "training.r1.gamma=0.5", "training.r2.gamma=0.5"),
    "channels-last, bf16": ("numerics.precision=bf16",),
}
MORE_WAYS = {
    "contiguous, bf16": ("numerics.memory_format=contiguous", "numerics.precision=bf16"),
    "channels-last, TF32": ("numerics.precision=tf32",),
    "contiguous, TF32": ("numerics.memory_format=contiguous", "numerics.precision=tf32"),
    "channels-last, fastest": (*LAST, "numerics.kernels=fastest"),
    "contiguous, plain launches": ("numerics.memory_format=contiguous", "numerics.cuda_graph=off"),
    "channels-last, bf16, one batch of 256": ("numerics.precision=bf16", "training.microbatches=1"),
}
RIVALS = {  # PyTorch's steps and flags, and Gangway's; each is a whole step as a CUDA graph
    "fp32 in 4 pieces": (400, ("--microbatches", 4), ("numerics.memory_format=contiguous",)),
    "bf16 in 4 pieces": (1000, ("--microbatches", 4, "--autocast", "bf16"), ("numerics.precision=bf16",)),
    "bf16, one batch": (2500, ("--microbatches", 1, "--autocast", "bf16"),
                        ("numerics.precision=bf16", "training.microbatches=1")),
}
SMOKE = "NCCL, 2 workers: reduce"
SMOKE_KERNELS = (("random numbers", "gpu_random", 3), ("fused update", "gpu_slice_kernels", 5), ("maps", "gpu_map_kernels", 4))
COMPILE_SECONDS = 150  # more than other commands get


def find_programs(folder):
    """Returns the built programs by name."""
    named = os.environ.get("GANGWAY_BIN")
    places = [place for place in (folder, named and Path(named)) if place]
    places += [SOURCE / "build/release/bin", SOURCE / "build/release/tests"]
    places += [place.parent / beside for place in places[:1] for beside in ("bin", "tests")]
    found = {}
    for name in PROGRAMS:
        for place in places:
            if name not in found and (place / name).is_file():
                found[name] = (place / name).resolve()
    return found


def all_steps(programs, trainings):
    return [*first_steps(programs, trainings), *nccl_steps(programs, trainings), *bandwidth_steps(programs),
            *more_steps(trainings), *rival_steps(trainings), *feature_steps(trainings)]


# --- A: one worker ----------------------------------------------------------------------------------------------------

def first_steps(programs, trainings):
    sanitizer = find_sanitizer()
    first = (whole.REFERENCE,)
    across = "training: 1 worker, overlap across"
    steps = [
        Step("A", "warm", "libraries read into the page cache", 30, warm_libraries),
        Step("A", "kernels", "random numbers: the bits of the CPU", 5, googletest(programs, "gpu_random")),
        Step("A", "kernels", "fused update: the bits of the host", 10, googletest(programs, "gpu_slice_kernels")),
        Step("A", "maps", "batches and maps: the bits of the host", 10, googletest(programs, "gpu_map_kernels")),
        Step("A", "sanitizer", "fused update under memcheck", 15, sanitized(programs, sanitizer, "memcheck")),
        Step("A", "sanitizer", "fused update under racecheck", 15, sanitized(programs, sanitizer, "racecheck")),
        Step("A", "digests", whole.REFERENCE, 12, whole.first(trainings)),
        Step("A", "digests", "training: the same again", 9, whole.equal_digest(trainings, 1, "layout.overlap=none"), first),
        Step("A", "digests", across, 9, whole.equal_digest(trainings, 1, "layout.overlap=across"), first),
        Step("A", "digests", "training: 1 worker, overlap within", 9,
             whole.equal_digest(trainings, 1, "layout.overlap=within"), first),
        Step("A", "digests", "training: overlap across, CUDA_LAUNCH_BLOCKING=1", 10,
             whole.equal_digest(trainings, 1, "layout.overlap=across", CUDA_LAUNCH_BLOCKING="1"), first),
        Step("A", "digests", "training: steps recorded as CUDA graphs", 9, whole.recorded(trainings, "on"), first),
        Step("A", "digests", "training: plain launches", 9, whole.equal_digest(trainings, 1, "numerics.cuda_graph=off"), first),
        Step("A", "digests", "training: resumed", 16, whole.resumed(trainings), first),
    ]
    steps += [Step("A", "breadth", f"training: {name}", 20, whole.two_overlaps(trainings, *overrides), first)
              for name, overrides in BREADTH.items()]
    steps += [Step("A", "speed", whole.EAGER, 20, whole.pytorch_speed(trainings, 600, "--microbatches", 4)),
              Step("A", "speed", "speed: PyTorch, bf16 and a CUDA graph of one batch", 20,
                   whole.pytorch_speed(trainings, 2000, "--microbatches", 1, "--autocast", "bf16", "--graph"))]
    steps += [Step("A", "speed", f"speed: {way}", 25, whole.speed(trainings, *overrides), first)
              for way, overrides in WAYS.items()]
    return [*steps, Step("A", "sanitizer", "training under memcheck", 60, whole.under_sanitizer(trainings, sanitizer), first)]


# --- D: a second visit, with more time --------------------------------------------------------------------------------

def more_steps(trainings):
    steps = [Step("D", "more-breadth", f"training: {name}", 20, whole.two_overlaps(trainings, *overrides))
             for name, overrides in MORE_BREADTH.items()]
    steps += [Step("D", "more-speed", f"speed: {way}", 25, whole.speed(trainings, *overrides))
              for way, overrides in MORE_WAYS.items()]
    return [*steps, Step("D", "compiled", "speed: PyTorch, torch.compile, bf16, one batch", 80,
                         whole.pytorch_speed(trainings, 1000, "--microbatches", 1, "--autocast", "bf16", "--compile",
                                             seconds=COMPILE_SECONDS))]


# --- E: speed beside PyTorch, alternately -------------------------------------------------------------------------------

def rival_steps(trainings):
    return [Step("E", "rivals", f"PyTorch with a CUDA graph: {what}", 75,
                 whole.ratio(trainings, steps, (*flags, "--graph"), *overrides))
            for what, (steps, flags, overrides) in RIVALS.items()]


def library_folders():
    """Returns the libraries of LibTorch, and theirs."""
    torch = importlib.util.find_spec("torch")
    if torch is None or torch.origin is None:
        return []
    package = Path(torch.origin).parent
    return [package / "lib", *sorted(package.parent.glob("nvidia/*/lib"))]


def warm_libraries(bench):
    """Reads gigabytes from a cold disk, which takes longer than a worker's start may."""
    files = [file for folder in library_folders() for file in folder.glob("lib*.so*") if not file.is_symlink()]
    if not files:
        raise Skip("no libraries of PyTorch found")
    begin = time.monotonic()

    def read(file):
        size = 0
        with open(file, "rb", buffering=0) as content:
            while time.monotonic() < begin + bench.command_seconds and (block := content.read(1 << 24)):
                size += len(block)
        return size

    with ThreadPoolExecutor(8) as pool:
        size = sum(pool.map(read, files))
    return f"{size / 1e9:.1f} GB"


def googletest(programs, name, workers=None, *flags):
    """Runs all tests of a program, under mpirun if there are workers."""
    def show(bench):
        return verdict(bench.run(command_of(programs, name, workers, "--gtest_color=no", *flags)))
    return show


def verdict(done):
    outcomes = {outcome: sorted(set(re.findall(rf"\[ *{outcome} *\] (\w+\.\w+) \(", done.output)))
                for outcome in ("OK", "FAILED", "SKIPPED")}
    if outcomes["FAILED"]:
        raise Failure("failed: " + ", ".join(outcomes["FAILED"]))
    done.require()
    if not outcomes["OK"]:
        raise (Skip if outcomes["SKIPPED"] else Failure)("no test ran")
    skipped = f", {len(outcomes['SKIPPED'])} do not apply" if outcomes["SKIPPED"] else ""
    return f"{len(outcomes['OK'])} tests{skipped}"


def command_of(programs, name, workers, *arguments):
    """Starts one rank more than workers: rank 0 idles, as the coordinator."""
    if name not in programs:
        raise Skip(f"no {name} among the programs")
    if workers is None:
        return [programs[name], *arguments]
    return ["mpirun", "--oversubscribe", "--bind-to", "none", "-n", 1 + workers, programs[name], *arguments]


def find_sanitizer():
    homes = [os.environ.get("CUDA_HOME", ""), "/usr/local/cuda"]
    return shutil.which("compute-sanitizer", path=os.pathsep.join([os.environ.get("PATH", ""),
                                                                    *(f"{home}/bin" for home in homes if home)]))


def sanitized(programs, sanitizer, tool):
    def show(bench):
        if sanitizer is None:
            raise Skip("no compute-sanitizer on this machine")
        tests = command_of(programs, "gpu_slice_kernels", None, "--gtest_color=no")
        done = bench.run([sanitizer, "--tool", tool, "--error-exitcode", 9, *tests])
        whole.skip_where_sanitizer_cannot(done)
        return verdict(done)
    return show


# --- B: several workers over NCCL ---------------------------------------------------------------------------------------

def nccl_steps(programs, trainings):
    """After the first failing number of workers, larger numbers are skipped."""
    alone = "NCCL, 1 worker: all tests"
    two = "training: 2 workers, overlap across"
    four = "training: 4 workers, overlap across"
    suite = "gpu_nccl_reducer_test"
    steps = [
        Step("B", "nccl1", alone, 25, googletest(programs, suite, 1)),
        Step("B", "nccl2", SMOKE, 20, smoke(programs), (alone,)),
        Step("B", "nccl2", two, 20, whole.equal_digest(trainings, 2, "layout.overlap=across"), (SMOKE,)),
        Step("B", "nccl2", "training: 2 workers, overlap none", 20,
             whole.equal_digest(trainings, 2, "layout.overlap=none"), (two,)),
        Step("B", "nccl2", "training: 2 workers, plain launches", 20,
             whole.equal_digest(trainings, 2, "numerics.cuda_graph=off"), (two,)),
        Step("B", "nccl2", "NCCL, 2 workers: all tests", 40, googletest(programs, suite, 2), (SMOKE,)),
    ]
    steps += [Step("B", "loss", f"NCCL, 2 workers: {what}", 25, lost_worker(programs, 2, how), (SMOKE,))
              for how, what in LOSSES.items()]
    return steps + layout_steps(trainings) + [
        Step("B", "nccl4", four, 30, whole.equal_digest(trainings, 4, "layout.overlap=across"), (two,)),
        Step("B", "nccl4", "NCCL, 4 workers: all tests", 60, googletest(programs, suite, 4), (four,)),
        Step("B", "nccl4", f"NCCL, 4 workers: {LOSSES['die']}", 25, lost_worker(programs, 4, "die"), (four,)),
    ]


LOSSES = {"die": "one dies", "stop": "one goes silent"}


def smoke(programs):
    def show(bench):
        done = bench.run(command_of(programs, "gpu_nccl_reducer_test", 2, "--gtest_color=no",
                                    "--gtest_filter=*ReduceWhenTheirCallsBlock"), seconds=60)
        if done.code != 0 and re.search(r"Duplicate GPU|invalid usage", done.output):
            raise Skip("NCCL refuses two workers on one GPU here")
        return verdict(done)
    return show


def lost_worker(programs, workers, how):
    """Each survivor must notice the loss, report it, and drop NCCL's operations."""
    def show(bench):
        command = command_of(programs, "gpu_nccl_abort", workers, how)
        command.insert(1, "--enable-recovery")

        def words(output):
            return [line for line in output.splitlines() if line.startswith(("ABORTED", "WRONG"))]

        done = bench.run(command, stop_at=lambda output: len(words(output)) == workers - 1)
        told = words(done.output)
        if len(told) < workers - 1 or not all(line.startswith("ABORTED") for line in told):
            bench.keep(command, done)
            raise Failure("; ".join(told) or "nobody said that a worker was lost")
        slowest = max(float(match[1]) for match in re.finditer(r"after (\d+\.\d+) s", " ".join(told)))
        return f"noticed and aborted after {slowest:.1f} s at most"
    return show


# --- C: last or never. Workers that share a GPU alternate on it: their bandwidth means nothing ------------------------------

def bandwidth_steps(programs):
    return [Step("C", "bandwidth", f"NCCL, {workers} workers: bandwidth" if workers > 1 else "NCCL, 1 worker: bandwidth", 60,
                 bandwidth(programs, workers)) for workers in (1, 2, 4, 8)]


def bandwidth(programs, workers):
    def show(bench):
        devices = len(bench.run([programs["gpu_device_program"]]).require().output.splitlines())
        if devices < workers:
            raise Skip(f"{devices} GPU for {workers} workers: they would take turns")
        done = bench.run(command_of(programs, "gpu_nccl_bandwidth", workers)).require()
        lines = [" ".join(line.split()) for line in done.output.splitlines() if line.endswith("GB/s")]
        if not lines:
            raise Failure("no figure was printed")
        return lines[-1], {"lines": lines}
    return show
