# SPDX-License-Identifier: MIT
"""Compares hosts. `gangway doctor --hosts` starts `gangway host-facts` on each by its own mpirun, to name one that does not answer."""
import contextlib
import ctypes
import fcntl
import json
import math
import os
import re
import selectors
import signal
import socket
import struct
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

from gangway.entry import mpi_environment
from gangway.errors import ENVIRONMENT, Failed, complaints
from gangway.launch import program
from gangway.tools.command_line import Parser, table
from gangway.tools.findings import BAD, GOOD, NOTE, Finding
from gangway.tools.gpus import num_gpus, number_in
from gangway.tools.measured import PR_SET_PDEATHSIG, output_of

CHECKOUT = Path(__file__).resolve().parents[4]
NONE = "none"
GIB = 2**30
# host-facts prints FACTS and the facts; then, per line of input, CLOCK and its time in ns.
FACTS, CLOCK = "gangway-facts ", "gangway-clock "
MOST_BYTES = 65536   # per line
CLOCK_ROUNDS = 8     # the round with the shortest round trip counts
LIMIT = 30           # seconds: a host behind a firewall never answers
PATIENCE = 3         # seconds: mpirun takes two after a SIGTERM
MOST_SECONDS = 0.5   # a larger clock offset makes logs and curves hard to compare
LEAST_SHARE = 0.5    # of the best host's value; a host with less runs out first
SIOCGIFCONF, SIOCGIFFLAGS = 0x8912, 0x8913  # netdevice(7)
IFREQ_BYTES, MOST_ADDRESSES = 40, 256
IFF_UP, IFF_LOOPBACK = 1, 8
# By numerics.processor: flags in addition to lower levels, as in base/processor.cpp.
LEVELS = {"sse4": "sse4_1 sse4_2", "avx2": "avx avx2 fma", "avx512": "avx512f avx512bw avx512cd avx512dq avx512vl"}


class Facts(NamedTuple):
    build: str  # versions; NONE if missing
    mpi: str
    libtorch: str
    nccl: str
    processor: str  # maker and highest level: "AuthenticAMD avx512"
    driver: str     # NVIDIA's
    interface: str  # that routes to the asking host
    gpus: int
    cores: int
    memory_gib: float         # available
    shared_memory_gib: float  # free in /dev/shm


class Clock(NamedTuple):
    ahead: float  # seconds ahead of the asking host's clock
    error: float  # half of the quickest round trip


class Host(NamedTuple):
    name: str            # as the user named it
    facts: Facts | None
    clock: Clock | None
    complaint: str = ""  # without facts: the first line of the host or of mpirun


def content_of(path) -> str:
    try:
        return Path(path).read_text(errors="replace")
    except OSError:
        return ""


def found_in(text: str, pattern: str) -> str:
    """The pattern's first group, or NONE."""
    found = re.search(pattern, text)
    return found[1] if found else NONE


def own_addresses() -> list[tuple[str, str]]:
    """Returns (interface, IPv4 address) of each interface that is up, except loopback."""
    room, found = ctypes.create_string_buffer(IFREQ_BYTES * MOST_ADDRESSES), []
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked:
        told = fcntl.ioctl(asked, SIOCGIFCONF, struct.pack("iP", len(room), ctypes.addressof(room)))
        for begin in range(0, struct.unpack("iP", told)[0], IFREQ_BYTES):
            name, address = room.raw[begin:begin + 16], room.raw[begin + 20:begin + 24]
            flags, = struct.unpack_from("H", fcntl.ioctl(asked, SIOCGIFFLAGS, name + bytes(IFREQ_BYTES - 16)), 16)
            if flags & IFF_UP and not flags & IFF_LOOPBACK:
                found.append((name.partition(b"\0")[0].decode(), socket.inet_ntoa(address)))
    return found


def chosen_interface(asking: list[str]) -> str:
    """Returns the interface of the kernel's route to the first routable address; sends nothing."""
    for address in asking:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as towards, contextlib.suppress(OSError):
            towards.connect((address, 1))
            own = towards.getsockname()[0]
            if name := next((name for name, one in own_addresses() if one == own), None):
                return f"{name} {own}"
    return NONE


def processor_text(cpuinfo: str) -> str:
    """Returns maker and level: MKL's kernels depend on the maker too."""
    fields = dict(re.findall(r"(\S[^\t:\n]*?)[ \t]*: *([^\n]*)", cpuinfo.partition("\n\n")[0]))
    flags, best = set(fields.get("flags", fields.get("Features", "")).split()), ""
    for level, wanted in LEVELS.items():
        if not flags.issuperset(wanted.split()):
            break
        best = level
    return f"{fields.get('vendor_id', '')} {best}" if best else NONE


