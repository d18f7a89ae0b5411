# SPDX-License-Identifier: MIT
"""Checks this machine, or compares hosts, by Python's own library alone: it runs before any build. Main thread."""
import os
import shlex
from pathlib import Path

from gangway.errors import ENVIRONMENT, Failed
from gangway.launch import program
from gangway.tools.command_line import Parser
from gangway.tools.findings import BAD, GOOD, NOTE, Finding, findings_json, findings_text, is_healthy
from gangway.tools.gpus import examined_gpus
from gangway.tools.hosts import (CHECKOUT, GIB, NONE, asked_hosts, build_facts, compared, free_gib, hosts_of_json, hosts_text,
                                 libtorch_version, mpi_version, mpirun_environment, own_addresses, usable_cores)
from gangway.tools.measured import output_of

LEAST_DISK_GIB = 1.0
LEAST_SHARED_MEMORY_GIB = 0.0625  # Open MPI's segments: 4 MiB per rank
PROGRAMS = ("gangway-coordinator", "gangway-worker", "gangway-worker-cuda", "gangway-model", "gangway-model-cuda")
FASHION_MNIST = Path("/usr/share/datasets/fashion-mnist")


def of_build(build: dict) -> list[Finding]:
    folder, version = Path(program()).resolve().parent, libtorch_version(root := build["libtorch_root"])
    missing = [name for name in PROGRAMS if not (folder / name).exists()]
    ranks = output_of(["timeout", "60", *build["two_ranks"]], mpirun_environment())
    return [Finding("gangway", GOOD, build["version"]),
            Finding("programs", BAD, f"{', '.join(missing)} not in {folder}: build them (./launch/build)") if missing else
            Finding("programs", GOOD, str(folder)),
            Finding("LibTorch", BAD, f"no version file in '{root}': run ./launch/setup") if version == NONE else
            Finding("LibTorch", GOOD, version),
            find_mpi(),
            Finding("mpirun, 2 ranks", BAD, f"failed: {ranks.text.partition(chr(10))[0]}: try '{shlex.join(build['two_ranks'])}'")
            if ranks.code != 0 or ranks.text else Finding("mpirun, 2 ranks", GOOD, "exchanged a message"),
            Finding("CUDA toolkit", GOOD, f"{cuda} (at build time)") if (cuda := build["cuda_toolkit"]) else
            Finding("CUDA toolkit", NOTE, "built without; ./launch/build adds the GPU programs"),
            *(Finding(name, GOOD, f"{build[name.lower()]} (at build time)") for name in ("Protobuf", "gRPC"))]


def find_mpi() -> Finding:
    version = mpi_version()
    return Finding("MPI", GOOD if version else BAD, version or "mpirun was not found: install openmpi-bin (./launch/setup does)")


def to_be_built(why: str) -> list[Finding]:
    """Returns what a build of the checkout still needs. @param why  why there are no programs"""
    findings = [Finding("programs", BAD, why)]
    if (setup := CHECKOUT / "launch/setup").exists():
        done = output_of(["timeout", "60", "bash", str(setup), "missing"], dict(os.environ))
        told = dict(line.split(": ", 1) for line in done.text.splitlines() if ": " in line)
        findings += [Finding(item, BAD, f"missing: {told[item]}: run ./launch/setup") if item in told else
                     Finding(item, GOOD, "all that a build needs") for item in ("Debian packages", "Python packages") if done.code == 0]
    return [*findings, find_mpi()]


def of_shared_memory(build: dict) -> list[Finding]:
    removed = build["segments_removed"]
    return [Finding("shared memory", NOTE, f"removed {removed} that killed workers or launchers left in /dev/shm") if removed else
            Finding("shared memory", GOOD, "no leftovers of killed workers"),
            *([Finding("snapshots", NOTE, line) for line in build["snapshots"]] or [Finding("snapshots", GOOD, "none were left")])]


def find_space(item: str, folder: str, least: float) -> Finding:
    gib = free_gib(folder)
    if gib is None:
        return Finding(item, BAD, f"{folder} cannot be examined: does it exist?")
    return Finding(item, BAD, f"{gib:.2f} GiB free in {folder}: free some") if gib < least else Finding(item, GOOD, f"{gib:.1f} GiB free in {folder}")


