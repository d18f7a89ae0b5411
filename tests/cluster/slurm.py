#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`gangway init slurm` and `gangway run` under a real Slurm on emulated hosts. A preempted job resumes with the same
numbers; a cancelled one has saved and leaves nothing.

    GANGWAY_BIN=build/release/bin slurm.py [unittest arguments]        exit code 77: Slurm does not start here
"""
import re
import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "distributed"))

from hosts import FOLDER, RUN, SKIPPED, inside  # noqa: E402
from train_command import EXAMPLES, GANGWAY, Trainings  # noqa: E402

RING = EXAMPLES / "ring8.yaml"
SMALL = ["training.kimg=40", "training.microbatches=4", "output.pictures_kimg=0", "output.tick_kimg=2"]
LONG = [*SMALL, "training.kimg=100000"]
WITH_SLURM = str(FOLDER / "with_slurm")
PREEMPTED = 75
# Shell functions: wait for a line of the job's log, until the job ends. A resumed job has many states, SIGNALING too.
FUNCTIONS = r'''
is_over() { case "$(state)" in COMPLETED|CANCELLED|FAILED|TIMEOUT|NODE_FAIL|OUT_OF_MEMORY|BOOT_FAIL) true ;; *) false ;; esac; }
said() { until grep -q -- "$1" a-1.log 2>/dev/null; do ! is_over || { echo "never said $1: $(state)" >&2; return 1; }; sleep 0.05; done; }
state() { scontrol -o show job 1 | grep -o "JobState=[A-Z]*" | cut -d = -f 2; }
until_state() { until [ "$(state)" = "$1" ]; do sleep 0.05; done; }
at_end() { until ! squeue -h -o %i | grep -q .; do sleep 0.05; done; }
'''


def on_slurm(hosts, script):
    """Returns the command of a cluster of so many hosts, under a Slurm that gives each host four processors."""
    return [RUN, f"{hosts}x4", "none", "--", WITH_SLURM, str(hosts), "4", *inside(FUNCTIONS + script)]


class UnderSlurm(Trainings):
    def script_file(self, *arguments):
        code, out, err = self.call(GANGWAY, "init", "slurm", RING, *arguments, "--run", "a", "-o", "a.sbatch")
        self.assertEqual(code, 0, out + err)

    def on_slurm(self, hosts, script):
        code, out, err = self.call(*on_slurm(hosts, script))
        log = self.folder / "a-1.log"
        self.log = log.read_text() if log.exists() else ""
        return code, out, err + self.log


class Batches(UnderSlurm):
    def test_a_job_that_slurm_warns_saves_goes_back_and_goes_on_with_the_same_numbers(self):
        self.script_file(*SMALL, "-n", "4", "--nodes", "2", "--time", "10", "--grace", "60")
        self.train(RING, *SMALL, run="undisturbed", workers=2)
        code, out, err = self.on_slurm(2, '''
            sbatch a.sbatch && said "^tick 3 " && scancel --signal=USR1 --batch 1 && said "saved at step" || exit
            until_state PENDING
            at_end; state; scontrol -o show job 1 | grep -o "Restarts=[0-9]*"''')
        self.assertEqual(code, 0, out + err)
        self.assertRegex(out, "COMPLETED\nRestarts=1\n", err)
        self.assertRegex(self.log, r"slurm  job 1 on host\[1-2\]: 5 slots by its tasks; one coordinator and 4 workers")
        self.assertRegex(self.log, r"resume step-\d+ \(step \d+\)")
        self.assertEqual(self.digest("a"), self.digest("undisturbed"))

    def test_a_cancelled_job_saves_within_the_grace_and_leaves_no_process_and_no_memory(self):
        self.script_file(*LONG, "-n", "2")
        code, out, err = self.on_slurm(1, '''
            sbatch a.sbatch && said "^tick 1 " || exit
            pgrep -c gangway; scancel 1; at_end; state; scontrol -o show job 1 | grep -o " ExitCode=[0-9]*"
            pgrep -a gangway; pgrep -a mpirun; ls /dev/shm''')
        self.assertEqual(code, 0, out + err)
        self.assertRegex(out, rf"\n[4-9]\nCANCELLED\n ExitCode={PREEMPTED}\n$", err)
        status = next((self.folder / "runs").glob("*-a")) / "status.json"
        self.assertRegex(status.read_text(), r"saved at step \d+")

    def test_a_job_at_its_time_limit_is_requeued_by_its_own_script(self):
        """Moves the time limit so near that the warning is due."""
        self.script_file(*LONG, "-n", "2", "--time", "10", "--grace", "60")
        code, out, err = self.on_slurm(1, '''
            sbatch a.sbatch && said "^tick 1 " || exit
            scontrol update JobId=1 TimeLimit=1 && said "saved at step" || exit
            until_state PENDING; scancel 1''')
        self.assertEqual(code, 0, out + err)


class Steps(UnderSlurm):
    def test_srun_starts_the_ranks_by_pmix_with_the_same_numbers(self):
        words = " ".join([str(RING), *SMALL])
        self.train(RING, *SMALL, run="run", workers=2)
        code, out, err = self.on_slurm(2, f"srun -N 2 -n 3 --mpi=pmix {GANGWAY} train {words} --run srun")
        self.assertEqual(code, 0, out + err)
        self.assertEqual(self.digest("srun"), self.digest("run"))

    def test_srun_without_pmix_and_many_of_run_are_refused_with_the_remedy(self):
        for words, remedy in ((f"train {RING}", r"use 'srun --mpi=pmix gangway train"),
                              (f"run {RING}", r"starts all ranks itself: call it once, .* or use 'srun --mpi=pmix")):
            with self.subTest(words):
                code, out, err = self.on_slurm(1, f"srun -n 3 --mpi=none {GANGWAY} {words}; exit $?")
                self.assertEqual(code, 6, out + err)
                self.assertRegex(err, remedy)
                self.assertFalse((self.folder / "runs").exists())


def main():
    """Runs unittest if this machine can emulate a cluster, and Slurm starts on it."""
    probe = subprocess.run(on_slurm(1, "true"), capture_output=True, text=True, timeout=60)
    if probe.returncode == SKIPPED:
        print(probe.stderr, end="")
        sys.exit(SKIPPED)
    unittest.main(verbosity=2)


if __name__ == "__main__":
    main()
