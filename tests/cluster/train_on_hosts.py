#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`gangway run --hostfile` on a played cluster: the digest of one host, the workers in their places, and clear words
when a host is not ready.

    GANGWAY_BIN=build/release/bin train_on_hosts.py [unittest arguments]        exit code 77: this machine plays no cluster
"""
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "distributed"))

from hosts import FOLDER, RUN, inside, main  # noqa: E402
from other_build import OTHER, build_id, copy_programs  # noqa: E402
from train_command import EXAMPLES, GANGWAY, PROGRAMS, Trainings  # noqa: E402

RING = EXAMPLES / "ring8.yaml"
SMALL = ["training.kimg=5", "training.microbatches=4", "output.pictures_kimg=0"]
HOSTFILE = '"$GANGWAY_CLUSTER_HOSTFILE"'
ENVIRONMENT = 6


def run_line(run, workers, *arguments, hostfile=HOSTFILE):
    """`gangway run` of the small job, for a shell in a cluster."""
    return " ".join([GANGWAY, "run", str(RING), "-n", str(workers), "--hostfile", hostfile, "--run", run, *SMALL,
                     *arguments])


class OnHosts(Trainings):

    def call_inside(self, hosts, script):
        return self.call(RUN, hosts, "1gbit", "--", *inside(script))

    def placement(self, run):
        """(host, first micro-batch) of every worker, in the order of ranks; the coordinator's host."""
        path = next((self.folder / "runs").glob(f"*-{run}")) / "placement.json"
        coordinator, *workers = json.loads(path.read_text())["ranks"]
        return [(worker["host"], worker["microbatches"][0]) for worker in workers], coordinator["host"]


class Digests(OnHosts):
    def test_are_those_of_one_host(self):
        self.train(RING, *SMALL, run="one", workers=1)
        expected = self.digest("one")
        for hosts, workers in (("2", 2), ("2x2", 4), ("4", 4)):
            with self.subTest(hosts):
                run = f"on-{hosts}"
                code, out, err = self.call_inside(hosts, run_line(run, workers))
                self.assertEqual(code, 0, out + err)
                self.assertEqual(self.digest(run), expected)

    def test_stay_when_a_run_goes_on_with_other_hosts(self):
        self.train(RING, *SMALL, "training.kimg=10", run="one", workers=1)
        code, out, err = self.call_inside("3", f"{run_line('moves', 3)} && {run_line('moves', 2, 'training.kimg=10')}")
        self.assertEqual(code, 0, out + err)
        self.assertEqual(self.digest("moves"), self.digest("one"))


class Places(OnHosts):
    def test_workers_of_a_host_hold_adjacent_microbatches(self):
        code, out, err = self.call_inside("2x2", run_line("a", 4))
        self.assertEqual(code, 0, out + err)
        self.assertEqual(self.placement("a"), ([("host1", 0), ("host1", 1), ("host2", 2), ("host2", 3)], "host1"))
        self.assertRegex(out, r"(?m)^net    workers reach the coordinator at 10\.77\.0\.1 \(eth0\), port \d+$")

    def test_a_host_without_slots_holds_the_coordinator_alone(self):
        (self.folder / "hosts").write_text("host1 slots=0\nhost2 slots=2\n")
        code, out, err = self.call_inside("2", run_line("a", 2, hostfile="hosts"))
        self.assertEqual(code, 0, out + err)
        self.assertEqual(self.placement("a"), ([("host2", 0), ("host2", 2)], "host1"))

    def test_the_coordinator_takes_no_workers_slot_whatever_the_order_of_the_hosts(self):
        (self.folder / "hosts").write_text("host2  # slots=7\nhost1\n")
        code, out, err = self.call_inside("2", run_line("a", 2, hostfile="hosts"))
        self.assertEqual(code, 0, out + err)
        self.assertEqual(self.placement("a"), ([("host1", 0), ("host2", 2)], "host1"))


class Tuned(OnHosts):
    def test_trials_run_on_all_hosts_with_as_many_workers_as_there_are_slots(self):
        (self.folder / "job.yaml").write_text(RING.read_text())
        code, out, err = self.call_inside(
            "3", f"{GANGWAY} tune job.yaml {' '.join(SMALL)} --hostfile {HOSTFILE} --seconds 0.1 --anyway")
        self.assertEqual(code, 0, out + err)
        self.assertIn("as typed: ", out)
        record = json.loads((self.folder / "job.tuned.json").read_text())
        self.assertEqual(record["typed"]["workers"], 3)
        tried = {trial["workers"] for trial in record["tried"]}
        self.assertGreater(len(tried), 1, "no layouts of a plan")
        self.assertEqual(max(tried), 3)
        self.assertEqual([path for path in self.folder.glob("gangway-*") if path.is_dir()], [], "left behind")


class Refusals(OnHosts):
    def assert_refused(self, hosts, script, message):
        code, out, err = self.call_inside(hosts, script)
        self.assertEqual(code, ENVIRONMENT, out + err)
        self.assertRegex(err, message)
        self.assertNotIn("tick", out)

    def test_a_run_directory_that_the_hosts_do_not_share(self):
        (self.folder / "runs").mkdir()
        self.assert_refused("2", "on host2 mount -t tmpfs tmpfs runs; " + run_line("a", 2),
                            r"gangway: host2: \S+/runs/00000-a is not the folder that the first host sees: put the runs")

    def test_a_host_without_the_program(self):
        self.assert_refused("2", f"on host2 mount -t tmpfs tmpfs {PROGRAMS.resolve()}; {run_line('a', 2)}",
                            r"gangway: mpirun does not start ranks on all hosts")

    def test_a_host_with_another_build(self):
        other = copy_programs(self.folder / "other", ("gangway", "gangway-coordinator", "gangway-worker"))
        self.assert_refused("2", f"on host2 mount --bind {other} {PROGRAMS.resolve()}; {run_line('a', 2)}",
                            rf"gangway: host2: \S+/gangway is of build {OTHER}, on the first host it is of {build_id()}: "
                            "install one build on all hosts")

    def test_a_host_whose_worker_is_of_another_build(self):
        other = copy_programs(self.folder / "other", ("gangway-worker",))
        self.assert_refused("2", f"on host2 mount --bind {other} {PROGRAMS.resolve()}; {run_line('a', 2)}",
                            rf"rank 2 on host host2 is of build {OTHER}, the coordinator of {build_id()}: start all ranks")

    def test_a_host_that_is_cut_off(self):
        self.assert_refused("2", "link host2 down; " + run_line("a", 2),
                            r"gangway: mpirun does not start ranks on all hosts")


    def test_two_hosts_of_one_name(self):
        self.assert_refused("2", "on host2 hostname host1; " + run_line("a", 2),
                            r"gangway: two hosts of the hostfile are both called host1: give each a name of its own")


if __name__ == "__main__":
    main()
