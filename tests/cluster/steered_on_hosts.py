#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The verbs of docs/control.md on a job of an emulated cluster: from the first host by its socket, from another host by TCP
with TLS. They reach the workers of all hosts, and change no bit.

    GANGWAY_BIN=build/release/bin steered_on_hosts.py [unittest arguments]        exit code 77: no cluster can be emulated
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
# A shell function: waits for a line of the job, until the job ends.
SAID = 'said() { until grep -q -- "$1" said; do kill -0 $job || return 1; sleep 0.05; done; }'


class Steered(Certificates, Trainings):
    def setUp(self):
        super().setUp()
        self.undisturbed = self.digest_alone(RING, *JOB)

    def steer(self, script, *arguments, workers=2):
        """Returns the output, a line per command, on two hosts of so many slots; `start` starts the job."""
        start = " ".join([GANGWAY, "run", str(RING), "-n", str(workers), "--hostfile", '"$GANGWAY_CLUSTER_HOSTFILE"', "--run a",
                          *JOB, *arguments])
        begin = f'{SAID}\nstart() {{ {start} >>said 2>&1 & job=$!; }}\nstart; said "^tick 1 " || exit 1\n'
        code, out, err = self.call(RUN, f"2x{workers // 2}", "1gbit", "--", *inside(begin + script.replace("gangway ", GANGWAY + " ")))
        said = self.folder / "said"
        self.log = said.read_text() if said.exists() else ""
        self.assertEqual(code, 0, out + err + self.log)
        return out

    def require_same_digest(self):
        self.assertEqual(self.digest("a"), self.undisturbed, self.log)


class Verbs(Steered):
    # $from: command that enters a host
    SCRIPT = """
        $from gangway pause a && $from gangway checkpoint a --pin --wait 60 && $from gangway status a --json &&
        $from gangway resume a && $from gangway stop a || exit 1
        wait $job; echo "ended with $?"
        start; wait $job; echo "ended with $?"
    """

    def require_obeyed(self, out):
        self.assertRegex(out, r"^pauses after step (\d+)\nsaves step \1, which is pinned.*\n")
        self.assertRegex(out, r'"phase": ?"paus')
        for host in ("host1", "host2"):
            self.assertRegex(out, rf'"host": ?"{host}"')
        self.assertRegex(out, rf"goes on.*\n(.*\n)*ended with {PREEMPTED}\nended with 0\n$")
        self.require_same_digest()

    def test_reach_all_workers_from_the_coordinators_host(self):
        self.require_obeyed(self.steer(self.SCRIPT.replace("$from ", "")))

    def test_reach_all_workers_from_another_host_over_tls(self):
        self.make_ca("ca")
        self.sign("server", names=OTHERS_REACH)
        self.require_obeyed(self.steer(self.SCRIPT.replace("$from", "on host2"), "output.control=10.77.0.1:0",
                                       *self.tls_words("server")))


class Drains(Steered):
    def test_a_host_is_drained_and_the_job_goes_on_without_it(self):
        out = self.steer("gangway pause a && gangway drain a host2 || exit 1\n"
                         "until gangway resume a 2>/dev/null; do kill -0 $job || exit 1; sleep 0.05; done\n"
                         'wait $job; echo "ended with $?"', workers=4)
        self.assertRegex(out, r"saves step \d+, and goes on with 2 workers, without rank 3, 4")
        self.assertRegex(out, r"ended with 0\n$")
        self.require_same_digest()


if __name__ == "__main__":
    main()
