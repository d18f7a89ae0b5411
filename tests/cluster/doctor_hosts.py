#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`gangway doctor --hosts` on a played cluster: what hosts have, in what they differ, and who does not answer.

    GANGWAY_BIN=build/release/bin doctor_hosts.py [unittest arguments]        exit code 77: this machine plays no cluster
"""
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "distributed"))

from hosts import RUN, inside, main  # noqa: E402
from other_build import OTHER, build_id, copy_programs  # noqa: E402
from train_command import GANGWAY, PROGRAMS, Trainings  # noqa: E402

ENVIRONMENT = 6


class Hosts(Trainings):
    def doctor(self, code, *words, before="", **variables):
        said, out, err = self.call(RUN, "2", "none", "--", *inside(f"{before}\n{GANGWAY} doctor {' '.join(words)}"),
                                   **variables)
        self.assertEqual(said, code, out + err)
        return out

    def test_of_one_kind_fit_one_another(self):
        out = self.doctor(0, '--hostfile "$GANGWAY_CLUSTER_HOSTFILE"')
        self.assertRegex(out, rf"(?m)^host2 +{build_id()} +4\.1\.\d")
        self.assertRegex(out, r"(?m)^host1 .* eth0 10\.77\.0\.1 .*ms")
        self.assertRegex(out, r"(?m)^host2 .* eth0 10\.77\.0\.2 .*ms")
        self.assertIn("the hosts fit one another", out)

    def test_clocks_of_one_machine_differ_by_less_than_what_is_known(self):
        for host in json.loads(self.doctor(0, "--hosts host1,host2 --json"))["hosts"]:
            self.assertLessEqual(abs(host["clock_seconds"]), host["clock_error_seconds"] + 1e-3, host)

    def test_another_build_is_named_and_ends_with_6(self):
        other = copy_programs(self.folder / "other", ("gangway",))
        out = self.doctor(ENVIRONMENT, "--hosts host1,host2", before=f"on host2 mount --bind {other} {PROGRAMS}")
        self.assertRegex(out, rf"(?m)^host2 +{OTHER} !")
        self.assertRegex(out, rf"build +bad +host2 has {OTHER}, others {build_id()}: install one build")

    def test_little_shared_memory_is_noted(self):
        out = self.doctor(0, "--hosts host1,host2", before="on host2 mount -o remount,size=16m /dev/shm")
        self.assertRegex(out, r"/dev/shm +note +host2 has 0\.0 GiB, another")

    def test_a_host_that_is_cut_off_is_named_in_time(self):
        out = self.doctor(ENVIRONMENT, "--hosts host2,host1", before="link host2 down")
        self.assertRegex(out, r"host +bad +host2 gave no answer \(")
        self.assertRegex(out, rf"(?m)^host1 +{build_id()}")

    def test_says_which_variables_other_hosts_get(self):
        self.assertRegex(self.doctor(0, "--hosts host2 -v", NCCL_DEBUG="INFO", SECRET="x"),
                         r"\Aforwarded to other hosts: GANGWAY_CLUSTER_HOSTFILE, (GANGWAY_LAYOUT_\w+, )+NCCL_DEBUG\n")


if __name__ == "__main__":
    main()
