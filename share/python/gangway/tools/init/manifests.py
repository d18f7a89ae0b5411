# SPDX-License-Identifier: MIT
"""Writes the files with which Slurm, Kubernetes and Docker run a job (docs/operating.md)."""
import os
import re
import shlex
from pathlib import Path
from typing import Callable, NamedTuple
from urllib.parse import urlsplit

from gangway.errors import Failed
from gangway.launch import program
from gangway.tools.command_line import counted
from gangway.tools.init.templates import filled

COORDINATOR_MIB, CUDA_HOST_MIB = 512, 4096  # of coordinator, mpirun and shell; of a worker's CUDA on the host
LAUNCHER_MIB, SCORER_MIB = 2048, 4096  # of a launcher pod's grown coordinator, and scorer (LibTorch, feature network)
OPEN_MPI_MIB, ROUND_MIB = 64, 64  # in /dev/shm
MEMORY_MARGIN = 1.5  # factor on an estimate, for the allocator, prefetched batches and a checkpoint being written
LEAST_STORAGE_GIB = 5
LONGEST_NAME = 40    # of a Kubernetes job; pods add to it, up to 63
USUAL_PORT = 8080
PLACES = ("images:", "pack:", "idx:", "pairs:", "unpaired:")  # forms of data.source that take relative file paths
DECODED = ("images:", "pairs:", "unpaired:")
PROGRAMS = ("release gangway gangway-tools gangway-coordinator gangway-worker gangway-model gangway-onnx gangway-control gangway-python "
            "gangway-bench-allreduce gangway-bench-links")
PROBE = """\
{kind}:
  periodSeconds: {period}
  failureThreshold: {failures}
  exec:
    command:
    - /bin/bash
    - -c
    - |
      exec 3<>/dev/tcp/{host}/{port} || exit 1
      printf 'GET {path} HTTP/1.1\\r\\nHost: localhost:{port}\\r\\nConnection: close\\r\\n\\r\\n' >&3
      read -r line <&3 && [[ $line == *' 200 '* ]]
"""