def slots_in(hostfile) -> dict[str, int]:
    """Returns the slots by host of an Open MPI hostfile. `gangway run` reports its other errors."""
    try:
        text, slots = Path(hostfile).read_text(errors="replace"), {}
    except OSError as error:
        raise Failed(f"--hostfile {hostfile}: {error.strerror.lower()}") from None
    for name, more in re.findall(r"^\s*([^\s#]+)([^#\n]*)", text, re.MULTILINE):
        slots[name] = slots.get(name, 0) + int(found[1] if (found := re.search(r"\bslots\s*=\s*([0-9]+)", more)) else 1)
    return slots


def quota_of(group: Path) -> float:
    """Returns the cores that one control group allows; 0: no limit."""
    with contextlib.suppress(ValueError, ZeroDivisionError):  # "max" is no number
        if words := content_of(group / "cpu.max").split():  # cgroup v2
            return float(words[0]) / float(words[1])
        quota, period = (float(content_of(group / f"cpu.cfs_{name}_us")) for name in ("quota", "period"))
        return max(0.0, quota / period)
    return 0.0


def usable_cores(root=Path("/sys/fs/cgroup"), groups: str | None = None) -> int:
    """Returns the cores that affinity and quotas allow. @param groups  None: /proc/self/cgroup"""
    quotas = []
    for line in (content_of("/proc/self/cgroup") if groups is None else groups).splitlines():
        _, controllers, path = (*line.split(":", 2), "", "")[:3]
        if not controllers or controllers.split(",")[0] == "cpu":  # cgroup v1 names the controllers
            group = root / controllers.partition(",")[0] / path.lstrip("/")
            quotas += [quota for one in (group, *group.parents) if one.is_relative_to(root) and (quota := quota_of(one)) > 0]
    cores = len(os.sched_getaffinity(0))
    return min([cores, *map(math.ceil, quotas)])


def free_gib(folder) -> float | None:
    """Returns the free space of its file system; None: it cannot be read."""
    try:
        status = os.statvfs(folder)
    except OSError:
        return None
    return status.f_bavail * status.f_frsize / GIB


def libtorch_version(root: str) -> str:
    """Reads the version from a file of the wheel, because loading LibTorch takes seconds."""
    return found_in(content_of(Path(root) / "version.py"), "__version__ *= *'([^']+)'")


def build_facts(*words: str) -> dict:
    """Returns facts of the build and host (launch/doctor_facts.hpp). Raises Failed if not built."""
    done = subprocess.run([program(), "doctor-facts", *words], capture_output=True, text=True, errors="surrogateescape")
    if done.returncode != 0:
        raise Failed("\n".join(complaints(done.stderr.splitlines())) or f"gangway doctor-facts ended with {done.returncode}",
                     done.returncode)
    return json.loads(done.stdout)


def mpi_version() -> str:
    """Returns the first line of `mpirun --version`; empty: mpirun was not found."""
    told = output_of(["timeout", "20", "mpirun", "--version"], mpirun_environment())
    return told.text.partition("\n")[0] if told.code == 0 else ""


def read_facts(asking: list[str]) -> Facts:
    """Reads this host's facts. @param asking  numeric addresses of the asking host, best first"""
    try:
        build = build_facts()
    except Failed:  # no programs are built here
        build = {"build": NONE, "libtorch_root": next(map(str, CHECKOUT.glob(".venv/lib/python3*/site-packages/torch")), "/")}
    torch = Path(build["libtorch_root"])
    wheels = " ".join(path.name for path in torch.parent.glob("nvidia_nccl_cu*.dist-info"))  # named by pip
    kib = found_in(content_of("/proc/meminfo"), "MemAvailable: +([0-9]+) kB")
    return Facts(build["build"], found_in(mpi_version(), r"Open MPI\) (\S+)"), libtorch_version(torch),
                 found_in(wheels, "nvidia_nccl_cu[0-9]+-([0-9.]+)[.]dist-info"), processor_text(content_of("/proc/cpuinfo")),
                 found_in(content_of("/sys/module/nvidia/version"), "([0-9.]+)"), chosen_interface(asking), num_gpus(), usable_cores(),
                 0.0 if kib == NONE else int(kib) * 1024 / GIB, free_gib("/dev/shm") or 0.0)


def parsed_facts(text: str) -> Facts | None:
    """Parses a host's facts; None: the text is no facts."""
    try:
        told = json.loads(text)
        return Facts(*(kind(told[name]) for name, kind in Facts.__annotations__.items()))
    except (ValueError, LookupError, TypeError, OverflowError, RecursionError):
        return None


