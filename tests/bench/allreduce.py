#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`gangway bench allreduce` at sizes too small to measure: it runs, and a wrong sum does not pass.

    GANGWAY_BIN=build/release/bin allreduce.py [unittest arguments]
"""
import os
import re
import subprocess
import unittest

GANGWAY = os.path.join(os.environ["GANGWAY_BIN"], "gangway")
INTERNAL, USAGE = 1, 2
DEADLINE = 400  # seconds; a hang is a failure


def bench(*arguments):
    done = subprocess.run([GANGWAY, "bench", "allreduce", "--anyway", "--seconds", "0.02", "--rounds", "2", *arguments],
                          capture_output=True, text=True, timeout=DEADLINE)
    return done.returncode, done.stdout, done.stderr


class BenchAllreduce(unittest.TestCase):
    def test_has_a_row_for_every_transport_and_size(self):
        code, out, err = bench("--workers", "3", "--sizes", "64K,1M")
        self.assertEqual(code, 0, out + err)
        for size in ("64K", "1M"):
            for row in ("shm", "mpi", "MPI_Allreduce", "copy"):
                self.assertRegex(out, rf"(?m)^ *{size} +{row} +[0-9.]+ +[0-9.]+ ")

    def test_fails_when_one_value_of_one_worker_is_wrong(self):
        for transport in ("shm", "mpi"):
            with self.subTest(transport):
                code, out, err = bench("--workers", "2", "--sizes", "64K", "--transports", transport, "--corrupt-round", "2")
                self.assertEqual(code, INTERNAL, out + err)
                self.assertRegex(err, rf"{transport}|MPI_Allreduce")
                self.assertRegex(err, r"round 2, rank \d: value 8192 is ")
                self.assertNotIn("busbw", out)

    def test_refuses_what_it_does_not_know(self):
        for arguments, complaint in ((("--sizes", "17K"), "--sizes"), (("--transports", "pigeons"), "pigeons")):
            with self.subTest(arguments):
                code, out, err = bench("--workers", "2", *arguments)
                self.assertEqual(code, USAGE, out + err)
                self.assertIn(complaint, err)


if __name__ == "__main__":
    unittest.main(verbosity=2)
