#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`gangway profile --hostfile` on an emulated cluster: figures of each pair of hosts, and plans with them.

    GANGWAY_BIN=build/release/bin links_on_hosts.py [unittest arguments]
"""
import json
import re
import sys
from itertools import combinations
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "distributed"))

from hosts import RUN, inside, main  # noqa: E402
from train_command import EXAMPLES, GANGWAY, Trainings  # noqa: E402

ENVIRONMENT, USAGE = 6, 2
JOB = EXAMPLES / "ring8.yaml"
HOSTFILE = '"$GANGWAY_CLUSTER_HOSTFILE"'
PROFILE = f"{GANGWAY} profile {JOB} --seconds 0.5 --anyway --hostfile {HOSTFILE}"
SLOW_HOST = "host3"


class Links(Trainings):
    def test_of_every_pair_are_measured_and_planned_with_or_an_error_in_time(self):
        (self.folder / "one").write_text("host1\n")
        slower = f"on {SLOW_HOST} tc qdisc replace dev eth0 root tbf rate 40mbit burst 64kb latency 400ms"
        of_one = PROFILE.replace(HOSTFILE, "one")
        code, out, err = self.call(RUN, "3x2", "200mbit", "--", *inside(
            f"{slower}\n{PROFILE} && {GANGWAY} plan {JOB} --json > plan.json || exit 1\nmv ring8.profile.json all.json\n"
            f"{of_one} 2>one.said; echo code $?\nlink host2 down\n{PROFILE} 2>cut.said; echo code $?"))
        self.assertEqual(code, 0, out + err)
        self.assertEqual(re.findall(r"(?m)^code (\d+)$", out), [str(USAGE), str(ENVIRONMENT)], out)
        self.assertIn("it has one host, and links are between two", (self.folder / "one.said").read_text())
        self.assertRegex((self.folder / "cut.said").read_text(),
                         r"the links could not be measured \(.+\); gangway doctor --hostfile says")
        self.assertFalse((self.folder / "ring8.profile.json").exists())
        table = json.loads((self.folder / "all.json").read_text())["links"]
        hosts = table["hosts"]
        self.assertEqual(hosts, ["host1", "host2", "host3"])
        rates = {}
        for link in table["links"]:
            for path in link["figures"]["paths"]:
                least, most = path["points"][0], path["points"][-1]
                rates.setdefault((link["a"], link["b"]), {})[path["path"]] = (
                    (most["bytes"] - least["bytes"]) / (most["seconds"] - least["seconds"]))
        self.assertEqual(set(rates), {(0, 0), (1, 1), (2, 2), *combinations(range(3), 2)})
        for host in range(3):
            self.assertEqual(set(rates[host, host]), {"shared memory", "messages within a host"})
        between = {pair: paths["messages between hosts"] for pair, paths in rates.items() if pair[0] != pair[1]}
        # Forward and backward: half the time for each direction.
        self.assertAlmostEqual(between[0, 1] / 25e6, 1.0, delta=0.3)
        for pair in ((0, 2), (1, 2)):
            self.assertAlmostEqual(between[pair] / (2 / (1 / 25e6 + 1 / 5e6)), 1.0, delta=0.3)
        self.assertIn("host1 - host3", out)
        plan = json.loads((self.folder / "plan.json").read_text())
        self.assertEqual(plan["cluster"], "3 hosts", plan)


if __name__ == "__main__":
    main()