class _Talk:
    """Runs one mpirun with one rank on one host, and talks to that rank."""

    def __init__(self, name: str, words: list[str], environment: dict):
        self.name, self.facts, self.clock, self.said, self.is_over = name, None, None, "", False
        self._rest, self._rounds, self._asked, self._asked_at = b"", 0, 0, 0
        self.process = subprocess.Popen(
            words, bufsize=0, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment,
            preexec_fn=lambda: ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM))

    def read(self) -> None:
        """Reads the available output."""
        said = os.read(self.process.stdout.fileno(), MOST_BYTES)
        *lines, self._rest = (self._rest + said).split(b"\n")
        self.is_over = not said or len(self._rest) > MOST_BYTES
        for line in lines:
            self._hear(line.decode(errors="replace"))

    def _hear(self, line: str) -> None:
        if line.startswith(FACTS):
            self.facts = parsed_facts(line.removeprefix(FACTS))
            self._ask_for_clock()
        elif line.startswith(CLOCK):
            self._take_clock(line.removeprefix(CLOCK))
        elif not self.said and line.strip(" -\t\r"):
            self.said = line  # the first line of an error tells most

    def _ask_for_clock(self) -> None:
        self._asked, self._asked_at = time.monotonic_ns(), time.time_ns()
        try:
            self.process.stdin.write(b"\n")
        except OSError:  # the process has ended
            self.is_over = True

    def _take_clock(self, text: str) -> None:
        half = (time.monotonic_ns() - self._asked) // 2
        if (theirs := number_in(text)) is None:
            return
        if self.clock is None or half / 1e9 < self.clock.error:
            self.clock = Clock((theirs - self._asked_at - half) / 1e9, half / 1e9)
        self._rounds += 1
        if self._rounds < CLOCK_ROUNDS:
            self._ask_for_clock()
        else:
            self.is_over = True

    def result(self) -> Host:
        return Host(self.name, self.facts, self.clock, "" if self.facts else self.said or f"nothing came within {LIMIT} s")


def ended(talks: list[_Talk]) -> None:
    """Ends each mpirun: closes its input, sends SIGTERM if it never answered, kills it at last."""
    for talk in talks:
        talk.process.stdin.close()
        if talk.clock is None:
            talk.process.terminate()
    end = time.monotonic() + PATIENCE
    for talk in talks:
        try:
            talk.process.wait(max(0.0, end - time.monotonic()))
        except subprocess.TimeoutExpired:
            talk.process.kill()
            talk.process.wait()
        talk.process.stdout.close()


