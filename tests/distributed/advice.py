#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`gangway advise` on a real run: it names planted bottlenecks, with their keys; the log has them as events.
tests/report/advice_test.cpp tests each rule.

    GANGWAY_BIN=build/release/bin advice.py [unittest arguments]
"""
import json
import unittest

from train_command import EXAMPLES, GANGWAY, Trainings

RING = [EXAMPLES / "ring8.yaml", "training.kimg=8", "training.batch=128", "training.microbatches=4", "output.tick_kimg=1",
        "output.pictures_kimg=0.128", "checkpoint.every_kimg=0"]  # a picture in each step


class Advise(Trainings):
    def test_names_what_a_job_was_made_to_have(self):
        groups = self.folder / "groups"
        for folder in (groups, groups / "memory"):  # control groups of both versions
            folder.mkdir()
            (folder / "memory.max").write_text(f"{1000 << 30}\n")
            (folder / "memory.current").write_text(f"{950 << 30}\n")
        code, out, err = self.call(GANGWAY, "run", *RING, "--run", "full", "-n", 1, GANGWAY_CONTROL_GROUPS=str(groups))
        self.assertEqual(code, 0, out + err)
        self.assertRegex(out, r"(?m)^warn  memory peak .*$")
        code, out, err = self.call(GANGWAY, "advise", "full", "--json")
        self.assertEqual(code, 0, err)
        found = {one["rule"]: one for one in json.loads(out)["advice"]}
        self.assertIn("output.pictures_kimg", found["pictures"]["remedy"])
        self.assertFalse(found["pictures"]["changes_numbers"])
        self.assertIn("950.00 of 1000.00 GiB of its control group", found["memory-nearly-full"]["evidence"])
        self.assertIn("layout.stages=2 and 2 workers", found["memory-nearly-full"]["remedy"])
        self.assertEqual(found.keys() & {"memory-growth", "cpu-quota"}, set())
        self.assertIn("info: advise  pictures: ", (self.folder_of("full") / "logs/rank-0000.log").read_text())
        self.assertIn("pictures: ", self.call(GANGWAY, "advise", "full")[1])
        self.refused(2, "advise", "full@20", says=[])
        stats = self.folder_of("full") / "stats.jsonl"
        stats.write_text("".join(stats.read_text().splitlines(keepends=True)[:1]))
        self.refused(2, "advise", "full", says=["advice needs 3 ticks with the times of a step's parts, and there are 1:"])


if __name__ == "__main__":
    unittest.main()
