#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests `gangway doctor`: its text on GPUs and hosts, its calls to hosts, and that it needs neither
package nor program. tests/launch/doctor_gpus.py and tests/cluster/doctor_hosts.py run it.

    GANGWAY_BIN=build/release/bin doctor_test.py [unittest arguments]
"""
import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "share/python"))
import gangway  # noqa: E402
from gangway.tools import doctor, gpus, hosts  # noqa: E402
from gangway.tools.findings import Finding, findings_json, findings_text, is_healthy  # noqa: E402

KEPT = Path(__file__).parent / "doctor"
FACTS = hosts.Facts("0123456789abcdef", "4.1.4", "2.11.0+cu130", "2.28.9", "GenuineIntel avx512", "580.82.07", "eth0 10.0.0.1", 8, 64,
                    500.5, 250.0)
TWO_GPUS = "NVIDIA H100 80GB HBM3, 81559, 580.65.06, 9.0, Enabled, 0\nNVIDIA H100 80GB HBM3, 81559, 580.65.06, 9.0, Enabled, 3\n"
LINKS = """\t\x1b[4mGPU0\tGPU1\tGPU2\tNIC0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\x1b[0m
GPU0\t X \tNV18\tSYS\tPIX\t0-55\t0\t\tN/A
GPU1\tNV18\t X \tNV18\tSYS\t0-55\t0\t\tN/A
GPU2\tSYS\tNV18\t X \tSYS\t56-111\t1\t\tN/A
NIC0\tPIX\tSYS\tSYS\t X 

Legend:

  X    = Self
"""
PEERS = " \tGPU0\tGPU1\tGPU2\t\n GPU0\tX\tOK\tOK\t\n GPU1\tOK\tX\tOK\t\n GPU2\tOK\tOK\tX\t\n\nLegend:\n\n  OK   = Status Ok\n"
# Emulates one host by its name.
MPIRUN = f"""#!/bin/sh
case "$4" in
  answers) echo 'gangway-facts {json.dumps(FACTS._asdict())}'; while read line; do echo gangway-clock $(date +%s%N); done ;;
  refuses) echo -----; printf 'ssh: no \\033[31mroute\\377\\n'; echo more ;;
  lies) echo 'gangway-facts {{"build": 7}}' ;;
  stands) echo $$ >stands; kill -STOP $$ ;;