def mpirun_environment() -> dict:
    """Returns the environment for mpirun, with the two variables that let root run it."""
    root = {} if os.geteuid() else {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    return {**root, **os.environ, **mpi_environment(dict(os.environ))}


def asked_hosts(names: list[str], forwarded: list[str]) -> list[Host]:
    """Asks all hosts at once for facts and clocks. @param forwarded  variables of a job's ranks"""
    addresses = ",".join(address for _, address in own_addresses()) or "127.0.0.1"
    try:
        words = [str(Path(program()).resolve())]
    except Failed:  # no programs here, and perhaps none on the hosts
        words = ["env", f"PYTHONPATH={Path(__file__).resolve().parents[2]}", "python3", "-m", "gangway.tools"]
    exports = [word for name in forwarded for word in ("-x", name)]
    talks, missing = [], "mpirun was not found: install openmpi-bin"
    try:
        for name in names:
            talks.append(_Talk(name, ["mpirun", "-n", "1", "--host", name, "--bind-to", "none", *exports, *words, "host-facts", addresses],
                               mpirun_environment()))
        end = time.monotonic() + LIMIT
        with selectors.DefaultSelector() as selector:
            for talk in talks:
                selector.register(talk.process.stdout, selectors.EVENT_READ, talk)
            while selector.get_map() and (left := end - time.monotonic()) > 0:
                for key, _ in selector.select(left):
                    key.data.read()
                    if key.data.is_over:
                        selector.unregister(key.fileobj)
    except (FileNotFoundError, PermissionError):
        return [Host(name, None, None, missing) for name in names]
    except OSError as error:
        raise Failed(f"mpirun cannot be started: {error.strerror}: raise ulimit -n or -u, or ask fewer at once", ENVIRONMENT) from None
    finally:
        ended(talks)
    return [talk.result() for talk in talks]


# Facts that should be equal on all hosts: title, field, health if a host differs, remedy.
ALIKE = (("build", "build", BAD, "install one build on all hosts"),
         ("Open MPI", "mpi", BAD, "install one version on all hosts"),
         ("LibTorch", "libtorch", BAD, "run ./launch/setup of one checkout on all hosts: another version gives other numbers"),
         ("NCCL", "nccl", BAD, "run ./launch/setup of one checkout on all hosts"),
         ("processor", "processor", NOTE, "workers on both compute different bits and are refused, unless numerics.processor names "
                                          "a common level (such as avx2) or numerics.mixed_processors=allow declares the run inexact"),
         ("driver", "driver", NOTE, "jobs run with both if both are new enough for CUDA"),
         ("GPUs", "gpus", NOTE, "give each host its own number of slots in the hostfile"),
         ("cores", "cores", NOTE, "give each host its own number of slots in the hostfile"))
ROOMS = (("memory", "memory_gib"), ("/dev/shm", "shared_memory_gib"))  # compared by LEAST_SHARE
MARKS = {GOOD: "", NOTE: " *", BAD: " !"}


def usual(hosts: list[Host], field: str) -> str:
    """Returns the most frequent value; the first host's if it is among the most frequent."""
    values = [str(getattr(host.facts, field)) for host in hosts if host.facts]
    return max(sorted(set(values)), key=lambda value: (values.count(value), value == values[0]), default="")


def most_gib(hosts: list[Host], field: str) -> float:
    return max((getattr(host.facts, field) for host in hosts if host.facts), default=0.0)


def is_off(clock: Clock) -> bool:
    return abs(clock.ahead) - clock.error > MOST_SECONDS


def hosts_text(hosts: list[Host]) -> str:
    """Returns a line per host. Marks deviating values: "!" if a job would be refused or fail, "*" if it would only be odd."""
    rows = []
    for name, facts, clock, _ in hosts:
        cells = [name]
        for _, field, odd, _ in ALIKE:
            value = str(getattr(facts, field)) if facts else ""
            cells.append(value + MARKS[odd if facts and value != usual(hosts, field) else GOOD])
        for _, field in ROOMS:
            gib = getattr(facts, field) if facts else 0.0
            cells.append(f"{gib:.1f} GiB{MARKS[NOTE if gib < LEAST_SHARE * most_gib(hosts, field) else GOOD]}" if facts else "")
        cells.append(facts.interface if facts else "")
        cells.append(f"{clock.ahead * 1e3:+.2f} ms (+-{clock.error * 1e3:.2f}){MARKS[NOTE if is_off(clock) else GOOD]}" if clock else "")
        rows.append(cells)
    titles = ["host", *(title for title, *_ in (*ALIKE, *ROOMS)), "interface", "clock"]
    return table(titles, rows, left=len(titles))


def compared(hosts: list[Host]) -> list[Finding]:
    """Returns a finding for each difference between hosts, and for each host without an answer."""
    findings = [Finding("host", BAD, f"{host.name} gave no answer ({host.complaint}): is it up, is ssh allowed without a password, has it "
                                     "Open MPI and this program at the same place?") for host in hosts if not host.facts]
    told = [host for host in hosts if host.facts]
    for title, field, odd, remedy in ALIKE:
        most = usual(hosts, field)
        findings += [Finding(title, odd, f"{host.name} has {value}, other hosts {most}: {remedy}")
                     for host in told if (value := str(getattr(host.facts, field))) != most]
    for title, field in ROOMS:
        most = most_gib(hosts, field)
        findings += [Finding(title, NOTE, f"{host.name} has {gib:.1f} GiB, another host {most:.1f}: free some, or give it fewer slots")
                     for host in told if (gib := getattr(host.facts, field)) < LEAST_SHARE * most]
    return findings + [Finding("clock", NOTE, f"{host.name} is {host.clock.ahead:+.1f} s from this host: let NTP set both")
                       for host in hosts if host.clock and is_off(host.clock)]


def hosts_of_json(hosts: list[Host]) -> list[dict]:
    return [{"host": host.name, **(host.facts._asdict() if host.facts else {}),
             **({"clock_seconds": host.clock.ahead, "clock_error_seconds": host.clock.error} if host.clock else {})} for host in hosts]


def command(words: list[str]) -> None:
    """Runs the hidden `gangway host-facts ADDRESSES`; ends at the end of standard input."""
    parser = Parser("host-facts", "Prints facts of this host for `gangway doctor --hosts`", "")
    parser.add_argument("asking", help="numeric addresses of the host that asks")
    facts = read_facts(parser.parse_args(words).asking.split(","))
    print(FACTS + json.dumps(facts._asdict()), flush=True)
    for _ in sys.stdin:
        print(f"{CLOCK}{time.time_ns()}", flush=True)