class Manifest(NamedTuple):
    """Holds the inputs of every manifest."""
    told: dict           # by prepared(), with the workers' memory
    name: str            # of the run
    job_file: str        # absolute
    workers: int
    nodes: int
    gpus_per_node: int
    time: int | None     # seconds; None: no limit
    grace: int           # seconds between the scheduler's warning and the end
    image: str           # of containers
    outdir: str          # absolute
    file: str            # the text's file; "-": standard output
    made_by: str         # the command that makes the text

    @property
    def job(self) -> dict:
        return self.told["job"]

    @property
    def workers_per_node(self) -> int:
        """Returns the workers of the fullest node."""
        return -(-self.workers // self.nodes)

    @property
    def has_gpus(self) -> bool:
        return self.job["numerics"]["device"] == "cuda"

    @property
    def data(self) -> str:
        """Returns the data's absolute path; empty: the data are not the user's files."""
        form, colon, place = self.job["data"]["source"].partition(":")
        is_path = form + colon in PLACES or place.startswith("/") and form != "toy"
        return os.path.abspath(place) if is_path else ""


def rounded_mib(mib: float) -> str:
    """Rounds up to a multiple of ROUND_MIB."""
    return str((int(mib) // ROUND_MIB + 1) * ROUND_MIB)


def shared_memory_mib(it: Manifest) -> float:
    """Returns a node's MiB in /dev/shm: two snapshots, and gradients that workers exchange."""
    memory = it.told["memory"]
    return OPEN_MPI_MIB + it.workers_per_node * 2 * (memory["weights"] + memory["optimizer"] + memory["gradients"]) / 2**20


def node_memory_mib(it: Manifest) -> float:
    worker = CUDA_HOST_MIB if it.has_gpus else MEMORY_MARGIN * it.told["memory"]["total"] / 2**20
    return COORDINATOR_MIB + it.workers_per_node * worker + shared_memory_mib(it)


def run_command(it: Manifest, first: list[str], last: list[str]) -> str:
    """Returns the `gangway run` command for a shell, with the options of all manifests."""
    return shlex.join([*first, *it.told["overrides"], "--run", it.name, "-n", str(it.workers), "--resume", "auto", *last])


def require_places(it: Manifest) -> None:
    """Raises Failed if nodes would be empty, or hold more workers than GPUs."""
    if it.nodes > it.workers:
        raise Failed(f"--nodes {it.nodes}: {counted(it.workers, 'worker')} would leave some without work; use --nodes {it.workers} or "
                     f"-n {it.nodes}")
    if 0 < it.gpus_per_node < it.workers_per_node:
        raise Failed(f"--gpus-per-node {it.gpus_per_node}: {counted(it.workers, 'worker')} on {counted(it.nodes, 'node')} need "
                     f"{it.workers_per_node} each; use -n {it.gpus_per_node * it.nodes} or --nodes {-(-it.workers // it.gpus_per_node)}")


def slurm(it: Manifest) -> str:
    # Each node gets a slot for the coordinator; else Slurm fills the first node's cores, and other GPUs idle. Decoding takes a thread.
    cpus = it.job["numerics"]["threads"] + it.job["data"]["source"].startswith(DECODED)
    shared = [os.path.dirname(program()), it.job_file, *([it.data] if it.data else []), it.outdir]
    return filled(
        "slurm.sbatch", NAME=it.name, FILE="FILE" if it.file == "-" else it.file, COMMAND=it.made_by, SHARED=", ".join(shared),
        FOLDER=shlex.quote(os.getcwd()), NODES=str(it.nodes), TASKS_PER_NODE=str(it.workers_per_node + 1), CPUS_PER_TASK=str(cpus),
        MEMORY_MIB=rounded_mib(node_memory_mib(it)), GPUS_PER_NODE=str(it.gpus_per_node or ""), TIME=slurm_time(it.time) if it.time else "",
        TIME_HINT="" if it.time else "No limit is asked for: the partition's own holds (--time 12:00:00 asks).", GRACE=str(it.grace),
        WORKERS=counted(it.workers, "worker"), RUN_COMMAND=run_command(it, [program(), "run", it.job_file], ["--outdir", it.outdir]))


class Page(NamedTuple):
    """Address at which the launcher pod probes its coordinator."""
    host: str
    port: int
    keys: list[str]  # that set the port, if the job does not


def page_of(it: Manifest) -> Page | None:
    """Returns the probes' address; None: the job serves no page."""
    said = str(it.job["output"]["http"])
    if said == "off":
        return None
    place = urlsplit("//127.0.0.1" if said == "auto" else f"//127.0.0.1:{said}" if said.isdigit() else f"//{said}")
    host, port = place.hostname.replace("localhost", "127.0.0.1"), place.port or USUAL_PORT
    return Page(host, port, [] if place.port else [f"output.http=[{host}]:{port}" if ":" in host else f"output.http={host}:{port}"])


def probes(page: Page | None) -> str:
    """Returns the probes, which use bash: kubelet cannot reach a page inside the pod. Limits allow for loading, and a restart."""
    host = page and ("127.0.0.1" if page.host in ("0.0.0.0", "::") else page.host)
    kinds = (("startupProbe", "/healthz", 5, 120), ("livenessProbe", "/healthz", 10, 12), ("readinessProbe", "/readyz", 10, 3))
    return "".join(PROBE.format(kind=kind, path=path, period=period, failures=failures, host=host, port=page.port)
                   for kind, path, period, failures in kinds if page)


def kubernetes(it: Manifest) -> str:
    evaluation = it.job["evaluation"]
    if evaluation["where"] == "device":
        raise Failed("evaluation.where: device: the launcher's pod, where scores are taken, has no GPU; use beside, or spare")
    scores = (evaluation["every_kimg"] > 0 or it.job["checkpoint"]["keep_best"] > 0) and evaluation["where"] != "spare"
    # Kept checkpoints and one being written, doubled for pictures and logs.
    storage = LEAST_STORAGE_GIB + int(2 * (it.job["checkpoint"]["keep"] + 1) * it.told["checkpoint_bytes"] / 2**30)
    page, name, todo, mount, volume, source = page_of(it), kubernetes_name(it.name), "", "", "", []
    if it.data:
        todo = f"# TODO: make the claim {name}-data, of a volume with a copy of {it.data}: all pods read it."
        mount = "- {name: data, mountPath: /data, readOnly: true}"
        volume = f"- {{name: data, persistentVolumeClaim: {{claimName: {name}-data, readOnly: true}}}}"
        source = [f"data.source={it.job['data']['source'].partition(':')[0]}:/data"]  # after the user's keys
    return filled(
        "kubernetes.yaml", NAME=name, FILE=it.file, COMMAND=it.made_by, DATA_TODO=todo, DATA_MOUNT=mount, DATA_VOLUME=volume,
        JOB=Path(it.job_file).read_bytes().decode(), STORAGE_GIB=str(storage), SLOTS=str(it.workers_per_node),
        TIME_SECONDS=str(it.time or ""), GRACE=str(it.grace), IMAGE=it.image, PROBES=probes(page),
        LAUNCHER_MIB=str(LAUNCHER_MIB + scores * SCORER_MIB), NODES=str(it.nodes), CPUS=str(it.workers_per_node * it.job["numerics"]["threads"]),
        MEMORY_MIB=rounded_mib(node_memory_mib(it)), GPUS_PER_NODE=str(it.gpus_per_node or ""),
        SHARED_MEMORY_MIB=rounded_mib(shared_memory_mib(it)),
        RUN_COMMAND=run_command(it, ["gangway", "run", "/job/job.yaml", *(page.keys if page else [])],
                                ["--hostfile", "/tmp/hostfile", "--outdir", "/runs", *source]))


def container(it: Manifest) -> str:
    build = f"{PROGRAMS} gangway-worker-cuda gangway-model-cuda gangway-bench-nccl" if it.has_gpus else f"--without cuda,tests {PROGRAMS}"
    return filled("container", NAME=it.name, FILE=it.file, COMMAND=it.made_by, IMAGE=it.image, BUILD=build,
                  DEVICE="GPUs" if it.has_gpus else "CPUs", SETUP="everything" if it.has_gpus else "training")


def kubernetes_name(run_name: str) -> str:
    """Returns a Kubernetes name: lower-case letters, digits and hyphens, a letter first."""
    name = re.sub("[^a-z0-9]+", "-", run_name.lower()).lstrip("-")[:LONGEST_NAME].rstrip("-")
    return name if name[:1].isalpha() else f"gangway-{name or 'job'}"


def seconds_of(text: str) -> int:
    """Parses a time of sbatch --time: MINUTES, M:S, H:M:S, D-H, D-H:M or D-H:M:S. Raises Failed."""
    found = re.fullmatch("(?:([0-9]{1,5})-)?([0-9]{1,5})(?::([0-9]{1,5}))?(?::([0-9]{1,5}))?", text)
    days, *parts = found.groups() if found else [None]
    parts = [int(part) for part in parts if part]
    units = (3600, 60, 1) if days or len(parts) == 3 else (60, 1)
    seconds = 86400 * int(days or 0) + sum(part * unit for part, unit in zip(parts, units))
    if seconds == 0:
        raise Failed(f"--time '{text}': give minutes, or hours as 12:00:00, or days as 2-12:00:00")
    return seconds


def slurm_time(seconds: int) -> str:
    """Returns D-HH:MM:SS."""
    return f"{seconds // 86400}-{seconds // 3600 % 24:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"


class Kind(NamedTuple):
    """One kind of manifest."""
    what: str
    text: Callable[[Manifest], str]
    default_file: Callable[[str], str]  # by the run's name
    then: str                           # the next command; {} is the file


KINDS = {
    "slurm": Kind("A script for sbatch, which saves the job and requeues it on Slurm's signal", slurm, "{}.sbatch".format, "sbatch {}"),
    "k8s": Kind("An MPIJob for Kubernetes, with the job file and a volume for the run", kubernetes,
                lambda name: f"{kubernetes_name(name)}.yaml", "kubectl apply -f {}"),
    "docker": Kind("A Dockerfile with the programs for the job's device", container, lambda name: "Dockerfile",
                   "docker build -t gangway -f {} CHECKOUT, the folder of Gangway's sources"),
}
