#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`gangway advise` on real runs: bottlenecks that a job is made to have are named, with their keys, and stand in the log as events.

    GANGWAY_BIN=build/release/bin advice.py [unittest arguments]
"""
import json
import re
import unittest

from train_command import EXAMPLES, GANGWAY, Trainings

RING = [EXAMPLES / "ring8.yaml", "training.kimg=8", "training.batch=128", "training.microbatches=4", "output.tick_kimg=1",
        "output.pictures_kimg=0", "checkpoint.every_kimg=0"]


class Advise(Trainings):
    def advice(self, run):
        code, out, err = self.call(GANGWAY, "advise", run, "--json")
        self.assertEqual(code, 0, err)
        return {one["rule"]: one for one in json.loads(out)["advice"]}

    def test_names_what_a_job_was_made_to_have(self):
        for run, rule, remedy, workers, words in (
                ("pictures", "pictures", "output.pictures_kimg", 1, ["output.pictures_kimg=0.128"]),
                ("none", "overlap-off", "layout.overlap=across", 2, ["layout.overlap=none"]),
                ("many", "tiny-microbatches", "training.microbatches", 1, ["training.microbatches=128"])):
            with self.subTest(run):
                self.train(*RING, *words, run=run, workers=workers)
                found = self.advice(run)
                self.assertIn(rule, found)
                self.assertIn(remedy, found[rule]["remedy"])
                self.assertEqual(found[rule]["changes_numbers"], rule == "tiny-microbatches")
                log, = (self.folder / "runs").glob(f"*-{run}/logs/rank-0000.log")
                self.assertIn(f"info: advise  {rule}: ", log.read_text())
                code, out, _ = self.call(GANGWAY, "advise", run)
                self.assertEqual(code, 0)
                self.assertIn(f"{rule}: ", out)

    def test_names_memory_that_is_nearly_full(self):
        for name, used, rules in (("full", 950, {"memory-nearly-full"}), ("roomy", 500, set())):
            groups = self.folder / f"groups-{name}"
            for folder in (groups, groups / "memory"):  # whichever version this machine has
                folder.mkdir()
                (folder / "memory.max").write_text(f"{1000 << 30}\n")
                (folder / "memory.current").write_text(f"{used << 30}\n")
            code, out, err = self.call(GANGWAY, "run", *RING, "--run", name, "-n", 1, GANGWAY_CONTROL_GROUPS=str(groups))
            self.assertEqual(code, 0, out + err)
            early = re.findall(r"(?m)^warn  memory peak .*$", out)
            self.assertEqual(bool(early), bool(rules), out)
            found = self.advice(name)
            self.assertEqual(found.keys() & {"memory-nearly-full", "memory-growth", "cpu-quota"}, rules)
            if rules:
                self.assertIn("950.00 of 1000.00 GiB of its control group", found["memory-nearly-full"]["evidence"])
                self.assertIn("layout.stages=2 and 2 workers", found["memory-nearly-full"]["remedy"])

    def test_asks_for_ticks(self):
        self.train(*RING, "output.tick_kimg=8", run="short", workers=1)
        code, _, err = self.call(GANGWAY, "advise", "short")
        self.assertEqual(code, 2)
        self.assertRegex(err, r"advice needs 3 ticks that tell the parts of a step, and there are [12]:")
        self.assertEqual(self.call(GANGWAY, "advise", "nowhere")[0], 2)
        self.assertEqual(self.call(GANGWAY, "advise", "short@20")[0], 2)


if __name__ == "__main__":
    unittest.main()
