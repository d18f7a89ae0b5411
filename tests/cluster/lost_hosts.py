#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A host of a running job loses power or its cable. The run resumes by itself, on a spare host or with fewer workers, to
the digest of an undisturbed run.

    GANGWAY_BIN=build/release/bin lost_hosts.py [unittest arguments]        exit code 77: no cluster can be emulated
"""
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "distributed"))

from hosts import RUN, inside, main  # noqa: E402
from train_command import EXAMPLES, GANGWAY, Trainings  # noqa: E402

JOB = [EXAMPLES / "ring8.yaml", "training.kimg=60", "training.microbatches=6", "training.batch=96", "output.pictures_kimg=0",
       "output.tick_kimg=1", "checkpoint.every_kimg=0", "checkpoint.snapshot_steps=5", "layout.timeout_seconds=4"]


class LostHosts(Trainings):
    def play(self, cluster, workers, fault):
        """Runs `fault` in the cluster's shell once other hosts have copies. @return the run's output"""
        run = " ".join(map(str, [GANGWAY, "run", *JOB, "-n", workers, "--hostfile", "$GANGWAY_CLUSTER_HOSTFILE", "--run", "a"]))
        script = f'''
            {run} >said 2>&1 & job=$!
            until grep -q "^tick 15 " said; do kill -0 $job || exit 1; sleep 0.02; done
            {fault}
            wait $job'''
        code, out, err = self.call(RUN, cluster, "1gbit", "--", *inside(script), restarts=None)
        said = (self.folder / "said").read_text()
        self.assertEqual(code, 0, said + out + err)
        return said

    def restarts(self):
        folder = next((self.folder / "runs").glob("*-a"))
        return [json.loads(line) for line in (folder / "restarts.jsonl").read_text().splitlines()]

    def assert_went_on(self, said, workers):
        self.assertRegex(said, r"resume snapshot of step \d+ that the run left", said)
        last = self.restarts()[-1]
        self.assertEqual(last["workers"], workers, last)
        self.assertIn("host2", last["left_out"], last)
        self.assertEqual(self.digest("a"), self.digest_alone(*JOB), said)

    def test_a_spare_host_takes_the_place_of_one_without_power(self):
        self.assert_went_on(self.play("4", 3, "crash host2"), workers=3)

    def test_fewer_workers_carry_the_work_of_one_whose_cable_is_out(self):
        self.assert_went_on(self.play("3", 3, "link host2 down"), workers=2)


    def test_a_host_whose_cable_is_back_is_taken_by_the_run_itself(self):
        said = self.play("3", 3, f'''link host2 down
            until grep -q "^again .* 2 workers" said && {GANGWAY} pause a; do kill -0 $job || exit 1; sleep 0.05; done
            link host2 up
            until grep -q "^again  host2 answers again: .* 3 workers" said; do kill -0 $job || exit 1; sleep 0.05; done
            until [ $(grep -c "^start  4 " said) = 2 ] && {GANGWAY} resume a; do kill -0 $job || exit 1; sleep 0.05; done''')
        self.assert_went_on(said, workers=2)


if __name__ == "__main__":
    main()
