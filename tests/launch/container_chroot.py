#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Executes the steps of `gangway init docker`'s container file without a container engine. Runs each stage on a bare Debian
(debootstrap), each RUN by chroot with the stage's folder and environment, each COPY from git's files. Then runs a job of two
workers as the image's user, by its command.

    GANGWAY_BIN=build/release/bin container_chroot.py [--mirror URL] [--bind PATH]... [--env NAME]...

As root; half an hour and 12 GB of /tmp. --bind and --env: paths and variables that this machine needs for its mirrors. Exit
code 77: not root, or no debootstrap.
"""
import argparse
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import dockerfile_parse

ROOT = Path(__file__).resolve().parents[2]
GANGWAY = Path(os.environ.get("GANGWAY_BIN", ROOT / "build/release/bin")).resolve() / "gangway"
STEP_HOURS = 2
LAST_LINES = 60  # of a failed step's log


class Stage:
    """A FROM with its instructions."""

    def __init__(self, folder, options):
        self.folder = folder
        self.options = options
        self.directory = "/"
        self.user = "0"
        self.environment = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND": "noninteractive"}
        self.command = []
        self.arguments = []

    def begin(self):
        subprocess.run(["debootstrap", "--variant=minbase", "bookworm", self.folder, self.options.mirror], check=True,
                       stdout=subprocess.DEVNULL)
        for name in ("resolv.conf", "hosts"):
            shutil.copy(f"/etc/{name}", self.folder / "etc" / name)
        for kind, at in (("proc", "proc"), ("sysfs", "sys"), ("tmpfs", "dev/shm")):
            (self.folder / at).mkdir(parents=True, exist_ok=True)
            subprocess.run(["mount", "-t", kind, kind, self.folder / at], check=True)
        for path in self.options.bind:
            at = self.folder / path.lstrip("/")
            if Path(path).is_dir():
                at.mkdir(parents=True, exist_ok=True)
            else:
                at.parent.mkdir(parents=True, exist_ok=True)
                at.touch()
            subprocess.run(["mount", "--bind", path, at], check=True)

    def run(self, words):
        """Runs a command as the stage's user, in its folder, with only its environment."""
        wanted = {**{name: os.environ[name] for name in self.options.env if name in os.environ}, **self.environment}
        inside = f"cd {shlex.quote(self.directory)} && exec {shlex.join(words)}"
        subprocess.run(["chroot", f"--userspec={self.user}:{self.user}", self.folder, "/usr/bin/env", "-i",
                        *(f"{name}={value}" for name, value in wanted.items()), "/bin/sh", "-c", inside],
                       check=True, timeout=STEP_HOURS * 3600, stdin=subprocess.DEVNULL)

    def target(self, name):
        at = Path(self.directory) / name
        path = self.folder / str(at).lstrip("/")
        if name.endswith("/"):
            path.mkdir(parents=True, exist_ok=True)
        return path


def copy(value, stages, stage):
    words = value.split()
    source = None
    if words[0].startswith("--from="):
        source = stages[words.pop(0).removeprefix("--from=")].folder
    *names, to = words
    if source is not None:
        subprocess.run(["cp", "-a", f"{source}{names[0]}.", stage.target(to)], check=True)
        return
    listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", *names], cwd=ROOT,
                            check=True, capture_output=True).stdout.decode().split("\0")
    is_whole = names == ["."]
    target = stage.target(to if is_whole else to if to.endswith("/") else to + "/")
    for name in filter(lambda one: one and (ROOT / one).is_file(), listed):
        at = target / (name if is_whole else Path(name).name)
        at.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, at, follow_symlinks=False)


def carry_out(steps, folder, options):
    """@return the last stage."""
    stages, stage = {}, None
    for step in steps:
        name, value = step["instruction"], step["value"]
        began = time.monotonic()
        print(f"{name} {value.splitlines()[0][:100]}", flush=True)
        if name == "FROM":
            stage = Stage(folder / f"stage-{len(stages)}", options)
            stages[value.split(" AS ")[-1]] = stage
            stage.begin()
        elif name == "WORKDIR":
            stage.directory = value
            stage.target("./")
        elif name == "COPY":
            copy(value, stages, stage)
        elif name == "RUN":
            try:
                stage.run(["/bin/sh", "-c", value])
            except subprocess.CalledProcessError:
                for log in (stage.folder / stage.directory.lstrip("/") / "build").glob("*.log"):
                    print("".join(log.read_text().splitlines(keepends=True)[-LAST_LINES:]), flush=True)
                raise
        elif name == "USER":
            stage.user = value
        elif name == "ENV":
            key, _, text = value.partition("=")
            stage.environment[key] = text
        elif name == "ENTRYPOINT":
            stage.command = json.loads(value)
        elif name == "CMD":
            stage.arguments = json.loads(value)
        else:
            raise ValueError(f"{name}: this does not know such a step; teach it")
        print(f"    {time.monotonic() - began:.0f} s", flush=True)
    return stage


def inside(options):
    with tempfile.TemporaryDirectory(prefix="gangway-chroot-") as folder:
        folder = Path(folder)
        subprocess.run([GANGWAY, "init", "docker", ROOT / "examples/ring8.yaml", "-o", folder / "Dockerfile"], check=True,
                       stdout=subprocess.DEVNULL)
        parser = dockerfile_parse.DockerfileParser(str(folder))
        try:
            image = carry_out([step for step in parser.structure if step["instruction"] != "COMMENT"], folder, options)
            shutil.copy(ROOT / "examples/ring8.yaml", image.folder / "runs")
            image.run([*image.command, *image.arguments])
            image.run([*image.command, "run", "ring8.yaml", "-n", "2", "training.kimg=2"])
        finally:
            mounted = [line.split()[1] for line in Path("/proc/mounts").read_text().splitlines() if line.split()[1].startswith(str(folder))]
            for at in reversed(mounted):
                subprocess.run(["umount", "-l", at], check=True)


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--mirror", default="http://deb.debian.org/debian")
    options.add_argument("--bind", action="append", default=[])
    options.add_argument("--env", action="append", default=[])
    options.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    given = options.parse_args()
    if os.geteuid() != 0 or shutil.which("debootstrap") is None:
        print("container_chroot: needs root, and apt-get install debootstrap", file=sys.stderr)
        return 77
    if given.inside:
        inside(given)
        return 0
    return subprocess.run(["unshare", "--mount", "--pid", "--fork", "--kill-child", sys.executable, __file__, "--inside", *sys.argv[1:]],
                          check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
