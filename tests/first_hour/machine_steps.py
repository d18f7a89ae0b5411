# SPDX-License-Identifier: MIT
"""Machines with full disks, no network, unusual environments, or two starts of one run."""
import os
import subprocess
from pathlib import Path

from hour import RING, ROOT, Problem, Skip
from steps import step

WIDE = ["model.width=256", "checkpoint.every_steps=20"]  # a checkpoint of 3.7 MB


def mount(hour, name, size="1m", *options):
    """Mounts a small file system for the step."""
    folder = hour.folder / name
    folder.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", ",".join([f"size={size}", *options]), "tmpfs", folder],
                             capture_output=True, text=True)
    if mounted.returncode != 0:
        raise Skip(f"nothing can be mounted: {mounted.stderr.strip()}")
    hour.mounts.append(folder)
    return folder


@step
def a_full_disk(hour):
    disk = mount(hour, "small disk", hour.random.choice(["4k", "64k", "1m", "3m"]))
    hour.expect(hour.run(hour.job(), "-n", 2, "--outdir", disk, *WIDE), 6)
    subprocess.run(["mount", "-o", "remount,size=100m", disk], check=True)
    hour.expect(hour.run(hour.job(), "-n", 2, "--outdir", disk, *WIDE), 0)


@step
def little_shared_memory(hour):
    """Limits /dev/shm, as in a container with docker's 64 MiB, or less."""
    size = hour.random.choice(["0", "1m", "16m", "64m"])
    hour.note(size)
    if size == "0":
        size = "4k"
    small = f"mount -t tmpfs -o size={size} tmpfs /dev/shm && exec \"$@\""
    process = hour.call("unshare", "-m", "--propagation", "private", "sh", "-c", small, "sh", hour.gangway, "run", hour.job(),
                        "-n", 2, *WIDE)
    hour.expect(process, 0, 6, says="/dev/shm|shared memory")


def without_network(hour, *words, loopback):
    up = "ip link set lo up && " if loopback else ""
    probe = subprocess.run(["unshare", "--net", "sh", "-c", up + "true"], capture_output=True, text=True)
    if probe.returncode != 0:
        raise Skip(f"no network name space: {probe.stderr.strip()}")
    return hour.call("unshare", "--net", "sh", "-c", up + 'exec "$@"', "sh", *words)


@step
def no_network(hour):
    loopback = hour.random.random() < 0.7
    hour.note("with loopback" if loopback else "without loopback")
    ended = without_network(hour, hour.gangway, "run", hour.job(), "-n", hour.random.randint(1, 2), loopback=loopback)
    hour.expect(ended, 0 if loopback else 6, says="ip link set lo up")


@step
def set_up_and_built_again(hour):
    """Both must return at once, also without a network."""
    build = ROOT / "build" / "release"
    if hour.programs != build / "bin" or not (ROOT / ".venv" / "gangway-setup").exists():
        raise Skip("not the checkout's own build")
    plan = subprocess.run(["ninja", "-C", build, "-n"], capture_output=True, text=True)
    if "no work to do" not in plan.stdout:
        raise Skip("the build is not whole")
    for words in ([ROOT / "launch" / "setup"], [ROOT / "launch" / "build", "release"]):
        ended = hour.expect(without_network(hour, *words, loopback=True), 0)
        if "already" not in ended.out + ended.err:
            raise Problem(f"it has done something: {ended.described()}")


@step
def the_same_run_twice_at_once(hour):
    first = hour.start(hour.gangway, "run", hour.job(), "-n", 2, "--run", "same")
    second = hour.start(hour.gangway, "run", hour.job(), "-n", 1, "--run", "same")
    ended = [hour.end(first), hour.end(second)]
    for each in ended:  # one trains; the other finds the run done, or names the process that trains it
        hour.expect(each, 0, 6, says="same|in use|pid")
    if all(each.code for each in ended):
        raise Problem(f"nobody has trained: {ended[0].described()}\n{ended[1].described()}")
    hour.digest("same")


@step
def an_odd_environment(hour):
    closed = hour.folder / "closed home"
    closed.mkdir(mode=0o500)
    variables, how = hour.random.choice([
        ({"HOME": closed}, None), ({"HOME": "/nowhere"}, None), ({"HOME": None}, None), ({"TMPDIR": "/nowhere"}, None),
        ({"LANG": "C", "LC_ALL": "C"}, None), ({"LC_ALL": "xx_YY.UTF-8"}, None), ({"TERM": None}, None), ({"USER": None}, None),
        ({}, lambda: os.umask(0o077)), ({}, lambda: os.close(0)), ({}, lambda: os.closerange(0, 3)),
        ({"OMP_NUM_THREADS": "64"}, None), ({"TMPDIR": hour.folder / ("long" * 40)}, None), ({"PATH": "/usr/bin:/bin"}, None),
        ({}, lambda: os.nice(10))])
    hour.note(" ".join(f"{key}={value}" for key, value in variables.items()) or "a closed file, umask or nice")
    if "long" in str(variables.get("TMPDIR")):
        variables["TMPDIR"].mkdir()
    hour.expect(hour.run(hour.job(), "-n", 1, before=how, **variables), 0)
    hour.digest("job")


@step
def folders_with_blanks(hour):
    place = hour.folder / hour.random.choice(["my runs", "Läufe", "-o", "a'b", "実験"])
    place.mkdir()
    hour.note(place.name)
    job = hour.job(name=f"{place.name}/my first job (2).yaml")
    hour.expect(hour.run(job, "-n", 2, "--outdir", place / "all runs"), 0)
    run = next((place / "all runs").glob("0*"))
    hour.digest(run)
    hour.expect(hour.call(hour.gangway, "checkpoints", "verify", run), 0)
    hour.expect(hour.run(job, "-n", 1, "training.kimg=7.68", cwd=place, deadline=60), 0)


@step
def output_that_nobody_reads(hour):
    """gangway run … | head -1, and a terminal that is closed."""
    job = hour.job()
    process = hour.start("sh", "-c", f'"{hour.gangway}" run "{job}" -n 2 | head -1')
    if hour.end(process).code != 0:
        raise Problem("head has failed")
    hour.require_nobody()
    hour.expect(hour.call("sh", "-c", f'"{hour.gangway}" checkpoints ls job | head -1'), 0)
    hour.expect(hour.run(job, "-n", 2), 0)


@step
def a_job_of_another_folder(hour):
    """Relative paths are relative to the shell's folder."""
    hour.job(RING, "jobs/ring.yaml")
    hour.expect(hour.run("../jobs/ring.yaml", "-n", 1, cwd=make(hour.folder / "elsewhere")), 0)
    if not Path(hour.folder / "elsewhere" / "runs" / "00000-ring").is_dir():
        raise Problem("the run is not where the command was typed")


def make(folder):
    folder.mkdir()
    return folder
