# SPDX-License-Identifier: MIT
"""Reads this host's GPUs from nvidia-smi and judges them. Loads only the driver's library."""
import ctypes
import itertools
import os
import re
from pathlib import Path
from typing import NamedTuple

from gangway.errors import Failed
from gangway.launch import program
from gangway.tools.bench.allreduce import NCCL_PROGRAM, figures_of
from gangway.tools.findings import BAD, GOOD, NOTE, Finding, is_healthy
from gangway.tools.measured import output_of

QUERY = "name,memory.total,driver_version,compute_cap,ecc.mode.current,ecc.errors.uncorrected.volatile.total"
# GB/s of a 64 MiB all-reduce: a fifth of four first-generation NVLinks (80 GB/s), above PCIe 3.
LEAST_OVER_NVLINK = 16.0
# Oldest driver by CUDA's major version: its release notes, "minimum required driver version for minor version compatibility".
LEAST_DRIVER = {11: 450, 12: 525, 13: 580}
LEAST_CAPABILITY = 8  # CMAKE_CUDA_ARCHITECTURES in CMakeLists.txt
PATIENCE = "20"       # seconds: nvidia-smi hangs if a GPU has fallen off the bus


class Gpu(NamedTuple):
    name: str        # "NVIDIA H100 80GB HBM3"
    memory_gib: float
    driver: str      # its version: "580.65.06"
    capability: str  # "9.0"
    ecc: str         # "Enabled" or "Disabled"; other text: no ECC
    memory_faults: int | None  # uncorrected ECC errors since the driver's start


def num_gpus() -> int:
    """Returns the GPUs that the driver shows this process (CUDA_VISIBLE_DEVICES, cgroups, MIG)."""
    try:
        driver, count = ctypes.CDLL("libcuda.so.1"), ctypes.c_int()
        return count.value if driver.cuInit(0) == 0 and driver.cuDeviceGetCount(ctypes.byref(count)) == 0 else 0
    except (OSError, AttributeError):
        return 0


def number_in(text: str) -> int | None:
    """Returns the number; None for "[N/A]" and other text."""
    return int(text) if re.fullmatch("-?[0-9]{1,19}", text) else None


def major_of(version: str) -> int:
    """Returns a version's leading number; 0: none."""
    return int(re.match("[0-9]{0,9}", version)[0] or 0)


def parsed_gpus(text: str) -> list[Gpu]:
    """Returns the GPUs in host order; skips other lines. @param text  nvidia-smi's QUERY reply"""
    rows = ([word.lstrip() for word in line.split(",")] for line in text.splitlines())
    return [Gpu(row[0], number_in(row[1]) / 1024, *row[2:5], number_in(row[5]))
            for row in rows if len(row) == len(Gpu._fields) and number_in(row[1]) is not None]


def smi(*words: str) -> str:
    return output_of(["timeout", PATIENCE, "nvidia-smi", *words], dict(os.environ)).text


def read_gpus() -> list[Gpu]:
    """Returns the GPUs; empty: the host has none, or nvidia-smi does not answer."""
    return parsed_gpus(smi(f"--query-gpu={QUERY}", "--format=csv,noheader,nounits"))


def parsed_pairs(text: str) -> dict[tuple[int, int], str]:
    """Returns each GPU pair's connection: "NV18", "SYS", "OK". Skips incomplete rows. @param text  of `nvidia-smi topo` (-m, or -p2p r)"""
    def is_gpu(word):
        return re.fullmatch("GPU[0-9]+", word)

    rows = [line.split() for line in re.sub("\x1b\\[[0-9;]*m", "", text).splitlines()]  # without the header's underline
    rows = [row[1:] for row in rows if len(row) > 1 and is_gpu(row[0]) and not is_gpu(row[1])]
    rows = [row for row in rows if len(row) >= len(rows)]
    return {(i, j): rows[i][j] for i, j in itertools.combinations(range(len(rows)), 2)}


def has_nvlink(links: dict) -> bool:
    return bool(links) and all(link.startswith("NV") for link in links.values())


def judged_driver(gpu: Gpu, toolkit: str) -> Finding:
    item, cuda, capability = "NVIDIA driver", major_of(toolkit), major_of(gpu.capability)
    if major_of(gpu.driver) < (least := LEAST_DRIVER.get(cuda, 0)):
        return Finding(item, BAD, f"{gpu.driver} is older than CUDA {cuda} needs: install {least} or newer")
    if 0 < capability < LEAST_CAPABILITY:
        return Finding(item, NOTE, f"{gpu.name} is of compute capability {gpu.capability}, and kernels are built for {LEAST_CAPABILITY}.0 "
                                   f"and newer: build with cmake -DCMAKE_CUDA_ARCHITECTURES={gpu.capability.replace('.', '')}")
    return Finding(item, GOOD, gpu.driver)