esac
"""


def host(name, ahead=0.002, error=0.001, **facts):
    return hosts.Host(name, FACTS._replace(**facts), hosts.Clock(ahead, error))


def said(found):
    return "".join(f"{item} {health}: {detail}\n" for item, health, detail in found)


class OfHosts(unittest.TestCase):
    def test_what_is_said_of_odd_ones_is_what_the_command_in_c_plus_plus_said(self):
        odd = [host("a", -0.00205, 0.00313, build="fedcba9876543210"),
               host("b", 0.00145, 0.00166, processor="AuthenticAMD avx2", shared_memory_gib=100.0),
               host("c", -7.25144, 0.00276, mpi="5.0", libtorch="2", nccl="1", driver="570.1", gpus=4, cores=32, memory_gib=10.25)]
        self.assertEqual(f"{hosts.hosts_text(odd)}\n{findings_text(hosts.compared(odd))}", (KEPT / "odd.txt").read_text())
        self.assertFalse(is_healthy(hosts.compared(odd)))
        odd = [host("a", 0.000448636, 0.000726014, build="fedcba9876543210"), host("b", 0.000370231, 0.000651134),
               hosts.Host("c", None, None, "ssh: no route to host")]
        self.assertEqual(findings_json(hosts.compared(odd), hosts=hosts.hosts_of_json(odd)), (KEPT / "odd.json").read_text())

    def test_equal_ones_have_no_finding_nor_a_clock_of_which_too_little_is_known(self):
        self.assertEqual(hosts.compared([host("a"), host("b", 0.9, 0.8), host("c")]), [])

    def test_most_decide_and_the_first_where_as_many_have_another(self):
        self.assertIn("Open MPI bad: b has 4.1.4, other hosts 5.0.1: ", said(hosts.compared([host("a", mpi="5.0.1"), host("b")])))
        self.assertIn("cores note: a has 2, other hosts 4: ", said(hosts.compared([host(name, cores=cores) for name, cores in
                                                                             zip("abcd", (2, 4, 4, 8))])))

    def test_facts_are_read_back_from_their_line_alone(self):
        self.assertEqual(hosts.parsed_facts(json.dumps(FACTS._asdict())), FACTS)
        for line in ('{"build": 7}', "Warning: Permanently added 'b' to the list of known hosts.", "[" * 9999, "7",
                     json.dumps({**FACTS._asdict(), "gpus": 1e999})):
            self.assertIsNone(hosts.parsed_facts(line))

    def test_all_are_asked_and_who_is_silent_stands_or_refuses_is_named(self):
        with tempfile.TemporaryDirectory() as folder, mock.patch.dict(os.environ, PATH=f"{folder}:{os.environ['PATH']}"):
            (Path(folder) / "mpirun").write_text(MPIRUN)
            (Path(folder) / "mpirun").chmod(0o755)
            first, refuses, lies = hosts.asked_hosts(["answers", "refuses", "lies"], ["HOME"])
            self.assertEqual(first.facts, FACTS)
            self.assertLessEqual(abs(first.clock.ahead), first.clock.error + 1e-3)  # one machine's clock
            text = said(hosts.compared([refuses, lies]))
            self.assertIn("refuses gave no answer (ssh: no \x1b[31mroute\ufffd): is it up", text)
            self.assertIn("lies gave no answer (nothing came within 30 s)", text)
            self.assertNotIn("\x1b", findings_text(hosts.compared([refuses])))
            before = os.getcwd()
            os.chdir(folder)
            try:
                with mock.patch.multiple(hosts, LIMIT=0.5, PATIENCE=0.05):
                    stands, = hosts.asked_hosts(["stands"], [])
            finally:
                os.chdir(before)
            self.assertIsNone(stands.facts)
            if pid := hosts.content_of(Path(folder) / "stands").strip():  # it began in time
                self.assertFalse(Path(f"/proc/{pid}").exists())

    def test_without_mpirun_each_lacks_it(self):
        with mock.patch.dict(os.environ, PATH="/nonexistent"):
            complaints = {one.complaint for one in hosts.asked_hosts(["a", "b"], [])}
        self.assertEqual(complaints, {"mpirun was not found: install openmpi-bin"})


class OfThisHost(unittest.TestCase):
    def test_processors_have_a_maker_and_a_level(self):
        text = "vendor_id\t: AuthenticAMD\nmodel name\t: AMD EPYC\nflags\t\t: fpu sse4_1 sse4_2 avx avx2 fma\n\nvendor_id\t: X\n"
        self.assertEqual(hosts.processor_text(text), "AuthenticAMD avx2")
        self.assertEqual(hosts.processor_text(text.replace("sse4_1", "")), "none")

    def test_cores_are_those_that_every_group_allows(self):
        with tempfile.TemporaryDirectory() as folder, mock.patch("os.sched_getaffinity", lambda process: set(range(8))):
            (inner := Path(folder) / "a/b").mkdir(parents=True)
            (inner / "cpu.max").write_text("max 100000\n")
            self.assertEqual(hosts.usable_cores(Path(folder), "0::/a/b\n"), 8)
            (inner.parent / "cpu.max").write_text("150000 100000\n")
            self.assertEqual(hosts.usable_cores(Path(folder), "0::/a/b\n"), 2)
            (old := Path(folder) / "cpu/c").mkdir(parents=True)
            (old / "cpu.cfs_quota_us").write_text("300000\n")
            (old / "cpu.cfs_period_us").write_text("100000\n")
            self.assertEqual(hosts.usable_cores(Path(folder), "4:memory:/a\n3:cpu,cpuacct:/c\n"), 3)

    def test_facts_are_those_of_the_programs(self):
        facts, told = hosts.read_facts(["127.0.0.1"]), hosts.build_facts()
        self.assertEqual((facts.build, facts.interface), (told["build"], "none"))
        self.assertGreaterEqual(facts.cores, 1)
        for name, address in hosts.own_addresses():
            self.assertEqual(hosts.chosen_interface(["nonsense", address]), f"{name} {address}")

    def test_a_task_of_slurm_that_has_a_gpu_alone_is_told(self):
        self.assertEqual(doctor.find_gpu_binding({"SLURM_JOB_ID": "7", "SLURM_GPUS_PER_NODE": "8"}), [])
        self.assertEqual(doctor.find_gpu_binding({"SLURM_GPUS_PER_TASK": "1", "SLURM_GPU_BIND": "none"}), [])
        self.assertIn("note: SLURM_GPUS_PER_TASK=1: a rank", said(doctor.find_gpu_binding({"SLURM_GPUS_PER_TASK": "1"})))
        self.assertIn("note: SLURM_GPU_BIND=single:1: a rank", said(doctor.find_gpu_binding({"SLURM_GPU_BIND": "single:1"})))

    def test_where_nothing_is_built_pythons_own_library_says_what_is_missing(self):
        """Without the packages of .venv, and with a ./launch/setup that wants a package which Debian lacks."""
        with tempfile.TemporaryDirectory() as folder:
            checkout = Path(folder)
            (checkout / "share").mkdir()
            (checkout / "share/python").symlink_to(ROOT / "share/python")
            (checkout / "launch").mkdir()
            setup = (ROOT / "launch/setup").read_text().replace("debian_packages=(\n", "debian_packages=(\n  no-such-package\n", 1)
            (checkout / "launch/setup").write_text(setup)
            (checkout / "launch/progress.sh").symlink_to(ROOT / "launch/progress.sh")
            code = f"import pathlib, gangway.tools.doctor as d; d.CHECKOUT = pathlib.Path({folder!r}); d.command(['--json'])"
            done = subprocess.run([sys.executable, "-S", "-c", code], capture_output=True, text=True, cwd=folder,
                                  env={**os.environ, "GANGWAY_BIN": folder, "PYTHONPATH": str(ROOT / "share/python")})
            found = {finding["item"]: finding for finding in json.loads(done.stdout)["findings"]}
        self.assertIn("build it (./launch/build)", found["programs"]["detail"])
        self.assertRegex(found["Debian packages"]["detail"], r"^missing: (\S+ )*no-such-package(:| )")
        self.assertRegex(found["Python packages"]["detail"], "^missing: torch .*PyYAML.*: run ./launch/setup")
        self.assertLessEqual({"MPI", "cores", "memory", "/dev/shm", "disk", "Fashion-MNIST", "user", "network"}, set(found))

    def test_findings_are_tuples_from_python(self):
        with mock.patch.object(doctor, "examined", lambda: [Finding("cores", "good", "2")]):
            self.assertEqual(gangway.doctor()[0].detail, "2")
        with self.assertRaisesRegex(gangway.Failed, "--hostfile nowhere: no such file"):
            gangway.doctor(hostfile="nowhere")


class OfGpus(unittest.TestCase):
    def test_lines_of_nvidia_smi_are_gpus_or_passed_over(self):
        found = gpus.parsed_gpus(f"warning, of something\n{TWO_GPUS}NVIDIA GeForce RTX 4090, 24564, 580.65.06, 8.9, [N/A], [N/A]\n")
        self.assertEqual([gpu.memory_faults for gpu in found], [0, 3, None])
        self.assertEqual((found[0].name, round(found[0].memory_gib)), ("NVIDIA H100 80GB HBM3", 80))
        self.assertEqual(gpus.parsed_gpus("NVIDIA-SMI has failed because it couldn't communicate\n"), [])

    def test_an_old_driver_faults_of_memory_and_unlike_kinds_are_told(self):
        two = gpus.parsed_gpus(TWO_GPUS)
        text = said(gpus.judged_gpus(two, "13.0.88"))
        self.assertIn("GPUs good: 2 x NVIDIA H100 80GB HBM3, 80 GiB\nNVIDIA driver good: 580.65.06\nmemory of GPUs bad: GPU 1 had 3 ", text)
        volta = gpus.Gpu("Tesla V100", 16.0, "535.183.01", "7.0", "Disabled", None)
        text = said(gpus.judged_gpus([two[0]._replace(driver="535.183.01"), volta], "13.0.88"))
        self.assertIn("GPUs note: NVIDIA H100 80GB HBM3 and Tesla V100", text)
        self.assertIn("NVIDIA driver bad: 535.183.01 is older than CUDA 13 needs: install 580 or newer", text)
        self.assertIn("memory of GPUs note: GPU 1 has ECC turned off", text)
        self.assertIn("NVIDIA driver note: Tesla V100 is of compute capability 7.0", said(gpus.judged_gpus([volta], "12.8.1")))

    def test_nvlink_is_between_all_some_or_none(self):
        for links, peers, wanted in (
                (LINKS, PEERS, "note: NVLink between some GPUs only (NV18, SYS): GPU 0 and GPU 2 have SYS"),
                (LINKS.replace("SYS", "NV18"), PEERS, "good: NVLink between all (NV18)\n"),
                (LINKS.replace("NV18", "PHB"), PEERS, "good: no NVLink; over PCIe (PHB, SYS)\n"),
                (LINKS.replace("NV18", "PHB"), PEERS.replace("X\tOK\tOK", "X\tOK\tCNS"),
                 "note: GPU 0 and GPU 2 cannot reach each other's memory (CNS)")):
            self.assertIn(wanted, said(gpus.judged_links(gpus.parsed_pairs(links), gpus.parsed_pairs(peers))))
        self.assertEqual(gpus.judged_links({}, {}), [])

    def test_what_is_slow_is_doubted_over_nvlink_alone(self):
        self.assertEqual(gpus.judged_nccl(8, 7.25, True).health, "note")
        self.assertEqual(gpus.judged_nccl(8, 7.25, False).health, "good")
        self.assertEqual(gpus.judged_nccl(8, 350.0, True).detail, "all-reduce on 8 GPUs: 350.0 GB/s")


if __name__ == "__main__":
    unittest.main()
