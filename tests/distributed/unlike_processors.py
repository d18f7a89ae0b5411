#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Workers that compute other bits than the others are refused before the first step, or allowed by the job.

    GANGWAY_BIN=build/release/bin unlike_processors.py [unittest arguments]
"""
import re
import unittest

from other_build import copy_programs
from train_command import EXAMPLES, GANGWAY, Trainings

ENVIRONMENT = 6
JOB = [EXAMPLES / "fashion-mnist.yaml", "model.width=16", "training.microbatches=4", "output.pictures_kimg=0",
       "training.kimg=0.128"]
# What a processor without AVX would take; MKL has a variable of its own for that.
OTHER_KERNELS = ["ATEN_CPU_CAPABILITY=default", "ONEDNN_MAX_CPU_ISA=SSE41"]


class UnlikeProcessors(Trainings):
    def mpirun(self, *arguments, run):
        """Three ranks, of which the last one's kernels are others'."""
        train = [GANGWAY, "train", *JOB, *arguments, "--run", run]
        return self.call("mpirun", "--oversubscribe", "--bind-to", "none", "-n", 2, *train,
                         ":", "-n", 1, "env", *OTHER_KERNELS, *train)

    def test_one_of_two_with_other_kernels_is_refused_in_one_line(self):
        _, out, err = self.mpirun(run="refused")
        said = out + err
        line = re.search(r"rank [12] on host \S+ computes other bits than rank [12] on host .*", said)
        self.assertIsNotNone(line, said)
        self.assertIn("ATEN_CPU_CAPABILITY", line[0])
        self.assertIn("instructions", line[0])
        self.assertIn("numerics.mixed_processors=allow", line[0])
        self.assertIn("numerics.processor=avx2", line[0])
        self.assertNotIn("tick", said)
        # mpirun rewrites exit codes; the status has the job's.
        status = next((self.folder / "runs").glob("*refused*/status.json")).read_text()
        self.assertRegex(status, rf'"exit_code":\s*{ENVIRONMENT}\b')

    def test_gangway_run_ends_with_6_and_that_line(self):
        programs = copy_programs(self.folder / "bin", ())
        worker = programs / "gangway-worker"
        worker.rename(programs / "real-worker")
        worker.write_text(f"""#!/bin/sh
if [ "$OMPI_COMM_WORLD_RANK" = 2 ]; then export {' '.join(OTHER_KERNELS)}; fi
exec "{programs}/real-worker" "$@"
""")
        worker.chmod(0o755)
        code, out, err = self.call(programs / "gangway", "run", *JOB, "-n", 2)
        self.assertEqual(code, ENVIRONMENT, out + err)
        self.assertRegex(out + err, r"gangway: rank 2 on host \S+ computes other bits than rank 1 on host ")
        self.assertNotIn("tick", out)

    def test_held_to_one_instruction_set_they_have_one_digest_whatever_they_were_started_with(self):
        code, out, err = self.mpirun("numerics.processor=avx2", run="held")
        self.assertEqual(code, 0, out + err)
        self.train(*JOB, "numerics.processor=avx2", run="alike", workers=1)
        self.assertEqual(self.digest("held"), self.digest("alike"))
        self.train(*JOB, run="native", workers=1)
        self.assertNotEqual(self.digest("native"), self.digest("alike"))
        _, out, _ = self.call(GANGWAY, "checkpoints", "show", "held")
        self.assertRegex(out, r"processor=avx2")

    def test_a_run_that_goes_on_with_another_instruction_set_is_another_job(self):
        self.train(*JOB, run="wider", workers=1)
        code, out, err = self.call(GANGWAY, "run", *JOB, "numerics.processor=avx2", "training.kimg=0.256", "-n", 1,
                                   "--run", "wider")
        self.assertEqual(code, 0, out + err)
        self.assertRegex(out, r"(?m)^warn  the job has changed .*numerics.processor avx2, was native")

    def test_a_job_may_allow_them_and_then_says_so_everywhere(self):
        code, out, err = self.mpirun("numerics.mixed_processors=allow", run="mixed")
        self.assertEqual(code, 0, out + err)
        self.assertIn("note   inexact, as declared by numerics.mixed_processors=allow", out)
        self.assertIn("allowed by numerics.mixed_processors", out)
        code, out, err = self.call(GANGWAY, "digest", "mixed")
        self.assertEqual(code, 0, err)
        self.assertIn("inexact=processors", err)
        code, out, err = self.call(GANGWAY, "checkpoints", "show", "mixed")
        self.assertRegex(out, r"(?m)^arithmetic +mixed$")

    def test_equal_ones_train_to_one_digest_whatever_they_are(self):
        for workers in (1, 2):
            self.train(*JOB, run=f"w{workers}", workers=workers)
        self.assertEqual(self.digest("w1"), self.digest("w2"))
        _, out, _ = self.call(GANGWAY, "checkpoints", "show", "w1")
        self.assertRegex(out, r"(?m)^arithmetic +1-[0-9a-f]{32}$")
        code, _, err = self.call(GANGWAY, "digest", "w1")
        self.assertEqual((code, err), (0, ""))

    def test_a_run_that_goes_on_with_other_kernels_says_so_and_keeps_it(self):
        self.train(*JOB, run="moved", workers=2)
        longer = [*JOB, "training.kimg=0.256"]
        variables = dict(one.split("=") for one in OTHER_KERNELS)
        code, out, err = self.call(GANGWAY, "run", *longer, "-n", 2, "--run", "moved", **variables)
        self.assertEqual(code, 0, out + err)
        self.assertRegex(out, r"(?m)^warn  this run computes other bits than its checkpoint was computed with: "
                              r".*ATEN_CPU_CAPABILITY default, not unset")
        _, out, err = self.call(GANGWAY, "digest", "moved")
        self.assertIn("another arithmetic from step 2 on", err)
        self.train(*longer, run="one-kind", workers=2)
        self.assertNotEqual(self.digest("moved"), self.digest("one-kind"))


if __name__ == "__main__":
    unittest.main(verbosity=2)
