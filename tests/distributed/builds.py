#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A worker of another build than the coordinator is refused in one line, before it trains.

    GANGWAY_BIN=build/release/bin builds.py
"""
import re
import unittest

from other_build import OTHER, build_id, copy_programs
from train_command import EXAMPLES, Trainings

ENVIRONMENT = 6


class Builds(Trainings):
    def refused(self, *others):
        programs = copy_programs(self.folder / "bin", others)
        code, out, err = self.call(programs / "gangway", "run", EXAMPLES / "ring8.yaml", "-n", "2", "training.kimg=1")
        self.assertEqual(code, ENVIRONMENT, out + err)
        self.assertNotIn("tick", out)
        return out + err

    def test_a_worker_of_another_is_refused_by_host_and_both_ids(self):
        said = self.refused("gangway-worker")
        self.assertRegex(said, rf"rank [12] on host \S+ is of build {OTHER}, the coordinator of {build_id()}: start all ranks "
                               r"from one build \(\./launch/build")

    def test_a_coordinator_of_another_is_refused_the_same_way(self):
        self.assertRegex(self.refused("gangway-coordinator"),
                         rf"is of build {build_id()}, the coordinator of {OTHER}: start all ranks")

    def test_one_build_trains(self):
        programs = copy_programs(self.folder / "bin", ())
        code, out, err = self.call(programs / "gangway", "run", EXAMPLES / "ring8.yaml", "-n", "1", "training.kimg=1")
        self.assertEqual(code, 0, out + err)
        self.assertTrue(re.fullmatch("[0-9a-f]{16}", build_id()))


if __name__ == "__main__":
    unittest.main(verbosity=2)
