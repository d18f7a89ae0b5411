#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A worker survives another worker's death in a long message; plain Open MPI would end both.

    mpi_abort.py MPI_ABORT_PROGRAM
"""
import subprocess
import sys
import unittest

from clean_environment import environment

PROGRAM = sys.argv.pop(1)
DEADLINE = 120  # seconds; a hang is a failure
TRIES = 12


class MpiAbort(unittest.TestCase):
    def said(self, word):
        mpirun = ["mpirun", "--enable-recovery", "--oversubscribe", "--bind-to", "none", "--mca", "btl", "self,tcp",
                  "--mca", "btl_tcp_disable_family", "6", "-n", "2"]
        return subprocess.run([*mpirun, PROGRAM, word], env=environment(), capture_output=True, text=True,
                              timeout=DEADLINE).stdout

    def test_a_process_that_asks_for_it_goes_on(self):
        self.assertIn("survived", self.said("survive"))

    def test_without_that_it_would_be_ended(self):
        """Not at each attempt: it depends on the Open MPI call that finds the broken connection."""
        self.assertTrue(any("survived" not in self.said("end") for _ in range(TRIES)))


if __name__ == "__main__":
    unittest.main()