def judged_gpus(gpus: list[Gpu], toolkit: str) -> list[Finding]:
    """Judges kinds, driver and ECC. @param toolkit  CUDA of the build, "13.0.88"; empty: none"""
    first, item = gpus[0], "memory of GPUs"
    if other := next((gpu for gpu in gpus if gpu.name != first.name), None):
        findings = [Finding("GPUs", NOTE, f"{first.name} and {other.name} compute different bits: a job on both is refused; list GPUs of "
                                          "one kind in CUDA_VISIBLE_DEVICES")]
    else:
        findings = [Finding("GPUs", GOOD, f"{len(gpus)} x {first.name}, {first.memory_gib:.0f} GiB")]
    findings.append(judged_driver(first, toolkit))
    for place, gpu in enumerate(gpus):
        if (gpu.memory_faults or 0) > 0:
            findings.append(Finding(item, BAD, f"GPU {place} had {gpu.memory_faults} errors that ECC could not correct: reset it "
                                               f"(nvidia-smi -i {place} -r) or start the host anew; if they come again, have it replaced"))
        elif gpu.ecc == "Disabled":
            findings.append(Finding(item, NOTE, f"GPU {place} has ECC turned off: a flipped bit changes a training silently; turn it "
                                                f"on (nvidia-smi -i {place} -e 1, then start the host anew)"))
    return findings


def judged_links(links: dict, peers: dict) -> list[Finding]:
    """Judges the GPU links; empty for one GPU. @param links, peers  parsed_pairs() of -m, -p2p r"""
    if not links:
        return []
    item, kinds = "GPU links", ", ".join(sorted(set(links.values())))
    for (one, other), what in peers.items():
        if what != "OK":
            return [Finding(item, NOTE, f"GPU {one} and GPU {other} cannot reach each other's memory ({what}), so exchanges go "
                                        "through host memory: turn off ACS and IOMMU in the BIOS, or in a virtual machine ask for GPUs "
                                        "with peer access")]
    if has_nvlink(links):
        return [Finding(item, GOOD, f"NVLink between all ({kinds})")]
    (one, other), slow = next((pair, link) for pair, link in links.items() if not link.startswith("NV"))
    if any(link.startswith("NV") for link in links.values()):
        return [Finding(item, NOTE, f"NVLink between some GPUs only ({kinds}): GPU {one} and GPU {other} have {slow}, and all wait for "
                                    "the slowest; if fewer workers suffice, list their GPUs in CUDA_VISIBLE_DEVICES")]
    return [Finding(item, GOOD, f"no NVLink; over PCIe ({kinds})")]


def judged_nccl(gpus: int, gigabytes_per_second: float, over_nvlink: bool) -> Finding:
    figure = f"all-reduce on {gpus} GPUs: {gigabytes_per_second:.1f} GB/s"
    if over_nvlink and gigabytes_per_second < LEAST_OVER_NVLINK:
        return Finding("NCCL", NOTE, f"{figure}, far less than NVLink carries: unset NCCL_P2P_DISABLE and NCCL_P2P_LEVEL, start the fabric "
                                     "manager (systemctl start nvidia-fabricmanager), see NCCL_DEBUG=INFO")
    return Finding("NCCL", GOOD, figure)


def measured_over_nccl(gpus: int, over_nvlink: bool) -> Finding:
    if not Path(program()).resolve().with_name(NCCL_PROGRAM).exists():
        return Finding("NCCL", NOTE, f"not measured: build {NCCL_PROGRAM} (./launch/build release {NCCL_PROGRAM})")
    try:
        most = max(row["bytes_per_second"] for row in figures_of(NCCL_PROGRAM, gpus)["rows"])
    except Failed as error:
        return Finding("NCCL", BAD, f"{error.line}: run that command with NCCL_DEBUG=INFO for details")
    return judged_nccl(gpus, most * 1e-9, over_nvlink)


def examined_gpus(toolkit: str) -> list[Finding]:
    """Judges this host's GPUs; runs a short NCCL all-reduce if there are several. Empty: none."""
    gpus = read_gpus()
    if not gpus:
        return [Finding("GPUs", NOTE, f"the driver has {count}, but nvidia-smi lists none: put it on the PATH; in a container set "
                                      "NVIDIA_DRIVER_CAPABILITIES=compute,utility")] if (count := num_gpus()) else []
    findings = judged_gpus(gpus, toolkit)
    if len(gpus) > 1:
        links = parsed_pairs(smi("topo", "-m"))
        findings += judged_links(links, parsed_pairs(smi("topo", "-p2p", "r")))
        if toolkit and is_healthy(findings):
            findings.append(measured_over_nccl(len(gpus), has_nvlink(links)))
    return findings
