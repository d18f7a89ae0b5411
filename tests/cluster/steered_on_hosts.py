#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The verbs of docs/control.md on a job of a played cluster, from the coordinator's host and from another, by TCP with TLS: they
reach the workers of all hosts, and change no bit.

    GANGWAY_BIN=build/release/bin steered_on_hosts.py [unittest arguments]        exit code 77: this machine plays no cluster
"""
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "distributed"))

from certificates import Certificates  # noqa: E402
from hosts import RUN, inside, main  # noqa: E402
from train_command import EXAMPLES, GANGWAY, Trainings  # noqa: E402

RING = EXAMPLES / "ring8.yaml"
JOB = ["training.kimg=200", "training.microbatches=4", "output.pictures_kimg=0", "output.tick_kimg=2",
       "checkpoint.every_kimg=0"]
PREEMPTED = 75
OTHERS_REACH = "subjectAltName=IP:10.77.0.1"  # host1
# A shell's: waits for a line of the job, and gives up with it.
SAID = 'said() { until grep -q -- "$1" said; do kill -0 $job || return 1; sleep 0.05; done; }'


class Steered(Certificates, Trainings):
    SCRIPT = """
        on host2 gangway pause a && on host2 gangway checkpoint a --pin --wait 60 && gangway status a --json &&
        on host2 gangway drain a host2 || exit 1
        until gangway resume a 2>/dev/null; do kill -0 $job || exit 1; sleep 0.05; done
        on host2 gangway stop a || exit 1
        wait $job; echo "ended with $?"
        start; wait $job; echo "ended with $?"
    """

    def test_verbs_of_any_host_reach_all_workers_and_change_no_bit(self):
        self.make_ca("ca")
        self.sign("server", names=OTHERS_REACH)
        start = " ".join([GANGWAY, "run", str(RING), "-n", "4", "--hostfile", '"$GANGWAY_CLUSTER_HOSTFILE"', "--run a", *JOB,
                          "output.control=10.77.0.1:0", *self.tls_words("server")])
        begin = f'{SAID}\nstart() {{ {start} >>said 2>&1 & job=$!; }}\nstart; said "^tick 1 " || exit 1\n'
        code, out, err = self.call(RUN, "2x2", "1gbit", "--", *inside(begin + self.SCRIPT.replace("gangway ", GANGWAY + " ")))
        log = (self.folder / "said").read_text()
        self.assertEqual(code, 0, out + err + log)
        self.assertRegex(out, r"^pauses after step (\d+)\nsaves step \1, which is pinned.*\n")
        self.assertRegex(out, r'"phase": ?"paus')
        for host in ("host1", "host2"):
            self.assertRegex(out, rf'"host": ?"{host}"')
        self.assertRegex(out, r"saves step \d+, and goes on with 2 workers, without rank 3, 4")
        self.assertRegex(out, rf"goes on.*\n(.*\n)*ended with {PREEMPTED}\nended with 0\n$")
        self.assertEqual(self.digest("a"), self.digest_alone(RING, *JOB), log)


if __name__ == "__main__":
    main()