def of_user() -> list[Finding]:
    root = ("root; OMPI_ALLOW_RUN_AS_ROOT is set" if "OMPI_ALLOW_RUN_AS_ROOT" in os.environ else
            "root: gangway run allows it; for a bare mpirun set OMPI_ALLOW_RUN_AS_ROOT=1 and OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1")
    return [Finding("Fashion-MNIST", GOOD, str(FASHION_MNIST)) if FASHION_MNIST.is_dir() else
            Finding("Fashion-MNIST", NOTE, "missing: apt-get install dataset-fashion-mnist (./launch/setup does)"),
            Finding("user", NOTE, root) if os.geteuid() == 0 else Finding("user", GOOD, "not root")]


def find_network() -> Finding:
    addresses = ", ".join(map(" ".join, own_addresses()))
    return Finding("network", GOOD if addresses else NOTE, addresses or "no interface but loopback: jobs run on this host alone")


def find_gpu_binding(environment: dict) -> list[Finding]:
    """Warns if Slurm binds each task to its own GPUs: NCCL finds links only among those that a process sees (NVIDIA/nccl#1066)."""
    for name in ("SLURM_GPUS_PER_TASK", "SLURM_NTASKS_PER_GPU", "SLURM_GPU_BIND"):
        if environment.get(name) and environment.get("SLURM_GPU_BIND") != "none":
            return [Finding("GPUs of a task", NOTE, f"{name}={environment[name]}: a rank that sees only its own GPU has no NVLink to other "
                                                    "GPUs of its node (NVIDIA/nccl#1066); ask for --gpus-per-node, with --gpu-bind=none")]
    return []


def examined() -> list[Finding]:
    """Checks this machine: starts two ranks, and a worker per GPU. Removes shared memory of killed workers, and snapshots without a run."""
    try:
        build, why = build_facts("--clean"), ""
    except Failed as error:
        build, why = None, error.line
    memory, cores = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / GIB, usable_cores()
    return [*(of_build(build) if build else to_be_built(why)),
            Finding("cores", GOOD, str(cores)) if cores > 1 else
            Finding("cores", NOTE, f"{cores}: several workers will share it (mpirun runs with --oversubscribe)"),
            Finding("memory", GOOD, f"{memory:.1f} GiB"), *(of_shared_memory(build) if build else []),
            find_space("/dev/shm", "/dev/shm", LEAST_SHARED_MEMORY_GIB), find_space("disk", os.getcwd(), LEAST_DISK_GIB), *of_user(),
            *([] if build else [find_network()]), *examined_gpus(build["cuda_toolkit"] if build else ""), *find_gpu_binding(dict(os.environ))]


def doctor(hosts=(), hostfile=None) -> list[Finding]:
    """Checks this machine, or compares hosts, reached like a job's. Raises Failed: the hostfile."""
    if not hosts and hostfile is None:
        return examined()
    return compared(asked_hosts(*hosts_of_line(hosts, hostfile)))


def hosts_of_line(hosts, hostfile) -> tuple[list[str], list[str]]:
    """Returns the host names, and the variables that a job's ranks there would get."""
    try:
        build = build_facts(*(["--hostfile", str(hostfile)] if hostfile else []))
    except Failed:
        if hostfile:
            raise
        build = {"forwarded": []}  # no programs are built here
    return [*hosts, *build.get("hosts", [])], build["forwarded"]


def command(words: list[str]) -> None:
    parser = Parser("doctor", "What this machine has and lacks, or in what several hosts differ",
                    "Where nothing is built: PYTHONPATH=share/python python3 -m gangway.tools doctor, in the checkout.")
    parser.add_argument("--json", action="store_true", help="print JSON")
    several = parser.add_mutually_exclusive_group()
    several.add_argument("--hosts", metavar="A,B,...", type=lambda text: text.split(","),
                         help="hosts to compare, reached as a job would reach them")
    several.add_argument("--hostfile", help="the same, from a file for Open MPI")
    parser.add_argument("-v", "--verbose", action="store_true", help="list the environment variables that ranks on other hosts get")
    line = parser.parse_args(words)
    if line.hosts or line.hostfile:
        names, forwarded = hosts_of_line(line.hosts or (), line.hostfile)
        if line.verbose:
            print(f"forwarded to other hosts: {', '.join(forwarded) or 'nothing'}", flush=True)
        hosts = asked_hosts(names, forwarded)
        findings = compared(hosts)
        text = hosts_text(hosts) + "\n" + (findings_text(findings) if findings else "the hosts fit one another\n")
        more = {"hosts": hosts_of_json(hosts)}
    else:
        findings, more = examined(), {}
        text = findings_text(findings)
    print(findings_json(findings, **more) if line.json else text, end="")
    if not is_healthy(findings):
        raise Failed("", ENVIRONMENT)  # the table says why
