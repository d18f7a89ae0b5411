#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`gangway doctor --hosts` on an emulated cluster: the hosts' facts, their differences, and hosts without an answer.

    GANGWAY_BIN=build/release/bin doctor_hosts.py [unittest arguments]        exit code 77: no cluster can be emulated
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
    def test_of_one_kind_fit_one_another_and_what_differs_or_is_cut_off_is_named(self):
        """tests/tools/doctor_test.py has the findings on hosts."""
        other = copy_programs(self.folder / "programs", ("gangway", "gangway-tools"))
        asked = (("alike", f'{GANGWAY} doctor --hostfile "$GANGWAY_CLUSTER_HOSTFILE" -v'),
                 ("json", f"{GANGWAY} doctor --hosts host1,host2 --json"),
                 ("other", f"on host2 mount --bind {other} {PROGRAMS}; on host2 mount -o remount,size=16m /dev/shm; "
                           f"{GANGWAY} doctor --hosts host1,host2"),
                 ("cut", f"link host2 down; {GANGWAY} doctor --hosts host2,host1"))
        code, out, err = self.call(RUN, "2", "none", "--", *inside("\n".join(
            f"( {words} ) >{name}; echo $?" for name, words in asked)), NCCL_DEBUG="INFO", SECRET="x")
        self.assertEqual((code, out.split()), (0, ["0", "0", str(ENVIRONMENT), str(ENVIRONMENT)]), out + err)
        said = {name: (self.folder / name).read_text() for name, _ in asked}
        self.assertRegex(said["alike"],
                         r"\Aforwarded to other hosts: GANGWAY_CLUSTER_HOSTFILE, (GANGWAY_LAYOUT_\w+, )+NCCL_DEBUG\n")
        self.assertRegex(said["alike"], rf"(?m)^host2 +{build_id()} +4\.1\.\d")
        for number in (1, 2):
            self.assertRegex(said["alike"], rf"(?m)^host{number} .* eth0 10\.77\.0\.{number} .*ms")
        self.assertIn("the hosts fit one another", said["alike"])
        for host in json.loads(said["json"])["hosts"]:  # all hosts have one machine's clock
            self.assertLessEqual(abs(host["clock_seconds"]), host["clock_error_seconds"] + 1e-3, host)
        self.assertRegex(said["other"], rf"(?m)^host2 +{OTHER} !")
        self.assertRegex(said["other"], rf"build +bad +host2 has {OTHER}, other hosts {build_id()}: install one build")
        self.assertRegex(said["other"], r"/dev/shm +note +host2 has 0\.0 GiB, another")
        self.assertRegex(said["cut"], r"host +bad +host2 gave no answer \(")
        self.assertRegex(said["cut"], rf"(?m)^host1 +{build_id()}")


if __name__ == "__main__":
    main()
