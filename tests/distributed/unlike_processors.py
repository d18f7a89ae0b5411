#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Workers of another build, and workers that compute other bits, are refused in one line before the first step. A job may
restrict kernels to one instruction set, or allow different bits.

    GANGWAY_BIN=build/release/bin unlike_processors.py [unittest arguments]
"""
import json
import signal
import unittest

from other_build import OTHER, build_id, copy_programs
from train_command import EXAMPLES, GANGWAY, Trainings

ENVIRONMENT = 6
JOB = [EXAMPLES / "fashion-mnist.yaml", "model.width=16", "training.microbatches=4", "output.pictures_kimg=0",
       "training.kimg=0.128"]
# Kernels of a processor without AVX. MKL has its own variable for that.
OTHER_KERNELS = {"ATEN_CPU_CAPABILITY": "default", "ONEDNN_MAX_CPU_ISA": "SSE41"}


class UnlikeWorkers(Trainings):
    def refused_run(self, programs):
        code, out, err = self.call(programs / "gangway", "run", *JOB, "-n", 2)
        self.assertEqual(code, ENVIRONMENT, out + err)
        self.assertNotIn("tick", out)
        return out + err

    def mpirun(self, *arguments, run):
        """Starts three ranks; the last one has other kernels."""
        train = [GANGWAY, "train", *JOB, *arguments, "--run", run]
        others = [f"{name}={value}" for name, value in OTHER_KERNELS.items()]
        code, out, err = self.call("mpirun", "--oversubscribe", "--bind-to", "none", "-n", 2, *train,
                                   ":", "-n", 1, "env", *others, *train)
        self.assertEqual(code, 0, out + err)
        return out

    def test_of_another_build_are_refused_by_host_and_both_ids(self):
        programs = copy_programs(self.folder / "bin", ["gangway-worker"])
        self.assertRegex(self.refused_run(programs), rf"rank [12] on host \S+ is of build {OTHER}, the coordinator of {build_id()}: "
                                                     r"start all ranks from one build \(\./launch/build")

    def test_with_other_kernels_are_refused_with_what_differs(self):
        programs = copy_programs(self.folder / "bin", ())
        worker = programs / "gangway-worker"
        worker.rename(programs / "real-worker")
        worker.write_text(f"""#!/bin/sh
if [ "$OMPI_COMM_WORLD_RANK" = 2 ]; then export {' '.join('='.join(one) for one in OTHER_KERNELS.items())}; fi
exec "{programs}/real-worker" "$@"
""")
        worker.chmod(0o755)
        self.assertRegex(self.refused_run(programs), r"gangway: rank 2 on host \S+ computes other bits than rank 1 on host "
                         r".*ATEN_CPU_CAPABILITY default, not unset.*instructions .*numerics\.mixed_processors=allow")

    def test_held_to_one_instruction_set_have_one_digest_whatever_they_were_started_with(self):
        self.mpirun("numerics.processor=avx2", run="held")
        self.train(*JOB, "numerics.processor=avx2", run="alike", workers=1)
        self.assertEqual(self.digest("held"), self.digest("alike"))
        self.assertRegex(self.call(GANGWAY, "checkpoints", "show", "held")[1], r"processor=avx2")
        self.train(*JOB, run="native", workers=2)
        self.assertNotEqual(self.digest("native"), self.digest("alike"))
        self.assertRegex(self.call(GANGWAY, "checkpoints", "show", "native")[1], r"(?m)^arithmetic +1-[0-9a-f]{32}$")
        self.assertEqual(self.call(GANGWAY, "digest", "native")[2], "")
        code, out, err = self.call(GANGWAY, "run", *JOB, "training.kimg=0.256", "-n", 2, "--run", "native", **OTHER_KERNELS)
        self.assertEqual(code, 0, out + err)
        self.assertRegex(out, r"(?m)^warn  this run computes other bits than its state was computed with: "
                              r".*ATEN_CPU_CAPABILITY default, not unset")
        self.assertIn("another arithmetic from step 2 on", self.call(GANGWAY, "digest", "native")[2])

    def test_are_told_where_the_state_is_a_snapshot_of_which_no_checkpoint_says_how_it_was_computed(self):
        job = [*JOB, "training.kimg=100000", "checkpoint.every_kimg=0", "checkpoint.snapshot_steps=1", "output.tick_kimg=0.128"]
        running = self.start("run", *job, "-n", 1, "--run", "left")
        running.wait_for(r"^tick 2 ")
        running.kill_all()
        start = json.loads((self.folder_of("left") / "start.json").read_text())
        self.assertIn("arithmetic", start["software"])
        again = self.start("run", *job, "-n", 1, "--run", "left", **OTHER_KERNELS)
        place = again.wait_for(r"^resume snapshot of step \d+ ")
        again.wait_for(r"^warn  this run computes other bits than its state was computed with: .*ATEN_CPU_CAPABILITY default, not unset", place)
        again.wait_for(r"^tick ", place)
        again.send(signal.SIGTERM)
        self.assertEqual(again.end(), 75, again.said())
        self.assertRegex(self.call(GANGWAY, "digest", "left")[2], r"another arithmetic from step \d+ on")

    def test_may_be_allowed_by_the_job_which_says_so_everywhere(self):
        out = self.mpirun("numerics.mixed_processors=allow", run="mixed")
        self.assertIn("note   inexact, as declared by numerics.mixed_processors=allow", out)
        self.assertIn("allowed by numerics.mixed_processors", out)
        code, out, err = self.call(GANGWAY, "digest", "mixed")
        self.assertEqual(code, 0, err)
        self.assertIn("inexact=processors", err)
        self.assertRegex(self.call(GANGWAY, "checkpoints", "show", "mixed")[1], r"(?m)^arithmetic +mixed$")


if __name__ == "__main__":
    unittest.main(verbosity=2)
